//! The store: its lanes, the line of databases with work, and their shared pool.
//!
//! A database is not bound to a lane. Whichever lane is free takes the next
//! database that has work, runs what waits there, and puts it back. A slow query
//! therefore holds up its own database only, never its neighbours.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;

use greenroom_error::Result;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};

use crate::database::Database;
use crate::disk::temp;
use crate::failure::{IoResult, closed};
use crate::files::Files;
use crate::lane;
use crate::memory;
use crate::open_file::OpenFile;
use crate::options::StoreOptions;
use crate::pages::page_file::PageFile;
use crate::pages::{PageStore, vfs};
use crate::pending_commit::PendingCommit;
use crate::place::Place;
use crate::pool::Pool;
use crate::ready::Ready;
use crate::schema;
use crate::slot::{Limits, Slot};

/// The databases of one registry. Clones share the same lanes.
///
/// When the last clone goes, the store closes itself in the background as
/// [`close`](Self::close) would.
#[derive(Clone)]
pub struct Store(Arc<Owner>);

struct Owner {
    shared: Arc<Shared>,
    lanes: Mutex<Vec<JoinHandle<()>>>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.stop_admission();
    }
}

impl Store {
    /// Starts the lanes. Opens no file.
    pub fn new(options: StoreOptions) -> Self {
        // Before anything else of SQLite's.
        if let Err(error) = memory::install() {
            tracing::error!(%error, "the memory of databases is not bounded");
        }
        if let Err(error) = temp::install() {
            tracing::error!(%error, "temporary files of databases are not bounded");
        }
        let shared = Arc::new(Shared::new(&options));
        let lanes: Vec<_> = (0..options.lanes.max(1))
            .filter_map(|number| lane::spawn(number, Arc::clone(&shared)))
            .collect();
        if lanes.is_empty() {
            // Nothing could ever answer a job, so refuse them from the start.
            shared.stop_admission();
        }
        Self(Arc::new(Owner {
            shared,
            lanes: Mutex::new(lanes),
        }))
    }

    /// The handle to the database at `path`. Nothing is opened or created.
    /// Handles of the same path share one queue and one connection; `path` is
    /// compared as given, so callers name a file in one way only.
    pub fn database(&self, path: impl Into<PathBuf>) -> Database {
        let place = |path| Place::file(path, None);
        Database::new(self.0.shared.slot(path.into(), place))
    }

    /// As [`database`](Self::database), for one that exists as little as what
    /// `commit` speaks of: it gets no file before that is on disk, and none at all
    /// if it fails.
    pub fn database_after(&self, path: impl Into<PathBuf>, commit: PendingCommit) -> Database {
        let place = |path| Place::file(path, Some(commit));
        Database::new(self.0.shared.slot(path.into(), place))
    }

    /// The handle to the database whose pages `pages` keeps. `name` stands for it
    /// in logs, and for the lease: handles of one name share one queue and one
    /// connection, and the page store of the first of them.
    pub fn paged_database(&self, name: &str, pages: Arc<dyn PageStore>) -> Database {
        let place = |name| Place::Pages(name, Arc::new(PageFile::new(pages)));
        Database::new(self.0.shared.slot(PathBuf::from(name), place))
    }

    /// Makes the folders that databases at `paths` belong into, durably. Blocks on
    /// the disk.
    ///
    /// # Errors
    /// `host/storage_failed`.
    pub fn make_folders_of(&self, paths: &[PathBuf]) -> Result<()> {
        let folders = paths.iter().filter_map(|path| path.parent());
        let made = self.0.shared.files.make_folders(folders);
        made.file("make folders for databases")
    }

    /// Databases that are open now.
    pub fn open_count(&self) -> usize {
        self.0.shared.pool.open_count()
    }

    /// True while a database has work that waits or runs.
    pub fn is_busy(&self) -> bool {
        self.0.shared.scheduled.load(Ordering::SeqCst) > 0
    }

    /// Refuses new work, finishes what waits, closes every database and ends the
    /// lanes. Handles answer `sqlite/closed` from here on. A second call waits
    /// for the first.
    pub async fn close(&self) {
        self.0.shared.stop_admission();
        let mut running = self.0.shared.running_lanes.subscribe();
        // An error would mean that the sender, which we hold, is gone.
        let _ = running.wait_for(|lanes| *lanes == 0).await;
        for lane in std::mem::take(&mut *self.0.lanes.lock()) {
            if lane.join().is_err() {
                tracing::error!("a storage lane ended by a panic");
            }
        }
    }
}

/// What handles and lanes share.
pub(crate) struct Shared {
    pub(crate) pool: Pool,
    pub(crate) room_for_readers: Arc<Semaphore>,
    limits: Limits,
    ready: Ready,
    /// Slots in `ready` or in the hands of a lane.
    scheduled: AtomicUsize,
    slots: Mutex<HashMap<Arc<Path>, Weak<Slot>>>,
    template: OnceLock<Box<[u8]>>,
    pub(crate) running_lanes: watch::Sender<usize>,
    /// The layer of paged databases, made when the first is opened. Late in this
    /// list, as `files`, because connections must be gone before what they use.
    page_layer: OnceLock<vfs::Registered>,
    pub(crate) files: Files,
}

impl Shared {
    fn new(options: &StoreOptions) -> Self {
        Self {
            files: Files::new(options.disk.clone()),
            pool: Pool::new(options.max_open.max(1)),
            room_for_readers: Arc::new(Semaphore::new(
                options.max_open.min(Semaphore::MAX_PERMITS),
            )),
            limits: Limits {
                temp_bytes: options.temp_bytes_max,
                memory_bytes: options.memory_bytes_max,
            },
            ready: Ready::default(),
            scheduled: AtomicUsize::new(0),
            slots: Mutex::default(),
            template: OnceLock::new(),
            running_lanes: watch::Sender::new(0),
            page_layer: OnceLock::new(),
        }
    }

    /// Opens an existing database.
    pub(crate) fn open(&self, place: &Place) -> Result<OpenFile> {
        match place {
            Place::File(_) => OpenFile::open(&self.files, place.path()),
            Place::Pages(_, pages) => OpenFile::open_pages(self.page_layer()?, pages),
        }
    }

    fn page_layer(&self) -> Result<&vfs::Registered> {
        if let Some(layer) = self.page_layer.get() {
            return Ok(layer);
        }
        let layer = vfs::Registered::new()?;
        Ok(self.page_layer.get_or_init(|| layer))
    }

    fn slot(self: &Arc<Self>, path: PathBuf, place: impl FnOnce(Arc<Path>) -> Place) -> Arc<Slot> {
        let mut slots = self.slots.lock();
        if let Some(slot) = slots.get(path.as_path()).and_then(Weak::upgrade) {
            return slot;
        }
        let path: Arc<Path> = path.into();
        let slot = Slot::new(Arc::clone(self), place(Arc::clone(&path)), &self.limits);
        let slot = Arc::new(slot);
        slots.insert(path, Arc::downgrade(&slot));
        slot
    }

    /// Called by a slot that goes; a newer slot of the path is left alone.
    pub(crate) fn forget(&self, path: &Path) {
        let mut slots = self.slots.lock();
        if slots.get(path).is_some_and(|slot| slot.strong_count() == 0) {
            slots.remove(path);
        }
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.ready.is_closing()
    }

    fn stop_admission(&self) {
        self.ready.close();
    }

    /// Puts a slot that was idle in line, unless the store is closing.
    pub(crate) fn schedule(&self, slot: Arc<Slot>) -> Result<()> {
        let admitted = self.ready.push_if(slot, || {
            let open = !self.is_closing();
            self.scheduled
                .fetch_add(usize::from(open), Ordering::SeqCst);
            open
        });
        admitted.then_some(()).ok_or_else(closed)
    }

    /// Notes that a slot has no more work.
    pub(crate) fn rest(&self) {
        self.scheduled.fetch_sub(1, Ordering::SeqCst);
    }

    /// Puts a slot back that has more work. Also while closing: what was
    /// admitted is finished.
    pub(crate) fn reschedule(&self, slot: Arc<Slot>) {
        self.ready.push(slot);
    }

    /// Waits for the next slot with work; `None` ends a lane.
    pub(crate) fn next_ready(&self) -> Option<Arc<Slot>> {
        self.ready.next()
    }

    /// The image that new databases start from, built on first use.
    pub(crate) fn template(&self) -> Result<&[u8]> {
        if let Some(image) = self.template.get() {
            return Ok(image);
        }
        let image = schema::template()?;
        Ok(self.template.get_or_init(|| image))
    }
}
