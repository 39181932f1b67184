//! `_rivet_wf_kv`: what the workflow engine keeps, in key order.
//!
//! Stored keys carry a two-byte prefix that callers never see. Keys are compared
//! as bytes, so they must not be re-encoded.

use greenroom_error::Result;
use rusqlite::Connection;

use crate::failure::SqlResult;

pub(crate) const DDL: &str = "CREATE TABLE _rivet_wf_kv (
    key BLOB PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID";

/// Precedes every key of the workflow engine in the table.
pub(crate) const PREFIX: [u8; 2] = [6, 1];

const PUT: &str = "INSERT INTO _rivet_wf_kv (key, value) VALUES (?1, ?2)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value";

/// `key` without prefix.
pub(crate) fn put(conn: &Connection, key: &[u8], value: &[u8]) -> Result<()> {
    let stored = [&PREFIX, key].concat();
    conn.prepare_cached(PUT)
        .and_then(|mut statement| statement.execute((stored, value)))
        .sql("save a workflow value")?;
    Ok(())
}
