//! Saves: atomic, in order, sharing commits, within limits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use greenroom_error::{Error, code};

use super::fixture::{Fixture, conn_row, in_line, initialised, inspect, state_only, stored_state};
use crate::failure::SqlResult;
use crate::slot::QUEUE_CAPACITY;
use crate::tables::wf_kv;
use crate::{Database, SaveBatch, WorkflowWrite};

/// Occupies the database's lane until the returned sender is used.
async fn hold(database: &Database) -> mpsc::SyncSender<()> {
    let (release, gate) = mpsc::sync_channel(1);
    let (entered, inside) = tokio::sync::oneshot::channel();
    let database = database.clone();
    tokio::spawn(async move {
        database
            .call(move |_| {
                let _ = entered.send(());
                let _ = gate.recv();
                Ok(())
            })
            .await
    });
    inside.await.unwrap();
    release
}

#[tokio::test]
async fn writes_that_wait_together_share_one_commit() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    let commits = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&commits);
    database
        .call(move |conn| {
            conn.commit_hook(Some(move || {
                counter.fetch_add(1, Ordering::Relaxed);
                false
            }));
            Ok(())
        })
        .await
        .unwrap();
    let release = hold(&database).await;
    let mut saves = Vec::new();
    for round in 0..64 {
        saves.push(in_line(database.save(state_only(&round.to_string()))).await);
    }
    release.send(()).unwrap();
    for save in saves {
        save.await.unwrap();
    }
    assert_eq!(commits.load(Ordering::Relaxed), 1);
    assert_eq!(stored_state(&database).await.as_deref(), Some("63"));
}

#[tokio::test]
async fn a_failing_write_takes_back_its_own_changes_only() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    let release = hold(&database).await;
    let good = in_line(insert(&database, "good", false)).await;
    let bad = in_line(insert(&database, "bad", true)).await;
    let late = in_line(insert(&database, "late", false)).await;
    release.send(()).unwrap();
    good.await.unwrap();
    assert!(bad.await.unwrap_err().is(&code::INTERNAL));
    late.await.unwrap();
    database.close().await.unwrap();
    let conn = inspect(&fixture.path("a"));
    let mut statement = conn
        .prepare("SELECT CAST(key AS TEXT) FROM _rivet_user_kv ORDER BY key")
        .unwrap();
    let keys: Vec<String> = statement
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(keys, ["good", "late"]);
}

async fn insert(
    database: &Database,
    key: &'static str,
    fails: bool,
) -> greenroom_error::Result<()> {
    database
        .write(move |conn| {
            conn.execute(
                "INSERT INTO _rivet_user_kv VALUES (?1, x'')",
                [key.as_bytes()],
            )
            .sql("insert")?;
            if fails {
                Err(Error::internal("on purpose"))
            } else {
                Ok(())
            }
        })
        .await
}

#[tokio::test]
async fn a_panicking_write_is_undone_and_reported() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    let error = database
        .write::<()>(|conn| {
            conn.execute("DELETE FROM _rivet_actor_state", [])
                .sql("delete")?;
            panic!("on purpose")
        })
        .await
        .unwrap_err();
    assert!(error.is(&code::INTERNAL), "{error}");
    assert_eq!(stored_state(&database).await.as_deref(), Some("one"));
}

#[tokio::test]
async fn a_save_behind_an_open_transaction_waits_for_its_end() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    database
        .call(|conn| conn.execute_batch("BEGIN").sql("begin"))
        .await
        .unwrap();
    let save = in_line(database.save(state_only("two"))).await;
    database
        .call(|conn| conn.execute_batch("ROLLBACK").sql("roll back"))
        .await
        .unwrap();
    save.await.unwrap();
    assert_eq!(stored_state(&database).await.as_deref(), Some("two"));
}

#[tokio::test]
async fn only_a_bounded_number_of_jobs_may_wait() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    let release = hold(&database).await;
    let mut waiting = Vec::new();
    for _ in 0..QUEUE_CAPACITY {
        waiting.push(in_line(database.save(state_only("two"))).await);
    }
    let error = database.save(state_only("three")).await.unwrap_err();
    assert!(error.is(&code::ACTOR_OVERLOADED), "{error}");
    assert_eq!(error.metadata().unwrap()["channel"], "sqlite_worker");
    let close = in_line(database.close()).await;
    release.send(()).unwrap();
    for save in waiting {
        save.await.unwrap();
    }
    close.await.unwrap();
}

#[tokio::test]
async fn the_fixed_side_of_a_connection_is_written_once() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    let save = |row| SaveBatch {
        conns: vec![row],
        ..SaveBatch::default()
    };
    database.save(save(conn_row("c"))).await.unwrap();
    let mut changed = conn_row("c");
    changed.parameters = b"other".to_vec();
    changed.state = b"newer".to_vec();
    changed.client_message_index = 4;
    database.save(save(changed.clone())).await.unwrap();
    changed.parameters = conn_row("c").parameters;
    assert_eq!(database.start().await.unwrap().conns, vec![changed]);
}

#[tokio::test]
async fn a_removal_beats_a_write_of_the_same_connection() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    database
        .save(SaveBatch {
            conns: vec![conn_row("kept"), conn_row("gone")],
            removed_conns: vec!["gone".to_owned(), "never".to_owned()],
            ..SaveBatch::default()
        })
        .await
        .unwrap();
    assert_eq!(
        database.start().await.unwrap().conns,
        vec![conn_row("kept")]
    );
}

#[tokio::test]
async fn half_a_connection_is_none_and_a_damaged_one_is_an_error() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    database
        .save(SaveBatch {
            conns: vec![conn_row("half"), conn_row("bad")],
            ..SaveBatch::default()
        })
        .await
        .unwrap();
    database
        .call(|conn| {
            conn.execute("DELETE FROM _rivet_conn_state WHERE conn_id = 'half'", [])
                .sql("delete")
        })
        .await
        .unwrap();
    assert_eq!(database.start().await.unwrap().conns, vec![conn_row("bad")]);
    database
        .call(|conn| {
            conn.execute("UPDATE _rivet_conns SET gateway_id = x'0102'", [])
                .sql("update")
        })
        .await
        .unwrap();
    let error = database.start().await.unwrap_err();
    assert!(error.is(&code::PROTOCOL_INVALID_PERSISTED_DATA), "{error}");
}

fn workflow(rows: usize, value: usize) -> SaveBatch {
    SaveBatch {
        workflow: (0..rows)
            .map(|row| WorkflowWrite {
                key: row.to_be_bytes().to_vec(),
                value: vec![1; value],
            })
            .collect(),
        ..SaveBatch::default()
    }
}

#[tokio::test]
async fn workflow_writes_carry_their_prefix_once_and_repeat_safely() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    for _ in 0..2 {
        database.save(workflow(1, 3)).await.unwrap();
    }
    let keys: Vec<Vec<u8>> = database
        .call(|conn| {
            let mut statement = conn.prepare("SELECT key FROM _rivet_wf_kv").sql("read")?;
            let rows = statement.query_map([], |row| row.get(0)).sql("read")?;
            rows.collect::<rusqlite::Result<_>>().sql("read")
        })
        .await
        .unwrap();
    assert_eq!(keys, [[&wf_kv::PREFIX[..], &[0; 8]].concat()]);
}

#[tokio::test]
async fn a_workflow_unit_over_its_budget_is_rejected_whole() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    let with_state = |batch: SaveBatch| SaveBatch {
        state: state_only("two").state,
        ..batch
    };
    for refused in [
        workflow(1, 256 * 1024 + 1),
        workflow(128, 1),
        workflow(3, 200 * 1024),
    ] {
        let error = database.save(with_state(refused)).await.unwrap_err();
        assert!(error.is(&code::ACTOR_INVALID_OPERATION), "{error}");
        assert_eq!(stored_state(&database).await.as_deref(), Some("one"));
    }
    for accepted in [workflow(1, 256 * 1024), workflow(127, 1)] {
        database.save(with_state(accepted)).await.unwrap();
    }
}

#[tokio::test]
async fn a_large_state_without_workflow_has_no_budget() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "one").await;
    let large = "x".repeat(3_000_000);
    database.save(state_only(&large)).await.unwrap();
    assert_eq!(stored_state(&database).await.unwrap().len(), 3_000_000);
}

#[tokio::test]
async fn a_save_before_any_start_creates_nothing() {
    let fixture = Fixture::new();
    let error = fixture
        .database("a")
        .save(initialised("one"))
        .await
        .unwrap_err();
    assert!(error.is(&code::SQLITE_CLOSED), "{error}");
    assert!(!fixture.path("a").exists());
}
