//! `_rivet_user_kv`: the deprecated key-value data of user code.
//!
//! Keys are stored exactly as handed in and compared as bytes. Limits on their
//! size are the caller's.

use bytes::Bytes;
use greenroom_error::Result;
use rusqlite::{Connection, OptionalExtension, ToSql};

use crate::database::Database;
use crate::failure::SqlResult;

pub(crate) const DDL: &str = "CREATE TABLE _rivet_user_kv (
    key BLOB PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID";

const GET: &str = "SELECT value FROM _rivet_user_kv WHERE key = ?1";
const PUT: &str = "INSERT INTO _rivet_user_kv (key, value) VALUES (?1, ?2)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value";
const DELETE: &str = "DELETE FROM _rivet_user_kv WHERE key = ?1";
const DELETE_RANGE: &str = "DELETE FROM _rivet_user_kv WHERE key >= ?1 AND key < ?2";
const RANGE: &str = "SELECT key, value FROM _rivet_user_kv
    WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3";
const RANGE_DOWN: &str = "SELECT key, value FROM _rivet_user_kv
    WHERE key >= ?1 AND key < ?2 ORDER BY key DESC LIMIT ?3";
const FROM: &str = "SELECT key, value FROM _rivet_user_kv
    WHERE key >= ?1 ORDER BY key LIMIT ?2";
const FROM_DOWN: &str = "SELECT key, value FROM _rivet_user_kv
    WHERE key >= ?1 ORDER BY key DESC LIMIT ?2";

#[cfg(test)]
pub(crate) const QUERIES: &[&str] = &[
    GET,
    DELETE,
    DELETE_RANGE,
    RANGE,
    RANGE_DOWN,
    FROM,
    FROM_DOWN,
];

/// A key and its value.
pub type KvPair = (Bytes, Bytes);

/// Keys from `start` up to, not including, `end`; to the last key without one.
#[derive(Clone, Debug)]
pub struct KvRange {
    pub start: Bytes,
    pub end: Option<Bytes>,
    /// Descending.
    pub reverse: bool,
    /// `None` lists everything.
    pub limit: Option<u32>,
}

impl Database {
    /// Values in the order of the keys; `None` for a key that is not there.
    pub async fn kv_get(&self, keys: Vec<Bytes>) -> Result<Vec<Option<Bytes>>> {
        self.read(move |conn| keys.iter().map(|key| get(conn, key)).collect())
            .await
    }

    /// Stores all pairs in one transaction.
    pub async fn kv_put(&self, pairs: Vec<KvPair>) -> Result<()> {
        self.write(move |conn| {
            pairs
                .iter()
                .try_for_each(|(key, value)| put(conn, key, value))
        })
        .await
    }

    /// Deletes all keys in one transaction.
    pub async fn kv_delete(&self, keys: Vec<Bytes>) -> Result<()> {
        self.write(move |conn| keys.iter().try_for_each(|key| delete(conn, key)))
            .await
    }

    /// Deletes the keys from `start` up to, not including, `end`.
    pub async fn kv_delete_range(&self, start: Bytes, end: Bytes) -> Result<()> {
        self.write(move |conn| {
            conn.prepare_cached(DELETE_RANGE)
                .and_then(|mut statement| statement.execute([&start[..], &end[..]]))
                .sql("delete a range of keys")?;
            Ok(())
        })
        .await
    }

    pub async fn kv_list(&self, range: KvRange) -> Result<Vec<KvPair>> {
        self.read(move |conn| list(conn, &range)).await
    }
}

fn get(conn: &Connection, key: &[u8]) -> Result<Option<Bytes>> {
    let value: Option<Vec<u8>> = conn
        .prepare_cached(GET)
        .and_then(|mut statement| statement.query_row([key], |row| row.get(0)).optional())
        .sql("read a key")?;
    Ok(value.map(Bytes::from))
}

fn put(conn: &Connection, key: &[u8], value: &[u8]) -> Result<()> {
    conn.prepare_cached(PUT)
        .and_then(|mut statement| statement.execute([key, value]))
        .sql("store a key")?;
    Ok(())
}

fn delete(conn: &Connection, key: &[u8]) -> Result<()> {
    conn.prepare_cached(DELETE)
        .and_then(|mut statement| statement.execute([key]))
        .sql("delete a key")?;
    Ok(())
}

fn list(conn: &Connection, range: &KvRange) -> Result<Vec<KvPair>> {
    let limit = range.limit.map_or(-1, i64::from);
    let start = &range.start[..];
    let end = range.end.as_deref();
    let (sql, parameters): (&str, Vec<&dyn ToSql>) = match (&end, range.reverse) {
        (Some(end), false) => (RANGE, vec![&start, end, &limit]),
        (Some(end), true) => (RANGE_DOWN, vec![&start, end, &limit]),
        (None, false) => (FROM, vec![&start, &limit]),
        (None, true) => (FROM_DOWN, vec![&start, &limit]),
    };
    conn.prepare_cached(sql)
        .and_then(|mut statement| {
            let rows = statement.query_map(&parameters[..], |row| {
                let (key, value): (Vec<u8>, Vec<u8>) = (row.get(0)?, row.get(1)?);
                Ok((Bytes::from(key), Bytes::from(value)))
            })?;
            rows.collect()
        })
        .sql("list keys")
}
