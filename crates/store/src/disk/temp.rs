//! How much of the disk SQLite may use for what it keeps for a while: sorts,
//! materialized tables, temporary databases, the copy a `VACUUM` writes.
//!
//! Such files have no name and belong to whoever opens them, so the lane says on
//! its thread whose turn it is ([`TempSpace::enter`]), and a layer over SQLite's own
//! counts what is written. It becomes the default layer of this SQLite, which nobody
//! but the store uses, and stands over the one for files that several connections of
//! this process share ([`super::shared`]). Files with a name are not touched by it.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use greenroom_error::{Error, Result};
use rusqlite::ffi;

use super::layered::{below, forward, methods, open_below};
use super::shared;
use crate::memory;

/// Bytes of temporary files that one database may have.
#[derive(Debug)]
pub(crate) struct TempSpace {
    limit: u64,
    used: AtomicU64,
    /// A write was refused, and nobody has asked yet.
    refused: AtomicBool,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<TempSpace>>> = const { RefCell::new(None) };
}

/// Ends a turn when dropped.
pub(crate) struct Turn(());

impl Drop for Turn {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

impl TempSpace {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            limit,
            used: AtomicU64::new(0),
            refused: AtomicBool::new(false),
        }
    }

    /// Temporary files that this thread opens count here until the turn ends, and
    /// as long as they live.
    pub(crate) fn enter(self: &Arc<Self>) -> Turn {
        CURRENT.set(Some(Arc::clone(self)));
        Turn(())
    }

    fn take(&self, bytes: u64) -> bool {
        let taken = self
            .used
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |used| {
                used.checked_add(bytes).filter(|used| *used <= self.limit)
            });
        if taken.is_err() {
            self.refused.store(true, Ordering::Release);
        }
        taken.is_ok()
    }

    fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::AcqRel);
    }
}

/// The limit, if a write of this turn was refused for it since the last time.
pub(crate) fn take_refusal() -> Option<u64> {
    CURRENT.with_borrow(|space| {
        let space = space.as_ref()?;
        let refused = space.refused.swap(false, Ordering::AcqRel);
        refused.then_some(space.limit)
    })
}

/// What SQLite knows as a `sqlite3_file`. The file of the layer below follows in
/// the same allocation.
#[repr(C)]
struct TempFile {
    base: ffi::sqlite3_file,
    /// Of an `Arc`.
    space: *const TempSpace,
    /// Bytes that count as taken.
    size: u64,
}

/// What SQLite knows as a `sqlite3_vfs`, with our field behind it.
#[repr(C)]
struct Layer {
    base: ffi::sqlite3_vfs,
    below: *mut ffi::sqlite3_vfs,
}

/// The registered layers; they stay for the life of the process.
struct Registered {
    #[expect(dead_code, reason = "SQLite knows its address")]
    default: Box<Layer>,
    shared: Option<Box<Layer>>,
}

// SAFETY: the layer is not changed after its registration but by SQLite, under its
// own lock.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

static LAYER: OnceLock<std::result::Result<Registered, String>> = OnceLock::new();

/// Has SQLite open its files through the layer. Idempotent.
pub(crate) fn install() -> Result<()> {
    let installed = LAYER.get_or_init(register);
    installed
        .as_ref()
        .map(drop)
        .map_err(|reason| Error::internal(reason.clone()))
}

/// The layer over [`shared::below`], by name, where the system has that.
pub(super) fn shared_layer() -> Option<&'static str> {
    let registered = LAYER.get_or_init(register).as_ref().ok()?;
    registered.shared.as_ref()?;
    SHARED.to_str().ok()
}

/// The layer that another may stand on: the shared one, else the default.
pub(super) fn layer() -> Option<*mut ffi::sqlite3_vfs> {
    let name = shared_layer().map_or(ptr::null(), |_| SHARED.as_ptr());
    find(name).map(NonNull::as_ptr)
}

/// The layer of this name; null is SQLite's default.
fn find(name: *const c_char) -> Option<NonNull<ffi::sqlite3_vfs>> {
    // SAFETY: SQLite initialises itself and answers a layer that is registered for
    // the life of the process, or null.
    NonNull::new(unsafe { ffi::sqlite3_vfs_find(name) })
}

const SHARED: &CStr = c"greenroom-shared";

fn register() -> std::result::Result<Registered, String> {
    memory::install_first();
    let below = find(ptr::null()).ok_or("SQLite has no file layer")?;
    let default = register_over(below, c"greenroom", true)?;
    // Without it results are put aside at once, and nothing else is missing.
    let shared = shared::below().and_then(|below| register_over(below, SHARED, false).ok());
    Ok(Registered { default, shared })
}

fn register_over(
    below: NonNull<ffi::sqlite3_vfs>,
    name: &'static CStr,
    is_default: bool,
) -> std::result::Result<Box<Layer>, String> {
    let below = below.as_ptr();
    // SAFETY: `below` is valid, and the struct is plain data. The methods that are
    // not replaced do not look at fields that differ.
    let mut base = unsafe { *below };
    base.szOsFile += size_of::<TempFile>() as c_int;
    base.pNext = ptr::null_mut();
    base.zName = name.as_ptr();
    base.xOpen = Some(open);
    let mut layer = Box::new(Layer { base, below });
    // SAFETY: the box stays where it is: it goes into a static.
    let code = unsafe { ffi::sqlite3_vfs_register(&raw mut layer.base, c_int::from(is_default)) };
    match code {
        ffi::SQLITE_OK => Ok(layer),
        code => Err(format!("SQLite refused a file layer: {code}")),
    }
}

static METHODS: ffi::sqlite3_io_methods = methods! {
    TempFile; close = close, write = write, truncate = truncate, sync = sync
};

// All functions below are called by SQLite only, with pointers that are valid as its
// documentation says: `vfs` is the base of a `Layer`, `file` is memory of `szOsFile`
// bytes, which `open` made into a `TempFile` if it gave it `METHODS`.

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: see above; the layer below lives as long as the process.
    unsafe {
        let below = (*vfs.cast::<Layer>()).below;
        let space = name
            .is_null()
            .then(|| CURRENT.with_borrow(Option::clone))
            .flatten();
        let Some(space) = space else {
            // Not ours: the file below in its place.
            return match (*below).xOpen {
                Some(open) => open(below, name, file, flags, flags_out),
                None => ffi::SQLITE_CANTOPEN,
            };
        };
        let code = open_below::<TempFile>(below, name, file, flags, flags_out);
        if code != ffi::SQLITE_OK {
            return code;
        }
        let made = file.cast::<TempFile>();
        (*made).space = Arc::into_raw(space);
        (*made).size = 0;
        (*file).pMethods = &METHODS;
        code
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: see above; `open` took the count of the `Arc`, which is given up once.
    unsafe {
        let code = below!(TempFile, file.xClose());
        let ours = file.cast::<TempFile>();
        let space = Arc::from_raw((*ours).space);
        space.give_back((*ours).size);
        code
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    bytes: *const c_void,
    count: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        let ours = file.cast::<TempFile>();
        let end = u64::try_from(offset.saturating_add(count.into())).unwrap_or(0);
        let growth = end.saturating_sub((*ours).size);
        if growth > 0 {
            if !(*(*ours).space).take(growth) {
                return ffi::SQLITE_FULL;
            }
            (*ours).size = end;
        }
        below!(TempFile, file.xWrite(bytes, count, offset))
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    // SAFETY: see above.
    unsafe {
        let code = below!(TempFile, file.xTruncate(size));
        let ours = file.cast::<TempFile>();
        let size = u64::try_from(size).unwrap_or(0);
        if code == ffi::SQLITE_OK && size < (*ours).size {
            (*(*ours).space).give_back((*ours).size - size);
            (*ours).size = size;
        }
        code
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: see above.
    unsafe { below!(TempFile, file.xSync(flags)) }
}
