//! A message in the hands of a sender or a receiver.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use greenroom_store::{Buried, NewMessage, QueueRow, QueueWrite, QueueWritten, TakenMessage};
use serde_json::json;

use super::{lease_lost, unexpected};
use crate::actor::context::ActorContext;
use crate::reply::reply;

/// A message of the queue.
#[derive(Debug)]
pub struct QueueMessage {
    ctx: ActorContext,
    row: QueueRow,
    attempt: Option<u32>,
    completable: bool,
    /// Completed, given back or given up; set while that is under way.
    ended: AtomicBool,
}

impl QueueMessage {
    pub(super) fn sent(ctx: ActorContext, id: u64, message: NewMessage) -> Self {
        let row = QueueRow {
            id,
            name: message.name,
            body: message.body,
            created_at: message.created_at,
            trace: message.trace,
        };
        Self::new(ctx, row, None, false)
    }

    pub(super) fn received(ctx: ActorContext, taken: TakenMessage, completable: bool) -> Self {
        Self::new(ctx, taken.row, taken.attempt, completable)
    }

    fn new(ctx: ActorContext, row: QueueRow, attempt: Option<u32>, completable: bool) -> Self {
        Self {
            ctx,
            row,
            attempt,
            completable,
            ended: AtomicBool::new(false),
        }
    }

    pub fn id(&self) -> u64 {
        self.row.id
    }
    pub fn name(&self) -> &str {
        &self.row.name
    }
    /// CBOR.
    pub fn body(&self) -> &Bytes {
        &self.row.body
    }
    /// Unix milliseconds.
    pub fn created_at(&self) -> i64 {
        self.row.created_at
    }
    /// Where it was sent from.
    pub fn trace(&self) -> &greenroom_store::Trace {
        &self.row.trace
    }
    /// True if it stays in the queue until it is completed.
    pub fn is_completable(&self) -> bool {
        self.completable
    }
    /// Number of this delivery, from 1; `None` in a queue without a policy.
    pub fn attempt(&self) -> Option<u32> {
        self.attempt
    }

    /// Removes the message and answers a sender that waits. May be tried again
    /// after a failure.
    ///
    /// Errors: `queue/complete_not_configured` for a message that is not
    /// completable, `queue/already_completed`, `queue/lease_lost`.
    pub async fn complete(&self, response: Option<Bytes>) -> Result<()> {
        if !self.completable {
            return Err(Error::with(
                &code::QUEUE_COMPLETE_NOT_CONFIGURED,
                json!({ "name": self.name() }),
            ));
        }
        self.end_once(async {
            let done = self
                .ctx
                .complete_message(self.id(), None, self.attempt, response)
                .await;
            // A message that is gone already is as good as completed.
            done.map(|_| ())
        })
        .await
    }

    /// Gives the message back, to be delivered again after a pause; the policy's
    /// backoff if none is given. After its last attempt it is given up instead.
    ///
    /// Errors: `queue/not_leased` in a queue without a policy,
    /// `queue/already_completed`, `queue/lease_lost`.
    pub async fn retry(&self, after: Option<Duration>, reason: Option<String>) -> Result<()> {
        let attempt = self.leased_attempt()?;
        let backoff = self.ctx.config().queues.get(self.name());
        let pause = after
            .or_else(|| backoff.map(|policy| policy.backoff.pause(attempt)))
            .unwrap_or_default();
        let pause = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
        let write = QueueWrite::Retry {
            id: self.id(),
            attempt,
            visible_at: self.ctx.clock().now_ms().saturating_add(pause),
            reason,
        };
        self.end_once(self.ctx.end_lease(self.id(), write)).await
    }

    /// Gives the message up, whatever attempts are left.
    ///
    /// Errors: as of [`retry`](Self::retry).
    pub async fn fail(&self, reason: String) -> Result<()> {
        let write = QueueWrite::Fail {
            id: self.id(),
            attempt: self.leased_attempt()?,
            reason,
        };
        self.end_once(self.ctx.end_lease(self.id(), write)).await
    }

    fn leased_attempt(&self) -> Result<u32> {
        match self.attempt {
            Some(attempt) if self.completable => Ok(attempt),
            _ => Err(Error::with(
                &code::QUEUE_NOT_LEASED,
                json!({ "name": self.name() }),
            )),
        }
    }

    async fn end_once(&self, end: impl Future<Output = Result<()>>) -> Result<()> {
        if self.ended.swap(true, Ordering::SeqCst) {
            return Err(Error::new(&code::QUEUE_ALREADY_COMPLETED));
        }
        let ended = end.await;
        if ended.is_err() {
            self.ended.store(false, Ordering::SeqCst);
        }
        ended
    }
}

impl ActorContext {
    async fn end_lease(&self, id: u64, write: QueueWrite) -> Result<()> {
        let (reply, ended) = reply();
        self.queue_op(write, move |ctx, written| {
            let outcome = written.and_then(|written| match written {
                QueueWritten::Retried { name } => {
                    // It may be visible at once.
                    ctx.0.queue.receivers.message_arrived(&name);
                    Ok(())
                }
                QueueWritten::Buried(buried) => {
                    ctx.tell_buried(buried);
                    Ok(())
                }
                QueueWritten::Missing => Ok(()),
                QueueWritten::LeaseLost { attempt } => Err(lease_lost(id, attempt)),
                other => Err(unexpected(&other)),
            });
            reply.send(outcome);
        });
        ended.result().await
    }

    /// Tells the sender, if it waits, that nobody will answer.
    pub(super) fn tell_buried(&self, buried: Buried) {
        tracing::warn!(
            actor_id = %self.actor_id(),
            queue = buried.name,
            message_id = buried.id,
            attempts = buried.attempts,
            reason = buried.reason,
            "a queue message was given up"
        );
        let error = Error::with(
            &code::QUEUE_DEAD_LETTERED,
            json!({
                "message_id": buried.id,
                "name": buried.name,
                "attempts": buried.attempts,
                "reason": buried.reason,
            }),
        );
        self.answer_sender(buried.id, Err(error));
    }
}
