//! What is left of users' transactions when the end comes at any moment of them: two
//! callers take turns, one waits while the other works, and a save waits for both.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::crashes::{End, Recorder, Remainder};
use super::fixture::{in_line, initialised, state_only};
use crate::{
    BeginOptions, Database, SqlStatement, SqlTransaction, SqlValue, Store, StoreOptions, UserSql,
};

fn begin(sql: &UserSql, number: u64) -> impl Future<Output = SqlTransaction> + use<> {
    let sql = sql.clone();
    let options = BeginOptions {
        key: format!("tx {number}"),
        name: None,
        timeout: Duration::from_secs(60),
    };
    async move { sql.begin_transaction(options).await.unwrap() }
}

fn insert(table: &str, number: u64) -> SqlStatement {
    // Sizes vary, so that the log is folded in at times.
    let pad = "x".repeat(number as usize % 4 * 40_000);
    let values = vec![SqlValue::Integer(number as i64), SqlValue::Text(pad)];
    SqlStatement::new(format!("INSERT INTO {table} VALUES (?, ?)"), values)
}

/// Every third transaction is taken back.
fn stands(number: u64) -> bool {
    !number.is_multiple_of(3)
}

/// Both halves of a transaction, and its end.
async fn work(recorder: &Recorder, tx: SqlTransaction, number: u64) {
    let both = vec![insert("debit", number), insert("credit", number)];
    if number.is_multiple_of(2) {
        tx.execute_batch(both, None).await.unwrap();
    } else {
        for half in both {
            tx.execute(half, None).await.unwrap();
        }
    }
    if stands(number) {
        tx.commit().await.unwrap();
        recorder.acknowledged.store(number, Ordering::SeqCst);
    } else {
        tx.rollback().await.unwrap();
    }
}

async fn live(recorder: &Recorder, path: PathBuf, rounds: u64) {
    let store = Store::new(StoreOptions {
        disk: recorder.disk(),
        ..StoreOptions::default()
    });
    let database = store.database(path);
    database.start().await.unwrap();
    database.save(initialised("0")).await.unwrap();
    let sql = database.user_sql();
    for table in ["debit", "credit"] {
        let create = format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY, pad)");
        let create = SqlStatement::new(create, Vec::new());
        sql.execute(create, None).await.unwrap();
    }
    database.commit_startup().await.unwrap();
    for round in 0..rounds {
        let (first, second) = (2 * round + 1, 2 * round + 2);
        let one = begin(&sql, first).await;
        let other = in_line(begin(&sql, second)).await;
        let saved = in_line(database.save(state_only(&round.to_string()))).await;
        work(recorder, one, first).await;
        work(recorder, other.await, second).await;
        saved.await.unwrap();
    }
    store.close().await;
}

async fn numbers(database: &Database, table: &str) -> Vec<u64> {
    let query = SqlStatement::new(format!("SELECT id FROM {table} ORDER BY id"), Vec::new());
    let found = database.user_sql().execute(query, None).await.unwrap();
    let number = |row: &[SqlValue]| match row[0] {
        SqlValue::Integer(number) => number.unsigned_abs(),
        ref other => panic!("{other:?}"),
    };
    found.rows.iter().map(number).collect()
}

async fn check(remainder: &Remainder) {
    if !remainder.files.contains_key("actor.db") {
        assert_eq!(remainder.acknowledged, 0);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in &remainder.files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let store = Store::new(StoreOptions::default());
    let database = store.database(folder.path().join("actor.db"));
    database.start().await.unwrap();
    let debit = numbers(&database, "debit").await;
    assert_eq!(debit, numbers(&database, "credit").await, "a half is there");
    let last = *debit.last().unwrap_or(&0);
    let acknowledged = remainder.acknowledged;
    let next = (acknowledged + 1..).find(|number| stands(*number)).unwrap();
    // The commit in the middle of which the end came may be there or not.
    assert!(
        last == acknowledged || last == next,
        "{acknowledged} was acknowledged, {last} is the last that is there"
    );
    let expected: Vec<_> = (1..=last).filter(|number| stands(*number)).collect();
    assert_eq!(debit, expected);
    database.remove().await.unwrap();
    store.close().await;
}

async fn check_every_end(end: End, rounds: u64) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::of(end);
    live(&recorder, folder.path().join("actor.db"), rounds).await;
    let remainders = std::mem::take(&mut *recorder.remainders.lock());
    for remainder in &remainders {
        check(remainder).await;
    }
    remainders.len()
}

#[tokio::test]
async fn a_power_cut_at_any_sync_leaves_whole_transactions_and_every_acknowledged_one() {
    let ends = check_every_end(End::PowerCut, 12).await;
    assert!(ends > 20, "{ends} ends");
}

#[tokio::test]
async fn a_kill_before_any_write_leaves_whole_transactions_and_every_acknowledged_one() {
    let ends = check_every_end(End::Kill, 2).await;
    assert!(ends > 50, "{ends} ends");
}
