//! `_rivet_schedule_events`: what is due when.
//!
//! A row is checked whole when it is read: one that does not fit its kind is an
//! error, never guessed at. When the next fire is, is not decided here.

use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use rusqlite::{Connection, Row};
use serde_json::json;

use crate::failure::SqlResult;
use crate::tables::trace::{self, Trace};

pub(crate) const DDL: &str = "CREATE TABLE _rivet_schedule_events (
    event_id TEXT PRIMARY KEY,
    trigger_at INTEGER NOT NULL,
    action TEXT NOT NULL,
    args BLOB,
    kind INTEGER NOT NULL,
    cron_expression TEXT,
    timezone TEXT,
    interval_ms INTEGER,
    last_started_at INTEGER,
    max_history INTEGER NOT NULL
) STRICT, WITHOUT ROWID";

pub(crate) const INDEX: &str = "CREATE INDEX _rivet_schedule_events_trigger_at
    ON _rivet_schedule_events (trigger_at)";

/// Schema version 2: the trace a schedule was set in.
pub(crate) const V2: [&str; 3] = [
    "ALTER TABLE _rivet_schedule_events ADD COLUMN ray_id TEXT",
    "ALTER TABLE _rivet_schedule_events ADD COLUMN traceparent TEXT",
    "ALTER TABLE _rivet_schedule_events ADD COLUMN tracestate TEXT",
];

/// Shortest interval of a recurring schedule, in milliseconds.
pub const INTERVAL_MIN_MS: i64 = 5_000;
/// Most fires that a recurring schedule remembers.
pub const HISTORY_MAX: u32 = 1_000;
/// Due time of a row that can never fire. It stays visible but arms nothing.
const NEVER: i64 = i64::MAX;

const PUT: &str = "INSERT INTO _rivet_schedule_events
    (event_id, trigger_at, action, args, kind, cron_expression, timezone, interval_ms,
     last_started_at, max_history, ray_id, traceparent, tracestate)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
    ON CONFLICT (event_id) DO UPDATE SET trigger_at = excluded.trigger_at,
        action = excluded.action, args = excluded.args, kind = excluded.kind,
        cron_expression = excluded.cron_expression, timezone = excluded.timezone,
        interval_ms = excluded.interval_ms, last_started_at = excluded.last_started_at,
        max_history = excluded.max_history, ray_id = excluded.ray_id,
        traceparent = excluded.traceparent, tracestate = excluded.tracestate";
const GET: &str = "SELECT event_id, trigger_at, action, args, kind, cron_expression, timezone,
        interval_ms, last_started_at, max_history, ray_id, traceparent, tracestate
    FROM _rivet_schedule_events WHERE event_id = ?1";
const DUE: &str = "SELECT event_id, trigger_at, action, args, kind, cron_expression, timezone,
        interval_ms, last_started_at, max_history, ray_id, traceparent, tracestate
    FROM _rivet_schedule_events WHERE trigger_at <= ?1
    ORDER BY trigger_at, event_id LIMIT ?2";
const LIST: &str = "SELECT event_id, trigger_at, action, args, kind, cron_expression, timezone,
        interval_ms, last_started_at, max_history, ray_id, traceparent, tracestate
    FROM _rivet_schedule_events ORDER BY trigger_at, event_id";
const DELETE: &str = "DELETE FROM _rivet_schedule_events WHERE event_id = ?1";
const ADVANCE: &str = "UPDATE _rivet_schedule_events
    SET trigger_at = ?2, last_started_at = ?3 WHERE event_id = ?1";
const MOVE: &str = "UPDATE _rivet_schedule_events SET trigger_at = ?2 WHERE event_id = ?1";
const NEXT: &str = "SELECT min(trigger_at) FROM _rivet_schedule_events";
const COUNT: &str = "SELECT count(*) FROM _rivet_schedule_events";

#[cfg(test)]
pub(crate) const QUERIES: &[&str] = &[GET, DUE, DELETE, ADVANCE, MOVE, NEXT];
/// Reads of all schedules, bounded by the number the actor allows.
#[cfg(test)]
pub(crate) const SCANS: &[&str] = &[LIST, COUNT];

/// When a schedule fires again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cadence {
    /// Never: it fires once.
    Once,
    Cron {
        expression: String,
        /// IANA name.
        timezone: String,
    },
    Every {
        interval_ms: i64,
    },
}

impl Cadence {
    fn kind(&self) -> i64 {
        match self {
            Self::Once => 0,
            Self::Cron { .. } => 1,
            Self::Every { .. } => 2,
        }
    }

    /// False for a schedule that is gone once it has fired.
    pub fn is_recurring(&self) -> bool {
        *self != Self::Once
    }
}

/// One schedule. Times are Unix milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleRow {
    pub event_id: String,
    pub trigger_at: i64,
    pub action: String,
    /// CBOR array; empty is stored as null.
    pub args: Bytes,
    pub cadence: Cadence,
    /// Last fire that was not skipped; always `None` for one that fires once.
    pub last_started_at: Option<i64>,
    /// Fires to remember; 0 for one that fires once.
    pub max_history: u32,
    pub trace: Trace,
}

impl ScheduleRow {
    /// False if it was set aside and waits to be set again.
    pub(crate) fn can_fire(&self) -> bool {
        self.trigger_at != NEVER
    }
}

/// A row as far as it can be read.
pub(crate) struct Found {
    pub event_id: String,
    pub row: Result<ScheduleRow>,
}

pub(crate) fn put(conn: &Connection, row: &ScheduleRow) -> Result<()> {
    let (expression, timezone, interval_ms) = match &row.cadence {
        Cadence::Once => (None, None, None),
        Cadence::Cron {
            expression,
            timezone,
        } => (Some(expression), Some(timezone), None),
        Cadence::Every { interval_ms } => (None, None, Some(*interval_ms)),
    };
    let args = (!row.args.is_empty()).then_some(&row.args[..]);
    conn.prepare_cached(PUT)
        .and_then(|mut statement| {
            statement.execute((
                &row.event_id,
                row.trigger_at,
                &row.action,
                args,
                row.cadence.kind(),
                expression,
                timezone,
                interval_ms,
                row.last_started_at,
                row.max_history,
                &row.trace.ray_id,
                &row.trace.traceparent,
                &row.trace.tracestate,
            ))
        })
        .sql("store a schedule")?;
    Ok(())
}

pub(crate) fn get(conn: &Connection, event_id: &str) -> Result<Option<ScheduleRow>> {
    let doing = "read a schedule";
    let mut statement = conn.prepare_cached(GET).sql(doing)?;
    let mut rows = statement.query([event_id]).sql(doing)?;
    match rows.next().sql(doing)? {
        Some(row) => found(row)?.row.map(Some),
        None => Ok(None),
    }
}

/// Up to `limit` rows that are due, in the order they are to fire.
pub(crate) fn due(conn: &Connection, now: i64, limit: usize) -> Result<Vec<Found>> {
    let doing = "read due schedules";
    let mut statement = conn.prepare_cached(DUE).sql(doing)?;
    let mut rows = statement.query((now, limit as i64)).sql(doing)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().sql(doing)? {
        all.push(found(row)?);
    }
    Ok(all)
}

/// All schedules by due time and id. One damaged row fails the list.
pub(crate) fn list(conn: &Connection) -> Result<Vec<ScheduleRow>> {
    let doing = "list schedules";
    let mut statement = conn.prepare_cached(LIST).sql(doing)?;
    let mut rows = statement.query([]).sql(doing)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().sql(doing)? {
        all.push(found(row)?.row?);
    }
    Ok(all)
}

fn found(row: &Row<'_>) -> Result<Found> {
    let event_id: String = row.get(0).sql("read a schedule")?;
    let row = parse(row, &event_id);
    Ok(Found { event_id, row })
}

fn parse(row: &Row<'_>, event_id: &str) -> Result<ScheduleRow> {
    let invalid = |reason: &str| invalid_row(event_id, reason);
    let doing = "read a schedule";
    let args: Option<Vec<u8>> = row.get(3).sql(doing)?;
    let max_history: i64 = row.get(9).sql(doing)?;
    let max_history = u32::try_from(max_history)
        .ok()
        .filter(|max| *max <= HISTORY_MAX)
        .ok_or_else(|| invalid("max_history is out of range"))?;
    let columns: (Option<String>, Option<String>, Option<i64>) = (
        row.get(5).sql(doing)?,
        row.get(6).sql(doing)?,
        row.get(7).sql(doing)?,
    );
    let cadence = match (row.get::<_, i64>(4).sql(doing)?, columns) {
        (0, (None, None, None)) if max_history == 0 => Cadence::Once,
        (1, (Some(expression), Some(timezone), None)) => Cadence::Cron {
            expression,
            timezone,
        },
        (2, (None, None, Some(interval_ms))) if interval_ms >= INTERVAL_MIN_MS => {
            Cadence::Every { interval_ms }
        }
        (0..=2, _) => return Err(invalid("its columns do not fit its kind")),
        _ => return Err(invalid("its kind is unknown")),
    };
    Ok(ScheduleRow {
        event_id: event_id.to_owned(),
        trigger_at: row.get(1).sql(doing)?,
        action: row.get(2).sql(doing)?,
        args: Bytes::from(args.unwrap_or_default()),
        cadence,
        last_started_at: row.get(8).sql(doing)?,
        max_history,
        trace: trace::from_row(row, 10)?,
    })
}

fn invalid_row(event_id: &str, reason: &str) -> Error {
    Error::with(
        &code::SCHEDULE_INVALID_ROW,
        json!({ "schedule_id": event_id, "reason": reason }),
    )
}

/// Whether there was such a schedule.
pub(crate) fn delete(conn: &Connection, event_id: &str) -> Result<bool> {
    let deleted = conn
        .prepare_cached(DELETE)
        .and_then(|mut statement| statement.execute([event_id]))
        .sql("delete a schedule")?;
    Ok(deleted > 0)
}

/// Notes a fire and moves to the next one; `None` if there will be none.
pub(crate) fn advance(
    conn: &Connection,
    event_id: &str,
    next: Option<i64>,
    started_at: i64,
) -> Result<()> {
    conn.prepare_cached(ADVANCE)
        .and_then(|mut statement| statement.execute((event_id, next.unwrap_or(NEVER), started_at)))
        .sql("advance a schedule")?;
    Ok(())
}

/// Moves to the next fire without one; `None` if there will be none.
pub(crate) fn skip_to(conn: &Connection, event_id: &str, next: Option<i64>) -> Result<()> {
    conn.prepare_cached(MOVE)
        .and_then(|mut statement| statement.execute((event_id, next.unwrap_or(NEVER))))
        .sql("advance a schedule")?;
    Ok(())
}

/// The earliest due time of all.
pub(crate) fn next_trigger(conn: &Connection) -> Result<Option<i64>> {
    let next: Option<i64> = conn
        .prepare_cached(NEXT)
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .sql("read the next due time")?;
    Ok(next.filter(|at| *at != NEVER))
}

pub(crate) fn count(conn: &Connection) -> Result<u64> {
    conn.prepare_cached(COUNT)
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .sql("count schedules")
}
