//! What the layers over SQLite's own file layer have in common: a file of theirs
//! is a header, and behind it, in the same allocation, the file below.

use std::ffi::c_int;
use std::ptr;

use rusqlite::ffi;

/// The file below the one whose header is an `H`.
///
/// # Safety
///
/// `file` is memory that the layer below was given `size_of::<H>()` bytes into.
pub(super) unsafe fn below_of<H>(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: the caller's.
    unsafe { file.cast::<H>().add(1).cast() }
}

/// Opens the file below. `file` is not open yet: whoever calls this gives it its
/// methods once the answer is `SQLITE_OK`, and leaves it without any otherwise.
///
/// # Safety
///
/// As SQLite calls `xOpen`, with `below` the layer below and `file` memory as for
/// [`below_of`].
pub(super) unsafe fn open_below<H>(
    below: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let real = below_of::<H>(file);
        (*file).pMethods = ptr::null();
        (*real).pMethods = ptr::null();
        let Some(open) = (*below).xOpen else {
            return ffi::SQLITE_CANTOPEN;
        };
        let code = open(below, name, real, flags, flags_out);
        if code != ffi::SQLITE_OK
            && let Some(methods) = (*real).pMethods.as_ref()
            && let Some(close) = methods.xClose
        {
            close(real);
        }
        code
    }
}

/// Calls a method of the file below; a missing one is an I/O error.
macro_rules! below {
    ($header:ty, $file:ident . $method:ident ( $($argument:expr),* )) => {{
        let real = $crate::disk::layered::below_of::<$header>($file);
        match (*(*real).pMethods).$method {
            Some(method) => method(real, $($argument),*),
            None => ffi::SQLITE_IOERR,
        }
    }};
}

/// Methods that only pass the call on.
macro_rules! forward {
    ($header:ty; $( $name:ident = $method:ident ( $($argument:ident : $type:ty),* ); )*) => { $(
        unsafe extern "C" fn $name(file: *mut ffi::sqlite3_file, $($argument: $type),*) -> c_int {
            // SAFETY: SQLite calls it with a file that the layer's `open` made.
            unsafe { below!($header, file.$method($($argument),*)) }
        }
    )* };
}

/// The set of methods of files that are not mapped, with those of the log's index.
/// Those that are not named are passed on. SQLite asks for an index only where the
/// layer below has one.
macro_rules! methods {
    ($header:ty; close = $close:expr, write = $write:expr, truncate = $truncate:expr, sync = $sync:expr) => {{
        forward! {
            $header;
            read = xRead(bytes: *mut c_void, count: c_int, offset: ffi::sqlite3_int64);
            file_size = xFileSize(size: *mut ffi::sqlite3_int64);
            lock = xLock(level: c_int);
            unlock = xUnlock(level: c_int);
            check_reserved_lock = xCheckReservedLock(answer: *mut c_int);
            file_control = xFileControl(op: c_int, argument: *mut c_void);
            sector_size = xSectorSize();
            device_characteristics = xDeviceCharacteristics();
            shm_map = xShmMap(region: c_int, size: c_int, extend: c_int, place: *mut *mut c_void);
            shm_lock = xShmLock(offset: c_int, count: c_int, flags: c_int);
            shm_unmap = xShmUnmap(delete: c_int);
        }
        unsafe extern "C" fn shm_barrier(file: *mut ffi::sqlite3_file) {
            // SAFETY: SQLite calls it with a file that the layer's `open` made.
            unsafe {
                let real = $crate::disk::layered::below_of::<$header>(file);
                if let Some(barrier) = (*(*real).pMethods).xShmBarrier {
                    barrier(real);
                }
            }
        }
        ffi::sqlite3_io_methods {
            iVersion: 2,
            xClose: Some($close),
            xRead: Some(read),
            xWrite: Some($write),
            xTruncate: Some($truncate),
            xSync: Some($sync),
            xFileSize: Some(file_size),
            xLock: Some(lock),
            xUnlock: Some(unlock),
            xCheckReservedLock: Some(check_reserved_lock),
            xFileControl: Some(file_control),
            xSectorSize: Some(sector_size),
            xDeviceCharacteristics: Some(device_characteristics),
            xShmMap: Some(shm_map),
            xShmLock: Some(shm_lock),
            xShmBarrier: Some(shm_barrier),
            xShmUnmap: Some(shm_unmap),
            xFetch: None,
            xUnfetch: None,
        }
    }};
}

pub(super) use {below, forward, methods};
