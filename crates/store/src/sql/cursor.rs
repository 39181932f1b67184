//! Open results: a query that is read page by page, in bounded memory.
//!
//! A result is read live, straight from its statement, as long as nothing but
//! reads happens on the connection. Before anything else does, the rest of the
//! rows is put aside ([`super::spill`]). So a result shows one state of the
//! database, whatever is written while it is read, and it never holds up a write,
//! a transaction, a checkpoint or the closing of the file.

use std::collections::HashMap;
use std::sync::Arc;

use greenroom_error::{Error, Result, code};
use rusqlite::Connection;
use serde_json::json;

use super::cache::CachedStatement;
use super::failure::interrupted;
use super::runner::{Runner, check_params};
use super::spill::{Spill, SpillWriter};
use super::value::{Rows, SqlStatement, SqlValue};
use super::watch::{Access, Guard, Watch};
use crate::failure::{IoResult, closed};

/// Results open at the same time, per actor.
const CURSORS_MAX: usize = 16;

/// Rows of one page at most.
pub(crate) const PAGE_ROWS_MAX: usize = 4096;
/// Bytes of one page's memory; a page ends after the row that reaches it.
const PAGE_BYTES: usize = 1024 * 1024;

/// Makes the guard of one page, or of putting rows aside.
pub type GuardSource = Arc<dyn Fn() -> Guard + Send + Sync>;

/// Some rows of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    pub rows: Rows,
    /// No rows follow.
    pub is_last: bool,
}

/// A result on its first page.
pub(super) struct Opened {
    pub id: u64,
    pub columns: Arc<[String]>,
    pub page: Page,
}

#[derive(Default)]
pub(crate) struct Cursors {
    open: HashMap<u64, Cursor>,
    next_id: u64,
}

struct Cursor {
    rows: Source,
    columns: Arc<[String]>,
    guards: GuardSource,
    access: Arc<Access>,
}

enum Source {
    /// On a row that was not read yet.
    Live(Live),
    Aside(Spill),
    Failed(Error),
}

struct Live {
    /// Above its parameters, which it points into, so that it is dropped first.
    statement: CachedStatement,
    _params: Box<[SqlValue]>,
}

impl Cursors {
    /// Puts aside what is still read live, because something else than a read is
    /// about to happen on the connection.
    pub(crate) fn detach(&mut self, conn: &Connection, watch: &Watch) {
        for cursor in self.open.values_mut() {
            if let Source::Live(live) = &mut cursor.rows {
                let _duty = watch.lend((cursor.guards)(), Arc::clone(&cursor.access));
                let aside = live.put_aside(conn, cursor.columns.len(), watch);
                cursor.rows = aside.unwrap_or_else(Source::Failed);
            }
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

impl Live {
    fn put_aside(&mut self, conn: &Connection, width: usize, watch: &Watch) -> Result<Source> {
        let mut aside = SpillWriter::new();
        let explained = |failure| watch.explain(&failure, "run sqlite iterate statement");
        let raw = &mut self.statement.raw;
        let mut more = true;
        while more {
            for index in 0..width {
                let cell = raw.cell(conn, index).map_err(explained)?;
                aside.push_cell(&cell);
            }
            aside.end_row().file("put rows aside")?;
            more = raw.step(conn).map_err(explained)?;
        }
        Ok(Source::Aside(aside.finish().file("put rows aside")?))
    }
}

impl Runner<'_> {
    /// Begins a result and reads its first page.
    pub(super) fn open_cursor(
        &mut self,
        statement: SqlStatement,
        guards: GuardSource,
        access: Arc<Access>,
        max_rows: usize,
    ) -> Result<Opened> {
        if self.cursors.open.len() >= CURSORS_MAX {
            return Err(Error::with(
                &code::SQLITE_TOO_MANY_RESULTS,
                json!({ "limit": CURSORS_MAX }),
            ));
        }
        let SqlStatement { sql, params } = statement;
        self.check_interrupted()?;
        let Some(cached) = self.prepared("iterate", &sql)? else {
            return Ok(Opened::empty());
        };
        check_params(&params, cached.raw.parameter_count())?;
        if cached.disturbs_results {
            return Err(Error::internal(
                "sqlite iterate only supports a query that does not write",
            ));
        }
        self.begin_cursor(cached, params.into(), guards, access, max_rows)
    }

    fn begin_cursor(
        &mut self,
        mut statement: CachedStatement,
        params: Box<[SqlValue]>,
        guards: GuardSource,
        access: Arc<Access>,
        max_rows: usize,
    ) -> Result<Opened> {
        let doing = "run sqlite iterate statement";
        // SAFETY: the statement lives beside `params` and is dropped before them;
        // a boxed slice stays where it is when the box moves.
        let begun = unsafe { statement.raw.bind(self.conn, &params) };
        let more = begun
            .and_then(|()| statement.raw.step(self.conn))
            .map_err(|failure| self.fail(failure, doing))?;
        let columns = statement.columns();
        if !more {
            statement.raw.clear();
            self.statements.put(statement);
            return Ok(Opened {
                columns,
                ..Opened::empty()
            });
        }
        self.cursors.next_id += 1;
        let id = self.cursors.next_id;
        let rows = Source::Live(Live {
            statement,
            _params: params,
        });
        let cursor = Cursor {
            rows,
            columns: Arc::clone(&columns),
            guards,
            access,
        };
        self.cursors.open.insert(id, cursor);
        let page = self.next_page(id, max_rows)?;
        Ok(Opened { id, columns, page })
    }

    /// Reads on. A result that ends, or fails, is forgotten.
    pub(super) fn next_page(&mut self, id: u64, max_rows: usize) -> Result<Page> {
        let Some(mut cursor) = self.cursors.open.remove(&id) else {
            return Err(closed());
        };
        let page = self.read_page(&mut cursor, max_rows.clamp(1, PAGE_ROWS_MAX))?;
        if !page.is_last {
            self.cursors.open.insert(id, cursor);
        } else if let Source::Live(mut live) = cursor.rows {
            live.statement.raw.clear();
            self.statements.put(live.statement);
        }
        Ok(page)
    }

    fn read_page(&mut self, cursor: &mut Cursor, max_rows: usize) -> Result<Page> {
        let width = cursor.columns.len();
        let mut rows = Rows::new(width);
        let mut bytes = 0;
        let mut is_last = false;
        while !is_last && rows.len() < max_rows && bytes < PAGE_BYTES {
            let start = rows.cell_count();
            is_last = match &mut cursor.rows {
                Source::Live(live) => !self.read_live(live, &mut rows)?,
                Source::Aside(spill) => {
                    spill.read_into(&mut rows).file("read rows put aside")?;
                    spill.is_empty()
                }
                Source::Failed(error) => return Err(error.duplicate()),
            };
            bytes += rows.footprint_from(start);
        }
        Ok(Page { rows, is_last })
    }

    /// Takes the row the statement is on and moves to the next.
    fn read_live(&mut self, live: &mut Live, rows: &mut Rows) -> Result<bool> {
        if let Some(reason) = self.watch.check() {
            return Err(interrupted(reason));
        }
        let raw = &mut live.statement.raw;
        let row = (0..rows.width()).map(|index| raw.cell(self.conn, index));
        rows.try_push(row)
            .and_then(|()| raw.step(self.conn))
            .map_err(|failure| self.fail(failure, "run sqlite iterate statement"))
    }
}

impl Opened {
    /// A result without rows: there is nothing to go on with.
    fn empty() -> Self {
        Self {
            id: 0,
            columns: Arc::default(),
            page: Page {
                rows: Rows::default(),
                is_last: true,
            },
        }
    }
}
