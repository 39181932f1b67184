//! Promises that JavaScript registered as part of the actor's work.
//!
//! The adapter drains them before it ends; afterwards none is accepted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use greenroom_error::{Error, Result};
use tokio::sync::Notify;

const NOT_CONFIGURED: u8 = 0;
const OPEN: u8 = 1;
const CLOSED: u8 = 2;

#[derive(Default)]
pub(crate) struct TaskGate {
    state: AtomicU8,
    count: Arc<Count>,
}

#[derive(Default)]
struct Count {
    running: AtomicUsize,
    idle: Notify,
}

/// One registered task, until dropped.
pub(crate) struct Registered(Arc<Count>);

impl TaskGate {
    pub(crate) fn open(&self) {
        self.state.store(OPEN, Ordering::SeqCst);
    }

    pub(crate) fn close(&self) {
        self.state.store(CLOSED, Ordering::SeqCst);
    }

    /// Admits a task. Workflow storage recognises this text and stops quietly.
    pub(crate) fn register(&self) -> Result<Registered> {
        match self.state.load(Ordering::SeqCst) {
            OPEN => {
                self.count.running.fetch_add(1, Ordering::SeqCst);
                Ok(Registered(Arc::clone(&self.count)))
            }
            NOT_CONFIGURED => Err(Error::internal("actor task registration is not configured")),
            _ => Err(Error::internal("actor task registration is closed")),
        }
    }

    /// Resolves when no registered task runs.
    pub(crate) async fn idle(&self) {
        loop {
            let idle = self.count.idle.notified();
            // Armed before the count is read: no end is missed.
            if self.count.running.load(Ordering::SeqCst) == 0 {
                return;
            }
            idle.await;
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}
