//! Saving in the task: one persistence operation at a time, whether a state save
//! or a workflow flush, so that serialization order is write order.
//!
//! The adapter consumes its dirty bit when it serializes. From that moment the
//! change exists only in the reply on its way here, so a serialization that was
//! asked for is never forgotten: it is written, asked for again, or its waiters
//! hear of the failure.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use greenroom_error::{Error, Result, code};

use crate::actor::context::ActorContext;
use crate::actor::deltas::{Prepared, Written};
use crate::actor::messages::{
    ActorEvent, SerializeStateReason, ShutdownKind, StateDelta, WorkflowKvWrite,
};
use crate::actor::task::ActorTask;
use crate::actor::timers::TimerKind;
use crate::clock::{Clock, Instant};
use crate::config::Durability;
use crate::reply::{Reply, ReplyReceiver, reply};

/// Least bound of a serialization that shutdown waits for.
const SERIALIZE_CAP_MIN: Duration = Duration::from_secs(15);

/// Between two attempts at the last save.
const FINAL_SAVE_PAUSE: Duration = Duration::from_millis(250);

/// How often the last save may be overtaken: by those that were under way when
/// the actor stopped.
const OVERTAKEN_MAX: u32 = 8;

/// What one call at least costs the adapter, from its answer to the next one's
/// change. Measured for calls within the process, the cheapest ones.
const CALL_COST: Duration = Duration::from_micros(40);

/// `None` if the serialization was stale.
type Operation = Pin<Box<dyn Future<Output = Result<Option<Box<Committed>>>> + Send>>;

/// What is on disk now, and nobody has been told so.
struct Committed {
    prepared: Prepared,
    /// How long the disk took.
    took: Duration,
}

/// One operation in flight.
pub(crate) struct PendingPersistence {
    operation: Operation,
    kind: Option<Kind>,
}

enum Kind {
    StateSave,
    Workflow {
        writes: Vec<WorkflowKvWrite>,
        reply: Reply<()>,
    },
}

/// A finished operation.
pub(crate) struct PersistenceOutcome {
    kind: Kind,
    result: Result<Option<Box<Committed>>>,
}

impl PendingPersistence {
    /// A state save that has ended like this.
    #[cfg(test)]
    pub(super) fn finished(result: Result<Written>) -> Self {
        match result {
            Ok(Written::Yes) => Self::committed(0, Duration::ZERO),
            Ok(Written::Discarded) => Self::ended(Ok(None)),
            Err(error) => Self::ended(Err(error)),
        }
    }

    /// A state save that is on disk, up to this revision.
    #[cfg(test)]
    pub(super) fn committed(revision: u64, took: Duration) -> Self {
        let prepared = Prepared::empty(revision);
        Self::ended(Ok(Some(Box::new(Committed { prepared, took }))))
    }

    #[cfg(test)]
    fn ended(result: Result<Option<Box<Committed>>>) -> Self {
        Self {
            operation: Box::pin(std::future::ready(result)),
            kind: Some(Kind::StateSave),
        }
    }

    /// A state save that never ends.
    #[cfg(test)]
    pub(super) fn hanging() -> Self {
        Self {
            operation: Box::pin(std::future::pending()),
            kind: Some(Kind::StateSave),
        }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<PersistenceOutcome> {
        self.operation
            .as_mut()
            .poll(cx)
            .map(|result| PersistenceOutcome {
                kind: self.kind.take().unwrap_or(Kind::StateSave),
                result,
            })
    }
}

impl ActorTask {
    /// The longest a serialization may pend once shutdown has begun: large state
    /// is not cut inside the user's own grace budget.
    pub(super) fn serialize_cap(&self) -> Duration {
        SERIALIZE_CAP_MIN.max(self.ctx.config().sleep_grace_period)
    }

    pub(super) fn schedule_state_save(&mut self, immediate: bool) {
        if !self.state.saves() || !self.ctx.with_book(|book| book.is_pending()) {
            self.timers.disarm(TimerKind::Save);
            return;
        }
        let (interval, now) = (
            self.ctx.config().state_save_interval,
            self.ctx.clock().now(),
        );
        let at = self
            .ctx
            .with_book(|book| book.deadline(immediate, interval, now));
        self.timers.arm_earlier(TimerKind::Save, at);
    }

    /// Arms the timer again for requests that are still pending.
    pub(super) fn resume_pending_save(&mut self) {
        let (pending, immediate) = self
            .ctx
            .with_book(|book| (book.is_pending(), book.is_immediate()));
        if pending {
            self.schedule_state_save(immediate);
        }
    }

    pub(super) fn start_state_save(&mut self) {
        self.timers.disarm(TimerKind::Save);
        let pending = self.ctx.with_book(|book| book.is_pending());
        if self.persistence.running.is_some() || !self.state.saves() || !pending {
            return;
        }
        // Both tell the task of their end, which arms the timer again.
        if self.ctx.state_transaction_holds_up_saves()
            || self.ctx.explicit_transaction_holds_up_saves()
        {
            return;
        }
        match self.begin_operation(Vec::new()) {
            Ok(operation) => {
                self.persistence.running = Some(PendingPersistence {
                    operation,
                    kind: Some(Kind::StateSave),
                });
            }
            Err(error) => {
                // The adapter has gone: the final save or the end answers waiters.
                tracing::warn!(actor_id = %self.ctx.actor_id(), %error, "save could not ask the adapter");
            }
        }
    }

    /// Starts the next queued workflow flush, unless something is in flight.
    pub(super) fn next_workflow_flush(&mut self) {
        if !self.state.saves() {
            for (_, reply) in self.persistence.workflow_queue.drain(..) {
                reply.refuse(Error::new(&code::ACTOR_NOT_READY));
            }
            return;
        }
        if self.persistence.running.is_some() || self.ctx.state_transaction_holds_up_saves() {
            return;
        }
        let Some((writes, reply)) = self.persistence.workflow_queue.pop_front() else {
            return;
        };
        match self.begin_operation(writes.clone()) {
            Ok(operation) => {
                self.persistence.running = Some(PendingPersistence {
                    operation,
                    kind: Some(Kind::Workflow { writes, reply }),
                });
            }
            Err(error) => reply.send(Err(error)),
        }
    }

    /// Captures revision and epoch, asks the adapter, and returns the rest.
    fn begin_operation(&mut self, writes: Vec<WorkflowKvWrite>) -> Result<Operation> {
        let stamp = self.ctx.save_stamp();
        let (answer, answered) = reply();
        self.ctx.send_actor_event(ActorEvent::SerializeState {
            reason: SerializeStateReason::Save,
            reply: answer,
        })?;
        let (ctx, cap) = (self.ctx.clone(), self.serialize_cap());
        Ok(Box::pin(async move {
            let deltas = await_serialization(&ctx, answered, cap).await?;
            let since = ctx.clock().now();
            let prepared = ctx.commit_deltas(deltas, writes, stamp).await?;
            let took = ctx.clock().now().since(since);
            Ok(prepared.map(|prepared| Box::new(Committed { prepared, took })))
        }))
    }

    pub(super) fn on_persisted(&mut self, outcome: PersistenceOutcome) {
        let PersistenceOutcome { kind, result } = outcome;
        match (kind, result) {
            (Kind::StateSave, Ok(Some(committed))) => {
                self.start_next_save(&committed);
                committed.prepared.written(&self.ctx);
                self.resume_pending_save();
            }
            (Kind::Workflow { reply, .. }, Ok(Some(committed))) => {
                committed.prepared.written(&self.ctx);
                reply.send(Ok(()));
                self.resume_pending_save();
            }
            (Kind::StateSave, Ok(None)) => self.serialize_again(),
            (Kind::Workflow { writes, reply }, Ok(None)) => {
                self.persistence.workflow_queue.push_front((writes, reply));
                self.serialize_again();
            }
            (Kind::StateSave, Err(error)) => {
                tracing::error!(actor_id = %self.ctx.actor_id(), %error, "state was not saved; trying again at the save interval");
                self.retry_failed_save();
            }
            (Kind::Workflow { reply, .. }, Err(error)) => {
                self.retry_failed_save();
                reply.send(Err(error));
            }
        }
    }

    /// Those who changed the state while this was written wait for the next
    /// commit. While a commit takes less time than what those of this one will do
    /// once they are answered, it is asked for before they are: the two run side
    /// by side. On a slower disk the next commit had better take them along.
    fn start_next_save(&mut self, committed: &Committed) {
        let revision = committed.prepared.revision();
        let (newer, answered) = self.ctx.with_book(|book| {
            let newer = book.is_immediate() && book.requested_revision() > revision;
            (newer, book.waiting_for(revision))
        });
        let busy = CALL_COST * u32::try_from(answered).unwrap_or(u32::MAX);
        if newer && committed.took <= busy && self.persistence.workflow_queue.is_empty() {
            self.start_state_save();
        }
    }

    fn serialize_again(&mut self) {
        self.ctx.mark_dirty();
        self.resume_pending_save();
        self.schedule_state_save(true);
    }

    /// The adapter's dirty bit was consumed for nothing: it is set again, so the
    /// next serialization reports the change. Where callers wait for the disk, they
    /// hear of it, and the generation ends: unsaved state is never served as if it
    /// were saved.
    fn retry_failed_save(&mut self) {
        if self.ctx.config().durability == Durability::Reply {
            self.ctx.end_unsaved("state could not be written");
        }
        self.ctx.mark_dirty();
        let now = self.ctx.clock().now();
        self.ctx.with_book(|book| book.failed(now));
        self.schedule_state_save(false);
    }

    /// Joins an operation in flight: a commit that was sent cannot be unsent.
    pub(super) async fn finish_pending_persistence(&mut self) {
        while let Some(mut running) = self.persistence.running.take() {
            let outcome = std::future::poll_fn(|cx| running.poll(cx)).await;
            if outcome.result.is_err() {
                self.persistence.unwritten = true;
            }
            self.on_persisted(outcome);
        }
        self.timers.disarm(TimerKind::Save);
    }

    /// The last save. One that the disk refuses is tried again while there is time
    /// left, unless those who depended on it have been told that it failed, and until
    /// the host lets go of the actor.
    pub(super) async fn save_final_state(&mut self, reason: ShutdownKind) -> Result<()> {
        let patient = reason == ShutdownKind::Sleep
            && self.ctx.config().durability == Durability::Interval
            && !self.ctx.shutdown_deadline().is_cancelled();
        if reason == ShutdownKind::Sleep
            && let Some(settled) = self.ctx.host().settle_sockets(self.ctx.actor())
        {
            settled.await;
        }
        let abandoned = self.ctx.abandoned();
        let mut overtaken = 0;
        loop {
            let again = self.ctx.clock().now() + FINAL_SAVE_PAUSE;
            match self.save_final_state_once().await {
                Ok(Written::Yes) => return Ok(()),
                // By a state that was brought along; asked again, the adapter
                // tells all of its state. Transactions were ended before.
                Ok(Written::Discarded) if overtaken < OVERTAKEN_MAX => overtaken += 1,
                Ok(Written::Discarded) => {
                    return Err(Error::internal("the final state was overtaken"));
                }
                Err(error)
                    if error.is(&code::HOST_STORAGE_FAILED) && patient && self.has_until(again) =>
                {
                    tracing::warn!(actor_id = %self.ctx.actor_id(), %error, "the final state was not written; trying again");
                    tokio::select! {
                        biased;
                        () = abandoned.cancelled() => return Err(error),
                        () = self.ctx.clock().sleep_until(again) => {}
                    }
                }
                Err(error) => return Err(error),
            }
            self.ctx.mark_dirty();
        }
    }

    fn has_until(&self, at: Instant) -> bool {
        self.grace_until.is_some_and(|deadline| at < deadline)
    }

    /// Without a serialization nothing is written and the state on disk stays; its
    /// waiters hear of it when the save book closes. Only a failed *write* fails
    /// the shutdown.
    async fn save_final_state_once(&mut self) -> Result<Written> {
        self.ctx.settle_messages_handled();
        let stamp = self.ctx.save_stamp();
        let (answer, answered) = reply();
        let asked = self.ctx.send_actor_event(ActorEvent::SerializeState {
            reason: SerializeStateReason::Save,
            reply: answer,
        });
        if let Err(error) = asked {
            tracing::error!(actor_id = %self.ctx.actor_id(), %error, "final save could not ask the adapter; the state on disk is kept");
            return Ok(Written::Yes);
        }
        let cap = self.serialize_cap();
        let deltas = match self.ctx.clock().timeout(cap, answered.result()).await {
            Ok(Ok(deltas)) => deltas,
            Ok(Err(error)) => {
                tracing::error!(actor_id = %self.ctx.actor_id(), %error, "final serialization failed; the state on disk is kept");
                return Ok(Written::Yes);
            }
            Err(_) => {
                self.persistence.hangs = true;
                tracing::warn!(actor_id = %self.ctx.actor_id(), cap_ms = cap.as_millis() as u64, "final serialization timed out; the state on disk is kept");
                return Ok(Written::Yes);
            }
        };
        if deltas.is_empty() && self.persistence.unwritten {
            tracing::warn!(actor_id = %self.ctx.actor_id(), "final serialization is empty after one that was not written; the state on disk is kept");
            return Ok(Written::Yes);
        }
        self.ctx.write_deltas(deltas, Vec::new(), stamp).await
    }
}

/// Waits for the adapter's answer. After the shutdown deadline it is awaited for
/// `cap` more, because it may carry the only copy of a change; an answer that is
/// ready wins over the deadline.
async fn await_serialization(
    ctx: &ActorContext,
    answered: ReplyReceiver<Vec<StateDelta>>,
    cap: Duration,
) -> Result<Vec<StateDelta>> {
    let deadline = ctx.shutdown_deadline();
    let clock: &Clock = ctx.clock();
    let mut answered = std::pin::pin!(answered.result());
    tokio::select! {
        biased;
        answer = &mut answered => answer,
        () = deadline.cancelled() => match clock.timeout(cap, answered).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::new(&code::ACTOR_SHUTDOWN_TIMEOUT)),
        },
    }
}
