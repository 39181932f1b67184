//! A commit that others may rely on before it is on disk.
//!
//! The directory answers the creation of an actor before its commit; this is how
//! whoever goes on with it learns of the end. Carries no data and starts nothing.

use std::fmt;
use std::sync::Arc;

use greenroom_error::{Error, Result};
use parking_lot::{Condvar, Mutex};

/// How a commit ends, for those who did not wait for it. Clones speak of the same
/// commit.
#[derive(Clone)]
pub struct PendingCommit(Arc<State>);

struct State {
    outcome: Mutex<Option<Result<()>>>,
    ended: Condvar,
}

impl PendingCommit {
    /// The commit, and the one duty to tell of its end.
    pub(crate) fn begin() -> (Self, CommitEnd) {
        let pending = Self(Arc::new(State {
            outcome: Mutex::new(None),
            ended: Condvar::new(),
        }));
        (pending.clone(), CommitEnd(Some(pending)))
    }

    /// Blocks the thread until the commit is on disk, or will never be.
    pub(crate) fn wait(&self) -> Result<()> {
        let mut outcome = self.0.outcome.lock();
        loop {
            match &*outcome {
                Some(Ok(())) => return Ok(()),
                Some(Err(error)) => return Err(error.duplicate()),
                None => self.0.ended.wait(&mut outcome),
            }
        }
    }

    /// How it ended; `None` if it has not.
    pub fn outcome(&self) -> Option<Result<()>> {
        let outcome = self.0.outcome.lock();
        let outcome = outcome.as_ref()?;
        Some(outcome.as_ref().copied().map_err(Error::duplicate))
    }

    /// True once it is known that the commit failed.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(&*self.0.outcome.lock(), Some(Err(_)))
    }

    fn end(&self, outcome: Result<()>) {
        *self.0.outcome.lock() = Some(outcome);
        self.0.ended.notify_all();
    }
}

impl fmt::Debug for PendingCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PendingCommit")
            .field(&*self.0.outcome.lock())
            .finish()
    }
}

/// Tells of the end; dropped without a word, it tells of a failure.
pub(crate) struct CommitEnd(Option<PendingCommit>);

impl CommitEnd {
    pub(crate) fn tell(mut self, outcome: Result<()>) {
        if let Some(pending) = self.0.take() {
            pending.end(outcome);
        }
    }
}

impl Drop for CommitEnd {
    fn drop(&mut self) {
        if let Some(pending) = self.0.take() {
            pending.end(Err(Error::internal("a commit was given up")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_hears_of_the_end() {
        let (pending, end) = PendingCommit::begin();
        let waiting = std::thread::spawn({
            let pending = pending.clone();
            move || pending.wait()
        });
        assert!(!pending.has_failed());
        end.tell(Ok(()));
        waiting.join().unwrap().expect("on disk");
        pending.wait().expect("for late comers, too");
    }

    #[test]
    fn a_commit_that_nobody_ends_has_failed() {
        let (pending, end) = PendingCommit::begin();
        drop(end);
        assert!(pending.wait().is_err() && pending.has_failed());
    }
}
