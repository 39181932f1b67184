//! Who may use a database now: anybody, or one transaction alone.
//!
//! The lane asks before each job, in the order of the queue. While a transaction
//! owns the database, other jobs are *parked* and come back, in their order and
//! before everything younger, when it ends. Since the lane runs one job at a
//! time, a transaction that waits for its turn needs no gate of its own: it
//! begins when its `BEGIN` is reached, and what stands behind it finds it open.
//!
//! A `BEGIN` sent as an ordinary statement is tolerated: users' statements run
//! inside it, whoever sends them, and only the runtime's writes wait.
//!
//! Does no I/O. Ending a transaction in SQLite is the caller's part.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use greenroom_error::{Error, code};
use serde_json::json;
use tokio::sync::watch;

use super::failure::Interruption;
use super::watch::Guard;
use crate::slot::Job;

/// Where a transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its `BEGIN` has not run yet.
    Waiting,
    Open,
    Committed,
    RolledBack,
    /// Rolled back by SQLite itself, in the middle of a statement.
    Undone,
    /// Rolled back at its deadline.
    Expired,
    /// Rolled back because the database was closed under it.
    Closed,
}

impl Phase {
    pub(super) fn is_over(self) -> bool {
        !matches!(self, Self::Waiting | Self::Open)
    }
}

/// One transaction, shared by its handle and the line it stands in.
pub(crate) struct Tx {
    pub(super) key: String,
    /// For logs only.
    pub(super) name: Option<String>,
    pub(super) timeout_ms: u64,
    phase: watch::Sender<Phase>,
    /// Its end stands in line.
    ending: AtomicBool,
    /// Its time was over before its end stood in line: it will be rolled back.
    overdue: AtomicBool,
    /// Its own statements that wait.
    waiting: Arc<AtomicUsize>,
}

impl Tx {
    pub(super) fn new(key: String, name: Option<String>, timeout_ms: u64) -> Self {
        Self {
            key,
            name,
            timeout_ms,
            phase: watch::Sender::new(Phase::Waiting),
            ending: AtomicBool::new(false),
            overdue: AtomicBool::new(false),
            waiting: Arc::default(),
        }
    }

    pub(super) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    pub(super) fn watch_phase(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    pub(super) fn waiting(&self) -> &Arc<AtomicUsize> {
        &self.waiting
    }

    /// Its commit or rollback is put in line.
    pub(super) fn end_asked(&self) {
        self.ending.store(true, Ordering::Release);
    }

    /// Its time is over: what still runs of it stops, unless its end stands behind.
    pub(super) fn time_over(&self) {
        let overdue = !self.ending.load(Ordering::Acquire);
        self.overdue.store(overdue, Ordering::Release);
    }

    /// The guard of one of its statements.
    pub(super) fn guard(self: &Arc<Self>, mut guard: Option<Guard>) -> Guard {
        let tx = Arc::clone(self);
        Box::new(move || {
            if tx.overdue.load(Ordering::Acquire) {
                return Some(Interruption::TimedOut(Duration::from_millis(tx.timeout_ms)));
            }
            guard.as_mut().and_then(|guard| guard())
        })
    }

    /// What the caller of a statement is told that the deadline stopped.
    pub(super) fn told(&self, error: Error) -> Error {
        if self.overdue.load(Ordering::Acquire) && error.is(&code::SQLITE_INTERRUPTED) {
            return expired(self.timeout_ms);
        }
        error
    }

    /// True if SQLite has rolled it back and its owner learns of that now, as
    /// the success of a rollback.
    pub(super) fn acknowledge_undone(&self) -> bool {
        self.phase.send_if_modified(|phase| {
            let undone = *phase == Phase::Undone;
            if undone {
                *phase = Phase::RolledBack;
            }
            undone
        })
    }

    fn enter(&self, phase: Phase) {
        self.phase.send_replace(phase);
    }

    /// The answer to any use after the end.
    pub(super) fn over(&self) -> Error {
        let state = match self.phase() {
            Phase::Expired => return expired(self.timeout_ms),
            Phase::Closed => return Error::new(&code::SQLITE_TRANSACTION_CLOSED),
            Phase::Committed => "committed",
            Phase::Waiting | Phase::Open | Phase::RolledBack | Phase::Undone => "rolled back",
        };
        Error::with(
            &code::SQLITE_TRANSACTION_TERMINAL,
            json!({ "key": self.key, "state": state }),
        )
    }
}

fn expired(timeout_ms: u64) -> Error {
    Error::with(
        &code::SQLITE_TRANSACTION_EXPIRED,
        json!({ "timeout_ms": timeout_ms }),
    )
}

/// What a job of a user wants the database for.
#[derive(Clone)]
pub(crate) enum Claim {
    /// Statements on their own.
    Shared,
    /// To begin a transaction.
    Begin,
    /// To read on in a result, which disturbs nobody.
    Result,
    /// Statements of this transaction, or its end.
    Inside(Arc<Tx>),
}

/// What becomes of a job now.
pub(crate) enum Turn {
    Run,
    Park,
    Refuse(Error),
}

#[derive(Default)]
pub(crate) struct Coordinator {
    owner: Option<Arc<Tx>>,
    /// SQLite is inside a transaction that nobody owns.
    manual: bool,
    parked: VecDeque<Job>,
}

impl Coordinator {
    pub(crate) fn turn(&self, job: &Job) -> Turn {
        match job {
            Job::Task(_) => Turn::Run,
            Job::Write(_) if self.owner.is_some() || self.manual => Turn::Park,
            Job::Write(_) => Turn::Run,
            Job::Sql(job) => match (job.claim(), &self.owner) {
                (Claim::Inside(tx), Some(owner)) if Arc::ptr_eq(tx, owner) => Turn::Run,
                (Claim::Result, _) => Turn::Run,
                (Claim::Inside(tx), _) => Turn::Refuse(tx.over()),
                (_, Some(_)) => Turn::Park,
                (_, None) => Turn::Run,
            },
        }
    }

    pub(crate) fn park(&mut self, job: Job) {
        self.parked.push_back(job);
    }

    /// `BEGIN` has succeeded for `tx`.
    pub(super) fn own(&mut self, tx: &Arc<Tx>) {
        tx.enter(Phase::Open);
        self.owner = Some(Arc::clone(tx));
    }

    /// The owner, if there is one, has ended as `phase` says.
    pub(crate) fn end(&mut self, phase: Phase) {
        if let Some(owner) = self.owner.take() {
            owner.enter(phase);
        }
    }

    /// The owner was rolled back at its deadline. What users sent meanwhile may
    /// be what it waited for, so it fails; the runtime's writes go on.
    pub(super) fn expire(&mut self) {
        let Some(owner) = self.owner.take() else {
            return;
        };
        owner.enter(Phase::Expired);
        for job in std::mem::take(&mut self.parked) {
            match job {
                Job::Sql(_) => job.refuse(expired(owner.timeout_ms)),
                other => self.parked.push_back(other),
            }
        }
    }

    /// Takes note after each job of whether SQLite is inside a transaction.
    /// Returns whether one that nobody owns is open.
    pub(crate) fn observe(&mut self, open: bool) -> bool {
        if !open {
            self.end(Phase::Undone);
        }
        self.manual = open && self.owner.is_none();
        self.manual
    }

    /// The parked jobs, if nothing holds them up any more.
    pub(crate) fn release(&mut self) -> VecDeque<Job> {
        if self.owner.is_some() || self.manual {
            return VecDeque::new();
        }
        std::mem::take(&mut self.parked)
    }

    /// Writes of the runtime that are parked.
    pub(crate) fn parked_writes(&self) -> usize {
        let is_write = |job: &&Job| matches!(job, Job::Write(_));
        self.parked.iter().filter(is_write).count()
    }

    /// Everything parked, whatever holds it up: the store is closing.
    pub(crate) fn abandon(&mut self) -> VecDeque<Job> {
        self.end(Phase::Closed);
        self.manual = false;
        std::mem::take(&mut self.parked)
    }
}
