//! How a new database file comes into being: at once, or not at all.
//!
//! The whole image is written and synced under a temporary name, then renamed.
//! There is no instant at which the final name holds half a file.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use greenroom_error::Result;

use crate::failure::{IoResult, corrupt};
use crate::open_file::{remove_if_present, sidecar};

/// Suffix of the temporary name.
pub(crate) const NEW: &str = "-new";

/// Files SQLite keeps beside a database.
pub(crate) const COMPANIONS: [&str; 3] = ["-wal", "-journal", "-shm"];

/// Offsets of the two header bytes that say how a file is journalled, and the
/// value that means "write-ahead log". The image comes from memory, where there
/// is no log.
const JOURNAL_BYTES: std::ops::Range<usize> = 18..20;
const WRITE_AHEAD_LOG: u8 = 2;

/// Whether a database exists at `path`.
///
/// An empty file counts as absent: a database never has one. Absent with a log
/// beside it is an error, because then the file was lost and not never there.
pub(crate) fn exists(path: &Path) -> Result<bool> {
    if size(path).file("look for the database")? > 0 {
        return Ok(true);
    }
    if size(&sidecar(path, "-wal")).file("look for the log")? > 0 {
        return Err(corrupt(
            "the database file is missing, but its log is there",
        ));
    }
    Ok(false)
}

fn size(path: &Path) -> io::Result<u64> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(io::Error::other("not a regular file")),
        Ok(found) => Ok(found.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// Writes `image` as the database at `path`, durable when this returns.
pub(crate) fn publish(path: &Path, image: &[u8]) -> Result<()> {
    write_out(path, image).file("write the new database")
}

fn write_out(path: &Path, image: &[u8]) -> io::Result<()> {
    let parent = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let temporary = sidecar(path, NEW);
    let mut file = match File::create(&temporary) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_folder(parent)?;
            File::create(&temporary)?
        }
        other => other?,
    };
    file.write_all(&image[..JOURNAL_BYTES.start])?;
    file.write_all(&[WRITE_AHEAD_LOG; JOURNAL_BYTES.end - JOURNAL_BYTES.start])?;
    file.write_all(&image[JOURNAL_BYTES.end..])?;
    file.sync_data()?;
    // SQLite would replay a log left here by an earlier file.
    for suffix in COMPANIONS {
        remove_if_present(&sidecar(path, suffix))?;
    }
    fs::rename(&temporary, path)?;
    sync_folder(parent)
}

/// Creates a folder and makes its name durable.
fn create_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    folder.parent().map_or(Ok(()), sync_folder)
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    File::open(folder)?.sync_all()
}

/// Folders cannot be synced here; the file system orders names by itself.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Deletes a database with everything beside it. The file itself goes last, so
/// that an interrupted delete leaves a database and not a log without one.
pub(crate) fn remove(path: &Path) -> Result<()> {
    let delete = || {
        for suffix in COMPANIONS.iter().chain([&NEW]) {
            remove_if_present(&sidecar(path, suffix))?;
        }
        remove_if_present(path)
    };
    delete().file("delete the database")
}
