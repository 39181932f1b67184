//! How much memory SQLite may take for one database: pages in the cache, statements,
//! the values they put together, a new database that is not published yet.
//!
//! SQLite's own limit on its heap is one for the whole process. So its allocator is
//! replaced by one that notes for whom each piece is: the lane says on its thread whose
//! turn it is ([`MemorySpace::enter`]), and when a user's statement runs
//! ([`MemorySpace::bound`]). What that asks for beyond the limit is refused, which SQLite
//! answers with `SQLITE_NOMEM`; the runtime's own work is counted and never refused.
//!
//! Does not count what is copied out of SQLite: answers have a limit of their own.

use std::alloc::{self, Layout};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use greenroom_error::{Error, Result};
use rusqlite::ffi;

/// Added to the count while the database's owner has it.
const OWNED: u64 = 1 << 62;

/// Bytes that SQLite holds for one database, and [`OWNED`]. Freed by whoever brings
/// it to zero, because a piece may outlive the owner.
struct Account(AtomicU64);

impl Account {
    /// # Safety
    ///
    /// The account has at least `bytes`, which are given back once.
    unsafe fn give_back(this: *const Self, bytes: u64) {
        // SAFETY: it lives while its count is not zero.
        let before = unsafe { (*this).0.fetch_sub(bytes, Ordering::AcqRel) };
        debug_assert!(before >= bytes, "more given back than was taken");
        if before == bytes {
            // SAFETY: made by `Box::into_raw`, and nobody else has a share in it.
            drop(unsafe { Box::from_raw(this.cast_mut()) });
        }
    }
}

/// The memory of one database.
pub(crate) struct MemorySpace {
    limit: u64,
    account: *const Account,
}

// SAFETY: the account is changed by atomic operations only.
unsafe impl Send for MemorySpace {}
// SAFETY: as above.
unsafe impl Sync for MemorySpace {}

impl MemorySpace {
    pub(crate) fn new(limit: u64) -> Self {
        let account = Box::into_raw(Box::new(Account(AtomicU64::new(OWNED))));
        Self { limit, account }
    }

    /// What this thread's SQLite takes counts here until the turn ends.
    pub(crate) fn enter(&self) -> Turn<'_> {
        CURRENT.set(Purse {
            account: self.account,
            ..Purse::NOBODYS
        });
        Turn(PhantomData)
    }

    /// Has the limit hold for this thread's turn, which is one of this space.
    pub(crate) fn bound(&self) -> Bounded {
        CURRENT.set(Purse {
            account: self.account,
            limit: self.limit,
            refused: false,
        });
        Bounded(())
    }
}

impl Drop for MemorySpace {
    fn drop(&mut self) {
        // SAFETY: the owner's share, given back once.
        unsafe { Account::give_back(self.account, OWNED) };
    }
}

/// Ends when dropped.
pub(crate) struct Turn<'a>(PhantomData<&'a MemorySpace>);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        CURRENT.set(Purse::NOBODYS);
    }
}

/// While this lives, what the thread's turn takes has the limit of its space.
pub(crate) struct Bounded(());

impl Drop for Bounded {
    fn drop(&mut self) {
        CURRENT.set(Purse {
            limit: u64::MAX,
            ..CURRENT.get()
        });
    }
}

/// The limit, if this thread was refused memory for it since the last time.
pub(crate) fn take_refusal() -> Option<u64> {
    let purse = CURRENT.get();
    CURRENT.set(Purse {
        refused: false,
        ..purse
    });
    purse.refused.then_some(purse.limit)
}

/// From whom this thread takes.
#[derive(Clone, Copy)]
struct Purse {
    /// Null outside of turns: what is taken then counts nowhere.
    account: *const Account,
    limit: u64,
    refused: bool,
}

impl Purse {
    const NOBODYS: Self = Self {
        account: ptr::null(),
        limit: u64::MAX,
        refused: false,
    };
}

thread_local! {
    static CURRENT: Cell<Purse> = const { Cell::new(Purse::NOBODYS) };
}

/// Takes `bytes` from the account of this thread's turn; `None` if refused.
fn take(bytes: u64) -> Option<*const Account> {
    let purse = CURRENT.get();
    take_from(purse.account, purse.limit, bytes)
}

fn take_from(account: *const Account, limit: u64, bytes: u64) -> Option<*const Account> {
    // SAFETY: the turn, or a piece that counts there, keeps it alive.
    let Some(count) = (unsafe { account.as_ref() }) else {
        return Some(account);
    };
    let before = count.0.fetch_add(bytes, Ordering::AcqRel);
    if (before & (OWNED - 1)) + bytes <= limit {
        return Some(account);
    }
    // SAFETY: what was added above.
    unsafe { Account::give_back(account, bytes) };
    CURRENT.set(Purse {
        refused: true,
        ..CURRENT.get()
    });
    None
}

/// Stands before each piece.
struct Head {
    account: *const Account,
    /// Bytes of the piece, without this head.
    size: usize,
}

/// As `malloc` aligns.
const ALIGN: usize = 16;

/// Room for the head that leaves the piece aligned.
const ROOM: usize = size_of::<Head>().next_multiple_of(ALIGN);

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(ROOM)?, ALIGN).ok()
}

// The functions below are called by SQLite only, as its documentation of
// `sqlite3_mem_methods` says: sizes are positive and rounded up by `roundup`, and
// pieces come from `allocate` or `reallocate` and were not freed.

/// # Safety
///
/// `piece` is one of ours.
unsafe fn head_of(piece: *mut c_void) -> *mut Head {
    // SAFETY: the head stands right before the piece.
    unsafe { piece.cast::<Head>().sub(1) }
}

unsafe extern "C" fn allocate(size: c_int) -> *mut c_void {
    let Ok(size) = usize::try_from(size) else {
        return ptr::null_mut();
    };
    let Some(layout) = layout(size) else {
        return ptr::null_mut();
    };
    let Some(account) = take(size as u64) else {
        return ptr::null_mut();
    };
    // SAFETY: the layout is not empty.
    let start = unsafe { alloc::alloc(layout) };
    if start.is_null() {
        give_back(account, size);
        return ptr::null_mut();
    }
    // SAFETY: the head lies within the room before the piece.
    unsafe {
        let piece = start.add(ROOM).cast::<c_void>();
        head_of(piece).write(Head { account, size });
        piece
    }
}

unsafe extern "C" fn free(piece: *mut c_void) {
    if piece.is_null() {
        return;
    }
    // SAFETY: a piece of ours, with its head.
    unsafe {
        let Head { account, size } = head_of(piece).read();
        // The layout it was allocated with.
        if let Some(layout) = layout(size) {
            alloc::dealloc(piece.cast::<u8>().sub(ROOM), layout);
        }
        give_back(account, size);
    }
}

unsafe extern "C" fn reallocate(piece: *mut c_void, size: c_int) -> *mut c_void {
    let Ok(size) = usize::try_from(size) else {
        return ptr::null_mut();
    };
    // SAFETY: a piece of ours, with its head.
    let Head { account, size: old } = unsafe { head_of(piece).read() };
    let (Some(before), Some(after)) = (layout(old), layout(size)) else {
        return ptr::null_mut();
    };
    let growth = size.saturating_sub(old);
    // It stays with whom it belongs to; the limit is that of whoever asks.
    if growth > 0 && take_from(account, CURRENT.get().limit, growth as u64).is_none() {
        return ptr::null_mut();
    }
    // SAFETY: allocated with the layout `before`; the new size is not zero.
    let start = unsafe { alloc::realloc(piece.cast::<u8>().sub(ROOM), before, after.size()) };
    if start.is_null() {
        give_back(account, growth);
        return ptr::null_mut();
    }
    // SAFETY: the head moved with the piece.
    unsafe {
        let piece = start.add(ROOM).cast::<c_void>();
        (*head_of(piece)).size = size;
        give_back(account, old.saturating_sub(size));
        piece
    }
}

fn give_back(account: *const Account, bytes: usize) {
    if !account.is_null() && bytes > 0 {
        // SAFETY: they were taken from this account.
        unsafe { Account::give_back(account, bytes as u64) };
    }
}

unsafe extern "C" fn size_of_piece(piece: *mut c_void) -> c_int {
    if piece.is_null() {
        return 0;
    }
    // SAFETY: a piece of ours.
    unsafe { (*head_of(piece)).size as c_int }
}

unsafe extern "C" fn roundup(size: c_int) -> c_int {
    size.saturating_add(7) & !7
}

unsafe extern "C" fn start(_: *mut c_void) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn stop(_: *mut c_void) {}

/// [`install`] for what may be the first use of SQLite. A failure is told by whoever
/// opens a store.
pub(crate) fn install_first() {
    drop(install());
}

/// Replaces SQLite's allocator, which must be done before its first use in this
/// process. Idempotent.
pub(crate) fn install() -> Result<()> {
    static INSTALLED: OnceLock<c_int> = OnceLock::new();
    match *INSTALLED.get_or_init(configure) {
        ffi::SQLITE_OK => Ok(()),
        code => Err(Error::internal(format!(
            "SQLite refused an allocator: {code}"
        ))),
    }
}

fn configure() -> c_int {
    let methods = ffi::sqlite3_mem_methods {
        xMalloc: Some(allocate),
        xFree: Some(free),
        xRealloc: Some(reallocate),
        xSize: Some(size_of_piece),
        xRoundup: Some(roundup),
        xInit: Some(start),
        xShutdown: Some(stop),
        pAppData: ptr::null_mut(),
    };
    // SAFETY: SQLite copies the methods, and refuses them once it is in use.
    unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MALLOC, &raw const methods) }
}
