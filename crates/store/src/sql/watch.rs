//! What watches over a connection: who runs a statement now, what it may do, and
//! when it must stop.
//!
//! One [`Watch`] per connection, installed once. While the runtime itself works
//! it looks away. The lane sets and clears it around each job of a user, so the
//! lock is never contended; it exists because SQLite's callbacks want to own
//! what they look at.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use greenroom_error::Error;
use parking_lot::Mutex;
use rusqlite::hooks::{AuthContext, Authorization};
use rusqlite::{Connection, ffi};

use super::failure::{Interruption, forbidden, from_sqlite, interrupted};
use super::policy::{self, Savepoints, Situation, Verdict};
use super::raw::Failure;

/// Instructions of SQLite's machine between two looks at the guard: some tens
/// of microseconds.
const STEPS_BETWEEN_LOOKS: i32 = 1000;

/// Asked now and then, on the lane's thread, while a statement runs; an answer
/// stops it. Must not block.
pub type Guard = Box<dyn FnMut() -> Option<Interruption> + Send>;

#[derive(Clone, Default)]
pub(crate) struct Watch(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// `None` while the runtime works.
    duty: Option<Duty>,
    denied: Option<String>,
    interruption: Option<Interruption>,
    /// Pragmas the user has set on this connection.
    settings: Vec<&'static str>,
    has_temporary_objects: bool,
}

/// What is watched while a user's job runs.
struct Duty {
    guard: Option<Guard>,
    access: Arc<Access>,
    /// The job's number; see [`Access::number`].
    number: u64,
    situation: Situation,
    /// While a batch runs.
    savepoints: Option<Savepoints>,
}

/// How far a user's handle is still open.
#[derive(Debug, Default)]
pub(super) struct Access {
    /// Whatever runs must end, and nothing else may run.
    pub closed: AtomicBool,
    /// No transaction may begin.
    pub winding_down: AtomicBool,
    /// Jobs are numbered from 1; those up to `stopped` must end.
    jobs: AtomicU64,
    stopped: AtomicU64,
}

impl Access {
    /// The number of a new job.
    pub(super) fn number(&self) -> u64 {
        self.jobs.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Stops what runs or waits now, and nothing that is sent later.
    pub(super) fn stop_jobs(&self) {
        let jobs = self.jobs.load(Ordering::Acquire);
        self.stopped.fetch_max(jobs, Ordering::AcqRel);
    }
}

/// Goes back to what was watched before.
pub(super) struct Lent<'a> {
    watch: &'a Watch,
    duty: Option<Duty>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.watch.0.lock().duty = self.duty.take();
    }
}

/// Ends the duty when dropped.
pub(super) struct OnDuty<'a>(&'a Watch);

impl Drop for OnDuty<'_> {
    fn drop(&mut self) {
        let mut state = self.0.0.lock();
        state.duty = None;
        state.denied = None;
        state.interruption = None;
    }
}

impl Watch {
    /// A watch over `conn`, which keeps it for its whole life.
    pub(crate) fn install(conn: &Connection) -> Self {
        let watch = Self::default();
        let state = Arc::clone(&watch.0);
        conn.authorizer(Some(move |context: AuthContext<'_>| {
            state.lock().authorize(context)
        }));
        watch.look_now_and_then(conn);
        watch
    }

    /// Watches a second connection, which reads a result. It is refused what only the
    /// first one knows.
    pub(super) fn watch_reader(&self, conn: &Connection) {
        let state = Arc::clone(&self.0);
        conn.authorizer(Some(move |context: AuthContext<'_>| {
            if policy::asks_the_connection(context.action) {
                return Authorization::Deny;
            }
            state.lock().authorize(context)
        }));
        self.look_now_and_then(conn);
    }

    fn look_now_and_then(&self, conn: &Connection) {
        let state = Arc::clone(&self.0);
        conn.progress_handler(STEPS_BETWEEN_LOOKS, Some(move || state.lock().must_stop()));
    }

    /// After a statement that is about to be tried elsewhere.
    pub(super) fn forget_refusal(&self) {
        self.0.lock().denied = None;
    }

    pub(super) fn begin(
        &self,
        guard: Option<Guard>,
        access: Arc<Access>,
        number: u64,
    ) -> OnDuty<'_> {
        self.0.lock().duty = Some(Duty {
            guard,
            number,
            access,
            situation: Situation::default(),
            savepoints: None,
        });
        OnDuty(self)
    }

    /// Changes the circumstances of what runs next.
    pub(super) fn set_situation(&self, situation: Situation) {
        let mut state = self.0.lock();
        state.denied = None;
        if let Some(duty) = &mut state.duty {
            duty.situation = Situation {
                winding_down: duty.access.winding_down.load(Ordering::Acquire),
                ..situation
            };
        }
    }

    /// A batch begins, or has ended.
    pub(super) fn set_batch(&self, runs: bool) {
        if let Some(duty) = &mut self.0.lock().duty {
            duty.savepoints = runs.then(Savepoints::default);
        }
    }

    /// Looks at the guard outside a statement, before one is begun.
    pub(super) fn check(&self) -> Option<Interruption> {
        let mut state = self.0.lock();
        state.must_stop();
        state.interruption.take()
    }

    /// Watches something else for a while; goes back when dropped.
    pub(super) fn lend(&self, guard: Guard, access: Arc<Access>) -> Lent<'_> {
        let mut state = self.0.lock();
        let duty = Duty {
            guard: Some(guard),
            // The work of a result is as old as its last page: never too old.
            number: u64::MAX,
            access,
            situation: Situation::default(),
            savepoints: None,
        };
        Lent {
            watch: self,
            duty: state.duty.replace(duty),
        }
    }

    /// The structured form of the last statement's failure, with the reason if
    /// it was refused or stopped here.
    pub(super) fn explain(&self, failure: &Failure, doing: &str) -> Error {
        let mut state = self.0.lock();
        let (denied, stopped) = (state.denied.take(), state.interruption.take());
        match (failure.primary(), denied) {
            (ffi::SQLITE_INTERRUPT, _) => interrupted(stopped.unwrap_or(Interruption::Aborted)),
            // A refusal may also surface as a plain error of what was refused.
            (_, Some(reason)) => forbidden(&reason),
            (_, None) => from_sqlite(failure, doing),
        }
    }

    pub(super) fn settings(&self) -> Vec<&'static str> {
        self.0.lock().settings.clone()
    }

    /// Temporary tables and the like live and die with the connection.
    pub(crate) fn has_temporary_objects(&self) -> bool {
        self.0.lock().has_temporary_objects
    }
}

impl State {
    fn authorize(&mut self, context: AuthContext<'_>) -> Authorization {
        let Some(duty) = &mut self.duty else {
            return Authorization::Allow;
        };
        let verdict = match &mut duty.savepoints {
            Some(savepoints) if !duty.situation.is_ours => savepoints.judge(context.action),
            _ => None,
        };
        let verdict = verdict.map_or_else(
            || policy::judge(context.action, duty.situation),
            Verdict::Deny,
        );
        match verdict {
            Verdict::Allow => Authorization::Allow,
            Verdict::AllowSetting(name) => {
                if !self.settings.contains(&name) {
                    self.settings.push(name);
                }
                Authorization::Allow
            }
            Verdict::AllowTemporary => {
                self.has_temporary_objects = true;
                Authorization::Allow
            }
            Verdict::Ignore => Authorization::Ignore,
            Verdict::Deny(reason) => {
                self.denied.get_or_insert(reason);
                Authorization::Deny
            }
        }
    }

    fn must_stop(&mut self) -> bool {
        let Some(duty) = &mut self.duty else {
            return false;
        };
        let access = &duty.access;
        let answer = if access.closed.load(Ordering::Acquire)
            || duty.number <= access.stopped.load(Ordering::Acquire)
        {
            Some(Interruption::Closing)
        } else {
            duty.guard.as_mut().and_then(|guard| guard())
        };
        self.interruption = self.interruption.or(answer);
        answer.is_some()
    }
}
