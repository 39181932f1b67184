//! A layer between SQLite and its own file layer that asks a script before each
//! write, truncation, sync and delete.
//!
//! It offers no memory mapping, which the store does not use.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::mem::size_of;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use greenroom_error::{Error, Result};
use rusqlite::ffi;

use super::layered::{below, forward, methods, open_below};
use super::temp;
use super::{DiskCall, DiskOp, Script, Verdict};
use crate::memory;

/// A registered layer. It may go only after every connection that uses it.
pub(super) struct Registered(*mut Layer);

// SAFETY: the layer is not changed after its registration, and its script is
// `Send` and `Sync`.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

/// What SQLite knows as a `sqlite3_vfs`, with our fields behind it.
#[repr(C)]
struct Layer {
    base: ffi::sqlite3_vfs,
    below: *mut ffi::sqlite3_vfs,
    script: Box<Script>,
    name: CString,
}

/// What SQLite knows as a `sqlite3_file`. The file of the layer below follows
/// in the same allocation.
#[repr(C)]
struct LayerFile {
    base: ffi::sqlite3_file,
    layer: *const Layer,
    path: *mut PathBuf,
    /// SQLite's own layer syncs the folder too when this file is first synced.
    syncs_folder: bool,
}

impl Registered {
    pub(super) fn new(script: Box<Script>) -> Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        memory::install_first();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = CString::new(format!("greenroom-scripted-{number}"))
            .expect("the name has no zero byte");
        let below = temp::layer().ok_or_else(|| Error::internal("SQLite has no file layer"))?;
        // SAFETY: `below` is valid, and the struct is plain data. The methods
        // that are not replaced do not look at fields that differ.
        let mut base = unsafe { *below };
        base.szOsFile += size_of::<LayerFile>() as c_int;
        base.pNext = ptr::null_mut();
        base.zName = name.as_ptr();
        base.xOpen = Some(open);
        base.xDelete = Some(delete);
        let layer = Box::into_raw(Box::new(Layer {
            base,
            below,
            script,
            name,
        }));
        // SAFETY: `layer` stays where it is until `drop` unregisters it.
        let code = unsafe { ffi::sqlite3_vfs_register(&raw mut (*layer).base, 0) };
        let registered = Self(layer);
        match code {
            ffi::SQLITE_OK => Ok(registered),
            code => Err(Error::internal(format!(
                "SQLite refused a file layer: {code}"
            ))),
        }
    }

    pub(super) fn name(&self) -> &str {
        // SAFETY: the layer lives until `drop`.
        let name = unsafe { &(*self.0).name };
        name.to_str().expect("the name is ASCII")
    }

    pub(super) fn ask(&self, call: DiskCall<'_>) -> Verdict {
        // SAFETY: the layer lives until `drop`.
        let script = unsafe { &(*self.0).script };
        script(call)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw` in `new` and used by nobody else once
        // it is unregistered, because the connections are gone.
        unsafe {
            ffi::sqlite3_vfs_unregister(&raw mut (*self.0).base);
            drop(Box::from_raw(self.0));
        }
    }
}

static METHODS: ffi::sqlite3_io_methods = methods! {
    LayerFile; close = close, write = write, truncate = truncate, sync = sync
};

// All functions below are called by SQLite only, with pointers that are valid as
// its documentation says: `vfs` is the base of a `Layer`, `file` is memory of
// `szOsFile` bytes that `open` made into a `LayerFile`.

unsafe fn ask(file: *mut ffi::sqlite3_file, op: DiskOp) -> Verdict {
    // SAFETY: `open` set both pointers, and `close` has not been called.
    let (script, path) = unsafe {
        let file = file.cast::<LayerFile>();
        (&(*(*file).layer).script, &*(*file).path)
    };
    script(DiskCall { op, path })
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
        let layer = vfs.cast::<Layer>();
        let code = open_below::<LayerFile>((*layer).below, name, file, flags, flags_out);
        if code != ffi::SQLITE_OK {
            return code;
        }
        let path = if name.is_null() {
            PathBuf::new()
        } else {
            path_from(name)
        };
        let journals = ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_MAIN_JOURNAL;
        let made = file.cast::<LayerFile>();
        (*made).layer = layer;
        (*made).path = Box::into_raw(Box::new(path));
        (*made).syncs_folder = flags & journals != 0 && flags & ffi::SQLITE_OPEN_CREATE != 0;
        (*file).pMethods = &METHODS;
        code
    }
}

unsafe extern "C" fn delete(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    sync_folder: c_int,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        let layer = vfs.cast::<Layer>();
        let path = path_from(name);
        let call = DiskCall {
            op: DiskOp::Delete,
            path: &path,
        };
        if ((*layer).script)(call) != Verdict::Proceed {
            return ffi::SQLITE_IOERR_DELETE;
        }
        match (*(*layer).below).xDelete {
            Some(delete) => delete((*layer).below, name, sync_folder),
            None => ffi::SQLITE_IOERR_DELETE,
        }
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: see above; the path was boxed by `open` and is freed once.
    unsafe {
        let code = below!(LayerFile, file.xClose());
        drop(Box::from_raw((*file.cast::<LayerFile>()).path));
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
        match ask(file, DiskOp::Write) {
            Verdict::Proceed => below!(LayerFile, file.xWrite(bytes, count, offset)),
            Verdict::Fail | Verdict::Skip => ffi::SQLITE_IOERR_WRITE,
            Verdict::Full => ffi::SQLITE_FULL,
            Verdict::Short => {
                below!(LayerFile, file.xWrite(bytes, count / 2, offset));
                ffi::SQLITE_FULL
            }
        }
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    // SAFETY: see above.
    unsafe {
        match ask(file, DiskOp::Truncate) {
            Verdict::Proceed => below!(LayerFile, file.xTruncate(size)),
            _ => ffi::SQLITE_IOERR_TRUNCATE,
        }
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: see above.
    unsafe {
        let code = match ask(file, DiskOp::Sync) {
            Verdict::Proceed => below!(LayerFile, file.xSync(flags)),
            Verdict::Skip => ffi::SQLITE_OK,
            _ => return ffi::SQLITE_IOERR_FSYNC,
        };
        let ours = file.cast::<LayerFile>();
        if std::mem::take(&mut (*ours).syncs_folder)
            && let Some(folder) = (*(*ours).path).parent()
        {
            let call = DiskCall {
                op: DiskOp::SyncFolder,
                path: folder,
            };
            ((*(*ours).layer).script)(call);
        }
        code
    }
}

unsafe fn path_from(name: *const c_char) -> PathBuf {
    // SAFETY: SQLite passes a string that ends in a zero byte.
    let bytes = unsafe { CStr::from_ptr(name) }.to_bytes();
    #[cfg(unix)]
    let text = <OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes);
    #[cfg(not(unix))]
    let text = OsStr::new(std::str::from_utf8(bytes).unwrap_or_default());
    Path::new(text).to_owned()
}
