//! One database as the lanes see it: a path and a queue of jobs.
//!
//! All handles of one path share one slot, so a generation that is still
//! closing its database and the next one that opens it stand in one line.
//!
//! Invariant: a slot is in the store's ready queue, or in the hands of exactly
//! one lane, iff `scheduled` is set. Hence at most one lane works on a database
//! at a time, and its jobs run in the order they came.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use greenroom_error::{Error, Result, code};
use parking_lot::Mutex;
use serde_json::json;

use crate::failure::closed;
use crate::group_commit::Unit;
use crate::session::Session;
use crate::store::Shared;

/// Jobs that may wait for one database before more are refused.
pub(crate) const QUEUE_CAPACITY: usize = 128;

/// A piece of work for a lane.
pub(crate) enum Job {
    /// Has the database for itself.
    Task(Box<dyn FnOnce(&mut Session<'_>) + Send>),
    /// A write that may share its transaction with its neighbours in the queue.
    Write(Box<dyn Unit>),
}

/// Whether the bound on waiting jobs applies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Bounded,
    /// For the few calls of the lifecycle itself, which must get through.
    Always,
}

pub(crate) struct Slot {
    pub(crate) shared: Arc<Shared>,
    pub(crate) path: Arc<Path>,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    scheduled: bool,
}

impl Slot {
    pub(crate) fn new(shared: Arc<Shared>, path: Arc<Path>) -> Self {
        Self {
            shared,
            path,
            queue: Mutex::default(),
        }
    }

    /// Puts a job in line and makes sure a lane will come for it.
    pub(crate) fn submit(self: &Arc<Self>, job: Job, admission: Admission) -> Result<()> {
        let mut queue = self.queue.lock();
        if admission == Admission::Bounded && queue.jobs.len() >= QUEUE_CAPACITY {
            return Err(Error::with(
                &code::ACTOR_OVERLOADED,
                json!({
                    "channel": "sqlite_worker",
                    "operation": "run a database job",
                    "capacity": QUEUE_CAPACITY,
                }),
            ));
        }
        if queue.scheduled {
            if self.shared.is_closing() {
                return Err(closed());
            }
        } else {
            self.shared.schedule(Arc::clone(self))?;
            queue.scheduled = true;
        }
        queue.jobs.push_back(job);
        Ok(())
    }

    /// Everything that waits now, for the lane that was handed this slot.
    pub(crate) fn take_jobs(&self) -> VecDeque<Job> {
        std::mem::take(&mut self.queue.lock().jobs)
    }

    /// Ends a lane's turn. True if jobs came meanwhile: the slot then stays
    /// scheduled and the lane must put it back in the ready queue.
    pub(crate) fn end_turn(&self) -> bool {
        let mut queue = self.queue.lock();
        queue.scheduled = !queue.jobs.is_empty();
        queue.scheduled
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.shared.forget(&self.path);
    }
}
