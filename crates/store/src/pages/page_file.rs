//! One paged database as SQLite's file layer sees it.
//!
//! Holds what was written since the last commit, and copies of pages that are
//! committed. Reads ask those first and the page store for the rest.
//!
//! Invariant P1: `changed` leaves this process in one commit, at a sync, or not at
//! all. SQLite syncs the main file once per transaction, after its last write.
//! Invariant P2: after a final failure nothing is read or written any more, so
//! that no answer rests on a commit whose fate is unknown.
//! Invariant P3: the head that one open of the database left is the head that the
//! next one finds. Another one means another writer.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use greenroom_error::{Error, Result};
use parking_lot::Mutex;

use super::{PAGE_BYTES, PageCommit, PageFailure, PageStore};
use crate::failure::{closed, corrupt, storage_failed};

/// Pages asked for when a database is opened: most actors fit into them.
const PRELOAD_PAGES: u32 = 128;
/// Pages asked for together with one that is missing.
const READ_AHEAD_PAGES: u32 = 16;
/// Copies of committed pages kept while a database is open: 2 MiB.
const KEPT_PAGES: usize = 512;
/// Where a database's first page says how many there are.
const SIZE_FIELD: std::ops::Range<usize> = 28..32;
/// Where it says how it is journalled, and the value for a rollback journal: what
/// else there is needs files beside the database.
const JOURNAL_FIELD: std::ops::Range<usize> = 18..20;
const ROLLBACK_JOURNAL: [u8; 2] = [1, 1];

pub(crate) struct PageFile {
    pages: Arc<dyn PageStore>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The store was asked since the last [`PageFile::forget`].
    loaded: bool,
    head: Option<u64>,
    /// Pages at `head`.
    committed_size: u32,
    /// Pages with what was written since.
    size: u32,
    kept: HashMap<u32, Bytes>,
    changed: BTreeMap<u32, Vec<u8>>,
    /// The head that was seen last, from one open to the next (P3).
    seen: Option<Option<u64>>,
    failure: Option<PageFailure>,
    removed: bool,
}

impl PageFile {
    pub(crate) fn new(pages: Arc<dyn PageStore>) -> Self {
        Self {
            pages,
            state: Mutex::default(),
        }
    }

    /// Whether the database was ever written; asks the store at most once until
    /// the pages are forgotten.
    pub(crate) fn exists(&self) -> Result<bool> {
        let mut state = self.state.lock();
        if state.removed {
            return Ok(false);
        }
        self.load(&mut state)
            .map_err(|failure| error_of(&failure))?;
        Ok(state.size > 0)
    }

    fn load(&self, state: &mut State) -> Result<(), PageFailure> {
        state.check()?;
        if state.loaded {
            return Ok(());
        }
        let numbers: Vec<u32> = (1..=PRELOAD_PAGES).collect();
        let read = self.pages.read(&numbers).map_err(|f| state.note(f))?;
        if state.seen.is_some_and(|seen| seen != read.head) {
            return Err(state.note(other_writer()));
        }
        (state.head, state.seen) = (read.head, Some(read.head));
        let first = read.pages.iter().find(|(number, _)| *number == 1);
        let size = match first {
            None => 0,
            Some((_, page)) => size_in(page).ok_or_else(not_a_database)?,
        };
        let pages = read.pages.into_iter();
        let pages = pages.filter(|(number, page)| *number <= size && page.len() == PAGE_BYTES);
        state.kept = pages.collect();
        (state.committed_size, state.size) = (size, size);
        state.loaded = true;
        Ok(())
    }

    /// Writes a whole database in one commit, in place of what was there.
    pub(crate) fn publish(&self, image: &[u8]) -> Result<()> {
        let mut state = self.state.lock();
        if state.removed {
            return Err(closed());
        }
        if image.is_empty() || !image.len().is_multiple_of(PAGE_BYTES) {
            return Err(corrupt("the new database is not a number of whole pages"));
        }
        if size_in(&image[..PAGE_BYTES]).is_none() {
            return Err(corrupt("the new database needs files beside it"));
        }
        let publish = |state: &mut State| {
            self.load(state)?;
            state.changed.clear();
            for (number, page) in (1u32..).zip(image.chunks_exact(PAGE_BYTES)) {
                state.changed.insert(number, page.to_vec());
                state.size = number;
            }
            self.commit(state)
        };
        publish(&mut state).map_err(|failure| error_of(&failure))
    }

    /// Lets go of every copy; the next use asks the store again. What was not
    /// committed is gone, as it is when a file's connection closes.
    pub(crate) fn forget(&self) {
        let mut state = self.state.lock();
        *state = State {
            seen: state.seen,
            failure: state.failure.take(),
            removed: state.removed,
            ..State::default()
        };
    }

    /// The actor is gone, and whoever keeps the pages deletes them.
    pub(crate) fn remove(&self) {
        self.forget();
        self.state.lock().removed = true;
    }

    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.state.lock().size) * PAGE_BYTES as u64
    }

    /// Fills `into` from `offset`; false if the end of the file came first, and
    /// the rest is zero then.
    pub(super) fn read(&self, offset: u64, into: &mut [u8]) -> Result<bool, PageFailure> {
        let mut state = self.state.lock();
        let mut done = 0;
        while done < into.len() {
            let at = offset + done as u64;
            let number = page_number(at)?;
            let within = (at % PAGE_BYTES as u64) as usize;
            let count = (PAGE_BYTES - within).min(into.len() - done);
            if number > state.size {
                into[done..].fill(0);
                return Ok(false);
            }
            self.with_page(&mut state, number, |page| {
                into[done..done + count].copy_from_slice(&page[within..within + count]);
            })?;
            done += count;
        }
        Ok(true)
    }

    fn with_page(
        &self,
        state: &mut State,
        number: u32,
        look: impl FnOnce(&[u8]),
    ) -> Result<(), PageFailure> {
        state.check()?;
        if let Some(page) = state.changed.get(&number) {
            look(page);
            return Ok(());
        }
        if !state.kept.contains_key(&number) {
            self.fetch(state, number)?;
        }
        match state.kept.get(&number) {
            Some(page) => look(page),
            // A page that was added and never written.
            None => look(&[0; PAGE_BYTES]),
        }
        Ok(())
    }

    fn fetch(&self, state: &mut State, number: u32) -> Result<(), PageFailure> {
        if number > state.committed_size {
            return Ok(());
        }
        let last = number.saturating_add(READ_AHEAD_PAGES - 1);
        let wanted: Vec<u32> = (number..=last.min(state.committed_size))
            .filter(|number| !state.kept.contains_key(number))
            .collect();
        let read = self.pages.read(&wanted).map_err(|f| state.note(f))?;
        if read.head != state.head {
            return Err(state.note(other_writer()));
        }
        if state.kept.len() + read.pages.len() > KEPT_PAGES {
            state.kept.clear();
        }
        let whole = |(_, bytes): &(u32, Bytes)| bytes.len() == PAGE_BYTES;
        state.kept.extend(read.pages.into_iter().filter(whole));
        match state.kept.contains_key(&number) {
            true => Ok(()),
            false => Err(PageFailure::Refused(format!("page {number} is missing"))),
        }
    }

    /// Takes `bytes` as the new content at `offset`; nothing leaves before a sync.
    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), PageFailure> {
        let mut state = self.state.lock();
        state.check()?;
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let number = page_number(at)?;
            let within = (at % PAGE_BYTES as u64) as usize;
            let count = (PAGE_BYTES - within).min(bytes.len() - done);
            let mut page = vec![0; PAGE_BYTES];
            if count < PAGE_BYTES && number <= state.size {
                self.with_page(&mut state, number, |old| page.copy_from_slice(old))?;
            }
            page[within..within + count].copy_from_slice(&bytes[done..done + count]);
            // What a rollback puts back is no change.
            if state.kept.get(&number).is_some_and(|old| **old == *page) {
                state.changed.remove(&number);
            } else {
                state.changed.insert(number, page);
            }
            state.size = state.size.max(number);
            done += count;
        }
        Ok(())
    }

    pub(super) fn truncate(&self, bytes: u64) -> Result<(), PageFailure> {
        let mut state = self.state.lock();
        state.check()?;
        let size = bytes.div_ceil(PAGE_BYTES as u64);
        let size = u32::try_from(size).map_err(|_| too_large())?;
        state.size = size;
        state.changed.retain(|number, _| *number <= size);
        Ok(())
    }

    /// The commit point of a transaction.
    pub(super) fn sync(&self) -> Result<(), PageFailure> {
        let mut state = self.state.lock();
        state.check()?;
        self.commit(&mut state)
    }

    /// Sends what changed. The new size is what the first page says: SQLite cuts a
    /// file that became smaller only after its commit, when nothing is sent any
    /// more.
    fn commit(&self, state: &mut State) -> Result<(), PageFailure> {
        let changed = std::mem::take(&mut state.changed);
        if changed.is_empty() {
            return Ok(());
        }
        let sent = Self::as_commit(state, changed).and_then(|commit| {
            let (size, pages) = (commit.size, commit.pages.clone());
            let head = self.pages.commit(commit)?;
            Ok((head, size, pages))
        });
        match sent {
            Ok((head, size, pages)) => {
                (state.head, state.seen) = (head, Some(head));
                state.committed_size = size;
                state.kept.retain(|number, _| *number <= size);
                if state.kept.len() + pages.len() > KEPT_PAGES {
                    state.kept.clear();
                }
                state.kept.extend(pages.into_iter().take(KEPT_PAGES));
                Ok(())
            }
            Err(failure) => {
                // SQLite now puts the old content back, which is what is committed.
                state.size = state.committed_size;
                Err(state.note(failure))
            }
        }
    }

    fn as_commit(
        state: &State,
        changed: BTreeMap<u32, Vec<u8>>,
    ) -> Result<PageCommit, PageFailure> {
        let size = match changed.get(&1) {
            None => state.committed_size,
            Some(first) => size_in(first).ok_or_else(not_a_database)?,
        };
        let pages = changed
            .into_iter()
            .take_while(|(number, _)| *number <= size);
        Ok(PageCommit {
            on_head: state.head,
            size,
            pages: pages.map(|(number, page)| (number, page.into())).collect(),
        })
    }
}

impl State {
    fn check(&self) -> Result<(), PageFailure> {
        match &self.failure {
            Some(failure) if failure.is_final() => Err(failure.clone()),
            _ => Ok(()),
        }
    }

    fn note(&mut self, failure: PageFailure) -> PageFailure {
        self.failure = Some(failure.clone());
        failure
    }
}

fn page_number(offset: u64) -> Result<u32, PageFailure> {
    u32::try_from(offset / PAGE_BYTES as u64 + 1).map_err(|_| too_large())
}

fn not_a_database() -> PageFailure {
    let reason = "the first page is not that of a database without a log";
    PageFailure::Refused(reason.to_owned())
}

fn other_writer() -> PageFailure {
    PageFailure::Lost("another writer has changed the database".to_owned())
}

fn too_large() -> PageFailure {
    PageFailure::Refused("the database has too many pages".to_owned())
}

/// Pages of a database by its first one; `None` for what is no database.
fn size_in(first: &[u8]) -> Option<u32> {
    let is_first = first.len() == PAGE_BYTES
        && first.starts_with(b"SQLite format 3\0")
        && first[JOURNAL_FIELD] == ROLLBACK_JOURNAL;
    let field = first.get(SIZE_FIELD).filter(|_| is_first)?;
    Some(u32::from_be_bytes(field.try_into().ok()?).max(1))
}

fn error_of(failure: &PageFailure) -> Error {
    storage_failed(failure.to_string())
}
