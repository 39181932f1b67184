//! User SQL and state in one commit.

mod fixture;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use fixture::{World, ask, settle};
use greenroom_core::*;
use greenroom_error::{Error, Result, code};
use greenroom_store::{SqlStatement, SqlValue};

fn insert() -> SqlStatement {
    SqlStatement::new("INSERT INTO t VALUES (1)", Vec::new())
}

async fn add(tx: &StateTransaction) -> Result<()> {
    tx.execute(insert(), SqlCallOptions::default())
        .await
        .map(drop)
}

async fn count(ctx: &ActorContext) -> i64 {
    let sql = SqlStatement::new("SELECT count(*) FROM t", Vec::new());
    let result = ctx.user_sql().execute(sql, SqlCallOptions::default()).await;
    match result.expect("count").rows.into_cells()[..] {
        [SqlValue::Integer(count)] => count,
        ref other => panic!("{other:?}"),
    }
}

fn state(byte: u8) -> Vec<StateDelta> {
    vec![StateDelta::ActorState(Bytes::from(vec![byte]))]
}

fn text(error: &Error) -> &str {
    error.metadata().expect("metadata")["error"]
        .as_str()
        .expect("text")
}

async fn begin(ctx: &ActorContext) -> StateTransaction {
    ctx.begin_state_transaction(None).await.expect("begin")
}

async fn started(world: &mut World) -> Arc<ActorHandle> {
    let handle = world.start().await.expect("start");
    let create = SqlStatement::new("CREATE TABLE IF NOT EXISTS t (a)", Vec::new());
    let sql = handle.ctx().user_sql();
    sql.execute(create, SqlCallOptions::default())
        .await
        .expect("create");
    handle
}

/// The next generation, after one that ended without saving anything more.
async fn restarted(world: &mut World) -> Arc<ActorHandle> {
    world.script.fail_serialize.store(true, Ordering::SeqCst);
    world.stop(StopReason::GoingAway).await.expect("stop");
    world.script.fail_serialize.store(false, Ordering::SeqCst);
    started(world).await
}

async fn hibernatable(ctx: &ActorContext) -> ConnHandle {
    let hibernation = greenroom_core::actor::connection::HibernationMetadata {
        id: HibernationId {
            gateway_id: [1; 4],
            request_id: [2; 4],
        },
        server_message_index: 0,
        client_message_index: 0,
        request_path: "/".into(),
        request_headers: Vec::new(),
    };
    let options = ConnectOptions {
        hibernation: Some(hibernation),
        ..ConnectOptions::default()
    };
    ctx.connect(options).await.expect("connect")
}

#[tokio::test]
async fn rows_and_state_are_committed_together() {
    let mut world = World::new();
    let handle = started(&mut world).await;
    let tx = begin(handle.ctx()).await;
    add(&tx).await.expect("insert");
    tx.commit(state(42)).await.expect("commit");
    assert_eq!(handle.ctx().state(), [42].as_slice());
    let handle = restarted(&mut world).await;
    assert_eq!(count(handle.ctx()).await, 1);
    assert_eq!(ask(&handle, "get").await.expect("get"), 42);
}

#[tokio::test]
async fn a_rollback_takes_back_rows_and_the_state_of_connections() {
    let mut world = World::new();
    let handle = started(&mut world).await;
    let ctx = handle.ctx();
    let conn = hibernatable(ctx).await;
    ctx.set_conn_state(&conn, Bytes::from_static(b"before"));
    let tx = begin(ctx).await;
    add(&tx).await.expect("insert");
    ctx.set_conn_state(&conn, Bytes::from_static(b"inside"));
    tx.rollback().await.expect("rollback");
    assert_eq!(conn.state(), b"before".as_slice());
    assert_eq!(count(ctx).await, 0);
}

#[tokio::test]
async fn the_state_of_connections_is_part_of_the_commit() {
    let mut world = World::new();
    let handle = started(&mut world).await;
    let ctx = handle.ctx();
    let conn = hibernatable(ctx).await;
    let tx = begin(ctx).await;
    ctx.set_conn_state(&conn, Bytes::from_static(b"inside"));
    tx.commit(Vec::new()).await.expect("commit");
    assert_eq!(conn.state(), b"inside".as_slice());
    assert!(!ctx.has_pending_hibernation_changes());
    let rows = SqlStatement::new("SELECT state FROM _rivet_conn_state", Vec::new());
    let rows = ctx
        .user_sql()
        .execute(rows, SqlCallOptions::default())
        .await;
    let cells = rows.expect("rows").rows.into_cells();
    assert_eq!(cells, [SqlValue::Blob(Bytes::from_static(b"inside"))]);
}

#[tokio::test]
async fn saves_wait_for_its_end_and_go_on() {
    let mut world = World::new();
    let handle = started(&mut world).await;
    let tx = begin(handle.ctx()).await;
    let saved = tokio::spawn({
        let handle = Arc::clone(&handle);
        async move { ask(&handle, "increment_durably").await }
    });
    world.advance(Duration::from_secs(5)).await;
    assert_eq!(world.script.serialized.load(Ordering::SeqCst), 0);
    assert!(!saved.is_finished());
    tx.rollback().await.expect("rollback");
    assert_eq!(saved.await.expect("task").expect("saved"), 1);
}

#[tokio::test]
async fn deltas_from_before_its_begin_are_not_written_over_its_commit() {
    let mut world = World::new();
    let handle = started(&mut world).await;
    let ctx = handle.ctx();
    let tx = begin(ctx).await;
    // Serialized while the transaction was open, and stale once it has ended.
    let stale = tokio::spawn({
        let ctx = ctx.clone();
        async move { ctx.save_state(state(7)).await }
    });
    settle().await;
    tx.commit(state(42)).await.expect("commit");
    stale.await.expect("task").expect("asked for again");
    let handle = restarted(&mut world).await;
    let found = ask(&handle, "get").await.expect("get");
    assert_ne!(found, 7);
}

#[tokio::test]
async fn it_is_finished_once() {
    let mut world = World::new();
    let handle = started(&mut world).await;
    let tx = begin(handle.ctx()).await;
    let same = tx.clone();
    tx.commit(Vec::new()).await.expect("commit");
    for outcome in [
        add(&same).await,
        same.commit(Vec::new()).await,
        same.rollback().await,
    ] {
        let error = outcome.expect_err("over");
        assert!(error.is(&code::INTERNAL));
        assert!(text(&error).ends_with("actor state transaction is already finalized"));
    }
}

#[tokio::test]
async fn terminators_are_refused_and_savepoints_are_not() {
    let mut world = World::new();
    let handle = started(&mut world).await;
    let tx = begin(handle.ctx()).await;
    let run = |sql: &str| {
        let statement = SqlStatement::new(sql, Vec::new());
        let tx = tx.clone();
        async move { tx.execute(statement, SqlCallOptions::default()).await }
    };
    for sql in ["COMMIT", "-- x\n END", "ROLLBACK"] {
        let error = run(sql).await.expect_err("refused");
        assert!(
            error.is(&code::INTERNAL) && text(&error).contains("terminators"),
            "{error}"
        );
    }
    for sql in [
        "SAVEPOINT s",
        "INSERT INTO t VALUES (1)",
        "ROLLBACK TO s",
        "RELEASE s",
    ] {
        run(sql).await.expect(sql);
    }
    tx.commit(Vec::new()).await.expect("commit");
    assert_eq!(count(handle.ctx()).await, 0);
}

#[tokio::test]
async fn its_budget_covers_statements_and_state() {
    let mut world = World::new();
    let handle = started(&mut world).await;
    let ctx = handle.ctx();
    let tx = begin(ctx).await;
    for _ in 0..127 {
        add(&tx).await.expect("insert");
    }
    tx.commit(state(1)).await.expect("exactly 128");
    let tx = begin(ctx).await;
    for _ in 0..128 {
        add(&tx).await.expect("insert");
    }
    let error = tx.commit(state(2)).await.expect_err("129");
    assert!(text(&error).contains("exceeds transaction budget"));
    let tx = begin(ctx).await;
    let large = vec![StateDelta::ActorState(Bytes::from(vec![0; 512 * 1024]))];
    let error = tx.commit(large).await.expect_err("too large");
    assert!(text(&error).contains("exceeds transaction budget"));
    assert_eq!(count(ctx).await, 127);
    assert_eq!(ctx.state(), [1].as_slice());
}

#[tokio::test]
async fn a_dropped_handle_takes_everything_back() {
    let mut world = World::new();
    let handle = started(&mut world).await;
    let tx = begin(handle.ctx()).await;
    add(&tx).await.expect("insert");
    drop(tx);
    assert_eq!(count(handle.ctx()).await, 0);
    assert_eq!(ask(&handle, "increment_durably").await.expect("saved"), 1);
}

#[tokio::test]
async fn its_deadline_frees_saves_even_if_nobody_asks_again() {
    let mut world = World::new();
    let handle = started(&mut world).await;
    let ctx = handle.ctx();
    let timeout = Some(Duration::from_secs(3));
    let tx = ctx.begin_state_transaction(timeout).await.expect("begin");
    add(&tx).await.expect("insert");
    let saved = tokio::spawn({
        let handle = Arc::clone(&handle);
        async move { ask(&handle, "increment_durably").await }
    });
    settle().await;
    world.advance(Duration::from_secs(4)).await;
    assert_eq!(saved.await.expect("task").expect("saved"), 1);
    let error = tx.commit(state(9)).await.expect_err("expired");
    assert!(text(&error).contains("finalized"), "{error}");
    assert_eq!(count(ctx).await, 0);
}

#[tokio::test]
async fn one_after_the_other_in_the_order_of_asking() {
    let mut world = World::new();
    let handle = started(&mut world).await;
    let ctx = handle.ctx();
    let first = begin(ctx).await;
    let second = tokio::spawn({
        let ctx = ctx.clone();
        async move {
            let tx = begin(&ctx).await;
            let seen = ctx.state();
            tx.commit(state(2)).await.expect("commit");
            seen
        }
    });
    settle().await;
    assert!(!second.is_finished());
    first.commit(state(1)).await.expect("commit");
    assert_eq!(second.await.expect("task"), [1].as_slice());
    assert_eq!(ctx.state(), [2].as_slice());
}

#[tokio::test]
async fn one_left_open_at_sleep_is_rolled_back_and_the_state_is_saved() {
    let mut world = World::new();
    let handle = started(&mut world).await;
    let tx = begin(handle.ctx()).await;
    add(&tx).await.expect("insert");
    ask(&handle, "increment").await.expect("increment");
    world.stop(StopReason::GoingAway).await.expect("stops");
    assert!(tx.commit(state(9)).await.is_err());
    drop(tx);
    let handle = started(&mut world).await;
    assert_eq!(count(handle.ctx()).await, 0);
    assert_eq!(ask(&handle, "get").await.expect("get"), 1);
}
