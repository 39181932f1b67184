//! A database as one file: out of a live actor, and back into one that sleeps.
//!
//! Out: a copy, page by page, of what is committed, under a temporary name until
//! it is whole and on disk. In: a copy of the given file is checked, brought up
//! to date and put into the place of the old database at once; a crash leaves the
//! one or the other.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use greenroom_error::{Error, Result, code};
use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};

use crate::database::Database;
use crate::failure::{IoResult, SqlResult};
use crate::files::{NEW, beside};
use crate::open_file::OpenFile;
use crate::pages::PAGE_BYTES;
use crate::place::Place;
use crate::session::Session;

/// Pages copied between two looks at whether to go on.
const PAGES_PER_STEP: i32 = 4096;

impl Database {
    /// Copies what is committed into the new file `into`, which must not exist.
    /// Waits for an open transaction to end; the actor's other statements wait
    /// while it copies.
    ///
    /// # Errors
    /// `sqlite/closed` for a database that does not exist yet;
    /// `napi/invalid_argument` if `into` exists; `host/storage_failed`.
    pub async fn backup(&self, into: PathBuf) -> Result<()> {
        let mut explicit = self.subscribe_explicit_transaction();
        loop {
            // An error means that the database is gone, which the call reports.
            drop(explicit.wait_for(|open| !open).await);
            let target = into.clone();
            let copied = self
                .user_sql()
                .outside_transactions(move |session| session.backup(&target))
                .await;
            match copied {
                // A plain BEGIN was faster than we.
                Err(error) if error.is(&code::SQLITE_WRITER_BUSY) => {}
                outcome => return outcome,
            }
        }
    }

    /// Puts a copy of `from` into the place of this database, which is closed
    /// for it. For actors that are not running.
    ///
    /// # Errors
    /// `napi/invalid_argument` if `from` is no sound database;
    /// `protocol/invalid_persisted_data` if a newer version wrote it;
    /// `host/storage_failed`. The old database is still there then.
    pub async fn replace(&self, from: PathBuf) -> Result<()> {
        self.run_always(move |session| session.replace(&from)).await
    }
}

impl Session<'_> {
    fn backup(&mut self, into: &Path) -> Result<()> {
        let disk = &self.files().disk;
        let file = self.file()?;
        if file.in_transaction() {
            return Err(Error::new(&code::SQLITE_WRITER_BUSY));
        }
        if into.try_exists().file("look for the backup's file")? {
            return Err(Error::invalid_argument("file", "exists already"));
        }
        let partial = beside(into, NEW);
        let outcome = copy(&file.conn, &partial).and_then(|()| {
            let publish = || {
                sync(&partial)?;
                disk.rename(&partial, into)?;
                disk.sync_folder(folder_of(into))
            };
            publish().file("put the backup in its place")
        });
        if outcome.is_err() {
            discard(&partial);
        }
        outcome
    }

    fn replace(&mut self, from: &Path) -> Result<()> {
        let is_file = matches!(self.place(), Place::File(_));
        let partial = match is_file {
            true => beside(self.path(), NEW),
            // In nobody's way, for there is no place of its own.
            false => {
                let name = format!("greenroom-{}-{:p}", std::process::id(), self.place());
                std::env::temp_dir().join(name)
            }
        };
        if is_file {
            self.files()
                .make_room(self.path())
                .file("make the actor's folder")?;
        }
        discard(&partial);
        let outcome = match is_file {
            true => self.take_in(from, &partial),
            false => self.take_in_pages(from, &partial),
        };
        if outcome.is_err() || !is_file {
            discard(&partial);
        }
        outcome
    }

    /// Makes the copy at `partial` that is put in place, with a schema that is up
    /// to date; fails if that cannot be done.
    fn prepare(&self, from: &Path, partial: &Path) -> Result<()> {
        copy(&sound(from)?, partial)?;
        let mut copied = Box::new(OpenFile::open(self.files(), partial)?);
        copied.suspect = true;
        let place = Place::file(partial.into(), None);
        copied
            .put_away(self.files(), &place)
            .map_err(|unkept| unkept.error)
    }

    fn take_in_pages(&mut self, from: &Path, partial: &Path) -> Result<()> {
        self.prepare(from, partial)?;
        let image = image_of(partial)?;
        self.close()?;
        self.place().publish(self.files(), &image)
    }

    fn take_in(&mut self, from: &Path, partial: &Path) -> Result<()> {
        self.prepare(from, partial)?;
        // Nothing that is committed may be in a log that goes before the file.
        match self.file() {
            Ok(file) => file.suspect = true,
            Err(error) if error.is(&code::SQLITE_CLOSED) => {}
            Err(error) => {
                // A damaged database is a good reason to replace it.
                tracing::warn!(path = %self.path().display(), %error, "the database that is replaced could not be opened");
            }
        }
        self.close()?;
        self.files().put_in_place(partial, self.path())
    }
}

/// All pages of the database at `path`, of the size and with the kind of journal
/// that page stores know.
fn image_of(path: &Path) -> Result<Vec<u8>> {
    let doing = "prepare the database for its page store";
    let conn = Connection::open(path).sql(doing)?;
    let one = |statement: &str| conn.query_row(statement, [], |row| row.get::<_, String>(0));
    one("PRAGMA journal_mode = DELETE").sql(doing)?;
    let size: usize = conn
        .query_row("PRAGMA page_size", [], |row| row.get(0))
        .sql(doing)?;
    if size != PAGE_BYTES {
        conn.execute_batch(&format!("PRAGMA page_size = {PAGE_BYTES}; VACUUM"))
            .sql(doing)?;
    }
    conn.close().map_err(|(_, error)| error).sql(doing)?;
    fs::read(path).file("read the database that is put in place")
}

/// The database in `from`, read-only, after a look at all of its pages.
fn sound(from: &Path) -> Result<Connection> {
    let unsound = |reason: String| {
        Error::invalid_argument("file", format!("is not a sound SQLite database: {reason}"))
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let conn = Connection::open_with_flags(from, flags)?;
        let verdict: String = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        let pages: u64 = conn.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        Ok::<_, rusqlite::Error>((conn, verdict, pages))
    };
    let (conn, verdict, pages) = open().map_err(|error| unsound(error.to_string()))?;
    if pages == 0 {
        // SQLite takes a file without a byte for a database, and whoever copies one
        // that was cut off for a backup would lose what it replaces.
        return Err(unsound("it is empty".to_owned()));
    }
    if verdict == "ok" {
        Ok(conn)
    } else {
        Err(unsound(verdict))
    }
}

/// Copies all pages into a fresh file that needs no log.
fn copy(from: &Connection, into: &Path) -> Result<()> {
    let doing = "copy the database";
    let mut target = Connection::open(into).sql(doing)?;
    {
        let backup = Backup::new(from, &mut target).sql(doing)?;
        backup
            .run_to_completion(PAGES_PER_STEP, Duration::ZERO, None)
            .sql(doing)?;
    }
    let mode: String = target
        .query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0))
        .sql(doing)?;
    debug_assert_eq!(mode, "delete");
    target.close().map_err(|(_, error)| error).sql(doing)
}

fn sync(path: &Path) -> std::io::Result<()> {
    File::options().write(true).open(path)?.sync_all()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Deletes what a failed copy left; what cannot be deleted is overwritten later.
fn discard(partial: &Path) {
    for path in ["", "-wal", "-journal", "-shm"].map(|suffix| beside(partial, suffix)) {
        drop(fs::remove_file(path));
    }
}
