//! Bookkeeping of state saves: who asked, until when, who waits. Pure: time is
//! passed in, nothing is written here.
//!
//! Invariant S1: `completed` never goes down and never passes `requested`.
//! Invariant S2: pending flags are cleared only when the newest request is
//! covered, so a request that arrives during a write stays pending.
//! Invariant S3: every waiter is answered: by a completed revision at or above
//! its own, or by the failure that ends the actor.

use std::time::Duration;

use greenroom_error::{Error, Result, code};
use tokio::sync::oneshot;

use crate::clock::Instant;

/// Options of a save request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestSaveOpts {
    /// Save now instead of at the throttle.
    pub immediate: bool,
    /// Save within this time at the latest.
    pub max_wait: Option<Duration>,
}

impl RequestSaveOpts {
    /// Save now; all else as by default.
    pub const IMMEDIATE: Self = Self {
        immediate: true,
        max_wait: None,
    };
}

/// State of all save requests of one generation.
#[derive(Debug, Default)]
pub struct SaveBook {
    requested: u64,
    completed: u64,
    pending: bool,
    immediate: bool,
    within: Option<Instant>,
    last_save_at: Option<Instant>,
    waiters: Vec<Waiter>,
    /// Set when no later save can run.
    closed: bool,
}

#[derive(Debug)]
struct Waiter {
    revision: u64,
    patience: Patience,
    answer: oneshot::Sender<Result<()>>,
}

/// What a waiter does when one attempt to write fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Rides on the retries; hears of failure only when the actor ends.
    Retries,
    /// Is told at once that the outcome is unknown: its own caller waits.
    OneAttempt,
}

/// What a request asks of the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requested {
    pub revision: u64,
    /// The task must hear of it: first pending request, an escalation to
    /// immediate, or a new latest time.
    pub notify: bool,
}

impl SaveBook {
    pub fn request(&mut self, opts: RequestSaveOpts, now: Instant) -> Requested {
        self.requested += 1;
        let first = !self.pending;
        let escalates = opts.immediate && !self.immediate;
        self.pending = true;
        self.immediate |= opts.immediate;
        if let Some(max_wait) = opts.max_wait {
            let within = now + max_wait;
            self.within = Some(self.within.map_or(within, |old| old.min(within)));
        }
        Requested {
            revision: self.requested,
            notify: first || escalates || opts.max_wait.is_some(),
        }
    }

    /// Makes the pending request immediate and tells whether the task must hear of
    /// that; `None` when none is pending.
    pub fn hurry(&mut self) -> Option<bool> {
        if !self.pending {
            return None;
        }
        Some(!std::mem::replace(&mut self.immediate, true))
    }

    /// Numbers a serialization that the caller brings along. It asks nobody.
    pub fn bring(&mut self) -> u64 {
        self.requested += 1;
        self.requested
    }

    /// A future outcome for `revision`; answered at once if it is covered or if
    /// nothing can be saved any more.
    pub fn wait(&mut self, revision: u64, patience: Patience) -> oneshot::Receiver<Result<()>> {
        let (sender, receiver) = oneshot::channel();
        if self.completed >= revision {
            let _ = sender.send(Ok(()));
        } else if self.closed {
            let _ = sender.send(Err(unwritten()));
        } else {
            self.waiters.push(Waiter {
                revision,
                patience,
                answer: sender,
            });
        }
        receiver
    }

    /// How many wait for nothing newer than this.
    pub fn waiting_for(&self, revision: u64) -> usize {
        let covered = |waiter: &&Waiter| waiter.revision <= revision;
        self.waiters.iter().filter(covered).count()
    }

    pub fn requested_revision(&self) -> u64 {
        self.requested
    }

    pub fn completed_revision(&self) -> u64 {
        self.completed
    }

    pub fn is_pending(&self) -> bool {
        self.pending
    }

    pub fn is_immediate(&self) -> bool {
        self.immediate
    }

    /// When the next save is due: now if immediate, else at the throttle, but no
    /// later than the earliest latest-time asked for. Before the first save the
    /// whole interval applies.
    pub fn deadline(&self, immediate: bool, interval: Duration, now: Instant) -> Instant {
        if immediate || self.immediate {
            return now;
        }
        let elapsed = self.last_save_at.map_or(Duration::ZERO, |at| now.since(at));
        let throttled = now + interval.saturating_sub(elapsed);
        self.within
            .map_or(throttled, |within| within.min(throttled))
    }

    /// Everything up to `revision` is durable.
    pub fn complete(&mut self, revision: u64, now: Instant) {
        self.completed = self.completed.max(revision).min(self.requested);
        self.last_save_at = Some(now);
        if self.requested <= self.completed {
            self.pending = false;
            self.immediate = false;
            self.within = None;
        }
        let completed = self.completed;
        for waiter in self.waiters.extract_if(.., |w| w.revision <= completed) {
            let _ = waiter.answer.send(Ok(()));
        }
    }

    /// A write failed: the same requests are tried again, at the throttle counted
    /// from now and no faster, so that a lasting failure cannot spin.
    pub fn failed(&mut self, now: Instant) {
        self.last_save_at = Some(now);
        self.immediate = false;
        self.within = None;
        self.requested += 1;
        self.pending = true;
        let impatient = |waiter: &mut Waiter| waiter.patience == Patience::OneAttempt;
        for waiter in self.waiters.extract_if(.., impatient) {
            let unknown = Error::new(&code::ACTOR_OUTCOME_UNKNOWN);
            let _ = waiter.answer.send(Err(unknown));
        }
    }

    /// No later save can run: waiters learn that their state was not written.
    pub fn close(&mut self) {
        self.closed = true;
        for waiter in self.waiters.drain(..) {
            let _ = waiter.answer.send(Err(unwritten()));
        }
    }
}

fn unwritten() -> Error {
    Error::new(&code::ACTOR_STOPPING)
        .with_message("The actor stopped before this state change was written.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    const INTERVAL: Duration = Duration::from_secs(1);

    fn at(ms: u64) -> Instant {
        Instant::from_micros(ms * 1_000)
    }

    fn answered(receiver: &mut oneshot::Receiver<Result<()>>) -> Option<bool> {
        receiver.try_recv().ok().map(|result| result.is_ok())
    }

    #[test]
    fn the_first_save_waits_a_whole_interval_and_later_ones_the_rest() {
        let mut book = SaveBook::default();
        book.request(RequestSaveOpts::default(), at(0));
        assert_eq!(book.deadline(false, INTERVAL, at(200)), at(1_200));
        book.complete(1, at(1_200));
        assert_eq!(book.deadline(false, INTERVAL, at(1_500)), at(2_200));
        assert_eq!(book.deadline(false, INTERVAL, at(9_000)), at(9_000));
    }

    #[test]
    fn only_news_reach_the_task() {
        let mut book = SaveBook::default();
        let immediate = RequestSaveOpts::IMMEDIATE;
        assert!(book.request(RequestSaveOpts::default(), at(0)).notify);
        assert!(!book.request(RequestSaveOpts::default(), at(0)).notify);
        assert!(book.request(immediate, at(0)).notify);
        assert!(!book.request(immediate, at(0)).notify);
        let within = RequestSaveOpts {
            immediate: false,
            max_wait: Some(Duration::from_millis(5)),
        };
        assert!(book.request(within, at(0)).notify);
    }

    #[test]
    fn hurry_adds_no_request_and_is_news_once() {
        let mut book = SaveBook::default();
        assert_eq!(book.hurry(), None);
        book.request(RequestSaveOpts::default(), at(0));
        assert_eq!((book.hurry(), book.hurry()), (Some(true), Some(false)));
        assert_eq!(book.requested_revision(), 1);
        assert_eq!(book.deadline(false, INTERVAL, at(5)), at(5));
        book.complete(1, at(6));
        assert_eq!(book.hurry(), None);
        book.bring();
        assert_eq!(book.hurry(), None);
    }

    #[test]
    fn s2_a_request_during_the_write_stays_pending() {
        let mut book = SaveBook::default();
        let first = book.request(RequestSaveOpts::default(), at(0)).revision;
        book.request(RequestSaveOpts::default(), at(1));
        book.complete(first, at(2));
        assert!(book.is_pending());
        assert_eq!(book.completed_revision(), 1);
    }

    #[test]
    fn s3_waiters_share_a_commit_and_the_rest_hear_of_the_end() {
        let mut book = SaveBook::default();
        let first = book.request(RequestSaveOpts::default(), at(0)).revision;
        let second = book.request(RequestSaveOpts::default(), at(0)).revision;
        let third = book.request(RequestSaveOpts::default(), at(0)).revision;
        let mut waits = [first, second, third].map(|at| book.wait(at, Patience::Retries));
        book.complete(second, at(1));
        assert_eq!(
            waits.each_mut().map(answered),
            [Some(true), Some(true), None]
        );
        book.close();
        assert_eq!(answered(&mut waits[2]), Some(false));
        assert_eq!(
            answered(&mut book.wait(third, Patience::Retries)),
            Some(false)
        );
        assert_eq!(
            answered(&mut book.wait(second, Patience::Retries)),
            Some(true)
        );
    }

    #[test]
    fn a_failed_write_is_tried_again_at_the_throttle() {
        let mut book = SaveBook::default();
        let immediate = RequestSaveOpts::IMMEDIATE;
        let revision = book.request(immediate, at(0)).revision;
        let mut wait = book.wait(revision, Patience::Retries);
        let mut impatient = book.wait(revision, Patience::OneAttempt);
        book.failed(at(10));
        assert_eq!(answered(&mut impatient), Some(false));
        assert_eq!(book.deadline(false, INTERVAL, at(10)), at(1_010));
        assert_eq!(answered(&mut wait), None);
        book.complete(book.requested_revision(), at(1_010));
        assert_eq!(answered(&mut wait), Some(true));
    }

    #[test]
    fn the_latest_time_only_moves_earlier() {
        let (clock, _) = Clock::manual(0);
        let mut book = SaveBook::default();
        for ms in [300, 100, 200] {
            book.request(
                RequestSaveOpts {
                    immediate: false,
                    max_wait: Some(Duration::from_millis(ms)),
                },
                clock.now(),
            );
        }
        assert_eq!(book.deadline(false, INTERVAL, at(0)), at(100));
    }
}
