//! Who waits for a transaction, and what becomes of them.

use greenroom_error::code;

use super::{counting, insert, options, statement, text};
use crate::Guard;
use crate::sql::job::WAITING_MAX;
use crate::tests::fixture::{in_line, state_only, stored_state};

#[tokio::test]
async fn others_wait_in_order_and_go_on_when_it_ends() {
    let actor = counting().await;
    let tx = actor.begin().await;
    let save = in_line(actor.database.save(state_only("two"))).await;
    let read = in_line(actor.run("SELECT count(*) FROM t")).await;
    let second = in_line(actor.sql.begin_transaction(options("second"))).await;
    let behind = in_line(actor.run("SELECT count(*) FROM t")).await;
    insert(&tx, "first").await;
    tx.commit().await.unwrap();
    save.await.unwrap();
    assert_eq!(super::shown(&read.await.unwrap()), ["1"]);
    let second = second.await.unwrap();
    insert(&second, "second").await;
    second.commit().await.unwrap();
    assert_eq!(super::shown(&behind.await.unwrap()), ["2"]);
    assert_eq!(stored_state(&actor.database).await.as_deref(), Some("two"));
}

/// Two transactions of three steps each, in each of the 20 orders in which their
/// steps may be asked for: the outcome is always that of one after the other.
#[tokio::test]
async fn two_callers_interleaved_in_every_order_are_one_after_the_other() {
    for order in 0_u32..64 {
        if order.count_ones() != 3 {
            continue;
        }
        let actor = counting().await;
        let steps = |by: &'static str| {
            let sql = actor.sql.clone();
            let (go, mut may) = tokio::sync::mpsc::channel::<()>(3);
            let task = tokio::spawn(async move {
                may.recv().await;
                let tx = sql.begin_transaction(options(by)).await.unwrap();
                may.recv().await;
                for _ in 0..2 {
                    insert(&tx, by).await;
                }
                may.recv().await;
                if by == "a" {
                    tx.commit().await
                } else {
                    tx.rollback().await
                }
            });
            (go, task)
        };
        let (a, b) = (steps("a"), steps("b"));
        for step in 0..6 {
            let go = if order & (1 << step) != 0 { &a.0 } else { &b.0 };
            go.try_send(()).unwrap();
            tokio::task::yield_now().await;
        }
        a.1.await.unwrap().unwrap();
        b.1.await.unwrap().unwrap();
        assert_eq!(
            actor.rows("SELECT by FROM t").await,
            ["a", "a"],
            "order {order:06b}"
        );
    }
}

#[tokio::test]
async fn a_dropped_handle_rolls_back_and_lets_others_on() {
    let actor = counting().await;
    let tx = actor.begin().await;
    insert(&tx, "lost").await;
    let count = in_line(actor.run("SELECT count(*) FROM t")).await;
    drop(tx);
    assert_eq!(super::shown(&count.await.unwrap()), ["0"]);
}

#[tokio::test]
async fn a_begin_whose_caller_left_does_not_stay_open() {
    let actor = counting().await;
    let tx = actor.begin().await;
    let forgotten = in_line(actor.sql.begin_transaction(options("forgotten"))).await;
    let count = in_line(actor.run("SELECT count(*) FROM t")).await;
    drop(forgotten);
    tx.commit().await.unwrap();
    assert_eq!(super::shown(&count.await.unwrap()), ["0"]);
}

#[tokio::test]
async fn a_statement_whose_caller_left_is_carried_out() {
    let actor = counting().await;
    let tx = actor.begin().await;
    drop(in_line(actor.run("INSERT INTO t (by) VALUES ('left')")).await);
    tx.commit().await.unwrap();
    assert_eq!(actor.rows("SELECT by FROM t").await, ["left"]);
}

#[tokio::test]
async fn expiry_rolls_back_and_fails_what_users_sent_meanwhile() {
    let actor = counting().await;
    let tx = actor.begin().await;
    insert(&tx, "lost").await;
    let user = in_line(actor.run("SELECT 1")).await;
    let nested = in_line(actor.sql.begin_transaction(options("nested"))).await;
    let save = in_line(actor.database.save(state_only("two"))).await;
    tx.deadline().expire();
    for error in [user.await.unwrap_err(), nested.await.unwrap_err()] {
        assert!(error.is(&code::SQLITE_TRANSACTION_EXPIRED));
        assert_eq!(error.metadata().unwrap()["timeout_ms"], 60_000);
    }
    save.await.unwrap();
    for outcome in [
        tx.execute(statement("SELECT 1", []), None).await.map(drop),
        tx.commit().await,
        tx.rollback().await,
    ] {
        assert!(outcome.unwrap_err().is(&code::SQLITE_TRANSACTION_EXPIRED));
    }
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["0"]);
}

#[tokio::test]
async fn a_commit_before_the_deadline_wins_and_poisons_nobody() {
    let actor = counting().await;
    let tx = actor.begin().await;
    insert(&tx, "kept").await;
    let waiting = in_line(actor.run("SELECT count(*) FROM t")).await;
    let commit = in_line(tx.commit()).await;
    tx.deadline().expire();
    commit.await.unwrap();
    assert_eq!(super::shown(&waiting.await.unwrap()), ["1"]);
    assert!(
        tx.commit()
            .await
            .unwrap_err()
            .is(&code::SQLITE_TRANSACTION_TERMINAL)
    );
}

#[tokio::test]
async fn the_deadline_learns_of_the_end_and_does_not_keep_a_handle_alive() {
    let actor = counting().await;
    let tx = actor.begin().await;
    let deadline = tx.deadline();
    let ended = tokio::spawn(async move {
        deadline.ended().await;
        deadline.expire();
    });
    drop(tx);
    ended.await.unwrap();
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["0"]);
}

#[tokio::test]
async fn the_line_is_bounded_and_a_transaction_gets_through_a_full_one() {
    let actor = counting().await;
    let tx = actor.begin().await;
    let mut waiting = Vec::new();
    for _ in 0..WAITING_MAX {
        waiting.push(in_line(actor.run("SELECT 1")).await);
    }
    let error = actor.run("SELECT 1").await.unwrap_err();
    assert!(error.is(&code::SQLITE_TRANSACTION_QUEUE_FULL));
    assert!(error.message().contains("128"));
    let save = in_line(actor.database.save(state_only("two"))).await;
    insert(&tx, "through").await;
    tx.commit().await.unwrap();
    for call in waiting {
        call.await.unwrap();
    }
    save.await.unwrap();
    actor.run("SELECT 1").await.unwrap();
}

#[tokio::test]
async fn an_ordinary_begin_is_tolerated_and_holds_up_saves_only() {
    let actor = counting().await;
    let mut explicit = actor.database.subscribe_explicit_transaction();
    assert!(!*explicit.borrow());
    actor.run("BEGIN").await.unwrap();
    explicit.wait_for(|open| *open).await.unwrap();
    let save = in_line(actor.database.save(state_only("two"))).await;
    actor.run("INSERT INTO t (by) VALUES ('x')").await.unwrap();
    let error = actor.sql.begin_transaction(options("k")).await.unwrap_err();
    assert!(text(&error).contains("cannot start a transaction within a transaction"));
    actor.run("ROLLBACK").await.unwrap();
    save.await.unwrap();
    explicit.wait_for(|open| !*open).await.unwrap();
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["0"]);
    assert_eq!(stored_state(&actor.database).await.as_deref(), Some("two"));
}

#[tokio::test]
async fn a_deadline_stops_the_statement_that_runs_and_those_behind_it() {
    let actor = counting().await;
    let tx = actor.begin().await;
    insert(&tx, "slow").await;
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
        SELECT max(i) FROM n";
    let running = in_line(tx.execute(statement(endless, []), None)).await;
    let behind = in_line(tx.execute(statement("SELECT 1", []), None)).await;
    tx.deadline().expire();
    for stopped in [running, behind] {
        let error = stopped.await.unwrap_err();
        assert!(error.is(&code::SQLITE_TRANSACTION_EXPIRED), "{error}");
    }
    let error = tx.commit().await.unwrap_err();
    assert!(error.is(&code::SQLITE_TRANSACTION_EXPIRED), "{error}");
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["0"]);
}

#[tokio::test]
async fn a_deadline_does_not_stop_what_a_commit_stands_behind() {
    let actor = counting().await;
    let tx = actor.begin().await;
    // The statement begins once the gate is open.
    let (open, gate) = std::sync::mpsc::sync_channel::<()>(1);
    let mut waits = true;
    let guard: Guard = Box::new(move || {
        if std::mem::take(&mut waits) {
            gate.recv().unwrap();
        }
        None
    });
    let long = "INSERT INTO t (by) WITH RECURSIVE n(i) AS
        (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT 'long' FROM n";
    let running = in_line(tx.execute(statement(long, []), Some(guard))).await;
    let commit = in_line(tx.commit()).await;
    tx.deadline().expire();
    open.send(()).unwrap();
    running.await.unwrap();
    commit.await.unwrap();
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["20000"]);
}
