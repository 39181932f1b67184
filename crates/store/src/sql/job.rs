//! A user's job: what it claims, what it does, and its answer.
//!
//! A job answers exactly once, also when it is dropped unrun.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use greenroom_error::{Error, Result, code};
use serde_json::json;

use super::coordinator::Claim;
use super::watch::{Access, Guard};
use crate::failure::closed;
use crate::session::Session;

/// Jobs of one user, or of one transaction, that may wait at the same time.
pub(crate) const WAITING_MAX: usize = 128;

pub(crate) trait SqlJob: Send {
    fn claim(&self) -> &Claim;
    /// The user's handle was closed, and this job does not belong to the closing.
    fn is_withdrawn(&self) -> bool;
    fn run(self: Box<Self>, session: &mut Session<'_>);
    fn refuse(self: Box<Self>, error: Error);
}

/// A place among the jobs that wait.
pub(super) struct Ticket(Arc<AtomicUsize>);

impl Ticket {
    pub(super) fn take(waiting: &Arc<AtomicUsize>) -> Result<Self> {
        let ticket = Self(Arc::clone(waiting));
        if waiting.fetch_add(1, Ordering::AcqRel) < WAITING_MAX {
            return Ok(ticket);
        }
        Err(Error::with(
            &code::SQLITE_TRANSACTION_QUEUE_FULL,
            json!({ "limit": WAITING_MAX }),
        ))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What a job runs under.
pub(super) struct Terms {
    pub claim: Claim,
    pub guard: Option<Guard>,
    pub access: Arc<Access>,
    pub number: u64,
    /// Ends a transaction, so it runs after the closing of the handle too, and
    /// is not stopped by it.
    pub is_ending: bool,
    pub ticket: Option<Ticket>,
}

impl Terms {
    fn on_duty<T>(
        &mut self,
        session: &mut Session<'_>,
        work: impl FnOnce(&mut Session<'_>) -> Result<T>,
    ) -> Result<T> {
        let (guard, access) = (self.guard.take(), Arc::clone(&self.access));
        let Claim::Inside(tx) = &self.claim else {
            return session.on_duty(guard, access, self.number, work);
        };
        session
            .on_duty(Some(tx.guard(guard)), access, self.number, work)
            .map_err(|error| tx.told(error))
    }
}

pub(super) struct SqlTask<T, W, R>
where
    R: FnOnce(Result<T>),
{
    terms: Terms,
    work: Option<W>,
    answer: Answer<T, R>,
}

impl<T, W, R> SqlTask<T, W, R>
where
    T: Send + 'static,
    W: FnOnce(&mut Session<'_>) -> Result<T> + Send + 'static,
    R: FnOnce(Result<T>) + Send + 'static,
{
    /// `work` runs on the lane; `reply` is called there too and must be quick.
    pub(super) fn boxed(terms: Terms, work: W, reply: R) -> Box<dyn SqlJob> {
        Box::new(Self {
            terms,
            work: Some(work),
            answer: Answer {
                reply: Some(reply),
                marker: std::marker::PhantomData,
            },
        })
    }
}

impl<T, W, R> SqlJob for SqlTask<T, W, R>
where
    T: Send,
    W: FnOnce(&mut Session<'_>) -> Result<T> + Send,
    R: FnOnce(Result<T>) + Send,
{
    fn claim(&self) -> &Claim {
        &self.terms.claim
    }

    fn is_withdrawn(&self) -> bool {
        !self.terms.is_ending && self.terms.access.closed.load(Ordering::Acquire)
    }

    fn run(mut self: Box<Self>, session: &mut Session<'_>) {
        let outcome = match self.work.take() {
            Some(work) if self.terms.is_ending => work(session),
            Some(work) => self.terms.on_duty(session, work),
            None => return,
        };
        session.observe();
        self.give(outcome);
    }

    fn refuse(mut self: Box<Self>, error: Error) {
        self.give(Err(error));
    }
}

impl<T, W, R> SqlTask<T, W, R>
where
    R: FnOnce(Result<T>),
{
    fn give(&mut self, outcome: Result<T>) {
        // The place is free before the caller hears of it.
        self.terms.ticket = None;
        self.answer.give(outcome);
    }
}

/// Calls its reply at the latest when dropped.
struct Answer<T, R: FnOnce(Result<T>)> {
    reply: Option<R>,
    marker: std::marker::PhantomData<fn(T)>,
}

impl<T, R: FnOnce(Result<T>)> Answer<T, R> {
    fn give(&mut self, outcome: Result<T>) {
        if let Some(reply) = self.reply.take() {
            reply(outcome);
        }
    }
}

impl<T, R: FnOnce(Result<T>)> Drop for Answer<T, R> {
    fn drop(&mut self) {
        if self.reply.is_some() {
            self.give(Err(if std::thread::panicking() {
                Error::internal("the database job panicked")
            } else {
                closed()
            }));
        }
    }
}
