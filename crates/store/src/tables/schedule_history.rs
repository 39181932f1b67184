//! `_rivet_schedule_history`: how recurring schedules went.
//!
//! Bounded twice: per schedule by what it asked for, and per actor by
//! [`ROWS_MAX`] with some slack, because counting on each insert costs more than
//! a few rows too many.

use greenroom_error::{Error, Result, code};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::failure::{SqlResult, invalid_data};

pub(crate) const DDL: &str = "CREATE TABLE _rivet_schedule_history (
    id INTEGER PRIMARY KEY,
    schedule_id TEXT NOT NULL,
    action TEXT NOT NULL,
    scheduled_at INTEGER NOT NULL,
    fired_at INTEGER NOT NULL,
    finished_at INTEGER,
    result INTEGER NOT NULL,
    error_group TEXT,
    error_code TEXT,
    error_message TEXT,
    error_metadata BLOB
) STRICT";

pub(crate) const INDEXES: [&str; 3] = [
    "CREATE INDEX _rivet_schedule_history_schedule
        ON _rivet_schedule_history (schedule_id, fired_at DESC, id DESC)",
    "CREATE INDEX _rivet_schedule_history_fired_at
        ON _rivet_schedule_history (fired_at DESC, id DESC)",
    "CREATE INDEX _rivet_schedule_history_running
        ON _rivet_schedule_history (result) WHERE result = 0",
];

/// Rows left by a pruning of the whole table.
pub(crate) const ROWS_MAX: i64 = 9_900;
/// Inserts between two prunings of the whole table.
pub const PRUNE_INTERVAL: u32 = 100;

const INSERT: &str = "INSERT INTO _rivet_schedule_history
    (schedule_id, action, scheduled_at, fired_at, finished_at, result)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const FINISH: &str = "UPDATE _rivet_schedule_history
    SET finished_at = ?2, result = ?3, error_group = ?4, error_code = ?5,
        error_message = ?6, error_metadata = ?7
    WHERE id = ?1 AND result = 0";
const INTERRUPT: &str = "UPDATE _rivet_schedule_history
    SET finished_at = ?1, result = 2, error_group = ?2, error_code = ?3,
        error_message = ?4, error_metadata = NULL
    WHERE result = 0";
const RUNNING: &str = "SELECT 1 FROM _rivet_schedule_history WHERE result = 0 LIMIT 1";
const LIST: &str = "SELECT action, scheduled_at, fired_at, finished_at, result,
        error_group, error_code, error_message, error_metadata
    FROM _rivet_schedule_history WHERE schedule_id = ?1
    ORDER BY fired_at DESC, id DESC LIMIT ?2";
const PRUNE: &str = "DELETE FROM _rivet_schedule_history WHERE id IN (
    SELECT id FROM _rivet_schedule_history WHERE schedule_id = ?1
    ORDER BY fired_at DESC, id DESC LIMIT -1 OFFSET ?2)";
const PRUNE_ALL: &str = "DELETE FROM _rivet_schedule_history WHERE id IN (
    SELECT id FROM _rivet_schedule_history
    ORDER BY fired_at DESC, id DESC LIMIT -1 OFFSET ?1)";
const DELETE: &str = "DELETE FROM _rivet_schedule_history WHERE schedule_id = ?1";

#[cfg(test)]
pub(crate) const QUERIES: &[&str] = &[FINISH, LIST, PRUNE, DELETE];
/// The first walks the whole table once in [`PRUNE_INTERVAL`] inserts; the others
/// walk the partial index that holds running fires only.
#[cfg(test)]
pub(crate) const SCANS: &[&str] = &[PRUNE_ALL, INTERRUPT, RUNNING];

/// How a fire went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FireResult {
    Running,
    Ok,
    Error(FireError),
    /// The fire before it was still running.
    Skipped,
}

impl FireResult {
    pub fn label(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ok => "ok",
            Self::Error(_) => "error",
            Self::Skipped => "skipped",
        }
    }
}

/// A failure as clients may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FireError {
    pub group: String,
    pub code: String,
    pub message: String,
    /// CBOR.
    pub metadata: Option<Vec<u8>>,
}

/// One fire of a recurring schedule. Times are Unix milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FireRow {
    pub action: String,
    pub scheduled_at: i64,
    pub fired_at: i64,
    /// `None` while it runs.
    pub finished_at: Option<i64>,
    pub result: FireResult,
}

/// The columns of a new row. It runs unless it is finished already.
pub(crate) struct NewFire<'a> {
    pub schedule_id: &'a str,
    pub action: &'a str,
    pub scheduled_at: i64,
    pub fired_at: i64,
    pub skipped: bool,
}

/// Returns the id of the new row.
pub(crate) fn insert(conn: &Connection, fire: &NewFire<'_>) -> Result<i64> {
    let (finished_at, result) = if fire.skipped {
        (Some(fire.fired_at), 3)
    } else {
        (None, 0)
    };
    conn.prepare_cached(INSERT)
        .and_then(|mut statement| {
            statement.insert((
                fire.schedule_id,
                fire.action,
                fire.scheduled_at,
                fire.fired_at,
                finished_at,
                result,
            ))
        })
        .sql("note a fire")
}

/// Ends a running fire; one that was ended or pruned meanwhile stays as it is.
pub(crate) fn finish(
    conn: &Connection,
    id: i64,
    finished_at: i64,
    error: Option<&FireError>,
) -> Result<()> {
    let result = if error.is_some() { 2 } else { 1 };
    conn.prepare_cached(FINISH)
        .and_then(|mut statement| {
            statement.execute((
                id,
                finished_at,
                result,
                error.map(|e| &e.group),
                error.map(|e| &e.code),
                error.map(|e| &e.message),
                error.and_then(|e| e.metadata.as_deref()),
            ))
        })
        .sql("note the end of a fire")?;
    Ok(())
}

/// Whether a fire of an earlier generation never ended.
pub(crate) fn any_running(conn: &Connection) -> Result<bool> {
    let found: Option<i64> = conn
        .prepare_cached(RUNNING)
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)).optional())
        .sql("look for interrupted fires")?;
    Ok(found.is_some())
}

/// Marks every running fire as interrupted.
pub(crate) fn interrupt(conn: &Connection, now: i64) -> Result<()> {
    let error = Error::new(&code::SCHEDULE_INTERRUPTED);
    conn.prepare_cached(INTERRUPT)
        .and_then(|mut statement| {
            statement.execute((now, error.group(), error.code(), error.message()))
        })
        .sql("mark interrupted fires")?;
    Ok(())
}

/// The newest fires of one schedule, newest first.
pub(crate) fn list(conn: &Connection, schedule_id: &str, limit: u32) -> Result<Vec<FireRow>> {
    let doing = "read the history of a schedule";
    let mut statement = conn.prepare_cached(LIST).sql(doing)?;
    let mut rows = statement.query((schedule_id, limit)).sql(doing)?;
    let mut fires = Vec::new();
    while let Some(row) = rows.next().sql(doing)? {
        fires.push(from_row(row)?);
    }
    Ok(fires)
}

fn from_row(row: &Row<'_>) -> Result<FireRow> {
    let doing = "read a fire";
    let result = match row.get::<_, i64>(4).sql(doing)? {
        0 => FireResult::Running,
        1 => FireResult::Ok,
        2 => FireResult::Error(FireError {
            group: row.get(5).sql(doing)?,
            code: row.get(6).sql(doing)?,
            message: row.get(7).sql(doing)?,
            metadata: row.get(8).sql(doing)?,
        }),
        3 => FireResult::Skipped,
        _ => return Err(invalid_data("schedule history", "unknown result")),
    };
    Ok(FireRow {
        action: row.get(0).sql(doing)?,
        scheduled_at: row.get(1).sql(doing)?,
        fired_at: row.get(2).sql(doing)?,
        finished_at: row.get(3).sql(doing)?,
        result,
    })
}

/// Leaves the newest `keep` fires of one schedule.
pub(crate) fn prune(conn: &Connection, schedule_id: &str, keep: u32) -> Result<()> {
    conn.prepare_cached(PRUNE)
        .and_then(|mut statement| statement.execute((schedule_id, keep)))
        .sql("prune the history of a schedule")?;
    Ok(())
}

/// Leaves the newest [`ROWS_MAX`] fires of all schedules.
pub(crate) fn prune_all(conn: &Connection) -> Result<()> {
    conn.prepare_cached(PRUNE_ALL)
        .and_then(|mut statement| statement.execute([ROWS_MAX]))
        .sql("prune the history of all schedules")?;
    Ok(())
}

pub(crate) fn delete(conn: &Connection, schedule_id: &str) -> Result<()> {
    conn.prepare_cached(DELETE)
        .and_then(|mut statement| statement.execute([schedule_id]))
        .sql("delete the history of a schedule")?;
    Ok(())
}
