//! A failing disk: the failure is told, what was acknowledged stays, and all
//! works again when the disk does.

use greenroom_error::code;
use tempfile::TempDir;

use super::fixture::{Fixture, initialised, inspect, open_at_most, state_only, stored_state};
use crate::failure::SqlResult;
use crate::files::beside;
use crate::{Database, Directory, Disk, Fault, Faults, NewActor, StoreOptions};

const ALL: [Fault; 4] = [
    Fault::WriteError,
    Fault::SyncError,
    Fault::Full,
    Fault::ShortWrite,
];

fn faulty() -> (Fixture, Faults) {
    let (disk, faults) = Disk::with_faults().unwrap();
    let options = StoreOptions {
        disk,
        ..StoreOptions::default()
    };
    (Fixture::with(options), faults)
}

async fn assert_save_fails(database: &Database, fault: Fault) {
    let error = database.save(state_only("lost")).await.unwrap_err();
    assert!(error.is(&code::HOST_STORAGE_FAILED), "{fault:?}: {error}");
}

#[tokio::test]
async fn a_save_that_fails_is_told_and_leaves_the_last_good_state() {
    for fault in ALL {
        let (fixture, faults) = faulty();
        let database = fixture.existing("a", "one").await;
        database.save(state_only("two")).await.unwrap();
        faults.set(Some(fault));
        assert_save_fails(&database, fault).await;
        assert_eq!(stored_state(&database).await.as_deref(), Some("two"));

        faults.set(None);
        database.save(state_only("three")).await.unwrap();
        database.close().await.unwrap();
        assert_eq!(stored_state(&database).await.as_deref(), Some("three"));
        database.close().await.unwrap();
        drop(inspect(&fixture.path("a")));
    }
}

#[tokio::test]
async fn a_failed_save_does_not_come_back_after_a_close() {
    for fault in ALL {
        let (fixture, faults) = faulty();
        let database = fixture.existing("a", "one").await;
        database.save(state_only("two")).await.unwrap();
        faults.set(Some(fault));
        assert_save_fails(&database, fault).await;
        faults.set(None);
        database.close().await.unwrap();
        assert_eq!(
            stored_state(&database).await.as_deref(),
            Some("two"),
            "{fault:?}"
        );
    }
}

#[tokio::test]
async fn a_database_can_be_closed_and_read_while_the_disk_fails() {
    for fault in ALL {
        let (fixture, faults) = faulty();
        let database = fixture.existing("a", "one").await;
        database.save(state_only("two")).await.unwrap();
        faults.set(Some(fault));
        database.close().await.unwrap();
        assert_eq!(
            stored_state(&database).await.as_deref(),
            Some("two"),
            "{fault:?}"
        );
        assert_eq!(fixture.store.open_count(), 1);
    }
}

#[tokio::test]
async fn a_first_start_that_cannot_be_made_durable_can_be_repeated() {
    for fault in ALL {
        let (fixture, faults) = faulty();
        let database = fixture.database("a");
        database.start().await.unwrap();
        database.save(initialised("one")).await.unwrap();
        faults.set(Some(fault));
        let error = database.commit_startup().await.unwrap_err();
        assert!(error.is(&code::HOST_STORAGE_FAILED), "{fault:?}: {error}");
        assert!(!fixture.path("a").exists(), "{fault:?}");
        let error = database.close().await.unwrap_err();
        assert!(error.is(&code::HOST_STORAGE_FAILED), "{fault:?}: {error}");

        faults.set(None);
        database.commit_startup().await.unwrap();
        assert_eq!(stored_state(&database).await.as_deref(), Some("one"));
    }
}

#[tokio::test]
async fn writes_that_shared_a_failed_commit_all_hear_of_it() {
    let (fixture, faults) = faulty();
    let database = fixture.existing("a", "one").await;
    faults.set(Some(Fault::SyncError));
    let saves: Vec<_> = (0..16)
        .map(|_| {
            let database = database.clone();
            tokio::spawn(async move { database.save(state_only("lost")).await })
        })
        .collect();
    for save in saves {
        let error = save.await.unwrap().unwrap_err();
        assert!(error.is(&code::HOST_STORAGE_FAILED), "{error}");
    }
    assert_eq!(stored_state(&database).await.as_deref(), Some("one"));
}

#[tokio::test]
async fn closing_the_store_over_a_failed_disk_ends() {
    let (fixture, faults) = faulty();
    fixture.database("new").start().await.unwrap();
    let database = fixture.existing("old", "one").await;
    database.save(state_only("two")).await.unwrap();
    faults.set(Some(Fault::Full));
    fixture.store.close().await;
    open_at_most(&fixture.store, 0).await;
    assert!(!fixture.path("new").exists());
}

#[tokio::test]
async fn a_checkpoint_that_fails_at_close_is_made_up_for_later() {
    let (fixture, faults) = faulty();
    let database = fixture.existing("a", "one").await;
    for round in 0..8 {
        let state = round.to_string().repeat(100_000);
        database.save(state_only(&state)).await.unwrap();
    }
    faults.set(Some(Fault::SyncError));
    database.close().await.unwrap();
    let log = beside(&fixture.path("a"), "-wal");
    assert!(std::fs::metadata(&log).unwrap().len() > 500_000);
    faults.set(None);
    assert_eq!(stored_state(&database).await.unwrap().len(), 100_000);
    database.close().await.unwrap();
    assert_eq!(std::fs::metadata(&log).unwrap().len(), 0);
}

/// What a save costs, so that a change of it is noticed.
#[tokio::test]
async fn syncs_are_as_few_as_the_promise_allows() {
    let (fixture, faults) = faulty();
    fixture.existing("folder", "one").await;
    let database = fixture.database("a");
    let mut seen = faults.syncs();
    let mut spent = || {
        let now = faults.syncs();
        now - std::mem::replace(&mut seen, now)
    };
    database.start().await.unwrap();
    database.save(initialised("one")).await.unwrap();
    assert_eq!(spent(), 0, "a first start holds its writes back");
    database.commit_startup().await.unwrap();
    assert_eq!(spent(), 2, "the file, and its name");
    database.save(state_only("two")).await.unwrap();
    assert_eq!(spent(), 3, "the new log's head, its name, and the commit");
    database.save(state_only("three")).await.unwrap();
    assert_eq!(spent(), 1, "the commit");
    database.close().await.unwrap();
    assert_eq!(spent(), 0, "a short log stays as it is");
    database.start().await.unwrap();
    assert_eq!(spent(), 0, "a wake reads");
    database
        .call(|conn| conn.execute_batch("SELECT 1").sql("read"))
        .await
        .unwrap();
    database.close().await.unwrap();
    assert_eq!(spent(), 0);
}

#[tokio::test]
async fn a_disk_that_is_not_synced_keeps_what_a_process_leaves_behind() {
    let options = StoreOptions {
        disk: Disk::unsynced().unwrap(),
        ..StoreOptions::default()
    };
    let fixture = Fixture::with(options);
    let database = fixture.existing("a", "one").await;
    database.save(state_only("two")).await.unwrap();
    database.close().await.unwrap();
    assert_eq!(stored_state(&database).await.as_deref(), Some("two"));
    database.close().await.unwrap();
    // On the real disk, as another process would.
    drop(inspect(&fixture.path("a")));
}

async fn directory(folder: &TempDir) -> (Directory, Faults) {
    let (disk, faults) = Disk::with_faults().unwrap();
    let path = folder.path().join("directory.db");
    (Directory::open_on(disk, path).await.unwrap(), faults)
}

fn actor(id: &str) -> NewActor {
    NewActor {
        id: id.to_owned(),
        name: "chat".to_owned(),
        key: id.to_owned(),
        input: None,
        create_ts: 1,
    }
}

#[tokio::test]
async fn the_directory_tells_of_a_failed_commit_and_goes_on_after_it() {
    for fault in ALL {
        let folder = tempfile::tempdir().unwrap();
        let (directory, faults) = directory(&folder).await;
        directory.create(actor("a")).await.unwrap();
        faults.set(Some(fault));
        let error = directory.create(actor("b")).await.unwrap_err();
        assert!(error.is(&code::HOST_STORAGE_FAILED), "{fault:?}: {error}");
        assert!(directory.by_id("a").await.unwrap().is_some());
        assert_eq!(directory.by_id("b").await.unwrap(), None);
        faults.set(None);
        directory.create(actor("b")).await.unwrap();
        directory.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_generation_answered_before_a_failed_commit_is_not_given_again() {
    let folder = tempfile::tempdir().unwrap();
    let (directory, faults) = directory(&folder).await;
    directory.create(actor("a")).await.unwrap();
    let first = directory.next_generation("a").await.unwrap();
    faults.set(Some(Fault::WriteError));
    let second = directory.next_generation("a").await.unwrap();
    // Answered after the failed turn, so the failure has been noticed.
    directory.by_id("a").await.unwrap();
    faults.set(None);
    let third = directory.next_generation("a").await.unwrap();
    assert!(first < second && second < third, "{first} {second} {third}");
}

#[tokio::test]
async fn notes_in_the_directory_cost_no_sync() {
    let folder = tempfile::tempdir().unwrap();
    let (directory, faults) = directory(&folder).await;
    directory.create(actor("a")).await.unwrap();
    let before = faults.syncs();
    directory.next_generation("a").await.unwrap();
    directory.note_started("a", 5).await.unwrap();
    directory.note_slept("a", 6).await.unwrap();
    directory.by_id("a").await.unwrap();
    assert_eq!(faults.syncs(), before);
    directory.set_alarm("a", Some(7)).await.unwrap();
    assert_eq!(faults.syncs(), before + 1);
}
