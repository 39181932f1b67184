//! Where one database is kept: in a file, or with a page store.
//!
//! What differs between the two is here and in the opening of a connection;
//! nothing above asks which it is.

use std::path::Path;
use std::sync::Arc;

use greenroom_error::Result;

use crate::files::Files;
use crate::pages::page_file::PageFile;

#[derive(Clone)]
pub(crate) enum Place {
    File(Arc<Path>),
    /// Named for logs only; the name is part of no path.
    Pages(Arc<Path>, Arc<PageFile>),
}

impl Place {
    /// The file's path, or a name that stands for the pages.
    pub(crate) fn path(&self) -> &Arc<Path> {
        match self {
            Self::File(path) | Self::Pages(path, _) => path,
        }
    }

    /// Whether there is a database.
    pub(crate) fn exists(&self, files: &Files) -> Result<bool> {
        match self {
            Self::File(path) => files.exists(path),
            Self::Pages(_, pages) => pages.exists(),
        }
    }

    /// Writes `image` as the whole new database, durable when this returns.
    pub(crate) fn publish(&self, files: &Files, image: &[u8]) -> Result<()> {
        match self {
            Self::File(path) => files.publish(path, image),
            Self::Pages(_, pages) => pages.publish(image),
        }
    }

    /// Deletes the database; whoever keeps pages deletes them himself.
    pub(crate) fn remove(&self, files: &Files) -> Result<()> {
        match self {
            Self::File(path) => files.remove(path),
            Self::Pages(_, pages) => {
                pages.remove();
                Ok(())
            }
        }
    }
}
