//! Users' SQL through the public handle, over real files.

mod closing;
mod connection;
mod cursors;
mod figures;
mod interruption;
mod limits;
mod policy;
mod readers;
mod statements;
mod transactions;
mod waiting;

use std::time::Duration;

use greenroom_error::{Error, Result};

use crate::tests::fixture::Fixture;
use crate::{
    BeginOptions, Database, ExecuteResult, SqlStatement, SqlTransaction, SqlValue, StoreOptions,
    UserSql,
};

/// A database of an actor that was started before, and a user of it.
struct Actor {
    fixture: Fixture,
    database: Database,
    sql: UserSql,
}

impl Actor {
    async fn new() -> Self {
        Self::with(StoreOptions::default()).await
    }

    async fn with(options: StoreOptions) -> Self {
        let fixture = Fixture::with(options);
        let database = fixture.existing("a", "one").await;
        let sql = database.user_sql();
        Self {
            fixture,
            database,
            sql,
        }
    }

    async fn run(&self, sql: &str) -> Result<ExecuteResult> {
        self.sql.execute(statement(sql, []), None).await
    }

    /// Runs a statement and shows its rows, `a|b` each.
    async fn rows(&self, sql: &str) -> Vec<String> {
        shown(&self.run(sql).await.unwrap())
    }

    async fn begin(&self) -> SqlTransaction {
        self.sql.begin_transaction(options("tx")).await.unwrap()
    }
}

/// With a table that tells who filled it.
async fn counting() -> Actor {
    let actor = Actor::new().await;
    actor
        .run("CREATE TABLE t (a INTEGER PRIMARY KEY, by TEXT)")
        .await
        .unwrap();
    actor
}

async fn insert(tx: &SqlTransaction, by: &str) {
    let by = SqlValue::Text(by.to_owned());
    tx.execute(statement("INSERT INTO t (by) VALUES (?)", [by]), None)
        .await
        .unwrap();
}

fn statement<const N: usize>(sql: &str, params: [SqlValue; N]) -> SqlStatement {
    SqlStatement::new(sql, params.into())
}

fn options(key: &str) -> BeginOptions {
    BeginOptions {
        key: key.to_owned(),
        name: None,
        timeout: Duration::from_secs(60),
    }
}

fn shown(result: &ExecuteResult) -> Vec<String> {
    let cell = |value: &SqlValue| match value {
        SqlValue::Null => "null".to_owned(),
        SqlValue::Integer(value) => value.to_string(),
        SqlValue::Real(value) => format!("{value:?}"),
        SqlValue::Text(text) => text.clone(),
        SqlValue::Blob(blob) => format!("x{blob:02x?}"),
    };
    let row = |row: &[SqlValue]| row.iter().map(cell).collect::<Vec<_>>().join("|");
    result.rows.iter().map(row).collect()
}

/// SQLite's text of an error that users match on.
fn text(error: &Error) -> &str {
    error
        .metadata()
        .and_then(|metadata| metadata["error"].as_str())
        .unwrap_or_default()
}

fn reason(error: &Error) -> &str {
    error
        .metadata()
        .and_then(|metadata| metadata["reason"].as_str())
        .unwrap_or_default()
}
