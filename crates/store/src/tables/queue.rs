//! `_rivet_queue`: messages in the order of their ids.
//!
//! Bodies stay out of the index over names, so choosing a message reads none.

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
