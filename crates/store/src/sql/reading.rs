//! Begins a result and reads it, page by page.

use std::sync::Arc;

use greenroom_error::{Error, Result, code};
use serde_json::json;

use super::cursor::{CURSORS_MAX, Cursor, DOING, GuardSource, Live, Page, Rest};
use super::failure::interrupted;
use super::reader::Readers;
use super::runner::{Runner, check_params};
use super::spill::Spill;
use super::value::{Rows, SqlStatement};
use super::watch::Access;
use crate::failure::{IoResult, closed};

/// Rows of one page at most.
const PAGE_ROWS_MAX: usize = 4096;
/// Bytes of one page's memory; a page ends after the row that reaches it.
const PAGE_BYTES: usize = 1024 * 1024;

/// A result on its first page.
pub(super) struct Opened {
    pub id: u64,
    pub columns: Arc<[String]>,
    pub page: Page,
}

/// What a result is read under.
pub(super) struct Terms<'a> {
    pub guards: GuardSource,
    pub access: Arc<Access>,
    /// Where it may get a connection of its own; `None` if it must not.
    pub readers: Option<Readers<'a>>,
}

impl Runner<'_> {
    /// Begins a result and reads its first page.
    pub(super) fn open_cursor(
        &mut self,
        statement: SqlStatement,
        terms: Terms<'_>,
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
        let own = terms
            .readers
            .and_then(|readers| readers.open(self.conn, self.watch, &sql));
        let live = match own {
            Some((statement, conn)) => {
                self.statements.put(cached);
                Live::new(statement, params, Some(conn))
            }
            None => Live::new(cached, params, None),
        };
        self.begin_cursor(live, terms.guards, terms.access, max_rows)
    }

    fn begin_cursor(
        &mut self,
        mut live: Live,
        guards: GuardSource,
        access: Arc<Access>,
        max_rows: usize,
    ) -> Result<Opened> {
        let more = live
            .begin(self.conn)
            .map_err(|failure| self.fail(failure, DOING))?;
        let columns = live.statement.columns();
        if !more {
            self.finish(live);
            return Ok(Opened {
                columns,
                ..Opened::empty()
            });
        }
        self.cursors.next_id += 1;
        let id = self.cursors.next_id;
        let cursor = Cursor {
            aside: Spill::new(),
            rest: Rest::Live(live),
            columns: Arc::clone(&columns),
            guards,
            access,
        };
        self.cursors.open.insert(id, cursor);
        let page = self.next_page(id, max_rows)?;
        Ok(Opened { id, columns, page })
    }

    /// Keeps the statement of a result that has ended, if it is the user's connection's.
    fn finish(&mut self, mut live: Live) {
        live.statement.raw.clear();
        if live.own.is_none() {
            self.statements.put(live.statement);
        }
    }

    /// Reads on. A result that ends, or fails, is forgotten.
    pub(super) fn next_page(&mut self, id: u64, max_rows: usize) -> Result<Page> {
        let Some(mut cursor) = self.cursors.open.remove(&id) else {
            return Err(closed());
        };
        let page = self.read_page(&mut cursor, max_rows.clamp(1, PAGE_ROWS_MAX))?;
        if !page.is_last {
            self.cursors.open.insert(id, cursor);
        } else if let Rest::Live(live) = cursor.rest {
            self.finish(live);
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
            is_last = !self.read_row(cursor, &mut rows)?;
            bytes += rows.footprint_from(start);
        }
        Ok(Page { rows, is_last })
    }

    /// Takes one row, if there is one; false if none follow.
    fn read_row(&mut self, cursor: &mut Cursor, rows: &mut Rows) -> Result<bool> {
        if !cursor.aside.is_empty() {
            cursor.aside.read_into(rows).file("read rows put aside")?;
            return Ok(!cursor.aside.is_empty() || !matches!(cursor.rest, Rest::Nothing));
        }
        match &mut cursor.rest {
            Rest::Live(live) => self.read_live(live, rows),
            Rest::Nothing => Ok(false),
            Rest::Failed(error) => Err(error.duplicate()),
        }
    }

    /// Takes the row the statement is on and moves to the next.
    fn read_live(&mut self, live: &mut Live, rows: &mut Rows) -> Result<bool> {
        if let Some(reason) = self.watch.check() {
            return Err(interrupted(reason));
        }
        let conn = live.own.as_ref().map_or(self.conn, |own| own);
        let raw = &mut live.statement.raw;
        let row = (0..rows.width()).map(|index| raw.cell(conn, index));
        rows.try_push(row)
            .and_then(|()| raw.step(conn))
            .map_err(|failure| self.fail(failure, DOING))
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
