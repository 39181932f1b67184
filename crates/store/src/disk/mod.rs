//! The disk under a store: the real one, or one whose failures a test directs.
//!
//! A real [`Disk`] is nothing at all: files are opened through SQLite's own
//! layer. A scripted one passes every write, sync, rename and delete of the
//! store's databases through a function first, which may let it fail. It is how
//! tests prove what happens on a full or broken disk, and what a power cut
//! would leave behind.
//!
//! Reads and locks are never touched.

mod layered;
mod shared;
pub(crate) mod temp;
mod vfs;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use greenroom_error::Result;
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};

use crate::memory;

/// Which disk a store works on. Default: the real one.
#[derive(Clone, Default)]
pub struct Disk(Option<Arc<vfs::Registered>>);

/// Something a store is about to do to a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskCall<'a> {
    pub op: DiskOp,
    pub path: &'a Path,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskOp {
    Write,
    Truncate,
    /// Contents of one file.
    Sync,
    /// Names in one folder. Reported after the fact where SQLite does it itself.
    SyncFolder,
    /// Gives the file at `path` its final name.
    Rename,
    Delete,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Proceed,
    /// An input/output error; nothing happens.
    Fail,
    /// No space left; nothing happens.
    Full,
    /// Half of a write happens, then there is no space left. As `Full` for
    /// other calls.
    Short,
    /// A sync does not happen and is reported as done. As `Fail` for other calls.
    Skip,
}

impl Verdict {
    fn into_result(self) -> io::Result<()> {
        match self {
            Self::Proceed => Ok(()),
            Self::Fail | Self::Skip => Err(io::Error::other("injected failure")),
            Self::Full | Self::Short => Err(io::ErrorKind::StorageFull.into()),
        }
    }
}

type Script = dyn Fn(DiskCall<'_>) -> Verdict + Send + Sync;

impl Disk {
    pub fn real() -> Self {
        Self(None)
    }

    /// A disk that leaves it to the system when files reach it. What was written
    /// survives the end of the process, however that comes, but not that of the
    /// machine; for tests, which it makes fast.
    pub fn unsynced() -> Result<Self> {
        Self::scripted(|call| match call.op {
            DiskOp::Sync | DiskOp::SyncFolder => Verdict::Skip,
            _ => Verdict::Proceed,
        })
    }

    /// A disk that asks `script` before each call. The script runs on the
    /// threads of the store and must not panic.
    pub fn scripted(
        script: impl Fn(DiskCall<'_>) -> Verdict + Send + Sync + 'static,
    ) -> Result<Self> {
        Ok(Self(Some(Arc::new(vfs::Registered::new(Box::new(
            script,
        ))?))))
    }

    /// A disk that works until a fault is switched on.
    pub fn with_faults() -> Result<(Self, Faults)> {
        let faults = Faults::default();
        let script = faults.clone();
        Ok((Self::scripted(move |call| script.decide(call))?, faults))
    }

    /// Opens a database on this disk, which must outlive the connection.
    pub(crate) fn connect(&self, path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
        memory::install_first();
        match &self.0 {
            None => Connection::open_with_flags(path, flags),
            Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs.name()),
        }
    }

    /// [`connect`](Self::connect) for a database that several connections of this
    /// process may have open, where the system [lets them](shares_files).
    pub(crate) fn connect_shared(
        &self,
        path: &Path,
        flags: OpenFlags,
    ) -> rusqlite::Result<Connection> {
        memory::install_first();
        match (&self.0, temp::shared_layer()) {
            (None, Some(layer)) => Connection::open_with_flags_and_vfs(path, flags, layer),
            _ => self.connect(path, flags),
        }
    }

    fn ask(&self, op: DiskOp, path: &Path) -> Verdict {
        match &self.0 {
            None => Verdict::Proceed,
            Some(vfs) => vfs.ask(DiskCall { op, path }),
        }
    }

    fn permit(&self, op: DiskOp, path: &Path) -> io::Result<()> {
        self.ask(op, path).into_result()
    }

    pub(crate) fn write_all(&self, file: &mut File, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let verdict = self.ask(DiskOp::Write, path);
        if verdict == Verdict::Short {
            file.write_all(&bytes[..bytes.len() / 2])?;
        }
        verdict.into_result()?;
        file.write_all(bytes)
    }

    pub(crate) fn sync_file(&self, file: &File, path: &Path) -> io::Result<()> {
        match self.ask(DiskOp::Sync, path) {
            Verdict::Proceed => file.sync_data(),
            Verdict::Skip => Ok(()),
            failure => failure.into_result(),
        }
    }

    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.permit(DiskOp::Rename, from)?;
        fs::rename(from, to)
    }

    /// Makes the names in a folder durable.
    pub(crate) fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        match self.ask(DiskOp::SyncFolder, folder) {
            Verdict::Proceed => sync_folder(folder),
            Verdict::Skip => Ok(()),
            failure => failure.into_result(),
        }
    }

    /// Deletes a file that may be absent.
    pub(crate) fn delete(&self, path: &Path) -> io::Result<()> {
        self.permit(DiskOp::Delete, path)?;
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Whether files opened by [`Disk::connect_shared`] may have several connections.
pub(crate) fn shares_files() -> bool {
    temp::shared_layer().is_some()
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    let here = folder.as_os_str().is_empty();
    File::open(if here { Path::new(".") } else { folder })?.sync_all()
}

/// Folders cannot be synced here; the file system orders names by itself.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_ref().map_or("real disk", |vfs| vfs.name()))
    }
}

/// What may go wrong on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    WriteError,
    SyncError,
    Full,
    ShortWrite,
}

/// Switches the faults of one disk and counts its calls. Clones act on the same
/// disk.
#[derive(Clone, Default)]
pub struct Faults(Arc<FaultState>);

#[derive(Default)]
struct FaultState {
    fault: Mutex<Option<Fault>>,
    writes: AtomicU64,
    syncs: AtomicU64,
}

impl Faults {
    /// From now on every call that the fault concerns fails, until it is
    /// switched off with `None`.
    pub fn set(&self, fault: Option<Fault>) {
        *self.0.fault.lock() = fault;
    }

    /// Writes so far, failed ones included.
    pub fn writes(&self) -> u64 {
        self.0.writes.load(Ordering::Relaxed)
    }

    /// Syncs of files and folders so far, failed ones included.
    pub fn syncs(&self) -> u64 {
        self.0.syncs.load(Ordering::Relaxed)
    }

    fn decide(&self, call: DiskCall<'_>) -> Verdict {
        let is_sync = matches!(call.op, DiskOp::Sync | DiskOp::SyncFolder);
        let is_write = call.op == DiskOp::Write;
        self.0
            .syncs
            .fetch_add(u64::from(is_sync), Ordering::Relaxed);
        self.0
            .writes
            .fetch_add(u64::from(is_write), Ordering::Relaxed);
        match *self.0.fault.lock() {
            Some(Fault::WriteError) if is_write => Verdict::Fail,
            Some(Fault::Full) if is_write => Verdict::Full,
            Some(Fault::ShortWrite) if is_write => Verdict::Short,
            Some(Fault::SyncError) if is_sync => Verdict::Fail,
            _ => Verdict::Proceed,
        }
    }
}
