//! The files of databases: whether one exists, how a new one comes into being,
//! how one goes.
//!
//! A new database appears at once or not at all: the whole image is written and
//! synced under a temporary name, then renamed. There is no instant at which the
//! final name holds half a file.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use greenroom_error::Result;
use parking_lot::Mutex;

use crate::disk::Disk;
use crate::failure::{IoResult, corrupt};

/// Suffix of the temporary name.
pub(crate) const NEW: &str = "-new";

/// Suffix of the write-ahead log.
pub(crate) const LOG: &str = "-wal";

/// Files SQLite keeps beside a database.
const COMPANIONS: [&str; 3] = [LOG, "-journal", "-shm"];

/// Offsets of the two header bytes that say how a file is journalled, and the
/// value that means "write-ahead log". The image comes from memory, where there
/// is no log.
const JOURNAL_BYTES: std::ops::Range<usize> = 18..20;
const WRITE_AHEAD_LOG: u8 = 2;

/// The files of one store.
pub(crate) struct Files {
    pub(crate) disk: Disk,
    /// Folders that were made and whose names may not be on disk. A folder is in
    /// here before it is made; whoever puts a file into one syncs its name before
    /// calling the file durable.
    unsynced: Mutex<HashSet<PathBuf>>,
}

impl Files {
    pub(crate) fn new(disk: Disk) -> Self {
        Self {
            disk,
            unsynced: Mutex::default(),
        }
    }

    /// Whether a database exists at `path`.
    ///
    /// An empty file counts as absent: a database never has one. Absent with a
    /// log beside it is an error, because then the file was lost and not never
    /// there.
    pub(crate) fn exists(&self, path: &Path) -> Result<bool> {
        if size(path).file("look for the database")? > 0 {
            return Ok(true);
        }
        if size(&beside(path, LOG)).file("look for the log")? > 0 {
            return Err(corrupt(
                "the database file is missing, but its log is there",
            ));
        }
        Ok(false)
    }

    /// Writes `image` as the database at `path`, durable when this returns. The
    /// file gets its name once `may_appear` returns, and none if that fails.
    pub(crate) fn publish(
        &self,
        path: &Path,
        image: &[u8],
        may_appear: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let doing = "write the new database";
        let temporary = beside(path, NEW);
        self.write_out(&temporary, image).file(doing)?;
        if let Err(error) = may_appear() {
            if let Err(error) = self.disk.delete(&temporary) {
                tracing::warn!(path = %temporary.display(), %error, "a file was left behind");
            }
            return Err(error);
        }
        self.name(&temporary, path).file(doing)
    }

    fn write_out(&self, temporary: &Path, image: &[u8]) -> io::Result<()> {
        let disk = &self.disk;
        let folder = temporary.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let mut file = match File::create(temporary) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make_folders([folder])?;
                File::create(temporary)?
            }
            other => other?,
        };
        let (head, rest) = image.split_at(JOURNAL_BYTES.start);
        let rest = &rest[JOURNAL_BYTES.len()..];
        for part in [
            head,
            &[WRITE_AHEAD_LOG; JOURNAL_BYTES.end - JOURNAL_BYTES.start],
            rest,
        ] {
            disk.write_all(&mut file, temporary, part)?;
        }
        disk.sync_file(&file, temporary)
    }

    /// Gives a whole and synced file its name.
    fn name(&self, temporary: &Path, path: &Path) -> io::Result<()> {
        let disk = &self.disk;
        let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        // SQLite would replay a log left here by an earlier file.
        for suffix in COMPANIONS {
            disk.delete(&beside(path, suffix))?;
        }
        disk.rename(temporary, path)?;
        disk.sync_folder(folder)?;
        self.sync_name(folder)
    }

    /// Makes the folder that the database at `path` belongs into.
    pub(crate) fn make_room(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        self.make_folders([folder])
    }

    /// Puts the whole and closed database `ready` into the place of the one at
    /// `path`, whose log must hold nothing. Durable when this returns.
    pub(crate) fn put_in_place(&self, ready: &Path, path: &Path) -> Result<()> {
        let put = || {
            let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
            self.disk.sync_file(&File::open(ready)?, ready)?;
            for suffix in COMPANIONS {
                self.disk.delete(&beside(path, suffix))?;
            }
            self.disk.rename(ready, path)?;
            // The log of the one that is ready was cut to nothing, but may be there.
            self.disk.delete(&beside(ready, LOG))?;
            self.disk.sync_folder(folder)?;
            self.sync_name(folder)
        };
        put().file("put a database in its place")
    }

    /// Creates folders and those above them, and makes the new names durable, with
    /// one sync for all that are in the same place.
    pub(crate) fn make_folders<'a>(
        &self,
        folders: impl IntoIterator<Item = &'a Path>,
    ) -> io::Result<()> {
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let mut made = Vec::new();
        for folder in folders {
            let missing: Vec<_> = folder.ancestors().take_while(is_missing).collect();
            let mut unsynced = self.unsynced.lock();
            unsynced.extend(missing.iter().map(|folder| (*folder).to_owned()));
            drop(unsynced);
            fs::create_dir_all(folder)?;
            made.extend(missing);
        }
        let places: HashSet<_> = made.iter().filter_map(|folder| folder.parent()).collect();
        for place in places {
            self.disk.sync_folder(place)?;
        }
        let mut unsynced = self.unsynced.lock();
        made.into_iter().for_each(|folder| {
            unsynced.remove(folder);
        });
        Ok(())
    }

    /// Makes the name of a folder durable that somebody else is making.
    fn sync_name(&self, folder: &Path) -> io::Result<()> {
        let unsynced = self.unsynced.lock();
        let names: Vec<_> = folder
            .ancestors()
            .filter(|folder| unsynced.contains(*folder))
            .collect();
        drop(unsynced);
        for place in names.iter().filter_map(|name| name.parent()) {
            self.disk.sync_folder(place)?;
        }
        let mut unsynced = self.unsynced.lock();
        names.into_iter().for_each(|name| {
            unsynced.remove(name);
        });
        Ok(())
    }

    /// Deletes a database with everything beside it. The file itself goes last,
    /// so that an interrupted delete leaves a database and not a log without one.
    pub(crate) fn remove(&self, path: &Path) -> Result<()> {
        let delete = || {
            for suffix in COMPANIONS.iter().chain([&NEW]) {
                self.disk.delete(&beside(path, suffix))?;
            }
            self.disk.delete(path)
        };
        delete().file("delete the database")
    }
}

/// True for a new database that has not got its name: it was never acknowledged.
pub fn is_unnamed(path: &Path) -> bool {
    path.as_os_str()
        .as_encoded_bytes()
        .ends_with(NEW.as_bytes())
}

/// Size of the file at `path`; 0 if there is none.
fn size(path: &Path) -> io::Result<u64> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(io::Error::other("not a regular file")),
        Ok(found) => Ok(found.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// Bytes of a database's write-ahead log.
pub(crate) fn log_size(path: &Path) -> u64 {
    size(&beside(path, LOG)).unwrap_or(0)
}

/// A file beside a database, such as its log.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
