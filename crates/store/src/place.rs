//! Where one database is kept: in a file, or with a page store.
//!
//! What differs between the two is here and in the opening of a connection;
//! nothing above asks which it is.
//!
//! Invariant: a file gets its name after the commit that it is to come [after],
//! so that a database without its row in the directory is never seen.
//!
//! [after]: FilePlace::after

use std::path::Path;
use std::sync::Arc;

use greenroom_error::Result;

use crate::files::Files;
use crate::pages::page_file::PageFile;
use crate::pending_commit::PendingCommit;

#[derive(Clone)]
pub(crate) enum Place {
    File(FilePlace),
    /// Named for logs only; the name is part of no path.
    Pages(Arc<Path>, Arc<PageFile>),
}

#[derive(Clone)]
pub(crate) struct FilePlace {
    path: Arc<Path>,
    /// What must be on disk before there is a file; `None` if it is.
    after: Option<PendingCommit>,
}

impl Place {
    pub(crate) fn file(path: Arc<Path>, after: Option<PendingCommit>) -> Self {
        Self::File(FilePlace { path, after })
    }

    /// The file's path, or a name that stands for the pages.
    pub(crate) fn path(&self) -> &Arc<Path> {
        match self {
            Self::File(FilePlace { path, .. }) | Self::Pages(path, _) => path,
        }
    }

    /// Whether there is a database.
    pub(crate) fn exists(&self, files: &Files) -> Result<bool> {
        match self {
            Self::File(file) => files.exists(&file.path),
            Self::Pages(_, pages) => pages.exists(),
        }
    }

    /// Writes `image` as the whole new database, durable when this returns.
    pub(crate) fn publish(&self, files: &Files, image: &[u8]) -> Result<()> {
        match self {
            Self::File(file) => files.publish(&file.path, image, || file.wait()),
            Self::Pages(_, pages) => pages.publish(image),
        }
    }

    /// True if there will never be a database here: what it was to come after
    /// failed.
    pub(crate) fn is_forsaken(&self) -> bool {
        match self {
            Self::File(file) => file.after.as_ref().is_some_and(PendingCommit::has_failed),
            Self::Pages(..) => false,
        }
    }

    /// Fails as what the database was to come after has failed, if it has.
    pub(crate) fn check_forsaken(&self) -> Result<()> {
        match self {
            Self::File(file) if self.is_forsaken() => file.wait(),
            Self::File(_) | Self::Pages(..) => Ok(()),
        }
    }

    /// Deletes the database; whoever keeps pages deletes them himself.
    pub(crate) fn remove(&self, files: &Files) -> Result<()> {
        match self {
            Self::File(file) => files.remove(&file.path),
            Self::Pages(_, pages) => {
                pages.remove();
                Ok(())
            }
        }
    }
}

impl FilePlace {
    fn wait(&self) -> Result<()> {
        self.after.as_ref().map_or(Ok(()), PendingCommit::wait)
    }
}
