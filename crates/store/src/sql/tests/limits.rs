//! What one statement may take of the memory and of the disk.

use greenroom_error::code;
use serde_json::json;

use super::{Actor, statement, text};
use crate::files::log_size;
use crate::{Disk, StoreOptions};

const LIMIT: u64 = 4 * 1024 * 1024;

async fn narrow() -> Actor {
    let actor = Actor::with(StoreOptions {
        temp_bytes_max: LIMIT,
        ..StoreOptions::default()
    });
    actor.await
}

/// So many rows of 200 bytes, which are sorted.
fn sorted(rows: u32) -> String {
    format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
         SELECT count(*) FROM (SELECT randomblob(200) AS x FROM n ORDER BY x LIMIT -1 OFFSET 1)"
    )
}

#[tokio::test]
async fn a_sort_beyond_the_limit_of_temporary_files_fails_and_its_space_is_free_again() {
    let actor = narrow().await;
    let error = actor.run(&sorted(30_000)).await.unwrap_err();
    assert!(error.is(&code::SQLITE_TEMPORARY_SPACE_EXCEEDED), "{error}");
    assert_eq!(error.metadata(), Some(&json!({ "limit": LIMIT })));
    // Two that would not fit at the same time.
    for _ in 0..2 {
        assert_eq!(actor.rows(&sorted(12_000)).await, ["11999"]);
    }
}

#[tokio::test]
async fn a_temporary_table_beyond_the_limit_fails_and_the_rows_before_it_stay() {
    let actor = narrow().await;
    actor.run("CREATE TABLE t (a)").await.unwrap();
    actor.run("CREATE TEMP TABLE big (x)").await.unwrap();
    let tx = actor.begin().await;
    tx.execute(statement("INSERT INTO t VALUES (1)", []), None)
        .await
        .unwrap();
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
        INSERT INTO big SELECT randomblob(200) FROM n";
    let error = tx.execute(statement(fill, []), None).await.unwrap_err();
    assert!(error.is(&code::SQLITE_TEMPORARY_SPACE_EXCEEDED), "{error}");
    let _ = tx.rollback().await;
    actor.run("INSERT INTO t VALUES (2)").await.unwrap();
    assert_eq!(actor.rows("SELECT a FROM t").await, ["2"]);
    assert_eq!(actor.rows("SELECT count(*) FROM big").await, ["0"]);
}

#[tokio::test]
async fn a_row_of_many_large_values_is_refused_before_it_is_copied() {
    let actor = Actor::new().await;
    let columns = ["zeroblob(67108864)"; 8].join(", ");
    let error = actor.run(&format!("SELECT {columns}")).await.unwrap_err();
    assert!(error.is(&code::SQLITE_RESULT_TOO_LARGE), "{error}");
    assert_eq!(actor.rows("SELECT 1").await, ["1"]);
}

#[tokio::test]
async fn a_value_of_two_gigabytes_is_refused_by_its_size_alone() {
    let actor = Actor::new().await;
    actor.run("CREATE TABLE t (a)").await.unwrap();
    for sql in [
        "INSERT INTO t VALUES (zeroblob(2147483647))",
        "SELECT randomblob(2147483647)",
        "INSERT INTO t SELECT zeroblob(268435457)",
    ] {
        let error = actor.run(sql).await.unwrap_err();
        assert!(
            text(&error).ends_with("string or blob too big"),
            "{sql}: {error}"
        );
        let metadata = error.metadata().unwrap();
        assert_eq!(metadata["sqlite"]["code"], "SQLITE_TOOBIG", "{sql}");
    }
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["0"]);
}

#[tokio::test]
async fn the_log_stays_short_under_steady_writes_while_a_result_is_read() {
    let actor = Actor::with(StoreOptions {
        disk: Disk::unsynced().unwrap(),
        ..StoreOptions::default()
    });
    let actor = actor.await;
    actor.run("CREATE TABLE t (a)").await.unwrap();
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
        INSERT INTO t SELECT i FROM n";
    actor.run(fill).await.unwrap();
    let guards = std::sync::Arc::new(|| -> crate::Guard { Box::new(|| None) });
    let opened = actor
        .sql
        .open_cursor(statement("SELECT a FROM t", []), guards, 10)
        .await;
    let (cursor, first) = opened.unwrap();
    let path = actor.fixture.path("a");
    let mut longest = 0;
    for _ in 0..400 {
        actor
            .run("INSERT INTO t VALUES (zeroblob(60000))")
            .await
            .unwrap();
        longest = longest.max(log_size(&path));
    }
    // 24 MB were written. A thousand pages are four megabytes; the commit that goes
    // beyond them folds the log in.
    assert!(longest < 5 * 1024 * 1024, "{longest}");
    let mut read = first.rows.len();
    loop {
        let page = cursor.next_page(1_000).await.unwrap();
        read += page.rows.len();
        if page.is_last {
            break;
        }
    }
    assert_eq!(read, 2_000);
}
