//! The line of databases with work, and the lanes that wait for one.
//!
//! A lane that finds the line empty looks out for a moment before it lies down: a
//! caller that goes on right after an answer then finds a lane awake, which saves
//! both the system's way of waking a thread. One lane at a time does so.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::slot::Slot;

/// Glances of a lookout, some tens of microseconds altogether.
const GLANCES: u32 = 1_000;
/// After so many glances other threads get their turn.
const GLANCES_PER_TURN: u32 = 50;

#[derive(Default)]
pub(crate) struct Ready {
    line: Mutex<Line>,
    changed: Condvar,
    /// Length of the line, for the lookout.
    length: AtomicUsize,
    closing: AtomicBool,
}

#[derive(Default)]
struct Line {
    slots: VecDeque<Arc<Slot>>,
    /// A lane looks out, and looks into the line before it lies down.
    lookout: bool,
}

impl Ready {
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Lanes that find the line empty end from here on.
    pub(crate) fn close(&self) {
        // Under the lock, so that no lane misses the change between its check
        // and its wait.
        let _line = self.line.lock();
        self.closing.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    /// Puts a slot in line unless `admit` says no, which is asked under the lock
    /// that [`close`](Self::close) takes.
    pub(crate) fn push_if(&self, slot: Arc<Slot>, admit: impl FnOnce() -> bool) -> bool {
        let mut line = self.line.lock();
        if !admit() {
            return false;
        }
        line.slots.push_back(slot);
        self.length.store(line.slots.len(), Ordering::Release);
        // The lookout takes one; it needs no help for that.
        if !line.lookout || line.slots.len() > 1 {
            self.changed.notify_one();
        }
        true
    }

    pub(crate) fn push(&self, slot: Arc<Slot>) {
        self.push_if(slot, || true);
    }

    /// Waits for the next slot with work; `None` ends a lane.
    pub(crate) fn next(&self) -> Option<Arc<Slot>> {
        let mut line = self.line.lock();
        let mut has_looked = false;
        loop {
            if let Some(slot) = line.slots.pop_front() {
                self.length.store(line.slots.len(), Ordering::Release);
                return Some(slot);
            }
            if self.is_closing() {
                return None;
            }
            if line.lookout || has_looked {
                self.changed.wait(&mut line);
            } else {
                has_looked = true;
                line.lookout = true;
                MutexGuard::unlocked(&mut line, || self.look_out());
                line.lookout = false;
            }
        }
    }

    fn look_out(&self) {
        for glance in 1..=GLANCES {
            if self.length.load(Ordering::Acquire) > 0 || self.is_closing() {
                return;
            }
            if glance.is_multiple_of(GLANCES_PER_TURN) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}
