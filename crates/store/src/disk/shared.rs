//! Which layer of SQLite's own opens a database for several connections of this
//! process and for no other process.
//!
//! It locks the whole file once, when it is first used, and keeps the index of the
//! write-ahead log in memory that the connections share. So one of them may read a
//! state of the database while another writes the next, and there is no `-shm` file.
//! Only Unix has it; elsewhere a database has one connection.

use std::ptr::NonNull;

use rusqlite::ffi;

/// The layer for shared files, where there is one.
pub(super) fn below() -> Option<NonNull<ffi::sqlite3_vfs>> {
    // SAFETY: SQLite initialises itself and answers a layer that lives as long as the
    // process, or null.
    NonNull::new(unsafe { ffi::sqlite3_vfs_find(c"unix-excl".as_ptr()) })
}
