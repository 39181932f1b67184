//! The first start of an actor: corked until it is complete.

use std::fs;

use greenroom_error::{Error, code};
use rusqlite::Connection;

use super::fixture::{
    Fixture, in_line, initialised, inspect, open_at_most, state_only, stored_state,
};
use crate::files::{NEW, beside};
use crate::pending_commit::PendingCommit;
use crate::{Disk, Fault, StoreOptions};

#[tokio::test]
async fn a_first_start_leaves_no_file_until_it_is_committed() {
    let fixture = Fixture::new();
    let database = fixture.database("a");
    let startup = database.start().await.unwrap();
    assert!(startup.bootstrapped);
    assert_eq!(startup.snapshot, None);
    database.save(initialised("one")).await.unwrap();
    assert!(!fixture.path("a").exists());

    database.commit_startup().await.unwrap();
    assert!(fixture.path("a").exists());
    assert!(!beside(&fixture.path("a"), NEW).exists());
    assert_eq!(stored_state(&database).await.as_deref(), Some("one"));
}

#[tokio::test]
async fn a_committed_start_is_complete_in_the_file_alone() {
    let fixture = Fixture::new();
    let database = fixture.database("a");
    database.start().await.unwrap();
    database.save(initialised("one")).await.unwrap();
    database.commit_startup().await.unwrap();

    let copy = fixture.path("copy");
    fs::copy(fixture.path("a"), &copy).unwrap();
    let state: Vec<u8> = inspect(&copy)
        .query_row("SELECT state FROM _rivet_actor_state", [], |row| row.get(0))
        .unwrap();
    assert_eq!(state, b"one");
}

#[tokio::test]
async fn closing_a_start_that_failed_keeps_what_it_wrote() {
    let fixture = Fixture::new();
    let database = fixture.database("a");
    database.start().await.unwrap();
    database.save(state_only("half")).await.unwrap();
    database.close().await.unwrap();

    let startup = database.start().await.unwrap();
    assert!(!startup.bootstrapped);
    assert_eq!(
        startup.snapshot, None,
        "there is no actor row, so no snapshot"
    );
}

#[tokio::test]
async fn starting_again_without_closing_sees_an_ordinary_database() {
    let fixture = Fixture::new();
    let database = fixture.database("a");
    database.start().await.unwrap();
    database.save(initialised("one")).await.unwrap();
    let startup = database.start().await.unwrap();
    assert!(!startup.bootstrapped);
    assert!(startup.snapshot.unwrap().has_initialized);
    assert!(fixture.path("a").exists());
}

#[tokio::test]
async fn committing_a_start_waits_for_the_open_transaction() {
    let fixture = Fixture::new();
    let database = fixture.database("a");
    database.start().await.unwrap();
    database
        .call(batch("CREATE TABLE t (x); BEGIN; INSERT INTO t VALUES (1)"))
        .await
        .unwrap();
    let commit = in_line(database.commit_startup()).await;
    // In line behind the commit, so the commit has been seen by now.
    database.call(batch("SELECT 1")).await.unwrap();
    assert!(!fixture.path("a").exists());

    database.call(batch("COMMIT")).await.unwrap();
    commit.await.unwrap();
    database.close().await.unwrap();
    let rows: i64 = inspect(&fixture.path("a"))
        .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 1);
}

#[tokio::test]
async fn a_large_first_start_is_published_early() {
    let fixture = Fixture::new();
    let database = fixture.database("a");
    database.start().await.unwrap();
    database
        .call(batch(
            "CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(20000000))",
        ))
        .await
        .unwrap();
    // The size is looked at after a job, so ask for the next one.
    database.call(batch("SELECT 1")).await.unwrap();
    assert!(fixture.path("a").exists());
    database.commit_startup().await.unwrap();
    database.call(batch("DROP TABLE t")).await.unwrap();
}

#[tokio::test]
async fn leftovers_of_a_crash_are_no_obstacle() {
    let fixture = Fixture::new();
    let path = fixture.path("a");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, b"").unwrap();
    fs::write(beside(&path, NEW), b"half an image").unwrap();
    fs::write(beside(&path, "-wal"), b"").unwrap();
    fs::write(beside(&path, "-journal"), b"stale").unwrap();

    let database = fixture.database("a");
    assert!(database.start().await.unwrap().bootstrapped);
    database.save(initialised("one")).await.unwrap();
    database.commit_startup().await.unwrap();
    assert_eq!(stored_state(&database).await.as_deref(), Some("one"));
    assert!(!beside(&path, NEW).exists());
    assert!(!beside(&path, "-journal").exists());
}

#[tokio::test]
async fn a_log_without_its_database_is_not_taken_for_a_new_actor() {
    let fixture = Fixture::new();
    let path = fixture.path("a");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(beside(&path, "-wal"), b"frames").unwrap();
    let error = fixture.database("a").start().await.unwrap_err();
    assert!(error.is(&code::ACTOR_CORRUPT), "{error}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_fails_the_commit_and_it_can_be_repeated() {
    let fixture = Fixture::new();
    let folder = fixture.folder.path().join("actors");
    let database = fixture.database("a");
    database.start().await.unwrap();
    database.save(initialised("one")).await.unwrap();
    fs::write(&folder, b"a file in the way").unwrap();
    let error = database.commit_startup().await.unwrap_err();
    assert!(error.is(&code::HOST_STORAGE_FAILED), "{error}");

    fs::remove_file(&folder).unwrap();
    database.commit_startup().await.unwrap();
    assert_eq!(stored_state(&database).await.as_deref(), Some("one"));
}

#[tokio::test]
async fn a_new_file_is_marked_for_a_write_ahead_log_and_has_none() {
    let fixture = Fixture::new();
    fixture.existing("a", "one").await;
    let header = fs::read(fixture.path("a")).unwrap();
    assert_eq!(&header[18..20], [2, 2]);
    assert!(!beside(&fixture.path("a"), "-wal").exists());
}

fn batch(
    sql: &'static str,
) -> impl FnOnce(&mut Connection) -> greenroom_error::Result<()> + Send + 'static {
    use crate::failure::SqlResult;
    move |conn| conn.execute_batch(sql).sql("run a test script")
}

#[tokio::test]
async fn a_new_database_gets_its_name_after_the_commit_that_it_waits_for() {
    let fixture = Fixture::new();
    let (pending, end) = PendingCommit::begin();
    let database = fixture.store.database_after(fixture.path("a"), pending);
    database.start().await.unwrap();
    database.save(initialised("one")).await.unwrap();
    let commit = in_line(database.commit_startup()).await;
    let temporary = beside(&fixture.path("a"), NEW);
    while !temporary.exists() {
        tokio::task::yield_now().await;
    }
    assert!(!fixture.path("a").exists());

    end.tell(Ok(()));
    commit.await.unwrap();
    assert!(fixture.path("a").exists() && !temporary.exists());
    assert_eq!(stored_state(&database).await.as_deref(), Some("one"));
}

#[tokio::test]
async fn a_new_database_whose_commit_failed_leaves_nothing_on_disk_or_in_memory() {
    let fixture = Fixture::new();
    let (pending, end) = PendingCommit::begin();
    let database = fixture.store.database_after(fixture.path("a"), pending);
    database.start().await.unwrap();
    database.save(initialised("one")).await.unwrap();
    end.tell(Err(Error::new(&code::HOST_STORAGE_FAILED)));
    let error = database.commit_startup().await.unwrap_err();
    assert!(error.is(&code::HOST_STORAGE_FAILED), "{error}");
    assert!(!fixture.path("a").exists());
    assert!(!beside(&fixture.path("a"), NEW).exists());
    open_at_most(&fixture.store, 0).await;
    database.close().await.expect("there is nothing to keep");
}

#[tokio::test]
async fn folders_are_made_ahead_with_one_sync_for_all() {
    let (disk, faults) = Disk::with_faults().unwrap();
    let fixture = Fixture::with(StoreOptions {
        disk,
        ..StoreOptions::default()
    });
    let path = |name: &str| fixture.folder.path().join(name).join("a.db");
    let paths: Vec<_> = ["x", "y", "z", "x"].map(path).to_vec();
    fixture.store.make_folders_of(&paths).unwrap();
    assert_eq!(faults.syncs(), 1);
    assert!(paths.iter().all(|path| path.parent().unwrap().is_dir()));
    fixture.store.make_folders_of(&paths).unwrap();
    assert_eq!(faults.syncs(), 1, "they were there");
}

#[tokio::test]
async fn a_folder_whose_name_could_not_be_synced_is_synced_before_a_file_in_it_counts() {
    let (disk, faults) = Disk::with_faults().unwrap();
    let fixture = Fixture::with(StoreOptions {
        disk,
        ..StoreOptions::default()
    });
    faults.set(Some(Fault::SyncError));
    let path = fixture.path("a");
    let made = fixture.store.make_folders_of(std::slice::from_ref(&path));
    assert!(made.is_err() && path.parent().unwrap().is_dir());
    faults.set(None);

    let before = faults.syncs();
    fixture.existing("a", "one").await;
    // The file, its name, the folder's name.
    assert_eq!(faults.syncs() - before, 3);
}
