//! Turns SQLite and file failures into structured errors.
//!
//! Which row of the table fits is decided here and nowhere else in the crate.
//! The text of SQLite is kept word for word, because users match on it.

use std::io;

use greenroom_error::{Error, Result, code};
use rusqlite::ErrorCode;
use serde_json::json;

/// Names what was being done when a database call failed.
pub(crate) trait SqlResult<T> {
    /// `doing` completes the sentence "failed to …".
    fn sql(self, doing: &str) -> Result<T>;
}

impl<T> SqlResult<T> for rusqlite::Result<T> {
    fn sql(self, doing: &str) -> Result<T> {
        self.map_err(|error| from_sql(error, doing))
    }
}

/// Names what was being done when a file call failed.
pub(crate) trait IoResult<T> {
    /// `doing` completes the sentence "failed to …".
    fn file(self, doing: &str) -> Result<T>;
}

impl<T> IoResult<T> for io::Result<T> {
    fn file(self, doing: &str) -> Result<T> {
        self.map_err(|error| {
            storage_failed(format!("failed to {doing}: {error}")).with_source(error)
        })
    }
}

pub(crate) fn from_sql(error: rusqlite::Error, doing: &str) -> Error {
    let text = format!("failed to {doing}: {error}");
    let structured = match &error {
        rusqlite::Error::SqliteFailure(cause, _) => from_code(cause.code, &text),
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::IntegralValueOutOfRange(..) => invalid_data(doing, &error.to_string()),
        _ => Error::internal(text),
    };
    structured.with_source(error)
}

fn from_code(code: ErrorCode, text: &str) -> Error {
    match code {
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => corrupt(text),
        ErrorCode::DiskFull
        | ErrorCode::SystemIoFailure
        | ErrorCode::CannotOpen
        | ErrorCode::ReadOnly
        | ErrorCode::PermissionDenied
        | ErrorCode::DatabaseBusy
        | ErrorCode::FileLockingProtocolFailed => storage_failed(text.to_owned()),
        ErrorCode::OperationInterrupted => {
            Error::with(&code::SQLITE_INTERRUPTED, json!({ "reason": text }))
        }
        _ => Error::internal(text),
    }
}

/// The file is there but is not a database we can trust.
pub(crate) fn corrupt(reason: &str) -> Error {
    Error::with(&code::ACTOR_CORRUPT, json!({ "reason": reason }))
}

/// The disk or the file system refused; the stored data is not in doubt.
pub(crate) fn storage_failed(reason: String) -> Error {
    Error::with(&code::HOST_STORAGE_FAILED, json!({ "reason": reason }))
}

/// A row holds what the schema does not allow.
pub(crate) fn invalid_data(label: &str, reason: &str) -> Error {
    Error::with(
        &code::PROTOCOL_INVALID_PERSISTED_DATA,
        json!({ "label": label, "reason": reason }),
    )
}

pub(crate) fn closed() -> Error {
    Error::new(&code::SQLITE_CLOSED)
}

/// The user's handle was closed while the job waited.
pub(crate) fn withdrawn() -> Error {
    Error::new(&code::SQLITE_TRANSACTION_CLOSED)
}
