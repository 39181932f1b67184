//! A database that is open: its connection, and where its pages live.
//!
//! An existing file is opened in WAL mode for this process alone, so that no other
//! reads or writes it; a result that is read may have a connection of its own. Pages that are
//! kept elsewhere have no log: what a transaction changed leaves at its sync. A new actor's
//! database is *corked*: it lives in memory, as one image, until the start is
//! complete, and is then published as a whole. So a crash in the middle of a
//! first start leaves no file at all.
//!
//! Does not know about lanes, limits or callers.

use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use greenroom_error::{Error, Result};
use rusqlite::config::DbConfig;
use rusqlite::serialize::OwnedData;
use rusqlite::{Connection, DatabaseName, OpenFlags, ffi};
use tokio::sync::oneshot;

use crate::disk;
use crate::failure::{SqlResult, storage_failed};
use crate::files::{Files, log_size};
use crate::group_commit::roll_back;
use crate::pages::page_file::PageFile;
use crate::pages::vfs;
use crate::place::Place;
use crate::schema;
use crate::sql::UserConnection;

/// Sizes: the cache is bounded to 1 MiB (allocated as used), and a log that grew
/// beyond 4 MiB is cut back when it is restarted.
const SETTINGS: &str = "PRAGMA synchronous = FULL;
    PRAGMA foreign_keys = ON;
    PRAGMA cache_size = -1024;
    PRAGMA journal_size_limit = 4194304;";

/// Where a file cannot be shared by connections of this process alone. The index of
/// the log is in this process's memory either way: no `-shm` file, one descriptor
/// less per database.
const UNSHARED: &str = "PRAGMA locking_mode = EXCLUSIVE;";

/// Of a connection that reads one result.
const READING: &str = "PRAGMA query_only = ON;
    PRAGMA foreign_keys = ON;
    PRAGMA cache_size = -1024;";

/// Of a paged database. The journal stays in memory, because the transaction that
/// it belongs to does; the sync at its end is what makes it durable.
const PAGED_SETTINGS: &str = "PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA synchronous = FULL;
    PRAGMA foreign_keys = ON;
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -1024;";

/// A log up to this many bytes is left as it is when its database is closed:
/// reading it back costs less than the two syncs of a checkpoint, and the first
/// write after the next open needs no new log file.
const LOG_LEFT_AT_CLOSE: u64 = 256 * 1024;

/// How long to wait for another process that reads the file, such as a shell.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// Prepared statements kept per connection.
const STATEMENT_CACHE: usize = 32;

/// A database that could not be put away.
pub(crate) struct Unkept {
    /// `None` if there is nothing to keep it for.
    pub(crate) file: Option<Box<OpenFile>>,
    pub(crate) error: Error,
}

pub(crate) struct OpenFile {
    /// Above the connection, so that it is dropped first.
    pub(crate) user: UserConnection,
    pub(crate) conn: Connection,
    corked: bool,
    /// A write or sync failed, so the log may hold frames that no commit stands
    /// for. They are harmless while this connection lives, because it writes
    /// over them; before it closes they must be cut off by a checkpoint.
    pub(crate) suspect: bool,
    /// Callers that wait for the end of a transaction to uncork.
    pub(crate) uncork_waiters: Vec<oneshot::Sender<Result<()>>>,
}

impl OpenFile {
    /// Opens the existing file at `path` and brings its schema up to date.
    pub(crate) fn open(files: &Files, path: &Path) -> Result<Self> {
        let doing = "open the database";
        let conn = connect(files, path).sql(doing)?;
        conn.busy_timeout(BUSY_TIMEOUT).sql(doing)?;
        if !disk::shares_files() {
            conn.execute_batch(UNSHARED).sql(doing)?;
        }
        conn.execute_batch(SETTINGS).sql(doing)?;
        let mode: String = conn
            .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
            .sql(doing)?;
        if mode != "wal" {
            return Err(storage_failed(format!(
                "the database cannot use a write-ahead log (it stays in mode {mode})"
            )));
        }
        let mut file = Self::new(conn, false);
        schema::migrate(&mut file.conn)?;
        Ok(file)
    }

    /// A further connection to the file at `path`, which is open here, to read what is
    /// committed. Only where [files are shared](disk::shares_files).
    pub(crate) fn reader(files: &Files, path: &Path) -> rusqlite::Result<Connection> {
        let conn = connect(files, path)?;
        conn.execute_batch(READING)?;
        Ok(conn)
    }

    /// Opens the existing database of these pages and brings its schema up to date.
    pub(crate) fn open_pages(layer: &vfs::Registered, pages: &Arc<PageFile>) -> Result<Self> {
        let doing = "open the database";
        let conn = layer.connect(pages).sql(doing)?;
        conn.execute_batch(PAGED_SETTINGS).sql(doing)?;
        let mode: String = conn
            .query_row("PRAGMA journal_mode = MEMORY", [], |row| row.get(0))
            .sql(doing)?;
        if mode != "memory" {
            return Err(storage_failed(format!(
                "the database cannot keep its journal in memory (it stays in mode {mode})"
            )));
        }
        let mut file = Self::new(conn, false);
        schema::migrate(&mut file.conn)?;
        Ok(file)
    }

    /// A new database in memory that starts as a copy of `template`.
    pub(crate) fn create(template: &[u8]) -> Result<Self> {
        let doing = "create the database";
        let mut conn = Connection::open_in_memory().sql(doing)?;
        conn.deserialize(DatabaseName::Main, sqlite_copy(template)?, false)
            .sql(doing)?;
        conn.execute_batch("PRAGMA foreign_keys = ON").sql(doing)?;
        Ok(Self::new(conn, true))
    }

    fn new(conn: Connection, corked: bool) -> Self {
        conn.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
        // Keeps statements from what would damage the file, such as the tables behind a
        // full-text index. It is known to every SQLite since 3.26.
        let defensive = conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true);
        debug_assert!(defensive.is_ok());
        Self {
            user: UserConnection::new(&conn),
            conn,
            corked,
            suspect: false,
            uncork_waiters: Vec::new(),
        }
    }

    pub(crate) fn is_corked(&self) -> bool {
        self.corked
    }

    pub(crate) fn in_transaction(&self) -> bool {
        !self.conn.is_autocommit()
    }

    /// True while closing the connection would lose something.
    pub(crate) fn is_pinned(&self) -> bool {
        self.in_transaction() || self.user.is_pinned()
    }

    /// Ends an open transaction without its changes.
    pub(crate) fn roll_back(&self) {
        roll_back(&self.conn);
    }

    /// Bytes of a corked database.
    pub(crate) fn corked_size(&self) -> Result<u64> {
        let pages: u32 = self
            .conn
            .prepare_cached("PRAGMA page_count")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .sql("measure the database")?;
        Ok(u64::from(pages) * u64::from(schema::PAGE_SIZE))
    }

    /// Makes a corked database durable in its place. The connection still works on
    /// the copy in memory afterwards and must be dropped without further use.
    ///
    /// Must not be called inside a transaction.
    pub(crate) fn publish(&self, files: &Files, place: &Place) -> Result<()> {
        let image = self
            .conn
            .serialize(DatabaseName::Main)
            .sql("read the new database")?;
        place.publish(files, &image)
    }

    /// Closes the database so that everything committed is in its place. On
    /// failure the file is handed back if it holds what is nowhere else and can
    /// still be kept.
    pub(crate) fn put_away(
        mut self: Box<Self>,
        files: &Files,
        place: &Place,
    ) -> Result<(), Unkept> {
        if self.corked {
            let outcome = self.publish(files, place);
            return outcome.map_err(|error| Unkept {
                file: (!place.is_forsaken()).then_some(self),
                error,
            });
        }
        let path = place.path();
        if let Place::File(_) = place
            && let Err(error) = self.trim_log(path)
        {
            // The commits are safe in the log; the next close tries again.
            tracing::warn!(path = %path.display(), %error, "could not checkpoint a database");
        }
        self.user.clear();
        if let Err((_, error)) = self.conn.close() {
            tracing::warn!(path = %path.display(), %error, "could not close a database cleanly");
        }
        if let Place::Pages(_, pages) = place {
            pages.forget();
        }
        Ok(())
    }

    fn trim_log(&self, path: &Path) -> Result<()> {
        if log_size(path) <= LOG_LEFT_AT_CLOSE && !self.suspect {
            return Ok(());
        }
        self.conn
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .sql("checkpoint the database")
    }
}

fn connect(files: &Files, path: &Path) -> rusqlite::Result<Connection> {
    // Read-only connections would be subject to other processes' locks.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = files.disk.connect_shared(path, flags)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(conn)
}

/// Copies `bytes` into memory that SQLite may grow and free.
fn sqlite_copy(bytes: &[u8]) -> Result<OwnedData> {
    // SAFETY: plain allocation, checked for null below.
    let memory = unsafe { ffi::sqlite3_malloc64(bytes.len() as u64) };
    let memory = NonNull::new(memory.cast::<u8>())
        .ok_or_else(|| Error::internal("out of memory for a new database"))?;
    // SAFETY: `memory` is fresh and has exactly `bytes.len()` bytes; it comes
    // from SQLite's allocator, as `OwnedData` demands.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory.as_ptr(), bytes.len());
        Ok(OwnedData::from_raw_nonnull(memory, bytes.len()))
    }
}
