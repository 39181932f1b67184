//! `_greenroom_dead_letters`: messages that were given up.
//!
//! Made with the first of them. Holds at most [`ROWS_MAX`]; beyond that the
//! oldest are dropped, so that nobody fills the disk with bad messages.

use bytes::Bytes;
use greenroom_error::Result;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::failure::SqlResult;
use crate::tables::queue::QueueRow;
use crate::tables::trace;

/// Dead letters kept for one actor.
const ROWS_MAX: i64 = 10_000;

const DDL: &str = "CREATE TABLE IF NOT EXISTS _greenroom_dead_letters (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    body BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    reason TEXT NOT NULL,
    died_at INTEGER NOT NULL,
    ray_id TEXT,
    traceparent TEXT,
    tracestate TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS _greenroom_dead_letters_name_id
    ON _greenroom_dead_letters (name, id);";

const EXISTS: &str = "SELECT 1 FROM sqlite_schema
    WHERE type = 'table' AND name = '_greenroom_dead_letters'";
const INSERT: &str = "INSERT OR REPLACE INTO _greenroom_dead_letters
    (id, name, body, created_at, attempts, reason, died_at, ray_id, traceparent, tracestate)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
const AFTER: &str = "SELECT id, name, body, created_at, attempts, reason, died_at,
        ray_id, traceparent, tracestate
    FROM _greenroom_dead_letters WHERE id > ?1 ORDER BY id LIMIT ?2";
const OF_NAME_AFTER: &str = "SELECT id, name, body, created_at, attempts, reason, died_at,
        ray_id, traceparent, tracestate
    FROM _greenroom_dead_letters WHERE name = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
const DELETE: &str = "DELETE FROM _greenroom_dead_letters WHERE id = ?1";
const DELETE_OF_NAME: &str = "DELETE FROM _greenroom_dead_letters WHERE name = ?1";
const DELETE_ALL: &str = "DELETE FROM _greenroom_dead_letters";
const DELETE_OLDEST: &str = "DELETE FROM _greenroom_dead_letters WHERE id <= coalesce(
    (SELECT id FROM _greenroom_dead_letters ORDER BY id DESC LIMIT 1 OFFSET ?1), 0)";
const COUNT_OF_NAME: &str = "SELECT count(*) FROM _greenroom_dead_letters WHERE name = ?1";
const COUNT: &str = "SELECT count(*) FROM _greenroom_dead_letters";

#[cfg(test)]
pub(crate) const QUERIES: &[&str] = &[AFTER, OF_NAME_AFTER, DELETE, DELETE_OF_NAME, COUNT_OF_NAME];
/// Bounded by [`ROWS_MAX`].
#[cfg(test)]
pub(crate) const SCANS: &[&str] = &[COUNT, DELETE_OLDEST];
/// The table alone, for plan tests.
#[cfg(test)]
pub(crate) const SCHEMA: &str = DDL;

/// A message that was given up, under the id it had in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    pub message: QueueRow,
    /// Deliveries before it was given up.
    pub attempts: u32,
    pub reason: String,
    /// Unix milliseconds.
    pub died_at: i64,
}

pub(crate) fn exists(conn: &Connection) -> Result<bool> {
    let found: Option<i64> = conn
        .query_row(EXISTS, [], |row| row.get(0))
        .optional()
        .sql("look for the table of dead letters")?;
    Ok(found.is_some())
}

pub(crate) fn create(conn: &Connection) -> Result<()> {
    conn.execute_batch(DDL)
        .sql("create the table of dead letters")
}

pub(crate) fn insert(conn: &Connection, letter: &DeadLetter) -> Result<()> {
    let row = &letter.message;
    conn.prepare_cached(INSERT)
        .and_then(|mut statement| {
            statement.execute((
                row.id,
                &row.name,
                &row.body[..],
                row.created_at,
                letter.attempts,
                &letter.reason,
                letter.died_at,
                &row.trace.ray_id,
                &row.trace.traceparent,
                &row.trace.tracestate,
            ))
        })
        .sql("store a dead letter")?;
    let dropped = conn
        .prepare_cached(DELETE_OLDEST)
        .and_then(|mut statement| statement.execute([ROWS_MAX]))
        .sql("drop the oldest dead letters")?;
    if dropped > 0 {
        tracing::warn!(
            dropped,
            limit = ROWS_MAX,
            "the oldest dead letters were dropped"
        );
    }
    Ok(())
}

/// Up to `limit` dead letters above `after`, of one name or of all.
pub(crate) fn list(
    conn: &Connection,
    name: Option<&str>,
    after: u64,
    limit: u32,
) -> Result<Vec<DeadLetter>> {
    let doing = "list dead letters";
    let sql = if name.is_some() { OF_NAME_AFTER } else { AFTER };
    let mut statement = conn.prepare_cached(sql).sql(doing)?;
    let mut rows = match name {
        Some(name) => statement.query((name, after, limit)),
        None => statement.query((after, limit)),
    }
    .sql(doing)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().sql(doing)? {
        found.push(from_row(row)?);
    }
    Ok(found)
}

fn from_row(row: &Row<'_>) -> Result<DeadLetter> {
    let doing = "read a dead letter";
    let body: Vec<u8> = row.get(2).sql(doing)?;
    Ok(DeadLetter {
        message: QueueRow {
            id: row.get(0).sql(doing)?,
            name: row.get(1).sql(doing)?,
            body: Bytes::from(body),
            created_at: row.get(3).sql(doing)?,
            trace: trace::from_row(row, 7)?,
        },
        attempts: row.get(4).sql(doing)?,
        reason: row.get(5).sql(doing)?,
        died_at: row.get(6).sql(doing)?,
    })
}

pub(crate) fn delete(conn: &Connection, id: u64) -> Result<bool> {
    let deleted = conn
        .prepare_cached(DELETE)
        .and_then(|mut statement| statement.execute([id]))
        .sql("remove a dead letter")?;
    Ok(deleted > 0)
}

/// Deletes those of one name, or all; returns how many there were.
pub(crate) fn purge(conn: &Connection, name: Option<&str>) -> Result<u64> {
    let deleted = match name {
        Some(name) => conn
            .prepare_cached(DELETE_OF_NAME)
            .and_then(|mut statement| statement.execute([name])),
        None => conn
            .prepare_cached(DELETE_ALL)
            .and_then(|mut statement| statement.execute([])),
    };
    Ok(deleted.sql("purge dead letters")? as u64)
}

pub(crate) fn count(conn: &Connection, name: Option<&str>) -> Result<u64> {
    let counted = match name {
        Some(name) => conn
            .prepare_cached(COUNT_OF_NAME)
            .and_then(|mut statement| statement.query_row([name], |row| row.get(0))),
        None => conn
            .prepare_cached(COUNT)
            .and_then(|mut statement| statement.query_row([], |row| row.get(0))),
    };
    counted.sql("count dead letters")
}
