//! The layer that lets SQLite open a [`PageFile`] in place of a file.
//!
//! It knows main databases only, each under a name that [`Registered::mount`]
//! gave it; journals stay in memory, and whatever temporary file SQLite still
//! asks for is the system's. One connection at a time opens a database, so locks
//! are nothing.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::size_of;
use std::ptr;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use greenroom_error::{Error, Result};
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, ffi};

use super::page_file::PageFile;
use super::{PAGE_BYTES, PageFailure};

/// A registered layer. It may go only after every connection that uses it.
pub(crate) struct Registered(*mut Layer);

// SAFETY: of a layer nothing changes after its registration but `mounted`, which
// is behind a lock.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

/// What SQLite knows as a `sqlite3_vfs`, with our fields behind it.
#[repr(C)]
struct Layer {
    base: ffi::sqlite3_vfs,
    below: *mut ffi::sqlite3_vfs,
    name: CString,
    mounted: Mutex<HashMap<String, Arc<PageFile>>>,
    next_name: AtomicU64,
}

/// What SQLite knows as a `sqlite3_file`.
#[repr(C)]
struct OpenPages {
    base: ffi::sqlite3_file,
    pages: *const PageFile,
}

impl Registered {
    pub(crate) fn new() -> Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name =
            CString::new(format!("greenroom-pages-{number}")).expect("the name has no zero byte");
        // SAFETY: SQLite initialises itself and answers its default layer, which
        // lives as long as the process.
        let below = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
        if below.is_null() {
            return Err(Error::internal("SQLite has no file layer"));
        }
        // SAFETY: `below` is valid, and the struct is plain data. Methods that are
        // not replaced do not look at fields that differ.
        let mut base = unsafe { *below };
        base.szOsFile = base.szOsFile.max(size_of::<OpenPages>() as c_int);
        base.pNext = ptr::null_mut();
        base.zName = name.as_ptr();
        base.xOpen = Some(open);
        base.xDelete = Some(delete);
        base.xAccess = Some(access);
        base.xFullPathname = Some(full_pathname);
        let layer = Box::into_raw(Box::new(Layer {
            base,
            below,
            name,
            mounted: Mutex::default(),
            next_name: AtomicU64::new(0),
        }));
        // SAFETY: `layer` stays where it is until `drop` unregisters it.
        let code = unsafe { ffi::sqlite3_vfs_register(&raw mut (*layer).base, 0) };
        let registered = Self(layer);
        match code {
            ffi::SQLITE_OK => Ok(registered),
            code => Err(Error::internal(format!(
                "SQLite refused a page layer: {code}"
            ))),
        }
    }

    fn layer(&self) -> &Layer {
        // SAFETY: the layer lives until `drop`.
        unsafe { &*self.0 }
    }

    /// Opens a connection to a database. Two at a time must not be open.
    pub(crate) fn connect(&self, pages: &Arc<PageFile>) -> rusqlite::Result<Connection> {
        let layer = self.layer();
        let number = layer.next_name.fetch_add(1, Ordering::Relaxed);
        let name = format!("pages-{number}");
        layer.mounted.lock().insert(name.clone(), Arc::clone(pages));
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let vfs = layer.name.to_str().expect("the name is ASCII");
        let connection = Connection::open_with_flags_and_vfs(&name, flags, vfs);
        // SQLite opens the main file at once and never again.
        layer.mounted.lock().remove(&name);
        connection
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw` in `new` and used by nobody else once it
        // is unregistered, because the connections are gone.
        unsafe {
            ffi::sqlite3_vfs_unregister(&raw mut (*self.0).base);
            drop(Box::from_raw(self.0));
        }
    }
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(lock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

// All functions below are called by SQLite only, with pointers that are valid as
// its documentation says: `vfs` is the base of a `Layer`, `file` is memory of
// `szOsFile` bytes that `open` made into an `OpenPages`.

unsafe fn pages_of<'a>(file: *mut ffi::sqlite3_file) -> &'a PageFile {
    // SAFETY: `open` put a counted pointer there, and `close` was not called yet.
    unsafe { &*(*file.cast::<OpenPages>()).pages }
}

fn code_of(outcome: Result<(), PageFailure>, failed: c_int) -> c_int {
    match outcome {
        Ok(()) => ffi::SQLITE_OK,
        Err(failure) => {
            tracing::warn!(%failure, "the pages of a database are not at hand");
            failed
        }
    }
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: see above; `below` lives as long as the process.
    unsafe {
        let layer = &*vfs.cast::<Layer>();
        (*file).pMethods = ptr::null();
        if flags & ffi::SQLITE_OPEN_MAIN_DB == 0 {
            return match (*layer.below).xOpen {
                Some(open_below) => open_below(layer.below, name, file, flags, flags_out),
                None => ffi::SQLITE_CANTOPEN,
            };
        }
        if name.is_null() {
            return ffi::SQLITE_CANTOPEN;
        }
        let name = CStr::from_ptr(name).to_str().unwrap_or_default();
        let Some(pages) = layer.mounted.lock().get(name).cloned() else {
            return ffi::SQLITE_CANTOPEN;
        };
        (*file.cast::<OpenPages>()).pages = Arc::into_raw(pages);
        (*file).pMethods = &METHODS;
        if !flags_out.is_null() {
            *flags_out = flags;
        }
        ffi::SQLITE_OK
    }
}

unsafe extern "C" fn delete(_: *mut ffi::sqlite3_vfs, _: *const c_char, _: c_int) -> c_int {
    // There is nothing beside a paged database.
    ffi::SQLITE_OK
}

unsafe extern "C" fn access(
    _: *mut ffi::sqlite3_vfs,
    _: *const c_char,
    _: c_int,
    answer: *mut c_int,
) -> c_int {
    // SAFETY: see above. No journal was ever left behind.
    unsafe { *answer = 0 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn full_pathname(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    room: c_int,
    into: *mut c_char,
) -> c_int {
    // SAFETY: see above; `into` has `room` bytes.
    unsafe {
        let bytes = CStr::from_ptr(name).to_bytes_with_nul();
        if bytes.len() > room as usize {
            return ffi::SQLITE_CANTOPEN;
        }
        ptr::copy_nonoverlapping(bytes.as_ptr().cast(), into, bytes.len());
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: see above; the count that `open` took is given back once.
    unsafe { drop(Arc::from_raw((*file.cast::<OpenPages>()).pages)) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    into: *mut c_void,
    count: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: see above; `into` has `count` bytes.
    let (pages, into) = unsafe {
        (
            pages_of(file),
            slice::from_raw_parts_mut(into.cast::<u8>(), count as usize),
        )
    };
    match pages.read(offset as u64, into) {
        Ok(true) => ffi::SQLITE_OK,
        Ok(false) => ffi::SQLITE_IOERR_SHORT_READ,
        Err(failure) => code_of(Err(failure), ffi::SQLITE_IOERR_READ),
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    bytes: *const c_void,
    count: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: see above; `bytes` has `count` bytes.
    let (pages, bytes) = unsafe {
        (
            pages_of(file),
            slice::from_raw_parts(bytes.cast::<u8>(), count as usize),
        )
    };
    code_of(pages.write(offset as u64, bytes), ffi::SQLITE_IOERR_WRITE)
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    // SAFETY: see above.
    let pages = unsafe { pages_of(file) };
    code_of(pages.truncate(size as u64), ffi::SQLITE_IOERR_TRUNCATE)
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    // SAFETY: see above.
    let pages = unsafe { pages_of(file) };
    code_of(pages.sync(), ffi::SQLITE_IOERR_FSYNC)
}

unsafe extern "C" fn file_size(
    file: *mut ffi::sqlite3_file,
    size: *mut ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: see above.
    unsafe { *size = pages_of(file).bytes() as ffi::sqlite3_int64 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn lock(_: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(_: *mut ffi::sqlite3_file, answer: *mut c_int) -> c_int {
    // SAFETY: see above.
    unsafe { *answer = 0 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(_: *mut ffi::sqlite3_file, _: c_int, _: *mut c_void) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_: *mut ffi::sqlite3_file) -> c_int {
    PAGE_BYTES as c_int
}

unsafe extern "C" fn device_characteristics(_: *mut ffi::sqlite3_file) -> c_int {
    0
}
