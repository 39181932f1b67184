//! Open, use, close, wake, remove.

use std::fs;

use greenroom_error::{Error, code};
use rusqlite::Connection;

use super::fixture::{Fixture, conn_row, in_line, initialised, inspect, state_only, stored_state};
use crate::failure::SqlResult;
use crate::files::beside;
use crate::{SaveBatch, Snapshot, Store, StoreOptions};

#[tokio::test]
async fn a_save_is_there_after_a_restart() {
    let mut fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    let full = SaveBatch {
        conns: vec![conn_row("c2"), conn_row("c1")],
        last_pushed_alarm: Some(Some(1234)),
        run_wake_at: Some(Some(-5)),
        inspector_token: Some("token".to_owned()),
        ..initialised("two")
    };
    database.save(full).await.unwrap();

    fixture.restart().await;
    let startup = fixture.database("a").start().await.unwrap();
    assert!(!startup.bootstrapped);
    assert_eq!(
        startup.snapshot,
        Some(Snapshot {
            has_initialized: true,
            input: Some(b"input".to_vec()),
            state: b"two".to_vec(),
        })
    );
    assert_eq!(startup.last_pushed_alarm, Some(1234));
    assert_eq!(startup.run_wake_at, Some(-5));
    assert_eq!(startup.inspector_token.as_deref(), Some("token"));
    assert_eq!(startup.conns, vec![conn_row("c1"), conn_row("c2")]);
}

#[tokio::test]
async fn clearing_an_alarm_and_a_wake_is_stored() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    let set = |at: Option<i64>| SaveBatch {
        last_pushed_alarm: Some(at),
        run_wake_at: Some(at),
        ..SaveBatch::default()
    };
    database.save(set(Some(9))).await.unwrap();
    database.save(set(None)).await.unwrap();
    let startup = database.start().await.unwrap();
    assert_eq!(
        (startup.last_pushed_alarm, startup.run_wake_at),
        (None, None)
    );
    assert!(
        startup.snapshot.is_some(),
        "the other columns are untouched"
    );
}

#[tokio::test]
async fn a_closed_database_is_whole_for_another_program() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    database.save(state_only("two")).await.unwrap();
    database.close().await.unwrap();
    assert_eq!(fixture.store.open_count(), 0);
    let state: Vec<u8> = inspect(&fixture.path("a"))
        .query_row("SELECT state FROM _rivet_actor_state", [], |row| row.get(0))
        .unwrap();
    assert_eq!(state, b"two");
}

#[tokio::test]
async fn closing_rolls_back_a_transaction_left_open() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    database
        .call(|conn| {
            conn.execute_batch("BEGIN; DELETE FROM _rivet_actor_state")
                .sql("run a test script")
        })
        .await
        .unwrap();
    database.close().await.unwrap();
    assert_eq!(stored_state(&database).await.as_deref(), Some("one"));
}

#[tokio::test]
async fn closing_twice_and_closing_the_unopened_do_nothing() {
    let fixture = Fixture::new();
    let database = fixture.database("a");
    database.close().await.unwrap();
    database.commit_startup().await.unwrap();
    database.close().await.unwrap();
    assert!(!fixture.path("a").exists());
}

#[tokio::test]
async fn a_long_log_is_folded_into_the_file_at_close() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    for round in 0..8 {
        let state = round.to_string().repeat(100_000);
        database.save(state_only(&state)).await.unwrap();
    }
    database.close().await.unwrap();
    let log = fs::metadata(beside(&fixture.path("a"), "-wal")).unwrap();
    assert_eq!(log.len(), 0);
    assert_eq!(stored_state(&database).await.unwrap().len(), 100_000);
}

#[tokio::test]
async fn removing_deletes_every_file_and_later_saves_do_not_bring_it_back() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    database.save(state_only("two")).await.unwrap();
    database.remove().await.unwrap();
    let folder = fixture.path("a").parent().unwrap().to_owned();
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
    assert_eq!(fixture.store.open_count(), 0);

    let error = database.save(state_only("three")).await.unwrap_err();
    assert!(error.is(&code::SQLITE_CLOSED), "{error}");
    assert!(database.start().await.unwrap().bootstrapped);
}

#[tokio::test]
async fn removing_a_start_that_was_not_committed_leaves_nothing() {
    let fixture = Fixture::new();
    let database = fixture.database("a");
    database.start().await.unwrap();
    database.save(initialised("one")).await.unwrap();
    database.remove().await.unwrap();
    assert!(!fixture.path("a").exists());
    assert_eq!(fixture.store.open_count(), 0);
}

#[tokio::test]
async fn a_corrupt_file_is_reported_and_the_others_work() {
    let fixture = Fixture::new();
    fixture.existing("good", "one").await;
    fixture.existing("bad", "one").await;
    fs::write(fixture.path("bad"), vec![7; 8192]).unwrap();
    let bad = fixture.database("bad");
    let error = bad.start().await.unwrap_err();
    assert!(error.is(&code::ACTOR_CORRUPT), "{error}");
    assert_eq!(fs::read(fixture.path("bad")).unwrap(), vec![7; 8192]);
    assert_eq!(
        stored_state(&fixture.database("good")).await.as_deref(),
        Some("one")
    );
    assert_eq!(fixture.store.open_count(), 1);
}

#[tokio::test]
async fn closing_the_store_finishes_what_waits_and_refuses_the_rest() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    let mut waiting = Vec::new();
    for round in 0..50 {
        waiting.push(in_line(database.save(state_only(&round.to_string()))).await);
    }
    fixture.store.close().await;
    for save in waiting {
        save.await.unwrap();
    }
    assert_eq!(fixture.store.open_count(), 0);
    let error = database.start().await.unwrap_err();
    assert!(error.is(&code::SQLITE_CLOSED), "{error}");
    fixture.store.close().await;
}

#[tokio::test]
async fn closing_the_store_makes_an_uncommitted_start_durable() {
    let mut fixture = Fixture::new();
    let database = fixture.database("a");
    database.start().await.unwrap();
    database.save(initialised("one")).await.unwrap();
    fixture.restart().await;
    assert_eq!(
        stored_state(&fixture.database("a")).await.as_deref(),
        Some("one")
    );
}

#[tokio::test]
async fn dropping_the_store_ends_its_threads_and_closes_its_files() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    database.save(state_only("two")).await.unwrap();
    let path = fixture.path("a");
    let Fixture { store, folder } = fixture;
    drop(store);
    // The handle outlives the store; the file can be opened by a new one as
    // soon as the lanes have let go of it.
    let second = Store::new(StoreOptions::default());
    assert_eq!(
        stored_state(&second.database(path)).await.as_deref(),
        Some("two")
    );
    let error = database.start().await.unwrap_err();
    assert!(error.is(&code::SQLITE_CLOSED), "{error}");
    second.close().await;
    drop(folder);
}

#[tokio::test]
async fn a_panicking_job_fails_alone() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    let error = database
        .call::<()>(|conn: &mut Connection| {
            conn.execute_batch("BEGIN; DELETE FROM _rivet_actor_state")
                .sql("run a test script")?;
            panic!("on purpose")
        })
        .await
        .unwrap_err();
    assert!(error.is(&code::INTERNAL), "{error}");
    assert_eq!(stored_state(&database).await.as_deref(), Some("one"));
}

#[tokio::test]
async fn handles_of_one_path_share_one_connection() {
    let fixture = Fixture::new();
    let first = fixture.existing("a", "one").await;
    let second = fixture.database("a");
    first.save(state_only("two")).await.unwrap();
    assert_eq!(stored_state(&second).await.as_deref(), Some("two"));
    assert_eq!(fixture.store.open_count(), 1);
}

#[tokio::test]
async fn a_job_runs_though_its_caller_went_away() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    let (entered, inside) = tokio::sync::oneshot::channel();
    let (release, gate) = std::sync::mpsc::sync_channel::<()>(1);
    let call = tokio::spawn({
        let database = database.clone();
        async move {
            database
                .call(move |conn| {
                    let _ = entered.send(());
                    gate.recv().map_err(|_| Error::internal("gate"))?;
                    conn.execute_batch("UPDATE _rivet_actor_state SET state = x'74776f'")
                        .sql("run a test script")
                })
                .await
        }
    });
    inside.await.unwrap();
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    release.send(()).unwrap();
    assert_eq!(stored_state(&database).await.as_deref(), Some("two"));
}
