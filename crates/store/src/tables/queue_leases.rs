//! `_greenroom_queue_leases`: delivery state of messages that are leased.
//!
//! Made when the first message of such a queue is received, so a database that
//! never leases has the published tables only. RivetKit does not know the table
//! and sees a leased message as one that waits.

use greenroom_error::Result;
use rusqlite::{Connection, OptionalExtension};

use crate::failure::SqlResult;

const DDL: &str = "CREATE TABLE IF NOT EXISTS _greenroom_queue_leases (
    id INTEGER PRIMARY KEY,
    attempt INTEGER NOT NULL,
    visible_at INTEGER NOT NULL,
    leased INTEGER NOT NULL,
    reason TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS _greenroom_queue_leases_visible_at
    ON _greenroom_queue_leases (visible_at, leased);";

const EXISTS: &str = "SELECT 1 FROM sqlite_schema
    WHERE type = 'table' AND name = '_greenroom_queue_leases'";
const GET: &str =
    "SELECT attempt, visible_at, leased, reason FROM _greenroom_queue_leases WHERE id = ?1";
const PUT: &str = "INSERT INTO _greenroom_queue_leases (id, attempt, visible_at, leased, reason)
    VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (id) DO UPDATE SET attempt = excluded.attempt,
        visible_at = excluded.visible_at, leased = excluded.leased, reason = excluded.reason";
const DELETE: &str = "DELETE FROM _greenroom_queue_leases WHERE id = ?1";
const END_ALL: &str = "UPDATE _greenroom_queue_leases SET visible_at = ?1, leased = 0
    WHERE visible_at > ?1 AND leased = 1";
/// Of messages that another runtime took while it had the file.
const DELETE_ORPHANS: &str = "DELETE FROM _greenroom_queue_leases
    WHERE NOT EXISTS (SELECT 1 FROM _rivet_queue AS q WHERE q.id = _greenroom_queue_leases.id)";
const NEXT: &str = "SELECT min(visible_at) FROM _greenroom_queue_leases WHERE visible_at > ?1";
const HIDDEN: &str = "SELECT id, leased FROM _greenroom_queue_leases WHERE visible_at > ?1";
const DELETE_ALL: &str = "DELETE FROM _greenroom_queue_leases";

#[cfg(test)]
pub(crate) const QUERIES: &[&str] = &[GET, DELETE, NEXT, HIDDEN];
/// Once in a generation, bounded by the length of the queue.
#[cfg(test)]
pub(crate) const SCANS: &[&str] = &[END_ALL, DELETE_ORPHANS];

/// How far the delivery of one message has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lease {
    /// Deliveries so far.
    pub attempt: u32,
    /// Unix milliseconds; hidden from receivers before.
    pub visible_at: i64,
    /// A receiver holds it; otherwise it waits to be tried again.
    pub leased: bool,
    /// Why the last attempt was given back.
    pub reason: Option<String>,
}

pub(crate) fn exists(conn: &Connection) -> Result<bool> {
    let found: Option<i64> = conn
        .query_row(EXISTS, [], |row| row.get(0))
        .optional()
        .sql("look for the table of leases")?;
    Ok(found.is_some())
}

pub(crate) fn create(conn: &Connection) -> Result<()> {
    conn.execute_batch(DDL).sql("create the table of leases")
}

pub(crate) fn get(conn: &Connection, id: u64) -> Result<Option<Lease>> {
    conn.prepare_cached(GET)
        .and_then(|mut statement| {
            let lease = statement.query_row([id], |row| {
                Ok(Lease {
                    attempt: row.get(0)?,
                    visible_at: row.get(1)?,
                    leased: row.get(2)?,
                    reason: row.get(3)?,
                })
            });
            lease.optional()
        })
        .sql("read a lease")
}

pub(crate) fn put(conn: &Connection, id: u64, lease: &Lease) -> Result<()> {
    conn.prepare_cached(PUT)
        .and_then(|mut statement| {
            statement.execute((
                id,
                lease.attempt,
                lease.visible_at,
                lease.leased,
                &lease.reason,
            ))
        })
        .sql("write a lease")?;
    Ok(())
}

pub(crate) fn delete(conn: &Connection, id: u64) -> Result<()> {
    conn.prepare_cached(DELETE)
        .and_then(|mut statement| statement.execute([id]))
        .sql("remove a lease")?;
    Ok(())
}

/// Ends every lease: their holders died with the generation that took them.
pub(crate) fn end_all(conn: &Connection, now: i64) -> Result<()> {
    let doing = "end the leases of an earlier generation";
    conn.execute(DELETE_ORPHANS, []).sql(doing)?;
    conn.execute(END_ALL, [now]).sql(doing)?;
    Ok(())
}

/// When the next hidden message becomes visible.
pub(crate) fn next_visible_at(conn: &Connection, now: i64) -> Result<Option<i64>> {
    conn.prepare_cached(NEXT)
        .and_then(|mut statement| statement.query_row([now], |row| row.get(0)))
        .sql("read the next redelivery")
}

/// Ids of hidden messages and whether a receiver holds them.
pub(crate) fn hidden(conn: &Connection, now: i64) -> Result<Vec<(u64, bool)>> {
    conn.prepare_cached(HIDDEN)
        .and_then(|mut statement| {
            let rows = statement.query_map([now], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        })
        .sql("list hidden messages")
}

pub(crate) fn delete_all(conn: &Connection) -> Result<()> {
    conn.prepare_cached(DELETE_ALL)
        .and_then(|mut statement| statement.execute([]))
        .sql("remove all leases")?;
    Ok(())
}

/// The table alone, for plan tests.
#[cfg(test)]
pub(crate) const SCHEMA: &str = DDL;
