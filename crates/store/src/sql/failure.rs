//! Turns the failures of users' statements into structured errors.
//!
//! What concerns the file (corruption, the disk) has codes of its own. What
//! concerns the statement is `core/internal_error`, as published callers expect,
//! with SQLite's text word for word in `metadata.error` and its code by name in
//! `metadata.sqlite`.

use std::ffi::c_int;
use std::time::Duration;

use greenroom_error::{Error, code};
use rusqlite::ffi;
use serde_json::json;

use super::raw::Failure;
use crate::disk::temp;
use crate::failure::{corrupt, storage_failed};
use crate::memory;

/// Why a running statement was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// It ran for longer than its caller allowed.
    TimedOut(Duration),
    /// Its caller withdrew it.
    Aborted,
    /// The actor lets go of its database.
    Closing,
}

pub(super) fn interrupted(reason: Interruption) -> Error {
    let text = match reason {
        Interruption::TimedOut(limit) => format!("it ran for more than {} ms", limit.as_millis()),
        Interruption::Aborted => "its caller aborted it".to_owned(),
        Interruption::Closing => "the actor is stopping".to_owned(),
    };
    Error::with(&code::SQLITE_INTERRUPTED, json!({ "reason": text }))
}

pub(super) fn forbidden(reason: &str) -> Error {
    Error::with(&code::SQLITE_FORBIDDEN, json!({ "reason": reason }))
}

pub(super) fn invalid_parameter(name: &str, reason: &str) -> Error {
    Error::with(
        &code::SQLITE_INVALID_BIND_PARAMETER,
        json!({ "name": name, "reason": reason }),
    )
}

/// `doing` completes the sentence "failed to …".
pub(super) fn from_sqlite(failure: &Failure, doing: &str) -> Error {
    let text = format!("failed to {doing}: {}", failure.message);
    if failure.primary() == ffi::SQLITE_FULL
        && let Some(limit) = temp::take_refusal()
    {
        return Error::with(
            &code::SQLITE_TEMPORARY_SPACE_EXCEEDED,
            json!({ "limit": limit }),
        );
    }
    let lacks_memory = matches!(failure.code, ffi::SQLITE_NOMEM | ffi::SQLITE_IOERR_NOMEM);
    if lacks_memory && let Some(limit) = memory::take_refusal() {
        return Error::with(&code::SQLITE_MEMORY_EXCEEDED, json!({ "limit": limit }));
    }
    match failure.primary() {
        // Of a virtual table alone, which its owner may have brought about.
        ffi::SQLITE_CORRUPT if failure.code != ffi::SQLITE_CORRUPT_VTAB => corrupt(&text),
        ffi::SQLITE_NOTADB => corrupt(&text),
        ffi::SQLITE_FULL
        | ffi::SQLITE_IOERR
        | ffi::SQLITE_CANTOPEN
        | ffi::SQLITE_READONLY
        | ffi::SQLITE_PERM
        | ffi::SQLITE_BUSY
        | ffi::SQLITE_PROTOCOL => storage_failed(text),
        _ => Error::new(&code::INTERNAL).with_metadata(json!({
            "error": text,
            "sqlite": {
                "code": name_of(failure.code),
                "extended_code": failure.code,
                "offset": failure.offset,
            },
        })),
    }
}

/// True if a commit may or may not have reached the disk.
pub(super) fn leaves_doubt(failure: &Failure) -> bool {
    matches!(failure.primary(), ffi::SQLITE_FULL | ffi::SQLITE_IOERR)
}

/// SQLite's name of a result code. Of the extended codes only those are told
/// apart that a program would act upon.
fn name_of(code: c_int) -> &'static str {
    let detail = match code {
        ffi::SQLITE_CONSTRAINT_CHECK => "SQLITE_CONSTRAINT_CHECK",
        ffi::SQLITE_CONSTRAINT_DATATYPE => "SQLITE_CONSTRAINT_DATATYPE",
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => "SQLITE_CONSTRAINT_FOREIGNKEY",
        ffi::SQLITE_CONSTRAINT_NOTNULL => "SQLITE_CONSTRAINT_NOTNULL",
        ffi::SQLITE_CONSTRAINT_PRIMARYKEY => "SQLITE_CONSTRAINT_PRIMARYKEY",
        ffi::SQLITE_CONSTRAINT_ROWID => "SQLITE_CONSTRAINT_ROWID",
        ffi::SQLITE_CONSTRAINT_TRIGGER => "SQLITE_CONSTRAINT_TRIGGER",
        ffi::SQLITE_CONSTRAINT_UNIQUE => "SQLITE_CONSTRAINT_UNIQUE",
        ffi::SQLITE_CORRUPT_VTAB => "SQLITE_CORRUPT_VTAB",
        ffi::SQLITE_CONSTRAINT_VTAB => "SQLITE_CONSTRAINT_VTAB",
        _ => "",
    };
    if !detail.is_empty() {
        return detail;
    }
    match code & 0xff {
        ffi::SQLITE_ERROR => "SQLITE_ERROR",
        ffi::SQLITE_ABORT => "SQLITE_ABORT",
        ffi::SQLITE_LOCKED => "SQLITE_LOCKED",
        ffi::SQLITE_NOMEM => "SQLITE_NOMEM",
        ffi::SQLITE_SCHEMA => "SQLITE_SCHEMA",
        ffi::SQLITE_TOOBIG => "SQLITE_TOOBIG",
        ffi::SQLITE_CONSTRAINT => "SQLITE_CONSTRAINT",
        ffi::SQLITE_MISMATCH => "SQLITE_MISMATCH",
        ffi::SQLITE_MISUSE => "SQLITE_MISUSE",
        ffi::SQLITE_RANGE => "SQLITE_RANGE",
        ffi::SQLITE_AUTH => "SQLITE_AUTH",
        _ => "SQLITE_INTERNAL",
    }
}
