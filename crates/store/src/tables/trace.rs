//! The trace columns that queue messages and schedules carry.
//!
//! Opaque text: they tie a message or a fire to the call that caused it.

use greenroom_error::Result;
use rusqlite::Row;

use crate::failure::SqlResult;

/// Where a message or a schedule came from. All fields may be absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    pub ray_id: Option<String>,
    pub traceparent: Option<String>,
    pub tracestate: Option<String>,
}

/// Reads the three columns that begin at `at`.
pub(crate) fn from_row(row: &Row<'_>, at: usize) -> Result<Trace> {
    let doing = "read trace columns";
    Ok(Trace {
        ray_id: row.get(at).sql(doing)?,
        traceparent: row.get(at + 1).sql(doing)?,
        tracestate: row.get(at + 2).sql(doing)?,
    })
}
