//! `_rivet_schedule_events`: what is due when.

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
