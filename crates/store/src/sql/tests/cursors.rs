//! Results that are read page by page.

use std::sync::Arc;

use greenroom_error::code;

use super::{Actor, insert, statement, text};
use crate::tests::fixture::Fixture;
use crate::{GuardSource, Interruption, Page, SqlCursor, SqlRuns, SqlValue, StoreOptions};

const COUNT: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000)
    SELECT i, 'row ' || i FROM n";

fn free() -> GuardSource {
    Arc::new(|| Box::new(|| None))
}

async fn open(actor: &Actor, sql: &str, max_rows: usize) -> (SqlCursor, Page) {
    let opened = actor
        .sql
        .open_cursor(statement(sql, []), free(), max_rows)
        .await;
    opened.unwrap()
}

fn numbers(page: &Page) -> Vec<i64> {
    let first = |row: &[SqlValue]| match row[0] {
        SqlValue::Integer(number) => number,
        ref other => panic!("{other:?}"),
    };
    page.rows.iter().map(first).collect()
}

async fn rest(cursor: &SqlCursor, page: Page) -> Vec<i64> {
    let mut all = numbers(&page);
    let mut is_last = page.is_last;
    while !is_last {
        let page = cursor.next_page(100).await.unwrap();
        all.extend(numbers(&page));
        is_last = page.is_last;
    }
    all
}

async fn filled(rows: i64) -> Actor {
    let actor = super::counting().await;
    let runs = SqlRuns {
        sql: "INSERT INTO t (by) VALUES (?)".to_owned(),
        count: rows as usize,
        values: vec![SqlValue::Text("x".repeat(100)); rows as usize],
    };
    let result = actor.sql.execute_runs(runs, None).await.unwrap();
    assert_eq!(
        (result.changes, result.last_insert_row_id),
        (rows, Some(rows))
    );
    actor
}

#[tokio::test]
async fn a_result_comes_page_by_page_and_ends() {
    let actor = Actor::new().await;
    let (cursor, page) = open(&actor, COUNT, 7).await;
    assert_eq!(numbers(&page), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(**cursor.columns(), ["i", "'row ' || i"]);
    assert_eq!(rest(&cursor, page).await, (1..=5000).collect::<Vec<_>>());
    let after = cursor.next_page(1).await.unwrap();
    assert!(after.is_last && after.rows.is_empty());
}

#[tokio::test]
async fn a_page_of_large_rows_ends_early() {
    let actor = Actor::new().await;
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 30)
        SELECT i, zeroblob(300000) FROM n";
    let (cursor, page) = open(&actor, sql, 4096).await;
    assert!(page.rows.len() < 6, "{}", page.rows.len());
    assert_eq!(rest(&cursor, page).await.len(), 30);
}

#[tokio::test]
async fn a_result_shows_one_state_whatever_is_written_meanwhile() {
    let actor = filled(5000).await;
    let (cursor, page) = open(&actor, "SELECT a FROM t", 10).await;
    actor.run("DELETE FROM t WHERE a > 100").await.unwrap();
    let tx = actor.begin().await;
    insert(&tx, "me").await;
    // Read on while the transaction has the database.
    let more = cursor.next_page(10).await.unwrap();
    assert_eq!(numbers(&more), (11..=20).collect::<Vec<_>>());
    tx.commit().await.unwrap();
    let mut all = numbers(&page);
    all.extend(rest(&cursor, more).await);
    assert_eq!(all, (1..=5000).collect::<Vec<_>>());
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["101"]);
}

#[tokio::test]
async fn a_result_of_a_transaction_keeps_what_a_rollback_takes_back() {
    let actor = filled(10).await;
    let tx = actor.begin().await;
    insert(&tx, "me").await;
    let (cursor, page) = tx
        .open_cursor(statement("SELECT a FROM t", []), free(), 2)
        .await
        .unwrap();
    tx.rollback().await.unwrap();
    assert_eq!(rest(&cursor, page).await, (1..=11).collect::<Vec<_>>());
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["10"]);
}

#[tokio::test]
async fn a_result_outlives_the_closing_of_its_file() {
    // With room for one file, the use of another closes it.
    let fixture = Fixture::with(StoreOptions {
        max_open: 1,
        ..StoreOptions::default()
    });
    let a = fixture.existing("a", "one").await.user_sql();
    let b = fixture.existing("b", "one").await.user_sql();
    let (cursor, page) = a
        .open_cursor(statement(COUNT, []), free(), 10)
        .await
        .unwrap();
    b.execute(statement("SELECT 1", []), None).await.unwrap();
    assert_eq!(rest(&cursor, page).await.len(), 5000);
}

#[tokio::test]
async fn writing_statements_have_no_pages() {
    let actor = filled(1).await;
    for sql in ["DELETE FROM t RETURNING a", "BEGIN", "PRAGMA user_version"] {
        let opened = actor.sql.open_cursor(statement(sql, []), free(), 1).await;
        assert!(opened.unwrap_err().is(&code::INTERNAL), "{sql}");
    }
    let opened = actor
        .sql
        .open_cursor(statement("SELECT missing", []), free(), 1)
        .await;
    assert!(text(&opened.unwrap_err()).contains("no such column: missing"));
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["1"]);
}

#[tokio::test]
async fn dropped_results_make_room_for_others() {
    let actor = Actor::new().await;
    let mut kept = Vec::new();
    for _ in 0..16 {
        kept.push(open(&actor, COUNT, 1).await);
    }
    let full = actor.sql.open_cursor(statement(COUNT, []), free(), 1).await;
    assert!(full.unwrap_err().is(&code::SQLITE_TOO_MANY_RESULTS));
    kept.pop();
    open(&actor, COUNT, 1).await;
}

#[tokio::test]
async fn a_guard_stops_a_page_and_ends_the_result() {
    let actor = Actor::new().await;
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
        SELECT i FROM n WHERE i < 5 OR i < 0";
    let guards: GuardSource = Arc::new(|| {
        let mut looks = 0;
        Box::new(move || {
            looks += 1;
            (looks > 50).then_some(Interruption::Aborted)
        })
    });
    let opened = actor
        .sql
        .open_cursor(statement(endless, []), guards, 4)
        .await;
    assert!(opened.unwrap_err().is(&code::SQLITE_INTERRUPTED));
    assert_eq!(actor.rows("SELECT 1").await, ["1"]);
}

#[tokio::test]
async fn runs_of_one_statement_stand_or_fall_together() {
    let actor = filled(3).await;
    let runs = SqlRuns {
        sql: "INSERT INTO t VALUES (?, ?)".to_owned(),
        count: 2,
        values: vec![
            SqlValue::Integer(10),
            SqlValue::Null,
            SqlValue::Integer(1),
            SqlValue::Null,
        ],
    };
    let error = actor.sql.execute_runs(runs, None).await.unwrap_err();
    assert!(text(&error).starts_with("execute sqlite batch statement 1: "));
    assert!(text(&error).contains("UNIQUE constraint failed: t.a"));
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["3"]);
}
