//! `_rivet_queue`: messages in the order of their ids.
//!
//! Bodies stay out of the index over names, so choosing a message reads none.
//! Which message a receiver gets is decided in [`crate::queue_batch`].

use bytes::Bytes;
use greenroom_error::Result;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::failure::{SqlResult, invalid_data};
use crate::tables::trace::{self, Trace};

pub(crate) const DDL: &str = "CREATE TABLE _rivet_queue (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    body BLOB NOT NULL,
    created_at INTEGER NOT NULL
) STRICT";

pub(crate) const INDEX: &str = "CREATE INDEX _rivet_queue_name_id ON _rivet_queue (name, id)";

/// Schema version 2: the trace a message was sent in.
pub(crate) const V2: [&str; 3] = [
    "ALTER TABLE _rivet_queue ADD COLUMN ray_id TEXT",
    "ALTER TABLE _rivet_queue ADD COLUMN traceparent TEXT",
    "ALTER TABLE _rivet_queue ADD COLUMN tracestate TEXT",
];

const INSERT: &str = "INSERT INTO _rivet_queue
    (id, name, body, created_at, ray_id, traceparent, tracestate)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const BY_ID: &str = "SELECT id, name, body, created_at, ray_id, traceparent, tracestate
    FROM _rivet_queue WHERE id = ?1";
const NAME_OF: &str = "SELECT name FROM _rivet_queue WHERE id = ?1";
const DELETE: &str = "DELETE FROM _rivet_queue WHERE id = ?1";
const IDS_AFTER: &str = "SELECT id, name FROM _rivet_queue WHERE id > ?1 ORDER BY id LIMIT ?2";
const IDS_OF_NAME_AFTER: &str = "SELECT id, name FROM _rivet_queue
    WHERE name = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
const LAST_ID: &str = "SELECT max(id) FROM _rivet_queue";
const OLDEST: &str = "SELECT created_at FROM _rivet_queue ORDER BY id LIMIT 1";
const OLDEST_OF_NAME: &str =
    "SELECT created_at FROM _rivet_queue WHERE name = ?1 ORDER BY id LIMIT 1";
const COUNT_OF_NAME: &str = "SELECT count(*) FROM _rivet_queue WHERE name = ?1";
const COUNT: &str = "SELECT count(*) FROM _rivet_queue";
const HEADS: &str = "SELECT id, name, created_at FROM _rivet_queue ORDER BY id";
const DELETE_ALL: &str = "DELETE FROM _rivet_queue";

#[cfg(test)]
pub(crate) const QUERIES: &[&str] = &[
    BY_ID,
    NAME_OF,
    DELETE,
    IDS_AFTER,
    IDS_OF_NAME_AFTER,
    LAST_ID,
    OLDEST_OF_NAME,
    COUNT_OF_NAME,
];
/// Reads of the whole queue, bounded by the length the actor allows it; the
/// oldest message is the first of such a scan.
#[cfg(test)]
pub(crate) const SCANS: &[&str] = &[COUNT, HEADS, OLDEST];

/// One stored message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueRow {
    pub id: u64,
    pub name: String,
    /// Opaque.
    pub body: Bytes,
    /// Unix milliseconds.
    pub created_at: i64,
    pub trace: Trace,
}

/// A message without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueHead {
    pub id: u64,
    pub name: String,
    /// Unix milliseconds.
    pub created_at: i64,
}

pub(crate) fn insert(conn: &Connection, row: &QueueRow) -> Result<()> {
    let trace = &row.trace;
    conn.prepare_cached(INSERT)
        .and_then(|mut statement| {
            statement.execute((
                row.id,
                &row.name,
                &row.body[..],
                row.created_at,
                &trace.ray_id,
                &trace.traceparent,
                &trace.tracestate,
            ))
        })
        .sql("store a queue message")?;
    Ok(())
}

pub(crate) fn by_id(conn: &Connection, id: u64) -> Result<Option<QueueRow>> {
    let doing = "read a queue message";
    let mut statement = conn.prepare_cached(BY_ID).sql(doing)?;
    let mut rows = statement.query([id]).sql(doing)?;
    rows.next().sql(doing)?.map(from_row).transpose()
}

fn from_row(row: &Row<'_>) -> Result<QueueRow> {
    let doing = "read a queue message";
    let body: Vec<u8> = row.get(2).sql(doing)?;
    Ok(QueueRow {
        id: row.get(0).sql(doing)?,
        name: row.get(1).sql(doing)?,
        body: Bytes::from(body),
        created_at: row.get(3).sql(doing)?,
        trace: trace::from_row(row, 4)?,
    })
}

pub(crate) fn name_of(conn: &Connection, id: u64) -> Result<Option<String>> {
    conn.prepare_cached(NAME_OF)
        .and_then(|mut statement| statement.query_row([id], |row| row.get(0)).optional())
        .sql("look up a queue message")
}

/// Whether there was such a message.
pub(crate) fn delete(conn: &Connection, id: u64) -> Result<bool> {
    let deleted = conn
        .prepare_cached(DELETE)
        .and_then(|mut statement| statement.execute([id]))
        .sql("remove a queue message")?;
    Ok(deleted > 0)
}

/// Up to `limit` ids above `after` in order, of one name or of all.
pub(crate) fn ids_after(
    conn: &Connection,
    name: Option<&str>,
    after: u64,
    limit: usize,
) -> Result<Vec<(u64, String)>> {
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let limit = limit as i64;
    let ids = match name {
        Some(name) => conn
            .prepare_cached(IDS_OF_NAME_AFTER)
            .and_then(|mut s| s.query_map((name, after, limit), read)?.collect()),
        None => conn
            .prepare_cached(IDS_AFTER)
            .and_then(|mut s| s.query_map((after, limit), read)?.collect()),
    };
    ids.sql("look for queue messages")
}

/// The highest stored id.
pub(crate) fn last_id(conn: &Connection) -> Result<Option<u64>> {
    conn.prepare_cached(LAST_ID)
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .sql("read the last queue message id")
}

/// Messages of one name, or of all.
pub(crate) fn count(conn: &Connection, name: Option<&str>) -> Result<u64> {
    let doing = "count queue messages";
    match name {
        Some(name) => conn
            .prepare_cached(COUNT_OF_NAME)
            .and_then(|mut statement| statement.query_row([name], |row| row.get(0)))
            .sql(doing),
        None => conn
            .prepare_cached(COUNT)
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .sql(doing),
    }
}

/// When the oldest message of one name, or of all, was sent.
pub(crate) fn oldest(conn: &Connection, name: Option<&str>) -> Result<Option<i64>> {
    let found = match name {
        Some(name) => conn
            .prepare_cached(OLDEST_OF_NAME)
            .and_then(|mut s| s.query_row([name], |row| row.get(0)).optional()),
        None => conn
            .prepare_cached(OLDEST)
            .and_then(|mut s| s.query_row([], |row| row.get(0)).optional()),
    };
    found.sql("read the oldest queue message")
}

pub(crate) fn heads(conn: &Connection) -> Result<Vec<QueueHead>> {
    conn.prepare_cached(HEADS)
        .and_then(|mut statement| {
            let rows = statement.query_map([], |row| {
                Ok(QueueHead {
                    id: row.get(0)?,
                    name: row.get(1)?,
                    created_at: row.get(2)?,
                })
            })?;
            rows.collect()
        })
        .sql("list the queue")
}

pub(crate) fn delete_all(conn: &Connection) -> Result<()> {
    conn.prepare_cached(DELETE_ALL)
        .and_then(|mut statement| statement.execute([]))
        .sql("empty the queue")?;
    Ok(())
}

/// The first id that was never given out: above the stored counter and above
/// every stored message, whichever program wrote them.
pub(crate) fn next_id(conn: &Connection) -> Result<u64> {
    let stored = crate::tables::runtime::queue_next_id(conn)?.unwrap_or(1);
    let stored =
        u64::try_from(stored).map_err(|_| invalid_data("queue_next_id", "must not be negative"))?;
    let used = last_id(conn)?.map_or(0, |id| id + 1);
    Ok(stored.max(used).max(1))
}
