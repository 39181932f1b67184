//! The data directory: its layout, and the lock that keeps a second process out.
//!
//! ```text
//! <data>/lock                  held by the process that has it open
//! <data>/directory.db          the directory of actors
//! <data>/actors/<xx>/<id>.db   one database per actor
//! <data>/orphans/              databases that the directory does not know
//! ```
//!
//! The lock is the operating system's, so a process that dies lets go of it
//! whatever is written in the file; the process id in it is for people.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use greenroom_error::{Error, Result, code};
use greenroom_wire::ActorId;
use serde_json::json;

/// An open data directory. Dropping it lets the next process in.
#[derive(Debug)]
pub(crate) struct DataDir {
    root: PathBuf,
    _lock: File,
}

impl DataDir {
    /// Creates what is missing and takes the lock. Blocks on the disk.
    ///
    /// # Errors
    /// `host/data_dir_locked` if another process has it, and
    /// `host/data_dir_unusable`.
    pub(crate) fn open(root: &Path) -> Result<Self> {
        let unusable = |error: std::io::Error| {
            let reason = error.to_string();
            Error::with(
                &code::HOST_DATA_DIR_UNUSABLE,
                json!({ "path": root.to_string_lossy(), "reason": reason }),
            )
            .with_source(error)
        };
        fs::create_dir_all(root.join("actors")).map_err(unusable)?;
        // Two spellings of one folder must not become two databases.
        let root = root.canonicalize().map_err(unusable)?;
        let path = root.join("lock");
        let lock = match lock::acquire(&path).map_err(unusable)? {
            Some(file) => file,
            None => {
                let pid = read_pid(&path).unwrap_or_else(|| "unknown".to_owned());
                return Err(Error::with(
                    &code::HOST_DATA_DIR_LOCKED,
                    json!({ "path": root.to_string_lossy(), "pid": pid }),
                ));
            }
        };
        write_pid(&lock).map_err(unusable)?;
        Ok(Self { root, _lock: lock })
    }

    pub(crate) fn directory_path(&self) -> PathBuf {
        self.root.join("directory.db")
    }

    pub(crate) fn actors_path(&self) -> PathBuf {
        self.root.join("actors")
    }

    pub(crate) fn orphans_path(&self) -> PathBuf {
        self.root.join("orphans")
    }

    /// Where the database of an actor is. The folders in between spread the files
    /// over a few hundred directories.
    pub(crate) fn actor_path(&self, id: &ActorId) -> PathBuf {
        let text = id.as_str();
        let mut path = self.actors_path();
        path.push(&text[..2]);
        path.push(format!("{text}.db"));
        path
    }
}

fn read_pid(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path)
        .ok()?
        .take(32)
        .read_to_string(&mut text)
        .ok()?;
    let pid = text.trim();
    (!pid.is_empty()).then(|| pid.to_owned())
}

fn write_pid(mut lock: &File) -> std::io::Result<()> {
    lock.set_len(0)?;
    writeln!(lock, "{}", std::process::id())
}

#[cfg(unix)]
mod lock {
    use std::os::fd::AsRawFd;

    use super::*;

    /// The locked file, or `None` if another one is locked.
    pub(super) fn acquire(path: &Path) -> std::io::Result<Option<File>> {
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        // SAFETY: the descriptor is open for as long as `file` lives, and flock
        // touches no memory of ours.
        let locked = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
        if locked == 0 {
            return Ok(Some(file));
        }
        let error = std::io::Error::last_os_error();
        match error.kind() {
            std::io::ErrorKind::WouldBlock => Ok(None),
            _ => Err(error),
        }
    }
}

#[cfg(windows)]
mod lock {
    use std::os::windows::fs::OpenOptionsExt;

    use super::*;

    /// Others may read, to learn who we are; a second writer is turned away.
    const FILE_SHARE_READ: u32 = 1;
    const ERROR_SHARING_VIOLATION: i32 = 32;

    pub(super) fn acquire(path: &Path) -> std::io::Result<Option<File>> {
        let mut options = OpenOptions::new();
        let opened = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .share_mode(FILE_SHARE_READ)
            .open(path);
        match opened {
            Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION) => Ok(None),
            opened => opened.map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_opener_is_told_who_was_first() {
        let folder = tempfile::tempdir().unwrap();
        let first = DataDir::open(folder.path()).unwrap();
        let error = DataDir::open(folder.path()).unwrap_err();
        assert!(error.is(&code::HOST_DATA_DIR_LOCKED));
        assert!(error.message().contains(&std::process::id().to_string()));
        drop(first);
        DataDir::open(folder.path()).expect("the lock goes with its holder");
    }

    #[test]
    fn a_process_id_left_behind_blocks_nobody() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("lock"), "1\n").unwrap();
        DataDir::open(folder.path()).expect("a stale file is no lock");
    }

    #[test]
    fn a_path_that_cannot_be_a_folder_is_unusable() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "").unwrap();
        let error = DataDir::open(&path).unwrap_err();
        assert!(error.is(&code::HOST_DATA_DIR_UNUSABLE));
    }

    #[test]
    fn actors_spread_over_folders_by_their_id() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        let id = ActorId::generate();
        let path = data.actor_path(&id);
        let expected = format!("actors/{}/{id}.db", &id.as_str()[..2]);
        assert!(path.ends_with(expected));
    }
}
