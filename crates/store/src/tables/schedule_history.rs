//! `_rivet_schedule_history`: how recurring schedules went.

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
