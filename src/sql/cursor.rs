//! `JsSqlCursor`: the result of a query, page by page.

use std::sync::Arc;

use greenroom_core::ActorCursor;
use greenroom_error::Result;
use greenroom_store::Page;
use napi::bindgen_prelude::Env;
use napi_derive::napi;
use parking_lot::Mutex;

use super::output::{Columns, JsSqlPage};
use crate::bridge::{Promise, enter, promise};
use crate::numbers;

/// Rows that come with the opening.
pub(super) const FIRST_PAGE_ROWS: usize = 512;

/// A result that is read in pages. It shows the database as it was when it was
/// opened.
#[napi]
pub struct JsSqlCursor {
    columns: Arc<[String]>,
    /// Came with the opening.
    first: Mutex<Option<Page>>,
    /// `None` once closed.
    cursor: Mutex<Option<Arc<ActorCursor>>>,
}

impl From<(ActorCursor, Page)> for JsSqlCursor {
    fn from((cursor, first): (ActorCursor, Page)) -> Self {
        Self {
            columns: Arc::clone(cursor.columns()),
            first: Mutex::new(Some(first)),
            cursor: Mutex::new(Some(Arc::new(cursor))),
        }
    }
}

#[napi]
impl JsSqlCursor {
    #[napi(catch_unwind, ts_return_type = "Array<string>")]
    pub fn columns(&self) -> Columns {
        Columns(Arc::clone(&self.columns))
    }

    /// The next rows, at most `maxRows` (4096 if that is more) and about a
    /// megabyte. The first page came with the opening and has up to 512. After the
    /// end, or `close`, none.
    #[napi(catch_unwind)]
    pub fn next_page(&self, env: Env, max_rows: f64) -> napi::Result<Promise<JsSqlPage>> {
        let first = self.first.lock().take();
        let cursor = self.cursor.lock().clone();
        enter(&env, |scope| {
            promise(scope, async move {
                match (cursor, first) {
                    (None, _) => Ok(Page {
                        is_last: true,
                        ..Page::default()
                    }),
                    (Some(_), Some(page)) => Ok(page),
                    (Some(cursor), None) => {
                        let max_rows = numbers::saturating_u32(max_rows) as usize;
                        cursor.next_page(max_rows).await
                    }
                }
                .map(JsSqlPage::from) as Result<_>
            })
        })
    }

    /// Lets go of what was not read.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.cursor.lock().take();
        self.first.lock().take();
    }
}
