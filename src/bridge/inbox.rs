//! [`Bridge`]: the handle to one environment's JavaScript thread.
//!
//! Owns the queue of closures and the thread-safe function that wakes the thread
//! for them. Runs nothing itself; `environment` drains the queue.

use std::collections::VecDeque;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use napi::sys;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::raw;
use super::scope::Scope;

pub(super) type Job = Box<dyn for<'s> FnOnce(&Scope<'s>) + Send>;

/// Handle to one environment. Cloning copies a pointer.
#[derive(Clone)]
pub(crate) struct Bridge(Arc<Inner>);

struct Inner {
    inbox: Mutex<Inbox>,
    /// Numbers calls of user callbacks; 0 is never given out.
    next_id: AtomicU64,
    closed: CancellationToken,
    /// Jobs that were taken and have not run to their end.
    taken: AtomicUsize,
}

struct Inbox {
    jobs: VecDeque<Job>,
    /// A wake-up is on its way and will find what is queued meanwhile.
    scheduled: bool,
    /// Null before installation and after the environment began to close (B1).
    wake: WakeFunction,
}

struct WakeFunction(sys::napi_threadsafe_function);

// SAFETY: a thread-safe function may be called from any thread. The pointer is
// only used under the inbox lock, and is null before Node may free it.
unsafe impl Send for WakeFunction {}

impl Bridge {
    /// A bridge that refuses everything until [`Bridge::open`].
    pub(super) fn new() -> Self {
        Self(Arc::new(Inner {
            inbox: Mutex::new(Inbox {
                jobs: VecDeque::new(),
                scheduled: false,
                wake: WakeFunction(ptr::null_mut()),
            }),
            next_id: AtomicU64::new(1),
            closed: CancellationToken::new(),
            taken: AtomicUsize::new(0),
        }))
    }

    pub(super) fn open(&self, wake: sys::napi_threadsafe_function) {
        self.0.inbox.lock().wake = WakeFunction(wake);
    }

    /// Runs `job` on the JavaScript thread, after those posted before. False, and
    /// the job is dropped unrun, once the environment is closing.
    pub(crate) fn post<F>(&self, job: F) -> bool
    where
        F: for<'s> FnOnce(&Scope<'s>) + Send + 'static,
    {
        self.post_boxed(Box::new(job)).is_ok()
    }

    fn post_boxed(&self, job: Job) -> Result<(), Job> {
        let mut inbox = self.0.inbox.lock();
        if inbox.wake.0.is_null() {
            // Dropped by the caller, without the lock: its drop may post again.
            return Err(job);
        }
        inbox.jobs.push_back(job);
        inbox.schedule();
        Ok(())
    }

    /// Takes what is queued, at most `max`; more is left for another wake-up.
    /// [`Bridge::done`] must follow for each job.
    pub(super) fn take(&self, max: usize) -> VecDeque<Job> {
        let mut inbox = self.0.inbox.lock();
        inbox.scheduled = false;
        let count = inbox.jobs.len().min(max);
        let later = inbox.jobs.split_off(count);
        let now = std::mem::replace(&mut inbox.jobs, later);
        if !inbox.jobs.is_empty() {
            inbox.schedule();
        }
        self.0.taken.fetch_add(count, Ordering::Relaxed);
        now
    }

    /// A job that was taken has run.
    pub(super) fn done(&self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }

    /// True while there is no job but the one that asks.
    pub(crate) fn is_idle(&self) -> bool {
        self.0.taken.load(Ordering::Relaxed) <= 1 && self.0.inbox.lock().jobs.is_empty()
    }

    /// The environment is closing (B1). What is queued is dropped.
    pub(super) fn close(&self) {
        let jobs = {
            let mut inbox = self.0.inbox.lock();
            inbox.wake = WakeFunction(ptr::null_mut());
            std::mem::take(&mut inbox.jobs)
        };
        self.0.closed.cancel();
        drop(jobs);
    }

    /// Resolves when the environment closes.
    pub(crate) async fn closed(&self) {
        self.0.closed.cancelled().await;
    }

    pub(super) fn next_id(&self) -> u64 {
        self.0.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn same_environment(&self, other: &Bridge) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Inbox {
    fn schedule(&mut self) {
        if !self.scheduled && !self.wake.0.is_null() {
            self.scheduled = raw::wake(self.wake.0);
        }
    }
}

impl std::fmt::Debug for Bridge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bridge")
    }
}
