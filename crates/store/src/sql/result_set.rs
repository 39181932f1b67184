//! [`SqlCursor`]: the handle to a result that is read page by page.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use greenroom_error::Result;

use super::coordinator::Claim;
use super::cursor::{GuardSource, Page};
use super::handle::Inner;
use super::reading::{Opened, Terms};
use super::value::SqlStatement;

/// A result that is read in pages. It shows the database as it was when it was
/// opened. Dropping it lets go of what was not read.
pub struct SqlCursor {
    user: Arc<Inner>,
    id: u64,
    columns: Arc<[String]>,
    guards: GuardSource,
    ended: AtomicBool,
}

impl SqlCursor {
    /// Opens a result and reads its first page of at most `max_rows` rows.
    pub(super) async fn open(
        user: &Arc<Inner>,
        claim: Claim,
        statement: SqlStatement,
        guards: GuardSource,
        max_rows: usize,
    ) -> Result<(Self, Page)> {
        let inside = matches!(claim, Claim::Inside(_));
        let (access, kept) = (user.access(), Arc::clone(&guards));
        let opened = user.call(claim, Some(guards()), move |session| {
            let readers = session.readers()?;
            let terms = Terms {
                guards: kept,
                access,
                readers,
            };
            session
                .runner(inside)?
                .open_cursor(statement, terms, max_rows)
        });
        let Opened { id, columns, page } = opened.await?;
        let cursor = Self {
            user: Arc::clone(user),
            id,
            columns,
            guards,
            ended: AtomicBool::new(page.is_last),
        };
        Ok((cursor, page))
    }

    pub fn columns(&self) -> &Arc<[String]> {
        &self.columns
    }

    /// The next rows, at most `max_rows` and about a megabyte; an empty last page
    /// after the end.
    pub async fn next_page(&self, max_rows: usize) -> Result<Page> {
        if self.ended.load(Ordering::Acquire) {
            return Ok(Page {
                is_last: true,
                ..Page::default()
            });
        }
        let id = self.id;
        let page = self
            .user
            .call(Claim::Result, Some((self.guards)()), move |session| {
                session.runner(false)?.next_page(id, max_rows)
            });
        let page = page.await;
        let over = page.as_ref().map_or(true, |page| page.is_last);
        self.ended.fetch_or(over, Ordering::AcqRel);
        page
    }
}

impl Drop for SqlCursor {
    fn drop(&mut self) {
        if !self.ended.load(Ordering::Acquire) {
            let id = self.id;
            self.user.quietly(move |session| {
                session.user.cursors.close(id);
            });
        }
    }
}

impl fmt::Debug for SqlCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlCursor")
            .field("columns", &self.columns)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
