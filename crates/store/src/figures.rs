//! Figures of one database: what it holds and what it did, for whoever watches it.
//!
//! The lane takes note of them at the end of a turn that wrote, so asking is free
//! and disturbs nothing; reads alone may leave the use of the cache a little old.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rusqlite::{Connection, ffi};

use crate::schema;

/// What is known of a database. Counts begin with the first handle to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseFigures {
    /// Commits that wrote, the runtime's and the user's.
    pub commits: u64,
    /// Pages of the database, those of deleted rows included.
    pub pages: u64,
    /// Pages in the cache of the open connection.
    pub cached_pages: u64,
    /// Bytes of that cache.
    pub cached_bytes: u64,
    /// Pages that the cache may hold.
    pub cache_capacity_pages: u64,
}

#[derive(Default)]
pub(crate) struct FigureBook {
    commits: AtomicU64,
    /// Of [`Self::commits`] when the rest was noted last.
    noted: AtomicU64,
    is_open: AtomicBool,
    was_opened: AtomicBool,
    pages: AtomicU64,
    cached_bytes: AtomicU64,
    capacity: AtomicU64,
}

impl FigureBook {
    /// Watches the commits of a connection that was opened.
    pub(crate) fn watch(self: &Arc<Self>, conn: &Connection) {
        let book = Arc::clone(self);
        conn.commit_hook(Some(move || {
            book.commits.fetch_add(1, Ordering::Relaxed);
            // Zero lets it happen.
            false
        }));
        self.was_opened.store(true, Ordering::Release);
        self.note(conn);
    }

    /// Takes note at the end of a turn. `conn` is the open connection, outside of
    /// its statements.
    pub(crate) fn turn_ended(&self, conn: Option<&Connection>) {
        let Some(conn) = conn else {
            if self.is_open.swap(false, Ordering::Relaxed) {
                self.cached_bytes.store(0, Ordering::Relaxed);
            }
            return;
        };
        let commits = self.commits.load(Ordering::Relaxed);
        if self.noted.swap(commits, Ordering::Relaxed) != commits {
            self.note(conn);
        }
    }

    fn note(&self, conn: &Connection) {
        self.is_open.store(true, Ordering::Relaxed);
        let number = |sql| -> rusqlite::Result<i64> {
            conn.prepare_cached(sql)?.query_row([], |row| row.get(0))
        };
        // A database that cannot be read says so to those who use it.
        if let Ok(pages) = number("PRAGMA page_count") {
            self.pages.store(pages.unsigned_abs(), Ordering::Relaxed);
        }
        if let Ok(size) = number("PRAGMA cache_size") {
            // KiB if negative.
            let pages = if size < 0 {
                size.unsigned_abs() * 1024 / u64::from(schema::PAGE_SIZE)
            } else {
                size.unsigned_abs()
            };
            self.capacity.store(pages, Ordering::Relaxed);
        }
        self.cached_bytes
            .store(cache_bytes(conn), Ordering::Relaxed);
    }

    /// `None` before the database was opened for the first time.
    pub(crate) fn read(&self) -> Option<DatabaseFigures> {
        if !self.was_opened.load(Ordering::Acquire) {
            return None;
        }
        let cached_bytes = self.cached_bytes.load(Ordering::Relaxed);
        Some(DatabaseFigures {
            commits: self.commits.load(Ordering::Relaxed),
            pages: self.pages.load(Ordering::Relaxed),
            cached_pages: cached_bytes / u64::from(schema::PAGE_SIZE),
            cached_bytes,
            cache_capacity_pages: self.capacity.load(Ordering::Relaxed),
        })
    }
}

fn cache_bytes(conn: &Connection) -> u64 {
    let (mut used, mut highest) = (0, 0);
    // SAFETY: the connection is open; both results are valid places.
    let code = unsafe {
        ffi::sqlite3_db_status(
            conn.handle(),
            ffi::SQLITE_DBSTATUS_CACHE_USED,
            &mut used,
            &mut highest,
            0,
        )
    };
    match code {
        ffi::SQLITE_OK => u64::try_from(used).unwrap_or(0),
        _ => 0,
    }
}
