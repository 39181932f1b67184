//! One database as the lanes see it: a place and a queue of jobs.
//!
//! All handles of one place share one slot, so a generation that is still
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
use tokio::sync::watch;

use crate::disk::temp::TempSpace;
use crate::failure::closed;
use crate::figures::FigureBook;
use crate::group_commit::Unit;
use crate::memory::MemorySpace;
use crate::place::Place;
use crate::session::Session;
use crate::sql::UserSide;
use crate::sql::job::SqlJob;
use crate::store::Shared;

/// Jobs that may wait for one database before more are refused.
pub(crate) const QUEUE_CAPACITY: usize = 128;

/// A piece of work for a lane.
pub(crate) enum Job {
    /// Has the database for itself.
    Task(Box<dyn FnOnce(&mut Session<'_>) + Send>),
    /// A write that may share its transaction with its neighbours in the queue.
    Write(Box<dyn Unit>),
    /// A user's.
    Sql(Box<dyn SqlJob>),
}

impl Job {
    /// Answers that nothing ran.
    pub(crate) fn refuse(self, error: Error) {
        match self {
            Self::Sql(job) => job.refuse(error),
            Self::Write(unit) => unit.settle(Err(error)),
            // Its caller sees that the answer was dropped.
            Self::Task(_) => {}
        }
    }
}

/// Whether the bound on waiting jobs applies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Bounded,
    /// For the few calls of the lifecycle itself, which must get through.
    Always,
}

/// What one database may use of the machine.
pub(crate) struct Limits {
    pub(crate) temp_bytes: u64,
    pub(crate) memory_bytes: u64,
}

pub(crate) struct Slot {
    pub(crate) shared: Arc<Shared>,
    pub(crate) place: Place,
    /// What its statements may put on the disk for a while.
    pub(crate) temp: Arc<TempSpace>,
    /// What SQLite may hold of the memory for it.
    pub(crate) memory: MemorySpace,
    pub(crate) figures: Arc<FigureBook>,
    queue: Mutex<Queue>,
    /// Locked by the lane for its whole turn, so never contended. A slot whose
    /// idle file is being closed is not in a turn: see [`crate::pool`].
    pub(crate) user: Mutex<UserSide>,
    /// Whether a transaction is open that no handle owns.
    pub(crate) explicit_transaction: watch::Sender<bool>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Jobs of the runtime in `jobs`; users' are bounded where they are made.
    waiting: usize,
    /// Writes of the runtime that wait for the end of a transaction.
    parked_writes: usize,
    scheduled: bool,
}

impl Slot {
    pub(crate) fn new(shared: Arc<Shared>, place: Place, limits: &Limits) -> Self {
        Self {
            shared,
            place,
            temp: Arc::new(TempSpace::new(limits.temp_bytes)),
            memory: MemorySpace::new(limits.memory_bytes),
            figures: Arc::default(),
            queue: Mutex::default(),
            user: Mutex::default(),
            explicit_transaction: watch::Sender::new(false),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }

    /// Puts a job in line and makes sure a lane will come for it.
    pub(crate) fn submit(self: &Arc<Self>, job: Job, admission: Admission) -> Result<()> {
        let mut queue = self.queue.lock();
        if admission == Admission::Bounded && queue.runtime_jobs() >= QUEUE_CAPACITY {
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
        queue.waiting += usize::from(!matches!(job, Job::Sql(_)));
        queue.jobs.push_back(job);
        Ok(())
    }

    /// Everything that waits now, for the lane that was handed this slot.
    pub(crate) fn take_jobs(&self) -> VecDeque<Job> {
        let mut queue = self.queue.lock();
        queue.waiting = 0;
        std::mem::take(&mut queue.jobs)
    }

    /// Ends a lane's turn, which left this many writes of the runtime parked.
    /// True if jobs came meanwhile: the slot then stays scheduled and the lane
    /// must put it back in the ready queue.
    pub(crate) fn end_turn(&self, parked_writes: usize) -> bool {
        let mut queue = self.queue.lock();
        queue.parked_writes = parked_writes;
        queue.scheduled = !queue.jobs.is_empty();
        queue.scheduled
    }
}

impl Queue {
    fn runtime_jobs(&self) -> usize {
        self.waiting + self.parked_writes
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.shared.forget(self.path());
    }
}
