//! The first start of an actor: corked until it is complete.

use std::fs;

use greenroom_error::code;
use rusqlite::Connection;

use super::fixture::{Fixture, in_line, initialised, inspect, state_only, stored_state};
use crate::files::{NEW, beside};

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
