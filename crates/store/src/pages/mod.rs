//! Databases whose pages somebody else keeps, instead of a file.
//!
//! A [`PageStore`] is what a host that has no disk of its own brings: two calls,
//! for one database and one lease on it. Everything above is the same as for
//! files: the same tables, the same statements, the same corked first start.
//! SQLite reads and writes through [`vfs`], whose one commit point is the sync of
//! the main file: [`page_file::PageFile`] then hands over everything that changed
//! as one commit and waits for the answer.
//!
//! This module does not know what stands behind a page store, and keeps no page
//! of a database that is closed.

pub(crate) mod page_file;
pub(crate) mod vfs;

use std::fmt;

use bytes::Bytes;

/// Bytes of a page; the only size there is.
pub const PAGE_BYTES: usize = crate::schema::PAGE_SIZE as usize;

/// The keeper of one database's pages, for one holder of the right to write them.
///
/// Calls may block: they are made on the store's lanes only, one at a time per
/// database.
pub trait PageStore: Send + Sync + 'static {
    /// Reads pages by number, from 1. A database that was never written has none.
    ///
    /// # Errors
    /// [`PageFailure::Refused`] if asking again may help, [`PageFailure::Lost`] if
    /// it cannot.
    fn read(&self, numbers: &[u32]) -> Result<PagesRead, PageFailure>;

    /// Writes pages all or none; durable when this returns. Answers the new head.
    ///
    /// # Errors
    /// Every kind of [`PageFailure`].
    fn commit(&self, commit: PageCommit) -> Result<Option<u64>, PageFailure>;
}

/// Pages as they are at one head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PagesRead {
    /// Names the last commit; `None` before the first.
    pub head: Option<u64>,
    /// Those of the asked pages that exist, in any order.
    pub pages: Vec<(u32, Bytes)>,
}

/// What one transaction changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageCommit {
    /// The head that the changes were made on. A store whose head is another one
    /// must refuse with [`PageFailure::Lost`].
    pub on_head: Option<u64>,
    /// Pages of the whole database afterwards.
    pub size: u32,
    /// Ascending numbers, whole pages.
    pub pages: Vec<(u32, Bytes)>,
}

/// Why a page store did not do what it was asked to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageFailure {
    /// Nothing was changed, and a later try may succeed.
    Refused(String),
    /// A commit was sent and its answer is missing: it may or may not stand. The
    /// database cannot be used until it is opened anew.
    Unknown(String),
    /// The right to this database is gone, for good.
    Lost(String),
}

impl PageFailure {
    /// True if the database cannot be used on with this connection.
    pub(crate) fn is_final(&self) -> bool {
        !matches!(self, Self::Refused(_))
    }
}

impl fmt::Display for PageFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(reason) => write!(f, "refused: {reason}"),
            Self::Unknown(reason) => write!(f, "outcome unknown: {reason}"),
            Self::Lost(reason) => write!(f, "lease lost: {reason}"),
        }
    }
}
