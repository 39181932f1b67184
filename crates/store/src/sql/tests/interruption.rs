//! Statements that do not end by themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use greenroom_error::code;

use super::{Actor, reason, statement};
use crate::{Guard, Interruption};

const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
    SELECT count(*) FROM n";

/// Stops at its `looks`-th look.
fn patient(looks: usize, why: Interruption) -> (Guard, Arc<AtomicUsize>) {
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&seen);
    let guard = move || (counter.fetch_add(1, Ordering::Relaxed) + 1 >= looks).then_some(why);
    (Box::new(guard), seen)
}

#[tokio::test]
async fn a_guard_stops_a_runaway_statement_and_says_why() {
    let actor = Actor::new().await;
    let (guard, _) = patient(50, Interruption::TimedOut(Duration::from_millis(1500)));
    let error = actor
        .sql
        .execute(statement(ENDLESS, []), Some(guard))
        .await
        .unwrap_err();
    assert!(error.is(&code::SQLITE_INTERRUPTED));
    assert_eq!(reason(&error), "it ran for more than 1500 ms");
    assert_eq!(actor.rows("SELECT 1").await, ["1"]);
}

#[tokio::test]
async fn a_statement_that_was_aborted_in_line_does_not_run() {
    let actor = Actor::new().await;
    actor.run("CREATE TABLE t (a)").await.unwrap();
    let (guard, _) = patient(1, Interruption::Aborted);
    let insert = statement("INSERT INTO t VALUES (1)", []);
    let error = actor.sql.execute(insert, Some(guard)).await.unwrap_err();
    assert!(error.is(&code::SQLITE_INTERRUPTED));
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["0"]);
}

#[tokio::test]
async fn an_interrupted_write_leaves_nothing_behind() {
    let actor = Actor::new().await;
    actor.run("CREATE TABLE t (a)").await.unwrap();
    let endless = "INSERT INTO t
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    let (guard, _) = patient(50, Interruption::Aborted);
    let error = actor
        .sql
        .execute(statement(endless, []), Some(guard))
        .await
        .unwrap_err();
    assert!(error.is(&code::SQLITE_INTERRUPTED));
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["0"]);
}

#[tokio::test]
async fn an_interrupted_batch_leaves_nothing_behind() {
    let actor = Actor::new().await;
    actor.run("CREATE TABLE t (a)").await.unwrap();
    let (guard, _) = patient(50, Interruption::Aborted);
    let batch = vec![
        statement("INSERT INTO t VALUES (1)", []),
        statement(ENDLESS, []),
    ];
    let error = actor
        .sql
        .execute_batch(batch, Some(guard))
        .await
        .unwrap_err();
    assert!(error.is(&code::SQLITE_INTERRUPTED));
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["0"]);
}

#[tokio::test]
async fn a_statement_inside_a_transaction_can_be_stopped_without_ending_it() {
    let actor = Actor::new().await;
    actor.run("CREATE TABLE t (a)").await.unwrap();
    let tx = actor.begin().await;
    tx.execute(statement("INSERT INTO t VALUES (1)", []), None)
        .await
        .unwrap();
    let (guard, _) = patient(50, Interruption::Aborted);
    let error = tx
        .execute(statement(ENDLESS, []), Some(guard))
        .await
        .unwrap_err();
    assert!(error.is(&code::SQLITE_INTERRUPTED));
    tx.commit().await.unwrap();
    assert_eq!(actor.rows("SELECT a FROM t").await, ["1"]);
}

#[tokio::test]
async fn closing_the_handle_stops_what_runs_and_drops_what_waits() {
    let actor = Actor::new().await;
    let (entered, inside) = tokio::sync::oneshot::channel();
    let mut entered = Some(entered);
    let guard: Guard = Box::new(move || {
        if let Some(entered) = entered.take() {
            let _ = entered.send(());
        }
        None
    });
    let sql = actor.sql.clone();
    let endless =
        tokio::spawn(async move { sql.execute(statement(ENDLESS, []), Some(guard)).await });
    inside.await.unwrap();
    let waiting = crate::tests::fixture::in_line(actor.run("SELECT 1")).await;
    actor.sql.close().await.unwrap();
    let error = endless.await.unwrap().unwrap_err();
    assert!(error.is(&code::SQLITE_INTERRUPTED));
    assert_eq!(reason(&error), "the actor is stopping");
    assert!(
        waiting
            .await
            .unwrap_err()
            .is(&code::SQLITE_TRANSACTION_CLOSED)
    );
}
