//! What a user has on a database, as it is open and as it is not.
//!
//! A connection may be closed between any two statements, when other databases
//! need its place or when a new actor's file is published. [`UserSide`] lives
//! beside the queue and carries over what the user would miss; [`UserConnection`]
//! lives and dies with the connection.

use std::sync::Arc;

use greenroom_error::Result;
use rusqlite::Connection;
use rusqlite::limits::Limit;

use super::cache::StatementCache;
use super::coordinator::{Coordinator, Phase, Tx};
use super::cursor::Cursors;
use super::raw;
use super::reader::Readers;
use super::runner::{Counters, Runner, VALUE_BYTES_MAX};
use super::watch::{Access, Guard, Watch};
use crate::disk;
use crate::failure::SqlResult;
use crate::open_file::OpenFile;
use crate::place::Place;
use crate::save::SaveBatch;
use crate::session::Session;

/// The user's part of an open connection.
///
/// Invariant: `statements` is emptied before the connection is closed.
pub(crate) struct UserConnection {
    pub(crate) watch: Watch,
    statements: StatementCache,
}

impl UserConnection {
    /// Puts limits and a watch on `conn`.
    pub(crate) fn new(conn: &Connection) -> Self {
        bound_statements(conn);
        Self {
            watch: Watch::install(conn),
            statements: StatementCache::default(),
        }
    }

    /// Lets go of everything that would keep the connection from closing.
    pub(crate) fn clear(&mut self) {
        self.statements.clear();
    }

    /// True if closing the connection would lose something of the user's.
    pub(crate) fn is_pinned(&self) -> bool {
        self.watch.has_temporary_objects()
    }
}

/// Puts limits on what statements on `conn` may be.
pub(super) fn bound_statements(conn: &Connection) {
    let bytes = i32::try_from(VALUE_BYTES_MAX).unwrap_or(i32::MAX);
    conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, bytes);
    conn.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, bytes);
    // One, because VACUUM attaches the file it writes.
    conn.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 1);
    conn.set_limit(Limit::SQLITE_LIMIT_WORKER_THREADS, 0);
    conn.set_limit(Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 100);
}

/// The user's part of a database, open or not.
#[derive(Default)]
pub(crate) struct UserSide {
    pub(crate) coordinator: Coordinator,
    counters: Counters,
    pub(crate) cursors: Cursors,
    /// Pragmas to set again on the next connection.
    settings: Vec<(&'static str, i64)>,
}

impl UserSide {
    /// Called with each new connection, before its first use.
    pub(crate) fn attach(&self, file: &OpenFile) -> Result<()> {
        for (name, value) in &self.settings {
            file.conn
                .pragma_update(None, name, value)
                .sql(&format!("restore PRAGMA {name}"))?;
        }
        Ok(())
    }

    /// Called before a connection is closed that another will replace.
    pub(crate) fn detach(&mut self, file: &OpenFile) {
        self.cursors.put_aside(&file.conn, &file.user.watch);
        for name in file.user.watch.settings() {
            let value = file
                .conn
                .pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            match value {
                Ok(value) => self.remember(name, value),
                Err(error) => tracing::warn!(%error, name, "could not read a pragma back"),
            }
        }
    }

    /// Called before the runtime writes.
    pub(crate) fn free_connection(&mut self, file: &OpenFile) {
        self.cursors.leave_main(&file.conn, &file.user.watch);
    }

    /// Called after each job: results must not keep the log of `log_bytes` long.
    pub(crate) fn shorten_log(&mut self, file: &OpenFile, log_bytes: impl FnOnce() -> u64) {
        self.cursors
            .shorten_log(&file.conn, &file.user.watch, log_bytes);
    }

    fn remember(&mut self, name: &'static str, value: i64) {
        self.settings.retain(|(known, _)| *known != name);
        self.settings.push((name, value));
    }

    /// Forgets everything that belongs to one life of the actor.
    pub(crate) fn reset(&mut self) {
        self.counters = Counters::default();
        self.settings.clear();
        self.cursors.clear();
    }

    pub(super) fn runner<'a>(&'a mut self, file: &'a mut OpenFile, inside: bool) -> Runner<'a> {
        // The runtime's own inserts must not show in last_insert_rowid().
        raw::set_last_insert_row_id(&file.conn, self.counters.last_insert_row_id);
        Runner {
            conn: &file.conn,
            statements: &mut file.user.statements,
            cursors: &mut self.cursors,
            counters: &mut self.counters,
            watch: &file.user.watch,
            suspect: &mut file.suspect,
            inside,
        }
    }
}

impl<'a> Session<'a> {
    /// Where a result may get a connection of its own, which is where everything that
    /// it could see is in the file.
    pub(super) fn readers(&mut self) -> Result<Option<Readers<'a>>> {
        let (files, room) = (self.files(), self.room_for_readers());
        let place = self.place();
        if !matches!(place, Place::File(_)) {
            return Ok(None);
        }
        let file = self.file()?;
        let all_is_in_the_file =
            !file.is_corked() && !file.in_transaction() && !file.user.watch.has_temporary_objects();
        let path = Arc::clone(place.path());
        Ok((all_is_in_the_file && disk::shares_files()).then_some(Readers { room, files, path }))
    }
}

/// A user's turn, on the lane.
impl Session<'_> {
    /// Runs `work` as a user's: watched, and stopped when `guard` says so or the
    /// user's handle is closed.
    pub(super) fn on_duty<T>(
        &mut self,
        guard: Option<Guard>,
        access: Arc<Access>,
        number: u64,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let _bounded = self.bound_memory();
        let watch = self.file()?.user.watch.clone();
        let _duty = watch.begin(guard, access, number);
        work(self)
    }

    pub(super) fn runner(&mut self, inside: bool) -> Result<Runner<'_>> {
        let (file, user) = self.file_and_user()?;
        Ok(user.runner(file, inside))
    }

    pub(super) fn begin_transaction(&mut self, tx: &Arc<Tx>) -> Result<()> {
        self.runner(false)?.control("BEGIN IMMEDIATE")?;
        self.user.coordinator.own(tx);
        Ok(())
    }

    pub(super) fn commit_transaction(&mut self) -> Result<()> {
        let outcome = self
            .runner(false)
            .and_then(|mut runner| runner.control("COMMIT"));
        match outcome {
            Ok(()) => self.user.coordinator.end(Phase::Committed),
            Err(_) => self.finish_transaction(Phase::RolledBack),
        }
        outcome
    }

    /// Writes rows of the runtime inside the open transaction.
    pub(super) fn save_inside(&mut self, batch: &SaveBatch) -> Result<()> {
        batch.apply(&self.file_to_write()?.conn)
    }

    pub(super) fn finish_transaction(&mut self, phase: Phase) {
        self.roll_back();
        self.user.coordinator.end(phase);
    }

    pub(super) fn expire_transaction(&mut self) {
        self.roll_back();
        self.user.coordinator.expire();
    }
}
