//! The end of a life: handles closed, transactions left open, files removed.

use greenroom_error::code;

use super::{Actor, options, statement};
use crate::tests::fixture::{in_line, state_only, stored_state};

#[tokio::test]
async fn a_transaction_left_open_is_rolled_back_and_saves_behind_it_are_kept() {
    let actor = Actor::new().await;
    actor.run("CREATE TABLE t (a)").await.unwrap();
    let tx = actor.begin().await;
    tx.execute(statement("INSERT INTO t VALUES (1)", []), None)
        .await
        .unwrap();
    let save = in_line(actor.database.save(state_only("two"))).await;
    actor.sql.close().await.unwrap();
    save.await.unwrap();
    actor.database.close().await.unwrap();
    let error = tx.commit().await.unwrap_err();
    assert!(error.is(&code::SQLITE_TRANSACTION_CLOSED));
    assert_eq!(stored_state(&actor.database).await.as_deref(), Some("two"));
    let next = actor.database.user_sql();
    let count = next
        .execute(statement("SELECT count(*) FROM t", []), None)
        .await
        .unwrap();
    assert_eq!(super::shown(&count), ["0"]);
}

#[tokio::test]
async fn an_ordinary_begin_left_open_is_rolled_back() {
    let actor = Actor::new().await;
    actor.run("CREATE TABLE t (a)").await.unwrap();
    actor.run("BEGIN").await.unwrap();
    actor.run("INSERT INTO t VALUES (1)").await.unwrap();
    let save = in_line(actor.database.save(state_only("two"))).await;
    actor.sql.end_transactions().await.unwrap();
    save.await.unwrap();
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["0"]);
}

#[tokio::test]
async fn winding_down_ends_transactions_and_lets_statements_run() {
    let actor = Actor::new().await;
    actor.run("CREATE TABLE t (a)").await.unwrap();
    let tx = actor.begin().await;
    let save = in_line(actor.database.save(state_only("two"))).await;
    actor.sql.wind_down().await.unwrap();
    save.await.unwrap();
    assert!(tx.commit().await.is_err());
    let begin = actor.sql.begin_transaction(options("late")).await;
    assert!(begin.unwrap_err().is(&code::SQLITE_TRANSACTION_CLOSED));
    let begin = actor.run("BEGIN").await.unwrap_err();
    assert!(begin.is(&code::SQLITE_FORBIDDEN));
    actor.run("INSERT INTO t VALUES (1)").await.unwrap();
    let batch = vec![statement("INSERT INTO t VALUES (2)", [])];
    actor.sql.execute_batch(batch, None).await.unwrap();
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["2"]);
}

#[tokio::test]
async fn a_closed_handle_refuses_everything_and_the_next_life_has_its_own() {
    let actor = Actor::new().await;
    actor.sql.close().await.unwrap();
    for outcome in [
        actor.run("SELECT 1").await.map(drop),
        actor.sql.exec("SELECT 1".to_owned(), None).await.map(drop),
        actor.sql.execute_batch(Vec::new(), None).await.map(drop),
        actor.sql.begin_transaction(options("k")).await.map(drop),
    ] {
        assert!(outcome.unwrap_err().is(&code::SQLITE_TRANSACTION_CLOSED));
    }
    actor.database.save(state_only("two")).await.unwrap();
    let next = actor.database.user_sql();
    next.execute(statement("SELECT 1", []), None).await.unwrap();
}

#[tokio::test]
async fn a_begin_that_waits_while_its_handle_closes_is_refused() {
    let actor = Actor::new().await;
    let tx = actor.begin().await;
    let second = in_line(actor.sql.begin_transaction(options("second"))).await;
    actor.sql.close().await.unwrap();
    assert!(
        second
            .await
            .unwrap_err()
            .is(&code::SQLITE_TRANSACTION_CLOSED)
    );
    drop(tx);
}

#[tokio::test]
async fn a_store_that_closes_answers_those_who_wait_for_a_transaction() {
    let actor = Actor::new().await;
    let tx = actor.begin().await;
    let statement = in_line(actor.run("SELECT 1")).await;
    let save = in_line(actor.database.save(state_only("two"))).await;
    // Until the lane has taken note of both.
    tx.execute(super::statement("SELECT 1", []), None)
        .await
        .unwrap();
    actor.fixture.store.close().await;
    assert!(statement.await.unwrap_err().is(&code::SQLITE_CLOSED));
    assert!(save.await.unwrap_err().is(&code::SQLITE_CLOSED));
    assert!(tx.commit().await.unwrap_err().is(&code::SQLITE_CLOSED));
}

#[tokio::test]
async fn a_removed_database_is_not_brought_back_by_a_statement() {
    let actor = Actor::new().await;
    let tx = actor.begin().await;
    actor.database.remove().await.unwrap();
    assert!(
        actor
            .run("SELECT 1")
            .await
            .unwrap_err()
            .is(&code::SQLITE_CLOSED)
    );
    assert!(
        tx.commit()
            .await
            .unwrap_err()
            .is(&code::SQLITE_TRANSACTION_CLOSED)
    );
    assert!(!actor.fixture.path("a").exists());
}

#[tokio::test]
async fn what_is_left_of_a_life_does_not_touch_the_transactions_of_the_next() {
    let actor = Actor::new().await;
    actor.run("CREATE TABLE t (a)").await.unwrap();
    actor.sql.close().await.unwrap();
    actor.database.close().await.unwrap();
    let next = actor.database.user_sql();
    let tx = next.begin_transaction(options("next")).await.unwrap();
    actor.sql.end_transactions().await.unwrap();
    actor.sql.wind_down().await.unwrap();
    actor.sql.close().await.unwrap();
    tx.execute(statement("INSERT INTO t VALUES (1)", []), None)
        .await
        .unwrap();
    tx.commit().await.unwrap();
}
