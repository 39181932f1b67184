//! What an actor has asked for, and the signals that its end sends.
//!
//! Asking changes no lifecycle state: only the Stop that the host answers with
//! does. The flags here serve admission and diagnostics.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use greenroom_error::{Error, Result, code};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::actor::context::ActorContext;
use crate::actor::lifecycle::{self, LifecycleState};
use crate::clock::Instant;

/// Longest error text of a crash report, in bytes.
const STOP_ERROR_BYTES_MAX: usize = 2_048;

/// Requested ends, abort signal and deadline of one generation.
#[derive(Default)]
pub(crate) struct IntentRoom {
    /// Mirror of the task's state for readers outside it; written by the task
    /// alone.
    state: AtomicU8,
    sleep_requested: AtomicBool,
    destroy_requested: AtomicBool,
    /// Set while the task decides that nothing runs any more, and ever after.
    door_closed: AtomicBool,
    /// One more than the end of admission during grace, in microseconds of the
    /// clock; 0 while there is none.
    last_call_us: AtomicU64,
    /// Text of a crash report that the host has not taken yet. Also serialises
    /// the escalation from sleep or crash to destroy.
    stop_error: Mutex<Option<String>>,
    /// Fires when shutdown begins, or the actor fails to start.
    abort: CancellationToken,
    /// Fires when grace has run out and cleanup is forced.
    shutdown_deadline: CancellationToken,
    /// Fires when a destroy has completed.
    destroyed: CancellationToken,
    /// Fires when the host lets go of this generation, whatever it has not saved.
    abandoned: CancellationToken,
}

impl ActorContext {
    pub fn lifecycle_state(&self) -> LifecycleState {
        let at = usize::from(self.0.intents.state.load(Ordering::SeqCst));
        LifecycleState::ALL[at]
    }

    pub(crate) fn publish_lifecycle_state(&self, state: LifecycleState) {
        let at = LifecycleState::ALL.iter().position(|s| *s == state);
        let at = at.expect("ALL lists every state") as u8;
        self.0.intents.state.store(at, Ordering::SeqCst);
    }

    pub fn started(&self) -> bool {
        self.lifecycle_state().is_started()
    }

    /// Why client work would be refused now; `None` if it would be accepted.
    ///
    /// Invariant I1: work that was counted before this said `None` is drained
    /// before the generation is put away. The task closes the door before it
    /// looks at the counts for the last time; whoever counts first and asks then
    /// is either seen by the task or sent away here.
    pub fn refusal(&self) -> Option<Error> {
        let code = lifecycle::refusal(self.lifecycle_state(), self.destroy_requested());
        let closed = || self.is_door_closed() || self.is_last_call_over();
        code.or_else(|| closed().then_some(&code::ACTOR_STOPPING))
            .map(Error::new)
    }

    /// From `at` on nobody new is let in; those who are in go on. What was set before
    /// is never put off.
    pub(crate) fn set_last_call(&self, at: Instant) {
        let last_call = &self.0.intents.last_call_us;
        let at = at.as_micros().saturating_add(1);
        let _ = last_call.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |before| {
            (before == 0 || at < before).then_some(at)
        });
    }

    fn is_last_call_over(&self) -> bool {
        let at = self.0.intents.last_call_us.load(Ordering::SeqCst);
        at > 0 && self.clock().now() >= Instant::from_micros(at - 1)
    }

    pub(crate) fn is_door_closed(&self) -> bool {
        self.0.intents.door_closed.load(Ordering::SeqCst)
    }

    pub(crate) fn set_door_closed(&self, closed: bool) {
        self.0.intents.door_closed.store(closed, Ordering::SeqCst);
    }

    pub fn sleep_requested(&self) -> bool {
        self.0.intents.sleep_requested.load(Ordering::SeqCst)
    }

    pub fn destroy_requested(&self) -> bool {
        self.0.intents.destroy_requested.load(Ordering::SeqCst)
    }

    /// Asks the host to put the actor to sleep. Repeating is fine while started;
    /// before start `actor/starting`, after the end began `actor/stopping`.
    pub fn sleep(&self) -> Result<()> {
        if !self.started() {
            return Err(self.not_started_error());
        }
        if !self.0.intents.sleep_requested.swap(true, Ordering::SeqCst) {
            self.0.host.request_sleep(self.actor());
        }
        Ok(())
    }

    /// The idle timer's request: repeats what a host has left unanswered.
    pub(crate) fn ask_to_sleep(&self) {
        self.0.intents.sleep_requested.store(true, Ordering::SeqCst);
        self.0.host.request_sleep(self.actor());
    }

    /// Asks the host to destroy the actor. Allowed after `sleep`, because it is
    /// the stronger wish; a second destroy is `actor/stopping`.
    pub fn destroy(&self) -> Result<()> {
        if !self.started() && !self.sleep_requested() && !self.destroy_requested() {
            return Err(Error::new(&code::ACTOR_STARTING));
        }
        let mut stop_error = self.0.intents.stop_error.lock();
        if self
            .0
            .intents
            .destroy_requested
            .swap(true, Ordering::SeqCst)
        {
            return Err(Error::new(&code::ACTOR_STOPPING));
        }
        // A crash report that has not left yet would turn this destroy into a
        // sleep.
        *stop_error = None;
        drop(stop_error);
        self.0.host.request_stop(self.actor(), None);
        Ok(())
    }

    /// Reports a crash: the host answers with a sleep stop, so `onSleep` runs and
    /// connections survive.
    pub fn stop_with_error(&self, message: impl Into<String>) -> Result<()> {
        if !self.started() && !self.sleep_requested() && !self.destroy_requested() {
            return Err(Error::new(&code::ACTOR_STARTING));
        }
        let message = truncate(message.into());
        let queued = {
            let mut stop_error = self.0.intents.stop_error.lock();
            if self.destroy_requested() {
                return Err(Error::new(&code::ACTOR_STOPPING));
            }
            self.0.intents.sleep_requested.store(true, Ordering::SeqCst);
            stop_error.replace(message.clone())
        };
        // An unsent report was replaced: one intent is on its way already.
        if queued.is_none() {
            self.0.host.request_stop(self.actor(), Some(message));
        }
        Ok(())
    }

    /// Memory is ahead of disk for good: the generation ends, and the next one starts
    /// from what is on disk. Called before anybody hears of the failure, so that who
    /// does and calls again finds the next generation: nobody new is let in to this
    /// one, whose answers could not be acknowledged.
    pub(crate) fn end_unsaved(&self, reason: impl Into<String>) {
        self.set_last_call(self.clock().now());
        if let Err(error) = self.stop_with_error(reason) {
            tracing::debug!(actor_id = %self.actor_id(), %error, "the actor is ending already");
        }
    }

    /// The crash report of this generation, taken by the host at its end.
    pub fn take_stop_error(&self) -> Option<String> {
        self.0.intents.stop_error.lock().take()
    }

    /// Marks the generation as being destroyed from outside.
    pub(crate) fn mark_destroy_requested(&self) {
        self.0
            .intents
            .destroy_requested
            .store(true, Ordering::SeqCst);
    }

    fn not_started_error(&self) -> Error {
        let ending = self.sleep_requested()
            || self.destroy_requested()
            || self.lifecycle_state() != LifecycleState::Loading;
        Error::new(if ending {
            &code::ACTOR_STOPPING
        } else {
            &code::ACTOR_STARTING
        })
    }

    /// Fires when this generation's shutdown begins.
    pub fn abort_signal(&self) -> CancellationToken {
        self.0.intents.abort.clone()
    }

    pub fn aborted(&self) -> bool {
        self.0.intents.abort.is_cancelled()
    }

    /// Fires when grace has run out.
    pub fn shutdown_deadline(&self) -> CancellationToken {
        self.0.intents.shutdown_deadline.clone()
    }

    /// Resolves when this generation's destroy has completed.
    pub async fn wait_for_destroy_completion(&self) {
        self.0.intents.destroyed.cancelled().await;
    }

    pub(crate) fn mark_destroy_completed(&self) {
        self.0.intents.destroyed.cancel();
    }

    /// A task that has left its loop reads no command: this reaches it all the same.
    pub(crate) fn mark_abandoned(&self) {
        self.0.intents.abandoned.cancel();
    }

    pub(crate) fn abandoned(&self) -> CancellationToken {
        self.0.intents.abandoned.clone()
    }

    /// Waits until all work that grace drains is done; false if the shutdown
    /// deadline came first. In the grace of a sleep nobody new is let in from then
    /// on: who waits for this puts away what work would need, such as a database.
    pub async fn wait_for_tracked_shutdown_work(&self) -> bool {
        let deadline = self.shutdown_deadline();
        tokio::select! {
            biased;
            () = self.last_work_done() => true,
            () = deadline.cancelled() => false,
        }
    }

    async fn last_work_done(&self) {
        loop {
            self.0.work.shutdown_work_idle().await;
            if self.lifecycle_state() != LifecycleState::SleepGrace {
                return;
            }
            self.set_last_call(self.clock().now());
            // What slipped in since the look at the counts is waited for, too (I1).
            if self.work_counts().shutdown_tasks == 0 {
                return;
            }
        }
    }

    /// The same without a bound.
    pub async fn wait_for_tracked_shutdown_work_unbounded(&self) {
        self.0.work.shutdown_work_idle().await;
    }
}

fn truncate(mut message: String) -> String {
    if message.len() > STOP_ERROR_BYTES_MAX {
        let mut end = STOP_ERROR_BYTES_MAX;
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        message.truncate(end);
        message.push_str("... (truncated)");
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_crash_report_is_cut_on_a_character() {
        let cut = truncate("ä".repeat(2_000));
        assert!(cut.ends_with("ä... (truncated)"));
        assert_eq!(cut.len(), 2_048 + "... (truncated)".len());
        assert_eq!(truncate("short".into()), "short");
    }
}
