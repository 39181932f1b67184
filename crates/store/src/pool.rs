//! The open databases that no lane is working on, oldest use first.
//!
//! Keeps the number of open files within the limit by closing the least recently
//! used database that is between transactions. A database that holds a start not
//! yet committed is closed only when nothing else can be; closing makes it
//! durable, so nothing is lost by it. When all are inside transactions the limit
//! is exceeded rather than anyone waiting for anyone.
//!
//! Invariant: `open` counts the files in `idle` plus those in the hands of lanes.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::failure::closed;
use crate::open_file::{OpenFile, Unkept};
use crate::slot::Slot;

pub(crate) struct Pool {
    max_open: usize,
    state: Mutex<State>,
    /// Signals that an entry of `leaving` is gone.
    left: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Idle>,
    open: usize,
    /// Slots whose file is being closed right now outside the lock. Their file
    /// is still locked on disk, so whoever wants to open it waits for `left`.
    leaving: Vec<*const Slot>,
}

// SAFETY: the pointers in `leaving` are only compared, never followed.
unsafe impl Send for State {}

struct Idle {
    slot: Arc<Slot>,
    file: Box<OpenFile>,
}

impl Pool {
    pub(crate) fn new(max_open: usize) -> Self {
        Self {
            max_open,
            state: Mutex::default(),
            left: Condvar::new(),
        }
    }

    pub(crate) fn open_count(&self) -> usize {
        self.state.lock().open
    }

    /// The open file of `slot`, if it has one. Only the lane whose turn it is
    /// may call this.
    pub(crate) fn take(&self, slot: &Arc<Slot>) -> Option<Box<OpenFile>> {
        let mut state = self.state.lock();
        while state.leaving.contains(&Arc::as_ptr(slot)) {
            self.left.wait(&mut state);
        }
        let at = state
            .idle
            .iter()
            .position(|idle| Arc::ptr_eq(&idle.slot, slot))?;
        Some(state.idle.remove(at).file)
    }

    /// Returns a file after use, as the most recently used one. A limit that
    /// yielded to files in use is kept again from here on.
    pub(crate) fn give_back(&self, slot: &Arc<Slot>, file: Box<OpenFile>) {
        // The others only: this one is in use, and would be opened again.
        let mut state = self.close_beyond(self.max_open, self.state.lock());
        let slot = Arc::clone(slot);
        state.idle.push(Idle { slot, file });
    }

    /// Counts a file that is about to be opened, after making room for it.
    pub(crate) fn admit(&self) {
        let state = self.state.lock();
        let room = self.max_open.saturating_sub(1);
        self.close_beyond(room, state).open += 1;
    }

    /// Closes the least recently used files until `most` are left open, or until
    /// what is left is in use or cannot be closed.
    fn close_beyond<'pool>(
        &'pool self,
        most: usize,
        mut state: MutexGuard<'pool, State>,
    ) -> MutexGuard<'pool, State> {
        while state.open > most {
            let Some(victim) = state.take_victim() else {
                break;
            };
            drop(state);
            let closed = self.close(victim);
            state = self.state.lock();
            if let Err(rest) = closed {
                state.idle.push(rest);
                break;
            }
        }
        state
    }

    /// Uncounts a file that was closed, or that could not be opened.
    pub(crate) fn release(&self) {
        self.state.lock().open -= 1;
    }

    /// Closes every idle file; used by lanes at their end. A start that was not
    /// committed and cannot be made durable is lost, as in a crash.
    pub(crate) fn close_idle(&self) {
        loop {
            let mut state = self.state.lock();
            let Some(victim) = state.take_at(0) else {
                return;
            };
            drop(state);
            victim.file.roll_back();
            let parked = victim.slot.user.lock().coordinator.abandon();
            parked.into_iter().for_each(|job| job.refuse(closed()));
            if let Err(rest) = self.close(victim) {
                drop(rest);
                self.release();
            }
        }
    }

    /// Closes a victim outside the lock. Hands it back if it holds what could
    /// not be made durable.
    fn close(&self, victim: Idle) -> Result<(), Idle> {
        let Idle { slot, file } = victim;
        slot.user.lock().detach(&file);
        let outcome = file.put_away(&slot.shared.files, &slot.place);
        let mut state = self.state.lock();
        state
            .leaving
            .retain(|leaving| *leaving != Arc::as_ptr(&slot));
        self.left.notify_all();
        let kept = outcome.err().and_then(|Unkept { file, error }| {
            tracing::warn!(path = %slot.path().display(), %error, "could not close an idle database");
            file
        });
        match kept {
            Some(file) => Err(Idle { slot, file }),
            None => {
                state.open -= 1;
                Ok(())
            }
        }
    }
}

impl State {
    fn take_victim(&mut self) -> Option<Idle> {
        let find = |corked: bool| {
            self.idle
                .iter()
                .position(move |idle| idle.file.is_corked() == corked && !idle.file.is_pinned())
        };
        let at = find(false).or_else(|| find(true))?;
        self.take_at(at)
    }

    fn take_at(&mut self, at: usize) -> Option<Idle> {
        if at >= self.idle.len() {
            return None;
        }
        let victim = self.idle.remove(at);
        self.leaving.push(Arc::as_ptr(&victim.slot));
        Some(victim)
    }
}
