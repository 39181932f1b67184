//! Statements at the level of SQLite's C interface.
//!
//! `rusqlite` hides three things that users' SQL needs: where the first statement
//! of a text ends, statements that outlive the borrow of their connection (for
//! the cache and for open results), and binding without a copy. This file adds
//! those and nothing else; all `unsafe` of users' SQL is here.
//!
//! Invariant: every [`RawStatement`] of a connection is dropped before the
//! connection is closed. Its owners, the statement cache and the cursors, are
//! emptied by whoever closes the file.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::{self, NonNull};

use bytes::Bytes;
use rusqlite::{Connection, ffi};

use super::value::SqlValue;

/// A prepared statement.
pub(super) struct RawStatement {
    statement: NonNull<ffi::sqlite3_stmt>,
}

// SAFETY: SQLite objects may move between threads as long as only one thread
// uses them at a time. A statement is used by the lane whose turn it is with the
// database, like its connection.
unsafe impl Send for RawStatement {}

/// What SQLite said about a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// Extended result code.
    pub code: c_int,
    pub message: String,
    /// Where in the text, in bytes, if SQLite can tell.
    pub offset: Option<usize>,
}

impl Failure {
    pub(super) fn primary(&self) -> c_int {
        self.code & 0xff
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        let code = error
            .sqlite_error()
            .map_or(ffi::SQLITE_ERROR, |cause| cause.extended_code);
        let message = match error {
            rusqlite::Error::SqliteFailure(_, Some(message)) => message,
            other => other.to_string(),
        };
        Self {
            code,
            message,
            offset: None,
        }
    }
}

/// What [`prepare`] found at the beginning of a text.
pub(super) struct Prepared {
    /// `None` if there was only white space or a comment.
    pub statement: Option<RawStatement>,
    /// Length of the text it was made from, in bytes.
    pub length: usize,
}

/// How long a statement will be kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lifetime {
    Once,
    /// SQLite then takes its memory from the general heap and not from the
    /// connection's small pool.
    Long,
}

/// Prepares the first statement of `sql`.
pub(super) fn prepare(
    conn: &Connection,
    sql: &CStr,
    lifetime: Lifetime,
) -> Result<Prepared, Failure> {
    let flags = match lifetime {
        Lifetime::Once => 0,
        Lifetime::Long => ffi::SQLITE_PREPARE_PERSISTENT,
    };
    let mut statement = ptr::null_mut();
    let mut tail: *const c_char = ptr::null();
    // SAFETY: the connection is open, `sql` ends with NUL, both out pointers are
    // valid for the call.
    let code = unsafe {
        ffi::sqlite3_prepare_v3(
            conn.handle(),
            sql.as_ptr(),
            -1,
            flags as _,
            &mut statement,
            &mut tail,
        )
    };
    if code != ffi::SQLITE_OK {
        return Err(last_failure(conn, code));
    }
    let length = if tail.is_null() {
        sql.count_bytes()
    } else {
        // SAFETY: SQLite sets `tail` inside the text it was given.
        let length = unsafe { tail.offset_from(sql.as_ptr()) };
        usize::try_from(length).unwrap_or(0)
    };
    Ok(Prepared {
        statement: NonNull::new(statement).map(|statement| RawStatement { statement }),
        length,
    })
}

/// The connection's most recent failure, which must have had `code`.
pub(super) fn last_failure(conn: &Connection, code: c_int) -> Failure {
    // SAFETY: the connection is open; the message is copied before any other call.
    unsafe {
        let db = conn.handle();
        let message = CStr::from_ptr(ffi::sqlite3_errmsg(db));
        let offset = ffi::sqlite3_error_offset(db);
        Failure {
            code,
            message: message.to_string_lossy().into_owned(),
            offset: usize::try_from(offset).ok(),
        }
    }
}

impl RawStatement {
    fn as_ptr(&self) -> *mut ffi::sqlite3_stmt {
        self.statement.as_ptr()
    }

    pub(super) fn parameter_count(&self) -> usize {
        // SAFETY: the statement is live, as in every call below.
        let count = unsafe { ffi::sqlite3_bind_parameter_count(self.as_ptr()) };
        usize::try_from(count).unwrap_or(0)
    }

    /// Columns of the result; may change when SQLite prepares the statement anew
    /// after a change of the schema, so it is asked after the first step.
    pub(super) fn column_count(&self) -> usize {
        let count = unsafe { ffi::sqlite3_column_count(self.as_ptr()) };
        usize::try_from(count).unwrap_or(0)
    }

    pub(super) fn column_name(&self, index: usize) -> String {
        // SAFETY: the name lives until the statement is prepared anew; copied.
        unsafe {
            let name = ffi::sqlite3_column_name(self.as_ptr(), index as c_int);
            if name.is_null() {
                return String::new();
            }
            CStr::from_ptr(name).to_string_lossy().into_owned()
        }
    }

    /// True if the column is called `name`; cheaper than fetching the name.
    pub(super) fn has_column_name(&self, index: usize, name: &str) -> bool {
        // SAFETY: as above; compared before any other call.
        unsafe {
            let found = ffi::sqlite3_column_name(self.as_ptr(), index as c_int);
            !found.is_null() && CStr::from_ptr(found).to_bytes() == name.as_bytes()
        }
    }

    /// True if the statement cannot write to the database file.
    pub(super) fn is_read_only(&self) -> bool {
        unsafe { ffi::sqlite3_stmt_readonly(self.as_ptr()) != 0 }
    }

    /// Binds the values to the parameters in order.
    ///
    /// # Safety
    ///
    /// SQLite keeps pointers into `params`. They must stay where they are until
    /// [`clear`](Self::clear), the next `bind` or the drop of the statement.
    pub(super) unsafe fn bind(
        &mut self,
        conn: &Connection,
        params: &[SqlValue],
    ) -> Result<(), Failure> {
        for (index, value) in params.iter().enumerate() {
            let code = unsafe { self.bind_one(index as c_int + 1, value) };
            if code != ffi::SQLITE_OK {
                return Err(last_failure(conn, code));
            }
        }
        Ok(())
    }

    unsafe fn bind_one(&mut self, index: c_int, value: &SqlValue) -> c_int {
        let statement = self.as_ptr();
        // A destructor of `None` is SQLITE_STATIC: no copy is made.
        unsafe {
            match value {
                SqlValue::Null => ffi::sqlite3_bind_null(statement, index),
                SqlValue::Integer(value) => ffi::sqlite3_bind_int64(statement, index, *value),
                SqlValue::Real(value) => ffi::sqlite3_bind_double(statement, index, *value),
                SqlValue::Text(text) => ffi::sqlite3_bind_text64(
                    statement,
                    index,
                    // An empty `String` has no memory; SQLite never reads it.
                    text.as_ptr().cast(),
                    text.len() as u64,
                    None,
                    ffi::SQLITE_UTF8 as _,
                ),
                // A null pointer would bind NULL; an empty slice's never is.
                SqlValue::Blob(blob) => ffi::sqlite3_bind_blob64(
                    statement,
                    index,
                    blob.as_ptr().cast(),
                    blob.len() as u64,
                    None,
                ),
            }
        }
    }

    /// Advances to the next row; false at the end.
    pub(super) fn step(&mut self, conn: &Connection) -> Result<bool, Failure> {
        match unsafe { ffi::sqlite3_step(self.as_ptr()) } {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => Ok(false),
            code => Err(last_failure(conn, code)),
        }
    }

    /// One cell of the current row. Text that is not UTF-8 is repaired. Fails only
    /// for lack of memory.
    pub(super) fn cell(&self, conn: &Connection, index: usize) -> Result<SqlValue, Failure> {
        let (statement, index) = (self.as_ptr(), index as c_int);
        // SAFETY: bytes are asked after their pointer, as SQLite demands, and
        // copied before the next call on the statement.
        Ok(unsafe {
            match ffi::sqlite3_column_type(statement, index) {
                ffi::SQLITE_INTEGER => {
                    SqlValue::Integer(ffi::sqlite3_column_int64(statement, index))
                }
                ffi::SQLITE_FLOAT => SqlValue::Real(ffi::sqlite3_column_double(statement, index)),
                ffi::SQLITE_TEXT => {
                    let text = ffi::sqlite3_column_text(statement, index);
                    check_made(conn, text)?;
                    let bytes = ffi::sqlite3_column_bytes(statement, index);
                    let bytes = slice(text, bytes);
                    SqlValue::Text(String::from_utf8_lossy(bytes).into_owned())
                }
                ffi::SQLITE_BLOB => {
                    let blob = ffi::sqlite3_column_blob(statement, index);
                    check_made(conn, blob.cast())?;
                    let bytes = ffi::sqlite3_column_bytes(statement, index);
                    SqlValue::Blob(Bytes::copy_from_slice(slice(blob.cast(), bytes)))
                }
                _ => SqlValue::Null,
            }
        })
    }

    /// Instructions of SQLite's machine since the last call of this.
    pub(super) fn take_steps(&self) -> u64 {
        // SAFETY: the statement is alive.
        let steps =
            unsafe { ffi::sqlite3_stmt_status(self.as_ptr(), ffi::SQLITE_STMTSTATUS_VM_STEP, 1) };
        steps.unsigned_abs().into()
    }

    /// Ends the run and lets go of the bound values.
    pub(super) fn clear(&mut self) {
        // The code of `reset` repeats that of the last step, which was reported.
        unsafe {
            ffi::sqlite3_reset(self.as_ptr());
            ffi::sqlite3_clear_bindings(self.as_ptr());
        }
    }
}

impl Drop for RawStatement {
    fn drop(&mut self) {
        // SAFETY: the connection is still open, by the invariant of this file.
        unsafe {
            ffi::sqlite3_finalize(self.as_ptr());
        }
    }
}

/// The failure to put a cell's bytes together. An empty blob has none, too.
fn check_made(conn: &Connection, bytes: *const u8) -> Result<(), Failure> {
    if bytes.is_null() {
        // SAFETY: the connection is open.
        let code = unsafe { ffi::sqlite3_extended_errcode(conn.handle()) };
        if code & 0xff == ffi::SQLITE_NOMEM {
            return Err(last_failure(conn, code));
        }
    }
    Ok(())
}

/// # Safety
///
/// `start` must be null or point to `length` bytes that live as long as `'a`.
unsafe fn slice<'a>(start: *const u8, length: c_int) -> &'a [u8] {
    match usize::try_from(length) {
        Ok(length) if !start.is_null() => unsafe { std::slice::from_raw_parts(start, length) },
        _ => &[],
    }
}

/// Rows changed by the connection's last `INSERT`, `UPDATE` or `DELETE`.
pub(super) fn changes(conn: &Connection) -> i64 {
    unsafe { ffi::sqlite3_changes64(conn.handle()) }
}

/// What `last_insert_rowid()` answers from now on.
pub(super) fn set_last_insert_row_id(conn: &Connection, row_id: i64) {
    unsafe { ffi::sqlite3_set_last_insert_rowid(conn.handle(), row_id) }
}
