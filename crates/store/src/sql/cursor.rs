//! Open results: a query that is read page by page, in bounded memory.
//!
//! A result shows one state of the database, whatever is written while it is read,
//! and holds up no write. One of what is committed has a connection of its own
//! ([`super::reader`]). The log has to keep for it what is newer, so once the log is
//! long the result is put aside ([`super::spill`]), a little after each job and the
//! more the longer the log. A result that only the user's own connection can read is
//! read there as long as nothing but reads happens on it; before anything else does,
//! all of it is put aside.

use std::collections::HashMap;
use std::sync::Arc;

use greenroom_error::{Error, Result};
use rusqlite::Connection;

use super::cache::CachedStatement;
use super::raw::Failure;
use super::reader::Reader;
use super::spill::Spill;
use super::value::{Rows, SqlValue};
use super::watch::{Access, Guard, Watch};
use crate::failure::IoResult;

/// Results open at the same time, per actor.
pub(super) const CURSORS_MAX: usize = 16;

/// A log of this many bytes is folded in after a commit, unless a result needs it.
const LOG_BYTES: u64 = 4 * 1024 * 1024;

/// Work to put rows aside after a job when the log has just reached [`LOG_BYTES`]: about
/// two milliseconds. It grows with the square of the log, so that a log of sixteen
/// times that length shrinks whatever is written.
const WORK: u64 = 2_000_000;

/// Estimates of what a row costs, in units of which a thousand take about a
/// microsecond: itself, a byte of it, an instruction of SQLite's machine.
const WORK_OF_ROW: u64 = 300;
const WORK_OF_BYTE: u64 = 1;
const WORK_OF_STEP: u64 = 20;

pub(super) const DOING: &str = "run sqlite iterate statement";

/// Makes the guard of one page, or of putting rows aside.
pub type GuardSource = Arc<dyn Fn() -> Guard + Send + Sync>;

/// Some rows of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    pub rows: Rows,
    /// No rows follow.
    pub is_last: bool,
}

#[derive(Default)]
pub(crate) struct Cursors {
    pub(super) open: HashMap<u64, Cursor>,
    pub(super) next_id: u64,
}

pub(super) struct Cursor {
    /// Rows that were put aside come first.
    pub aside: Spill,
    pub rest: Rest,
    pub columns: Arc<[String]>,
    pub guards: GuardSource,
    pub access: Arc<Access>,
}

pub(super) enum Rest {
    /// On a row that was not read yet.
    Live(Live),
    Nothing,
    Failed(Error),
}

pub(super) struct Live {
    /// Above its parameters, which it points into, and its connection, so that it is
    /// dropped first.
    pub statement: CachedStatement,
    params: Box<[SqlValue]>,
    /// The result's own connection; `None` if it is the user's.
    pub own: Option<Box<Reader>>,
}

impl Cursors {
    /// Puts aside what is read on the user's connection, because something else than a
    /// read is about to happen there.
    pub(crate) fn leave_main(&mut self, main: &Connection, watch: &Watch) {
        for cursor in self.open.values_mut() {
            if cursor.is_on_main() {
                cursor.put_aside(main, watch, &mut unbounded());
            }
        }
    }

    /// Puts all aside, because the file is to be closed, or its log folded in.
    pub(crate) fn put_aside(&mut self, main: &Connection, watch: &Watch) {
        for cursor in self.open.values_mut() {
            cursor.put_aside(main, watch, &mut unbounded());
        }
    }

    /// Puts some of what keeps the log from being folded in aside, if it is long.
    pub(crate) fn shorten_log(
        &mut self,
        main: &Connection,
        watch: &Watch,
        log_bytes: impl FnOnce() -> u64,
    ) {
        let mut holding: Vec<_> = self
            .open
            .values_mut()
            .filter(|cursor| cursor.needs_log())
            .collect();
        if holding.is_empty() {
            return;
        }
        let mut work = work_for(log_bytes());
        for cursor in &mut holding {
            cursor.put_aside(main, watch, &mut work);
        }
    }

    /// Forgets all; before the connection is closed for good.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }

    pub(super) fn close(&mut self, id: u64) {
        self.open.remove(&id);
    }
}

fn unbounded() -> u64 {
    u64::MAX
}

/// How much may be put aside after one job.
fn work_for(log_bytes: u64) -> u64 {
    if log_bytes < LOG_BYTES {
        return 0;
    }
    let times = log_bytes as f64 / LOG_BYTES as f64;
    (WORK as f64 * times * times) as u64
}

impl Cursor {
    fn is_on_main(&self) -> bool {
        matches!(&self.rest, Rest::Live(live) if live.own.is_none())
    }

    fn needs_log(&self) -> bool {
        matches!(&self.rest, Rest::Live(live) if live.own.is_some())
    }

    /// Puts rows aside until there are none left or `work` is used up.
    fn put_aside(&mut self, main: &Connection, watch: &Watch, work: &mut u64) {
        let Rest::Live(live) = &mut self.rest else {
            return;
        };
        if *work == 0 {
            return;
        }
        let _duty = watch.lend((self.guards)(), Arc::clone(&self.access));
        let width = self.columns.len();
        match live.put_aside(main, watch, &mut self.aside, width, work) {
            Ok(true) => {}
            Ok(false) => self.rest = Rest::Nothing,
            Err(error) => {
                self.aside = Spill::new();
                self.rest = Rest::Failed(error);
            }
        }
    }
}

impl Live {
    pub(super) fn new(
        statement: CachedStatement,
        params: Vec<SqlValue>,
        own: Option<Box<Reader>>,
    ) -> Self {
        Self {
            statement,
            params: params.into(),
            own,
        }
    }

    /// Runs to the first row; false if there is none.
    pub(super) fn begin(&mut self, main: &Connection) -> Result<bool, Failure> {
        let conn = self.own.as_ref().map_or(main, |own| own);
        let raw = &mut self.statement.raw;
        // SAFETY: the statement lives beside `params` and is dropped before them; a
        // boxed slice stays where it is when the box moves.
        unsafe { raw.bind(conn, &self.params) }?;
        raw.step(conn)
    }

    /// False once there is nothing left.
    fn put_aside(
        &mut self,
        main: &Connection,
        watch: &Watch,
        aside: &mut Spill,
        width: usize,
        work: &mut u64,
    ) -> Result<bool> {
        let conn = self.own.as_ref().map_or(main, |own| own);
        let explained = |failure| watch.explain(&failure, DOING);
        let raw = &mut self.statement.raw;
        let mut more = true;
        while more && *work > 0 {
            let mut bytes = 0;
            for index in 0..width {
                let cell = raw.cell(conn, index).map_err(explained)?;
                bytes += cell.footprint() as u64;
                aside.push_cell(&cell);
            }
            aside.end_row().file("put rows aside")?;
            more = raw.step(conn).map_err(explained)?;
            let done = WORK_OF_ROW + WORK_OF_BYTE * bytes + WORK_OF_STEP * raw.take_steps();
            *work = work.saturating_sub(done);
        }
        Ok(more)
    }
}
