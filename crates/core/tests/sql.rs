//! User SQL of one generation: time limits, its end, and saves around it.

mod fixture;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fixture::{World, ask, settle};
use greenroom_core::*;
use greenroom_error::{Error, Result, code};
use greenroom_store::{ExecuteResult, SqlStatement, SqlValue};

const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
    SELECT count(*) FROM n";

fn statement(sql: &str) -> SqlStatement {
    SqlStatement::new(sql, Vec::new())
}

async fn run(sql: &ActorSql, text: &str) -> Result<ExecuteResult> {
    sql.execute(statement(text), SqlCallOptions::default())
        .await
}

async fn count(sql: &ActorSql) -> i64 {
    let result = run(sql, "SELECT count(*) FROM t").await.expect("count");
    match result.rows.into_cells()[..] {
        [SqlValue::Integer(count)] => count,
        ref other => panic!("{other:?}"),
    }
}

async fn with_table(world: &mut World) -> (Arc<ActorHandle>, ActorSql) {
    let handle = world.start().await.expect("start");
    let sql = handle.ctx().user_sql();
    run(&sql, "CREATE TABLE IF NOT EXISTS t (a)")
        .await
        .expect("create");
    (handle, sql)
}

fn text(error: &Error) -> &str {
    error.metadata().expect("metadata")["error"]
        .as_str()
        .expect("text")
}

#[tokio::test]
async fn an_error_names_the_actor_and_keeps_the_text_of_sqlite() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    let error = run(&handle.ctx().user_sql(), "SELECT * FROM nope").await;
    let error = error.expect_err("no such table");
    assert!(error.is(&code::INTERNAL));
    let id = world.actor_id;
    let expected = format!(
        "actor {id} generation 1 key k\n\nCaused by:\n    \
         failed to prepare sqlite execute statement: no such table: nope"
    );
    assert_eq!(text(&error), expected);
    let actor = error.actor().expect("actor");
    assert_eq!(
        (actor.actor_id.as_str(), actor.generation),
        (id.to_string().as_str(), 1)
    );
}

#[tokio::test]
async fn a_transaction_expires_by_the_actors_clock() {
    let mut world = World::new();
    let (_handle, sql) = with_table(&mut world).await;
    let tx = sql
        .begin_transaction(Some(Duration::from_secs(5)), None)
        .await
        .expect("begin");
    tx.execute(
        statement("INSERT INTO t VALUES (1)"),
        SqlCallOptions::default(),
    )
    .await
    .expect("insert");
    let outside = tokio::spawn({
        let sql = sql.clone();
        async move { run(&sql, "SELECT 1").await }
    });
    world.advance(Duration::from_millis(4_999)).await;
    assert!(!outside.is_finished());
    world.advance(Duration::from_millis(1)).await;
    for error in [
        outside.await.expect("task").expect_err("poisoned"),
        tx.commit().await.expect_err("expired"),
    ] {
        assert!(error.is(&code::SQLITE_TRANSACTION_EXPIRED), "{error}");
        assert_eq!(error.metadata().expect("metadata")["timeout_ms"], 5_000);
    }
    assert_eq!(count(&sql).await, 0);
}

#[tokio::test]
async fn a_runaway_statement_is_stopped_at_its_time_limit() {
    let config = ActorConfig {
        sql_statement_timeout: Duration::from_secs(7),
        ..ActorConfig::default()
    };
    let mut world = World::with_config(config);
    let (_handle, sql) = with_table(&mut world).await;
    let runaway = tokio::spawn({
        let sql = sql.clone();
        async move { run(&sql, ENDLESS).await }
    });
    while !runaway.is_finished() {
        world.time.advance(Duration::from_secs(7));
        tokio::task::yield_now().await;
    }
    let error = runaway.await.expect("task").expect_err("interrupted");
    assert!(error.is(&code::SQLITE_INTERRUPTED));
    assert!(error.message().contains("7000 ms"), "{error}");
    assert_eq!(count(&sql).await, 0);
}

#[tokio::test]
async fn a_statement_is_stopped_by_its_callers_signal() {
    let mut world = World::new();
    let (_handle, sql) = with_table(&mut world).await;
    let signal = tokio_util::sync::CancellationToken::new();
    let options = SqlCallOptions {
        signal: Some(signal.clone()),
        ..SqlCallOptions::default()
    };
    let runaway = tokio::spawn({
        let sql = sql.clone();
        async move { sql.execute(statement(ENDLESS), options).await }
    });
    settle().await;
    signal.cancel();
    let error = runaway.await.expect("task").expect_err("interrupted");
    assert!(error.is(&code::SQLITE_INTERRUPTED));
    assert!(error.message().contains("aborted"), "{error}");
}

#[tokio::test]
async fn a_destroy_does_not_wait_for_a_long_query() {
    let mut world = World::new();
    let (_handle, sql) = with_table(&mut world).await;
    let runaway = tokio::spawn(async move { run(&sql, ENDLESS).await });
    settle().await;
    world.stop(StopReason::Destroy).await.expect("stops");
    let error = runaway.await.expect("task").expect_err("interrupted");
    assert!(error.is(&code::SQLITE_INTERRUPTED), "{error}");
}

#[tokio::test]
async fn a_sleep_cuts_a_runaway_statement_and_an_open_transaction_and_saves_the_state() {
    let mut world = World::new();
    let (handle, sql) = with_table(&mut world).await;
    ask(&handle, "increment").await.expect("increment");
    let tx = sql.begin_transaction(None, None).await.expect("begin");
    tx.execute(
        statement("INSERT INTO t VALUES (1)"),
        SqlCallOptions::default(),
    )
    .await
    .expect("insert");
    let runaway = tokio::spawn({
        let tx = tx.clone();
        async move {
            tx.execute(statement(ENDLESS), SqlCallOptions::default())
                .await
        }
    });
    settle().await;
    // The grace has nothing to wait for: the statement is in nobody's way yet.
    world.stop(StopReason::GoingAway).await.expect("stops");
    let error = runaway.await.expect("task").expect_err("interrupted");
    assert!(error.is(&code::SQLITE_INTERRUPTED), "{error}");
    let error = tx.commit().await.expect_err("over");
    assert!(error.is(&code::SQLITE_TRANSACTION_CLOSED), "{error}");
    let error = run(&sql, "SELECT 1").await.expect_err("closed");
    assert!(error.is(&code::SQLITE_TRANSACTION_CLOSED), "{error}");
    let (handle, sql) = with_table(&mut world).await;
    assert_eq!(count(&sql).await, 0);
    assert_eq!(ask(&handle, "get").await.expect("get"), 1);
}

#[tokio::test]
async fn a_begin_by_hand_holds_up_saves_until_it_ends() {
    let mut world = World::new();
    let (handle, sql) = with_table(&mut world).await;
    run(&sql, "BEGIN").await.expect("begin");
    let saved = tokio::spawn({
        let handle = Arc::clone(&handle);
        async move { ask(&handle, "increment_durably").await }
    });
    world.advance(Duration::from_secs(5)).await;
    assert_eq!(world.script.serialized.load(Ordering::SeqCst), 0);
    run(&sql, "INSERT INTO t VALUES (1)").await.expect("insert");
    run(&sql, "COMMIT").await.expect("commit");
    assert_eq!(saved.await.expect("task").expect("saved"), 1);
}

#[tokio::test]
async fn a_state_brought_during_a_begin_by_hand_is_asked_for_anew_when_that_ends() {
    let mut world = World::new();
    let (handle, sql) = with_table(&mut world).await;
    run(&sql, "BEGIN").await.expect("begin");
    let bringing = tokio::spawn({
        let ctx = handle.ctx().clone();
        let state = StateDelta::ActorState(bytes::Bytes::from_static(&[1]));
        async move { ctx.save_state(vec![state]).await }
    });
    world.advance(Duration::from_secs(5)).await;
    assert!(!bringing.is_finished());
    ask(&handle, "increment").await.expect("increment");
    ask(&handle, "increment").await.expect("increment");
    run(&sql, "COMMIT").await.expect("commit");
    bringing.await.expect("task").expect("saved");
    let handle = world.crash().await;
    assert_eq!(ask(&handle, "get").await.expect("get"), 2);
}

#[tokio::test]
async fn a_begin_by_hand_left_open_does_not_lose_the_final_state() {
    let mut world = World::new();
    let (handle, sql) = with_table(&mut world).await;
    run(&sql, "BEGIN").await.expect("begin");
    run(&sql, "INSERT INTO t VALUES (1)").await.expect("insert");
    ask(&handle, "increment").await.expect("increment");
    world.stop(StopReason::GoingAway).await.expect("stops");
    let (handle, sql) = with_table(&mut world).await;
    assert_eq!(count(&sql).await, 0);
    assert_eq!(ask(&handle, "get").await.expect("get"), 1);
}

#[tokio::test]
async fn a_begin_by_hand_left_open_under_a_save_does_not_hold_up_sleep() {
    let mut world = World::new();
    let (handle, sql) = with_table(&mut world).await;
    world.script.hold_serialize.store(true, Ordering::SeqCst);
    ask(&handle, "increment").await.expect("increment");
    handle.ctx().request_save(RequestSaveOpts::IMMEDIATE);
    world.script.parked.notified().await;
    // The write is on its way, and now has to wait for what nobody will end.
    run(&sql, "BEGIN").await.expect("begin");
    world.script.hold_serialize.store(false, Ordering::SeqCst);
    world.script.unpark.notify_one();
    settle().await;
    // The clock stands still: no deadline ends this.
    world.stop(StopReason::GoingAway).await.expect("stops");
    let (handle, _sql) = with_table(&mut world).await;
    assert_eq!(ask(&handle, "get").await.expect("get"), 1);
}

#[tokio::test]
async fn letting_go_ends_what_was_left_open_and_nothing_that_work_may_own() {
    let mut world = World::new();
    let (handle, sql) = with_table(&mut world).await;
    let begin = async || sql.begin_transaction(None, None).await.expect("begin");
    let left = begin().await;
    sql.let_go().await.expect("let go");
    let error = left.commit().await.expect_err("rolled back");
    assert!(error.is(&code::SQLITE_TRANSACTION_CLOSED), "{error}");

    // The caller's own work, as far as anybody can tell.
    let ctx = handle.ctx();
    let asking = ctx.begin_work(ActorWorkKind::Action);
    let left = begin().await;
    sql.let_go().await.expect("let go");
    let error = left.commit().await.expect_err("rolled back");
    assert!(error.is(&code::SQLITE_TRANSACTION_CLOSED), "{error}");

    let working = ctx.begin_work(ActorWorkKind::Action);
    let owned = begin().await;
    sql.let_go().await.expect("let go");
    owned.commit().await.expect("still open");
    drop(working);

    let runs = ctx.run_handler_guard();
    let owned = begin().await;
    sql.let_go().await.expect("let go");
    owned.commit().await.expect("still open");
    drop((runs, asking));
}

#[tokio::test]
async fn statements_run_during_the_hooks_of_a_destroy() {
    let mut world = World::new();
    let (_handle, sql) = with_table(&mut world).await;
    world.script.hang_cleanup.store(true, Ordering::SeqCst);
    let stop = world.stop(StopReason::Destroy);
    let during = async {
        settle().await;
        run(&sql, "INSERT INTO t VALUES (1)").await.expect("insert");
        world.advance(Duration::from_secs(30)).await;
    };
    let (stopped, ()) = tokio::join!(stop, during);
    stopped.expect("stops");
}
