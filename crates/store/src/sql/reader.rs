//! The connection of one result that is read while others write.
//!
//! A result of what is committed is read on a connection of its own, so that it
//! keeps its state of the database without anyone waiting for it. What the log has
//! to keep for it is the price; who opened it bounds that
//! ([`super::cursor::Cursors::shorten_log`]).
//!
//! Whatever is only on the user's connection is not seen from here: an open
//! transaction, temporary tables, the counts of changes. Such results are read there.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::cache::CachedStatement;
use super::raw::{self, Lifetime};
use super::side::bound_statements;
use super::watch::Watch;
use crate::files::Files;
use crate::open_file::OpenFile;

/// A result's own connection.
pub(super) struct Reader {
    conn: Connection,
    _place: OwnedSemaphorePermit,
}

impl Deref for Reader {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.conn
    }
}

/// Opens a connection for a result, if its database allows one.
pub(super) struct Readers<'a> {
    /// A place for each connection that the store may have for results at a time: each
    /// holds as many descriptors as an open database.
    pub room: &'a Arc<Semaphore>,
    pub files: &'a Files,
    pub path: Arc<Path>,
}

impl Readers<'_> {
    /// A connection with the statement of `sql`, prepared and not yet run; `None` if it
    /// can only run on `main`, if there are too many, or should an error come up, which
    /// `main` then tells.
    pub(super) fn open(
        &self,
        main: &Connection,
        watch: &Watch,
        sql: &str,
    ) -> Option<(CachedStatement, Box<Reader>)> {
        let place = Arc::clone(self.room).try_acquire_owned().ok()?;
        let conn = OpenFile::reader(self.files, &self.path).ok()?;
        for name in watch.settings() {
            let value: i64 = main.pragma_query_value(None, name, |row| row.get(0)).ok()?;
            conn.pragma_update(None, name, value).ok()?;
        }
        bound_statements(&conn);
        watch.watch_reader(&conn);
        let text = std::ffi::CString::new(sql).ok()?;
        let prepared = raw::prepare(&conn, &text, Lifetime::Once);
        watch.forget_refusal();
        let statement = CachedStatement::new(sql, prepared.ok()?.statement?);
        let reader = Reader {
            conn,
            _place: place,
        };
        Some((statement, Box::new(reader)))
    }
}
