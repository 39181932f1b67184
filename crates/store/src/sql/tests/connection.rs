//! What a user has on a connection survives its replacement, or prevents it.

use super::{Actor, shown, statement};
use crate::tests::fixture::{Fixture, initialised};
use crate::{ExecuteResult, SqlStatement, StoreOptions, UserSql};

async fn run(sql: &UserSql, text: &str) -> ExecuteResult {
    sql.execute(SqlStatement::new(text, Vec::new()), None)
        .await
        .unwrap()
}

/// A store that keeps one file open, so that the use of another closes it.
fn narrow() -> Fixture {
    Fixture::with(StoreOptions {
        max_open: 1,
        ..StoreOptions::default()
    })
}

#[tokio::test]
async fn settings_and_counters_outlive_an_eviction() {
    let fixture = narrow();
    let a = fixture.existing("a", "one").await.user_sql();
    let b = fixture.existing("b", "one").await.user_sql();
    for pragma in [
        "foreign_keys = OFF",
        "recursive_triggers = ON",
        "cache_size = -2000",
    ] {
        run(&a, &format!("PRAGMA {pragma}")).await;
    }
    run(&a, "CREATE TABLE t (id INTEGER PRIMARY KEY)").await;
    run(&a, "INSERT INTO t VALUES (77)").await;
    run(&b, "SELECT 1").await;
    for (pragma, value) in [
        ("foreign_keys", "0"),
        ("recursive_triggers", "1"),
        ("cache_size", "-2000"),
    ] {
        assert_eq!(shown(&run(&a, &format!("PRAGMA {pragma}")).await), [value]);
        assert_ne!(shown(&run(&b, &format!("PRAGMA {pragma}")).await), [value]);
    }
    let result = run(&a, "SELECT last_insert_rowid()").await;
    assert_eq!(shown(&result), ["77"]);
    assert_eq!(result.last_insert_row_id, Some(77));
}

#[tokio::test]
async fn settings_of_one_life_are_unknown_to_the_next() {
    let actor = Actor::new().await;
    actor.run("PRAGMA foreign_keys = OFF").await.unwrap();
    actor.database.close().await.unwrap();
    assert_eq!(actor.rows("PRAGMA foreign_keys").await, ["1"]);
}

#[tokio::test]
async fn temporary_tables_keep_their_connection_open() {
    let fixture = narrow();
    let a = fixture.existing("a", "one").await.user_sql();
    let b = fixture.existing("b", "one").await.user_sql();
    run(&a, "CREATE TEMP TABLE scratch (a)").await;
    run(&a, "INSERT INTO scratch VALUES (5)").await;
    run(&b, "SELECT 1").await;
    assert_eq!(shown(&run(&a, "SELECT a FROM scratch").await), ["5"]);
}

#[tokio::test]
async fn the_first_start_runs_sql_before_there_is_a_file_and_keeps_it_whole() {
    let fixture = Fixture::new();
    let database = fixture.database("new");
    assert!(database.start().await.unwrap().bootstrapped);
    let sql = database.user_sql();
    run(&sql, "CREATE TABLE t (id INTEGER PRIMARY KEY)").await;
    run(&sql, "PRAGMA recursive_triggers = ON").await;
    run(&sql, "INSERT INTO t VALUES (9)").await;
    database.save(initialised("one")).await.unwrap();
    assert!(!fixture.path("new").exists());
    database.commit_startup().await.unwrap();
    assert!(fixture.path("new").exists());
    assert_eq!(shown(&run(&sql, "SELECT id FROM t").await), ["9"]);
    assert_eq!(shown(&run(&sql, "PRAGMA recursive_triggers").await), ["1"]);
    assert_eq!(shown(&run(&sql, "SELECT last_insert_rowid()").await), ["9"]);
}

#[tokio::test]
async fn the_first_commit_waits_for_the_end_of_a_users_transaction() {
    let fixture = Fixture::new();
    let database = fixture.database("new");
    database.start().await.unwrap();
    let sql = database.user_sql();
    let tx = sql
        .begin_transaction(super::options("migration"))
        .await
        .unwrap();
    tx.execute(statement("CREATE TABLE t (a)", []), None)
        .await
        .unwrap();
    let committed = crate::tests::fixture::in_line(database.commit_startup()).await;
    tx.execute(statement("INSERT INTO t VALUES (3)", []), None)
        .await
        .unwrap();
    assert!(!fixture.path("new").exists());
    tx.commit().await.unwrap();
    committed.await.unwrap();
    assert_eq!(shown(&run(&sql, "SELECT a FROM t").await), ["3"]);
}
