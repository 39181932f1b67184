//! SQL of user code: `JsNativeDatabase`, `JsSqliteTransaction`,
//! `JsActorStateTransaction` and `JsSqlCursor`.
//!
//! Each class speaks two dialects. The published one (`execute`, `query`, `run`,
//! `exec`, `executeBatch`) takes parameters as tagged objects and gives blobs as
//! arrays of numbers and infinities as null. The other (`executeValues` and what
//! follows it) takes and gives JavaScript values as they are, exactly: it is the
//! one of this package's own TypeScript layer.

mod batch;
mod calls;
mod cursor;
mod database;
mod input;
mod output;
mod state_transaction;
mod transaction;

use std::time::Duration;

use greenroom_error::{Error, Result};

pub use database::JsNativeDatabase;
pub use state_transaction::JsActorStateTransaction;
pub(crate) use state_transaction::begin as begin_state_transaction;

/// Milliseconds as a span of time that some clock can wait for.
fn timeout(ms: Option<f64>) -> Result<Option<Duration>> {
    let Some(ms) = ms else { return Ok(None) };
    if !ms.is_finite() || ms <= 0.0 {
        let reason = "must be a positive finite number of milliseconds";
        return Err(Error::invalid_argument("timeout", reason));
    }
    Duration::try_from_secs_f64(ms / 1000.0)
        .map(Some)
        .map_err(|_| Error::invalid_argument("timeout", "is too large to represent"))
}
