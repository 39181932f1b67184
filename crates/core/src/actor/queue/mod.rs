//! The actor's queue: durable messages, and who waits for them or their answers.
//!
//! One queue per actor; a name is a label that receivers choose by. Every
//! operation goes through one [`Pipe`], so sends that come together share a
//! commit, and what a batch did is made known in the order of the batch: whoever
//! waits for an answer is registered before anybody can receive the message.
//!
//! Waiting lives in memory and ends with the generation; messages do not.

mod letters;
mod message;
mod policy;
mod receive;
mod waiting;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use greenroom_store::{
    Deliveries, NewMessage, QueueBatch, QueueHead, QueueLedger, QueueWrite, QueueWritten, Trace,
};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::actor::context::ActorContext;
use crate::actor::pipe::{Pipe, Weigh};
use crate::actor::work::ActorWorkKind;
use crate::config::ActorConfig;
use crate::reply::{ReplyReceiver, reply};

pub use letters::LetterChoice;
pub use message::QueueMessage;
pub use policy::{Backoff, QueuePolicy};
pub use receive::Receive;
use waiting::{CutOff, ReceiverLine};

type Answer = Result<Option<Bytes>>;
type Then = Box<dyn FnOnce(&ActorContext, Result<QueueWritten>) + Send>;

/// The queue of one generation.
pub(crate) struct QueueRoom {
    pipe: Pipe<QueueOp>,
    /// Of the batch before; `None` before the first and after a failure.
    ledger: Mutex<Option<QueueLedger>>,
    /// Stored messages, as the last batch left them.
    len: AtomicU64,
    /// Leases of earlier generations have been ended.
    leases_ended: AtomicBool,
    /// When the generation began, Unix milliseconds.
    since: AtomicI64,
    deliveries: Arc<Deliveries>,
    receivers: ReceiverLine,
    cut_off: CutOff,
    /// When the next hidden message becomes visible.
    redelivery: watch::Sender<Option<i64>>,
    /// Senders that wait for completion, by message id.
    answers: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
}

/// One operation and what is to be done once it is durable, or has failed.
struct QueueOp {
    write: QueueWrite,
    then: Then,
}

impl QueueOp {
    fn new(
        write: QueueWrite,
        then: impl FnOnce(&ActorContext, Result<QueueWritten>) + Send + 'static,
    ) -> Self {
        Self {
            write,
            then: Box::new(then),
        }
    }
}

impl Weigh for QueueOp {
    fn weight(&self) -> usize {
        match &self.write {
            QueueWrite::Send(message) => message.name.len() + message.body.len(),
            _ => 0,
        }
    }
}

impl QueueRoom {
    pub(crate) fn new(config: &ActorConfig) -> Self {
        let deliveries = config.queues.iter();
        let deliveries = deliveries.map(|(name, policy)| (name.clone(), policy.into()));
        Self {
            pipe: Pipe::default(),
            ledger: Mutex::default(),
            len: AtomicU64::new(0),
            leases_ended: AtomicBool::new(false),
            since: AtomicI64::new(0),
            deliveries: Arc::new(deliveries.collect()),
            receivers: ReceiverLine::default(),
            cut_off: CutOff::default(),
            redelivery: watch::Sender::new(None),
            answers: Mutex::default(),
        }
    }
}

/// A message to send.
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    pub name: String,
    /// CBOR.
    pub body: Bytes,
    pub trace: Trace,
}

impl ActorContext {
    /// Stores a message; resolves when it is durable. The order of calls, not of
    /// polls, is the order of messages. Must be called inside a tokio runtime.
    ///
    /// Errors: `queue/message_too_large`, `queue/full`.
    pub fn queue_send(
        &self,
        message: Outgoing,
    ) -> impl Future<Output = Result<QueueMessage>> + Send + 'static {
        let sent = self.begin_send(message, None);
        let ctx = self.clone();
        async move {
            let (id, message) = sent?.settled().await?;
            Ok(QueueMessage::sent(ctx, id, message))
        }
    }

    /// Sends and waits for the message's completion; resolves with its response.
    /// The message stays queued when the wait ends early.
    ///
    /// Errors: as of sending; `queue/timed_out`; `actor/aborted` when `cancelled`
    /// fires; `queue/completion_waiter_dropped` after a reset;
    /// `queue/dead_lettered`.
    pub fn queue_enqueue_and_wait(
        &self,
        message: Outgoing,
        timeout: Option<Duration>,
        cancelled: CancellationToken,
    ) -> impl Future<Output = Answer> + Send + 'static {
        let (answer, answered) = oneshot::channel();
        let sent = if cancelled.is_cancelled() {
            Err(Error::new(&code::ACTOR_ABORTED))
        } else {
            self.begin_send(message, Some(answer))
        };
        let ctx = self.clone();
        async move {
            let (id, _) = sent?.settled().await?;
            let _waiting = AnswerGuard { ctx: &ctx, id };
            tokio::select! {
                biased;
                answer = answered => answer.unwrap_or_else(|_| {
                    Err(Error::new(&code::QUEUE_COMPLETION_WAITER_DROPPED))
                }),
                () = cancelled.cancelled() => Err(Error::new(&code::ACTOR_ABORTED)),
                error = ctx.time_out(timeout) => Err(error),
            }
        }
    }

    fn begin_send(
        &self,
        message: Outgoing,
        answer: Option<oneshot::Sender<Answer>>,
    ) -> Result<Sending> {
        let limit = self.config().max_queue_message_size;
        let size = encoded_len(&message.name, &message.body);
        if size > u64::from(limit) {
            return Err(Error::with(
                &code::QUEUE_MESSAGE_TOO_LARGE,
                json!({ "size": size, "limit": limit }),
            ));
        }
        let message = NewMessage {
            name: message.name,
            body: message.body,
            created_at: self.clock().now_ms(),
            trace: message.trace,
        };
        let (reply, stored) = reply();
        let name = message.name.clone();
        self.queue_op(QueueWrite::Send(message.clone()), move |ctx, written| {
            let sent = written.and_then(|written| match written {
                QueueWritten::Sent(id) => Ok(id),
                QueueWritten::Full => Err(ctx.queue_full()),
                other => Err(unexpected(&other)),
            });
            if let Ok(id) = &sent {
                ctx.type_figures().message_sent();
                if let Some(answer) = answer {
                    ctx.0.queue.answers.lock().insert(*id, answer);
                }
                ctx.0.queue.receivers.message_arrived(&name);
            }
            reply.send(sent);
        });
        Ok(Sending { stored, message })
    }

    fn queue_full(&self) -> Error {
        let limit = self.config().max_queue_size;
        Error::with(&code::QUEUE_FULL, json!({ "limit": limit }))
    }

    /// Completes a message by its id, also one that an earlier generation
    /// received. False if there is no such message any more.
    ///
    /// Errors: `queue/message_identity_mismatch` if it has another name.
    pub async fn queue_complete_persisted(
        &self,
        id: u64,
        expected_name: String,
        response: Option<Bytes>,
    ) -> Result<bool> {
        self.complete_message(id, Some(expected_name), None, response)
            .await
    }

    /// Whether a message was completed; false if it was gone.
    async fn complete_message(
        &self,
        id: u64,
        expected_name: Option<String>,
        attempt: Option<u32>,
        response: Option<Bytes>,
    ) -> Result<bool> {
        let (reply, completed) = reply();
        let expected = expected_name.clone();
        let write = QueueWrite::Complete {
            id,
            expected_name,
            attempt,
        };
        self.queue_op(write, move |ctx, written| {
            let outcome = written.and_then(|written| match written {
                QueueWritten::Completed { .. } => Ok(true),
                QueueWritten::Missing => Ok(false),
                QueueWritten::OtherName { actual_name } => {
                    Err(other_name(id, expected.as_deref(), &actual_name))
                }
                QueueWritten::LeaseLost { attempt } => Err(lease_lost(id, attempt)),
                other => Err(unexpected(&other)),
            });
            if outcome.is_ok() {
                ctx.answer_sender(id, Ok(response));
            }
            reply.send(outcome);
        });
        completed.result().await
    }

    /// What is visible by now has woken this generation, if it was to wake one.
    pub(crate) fn begin_generation_at(&self, now: i64) {
        self.0.queue.since.store(now, Ordering::SeqCst);
    }

    /// When the generation began, unless its clock was set back behind that.
    pub(crate) fn generation_began_at(&self) -> i64 {
        let since = self.0.queue.since.load(Ordering::SeqCst);
        since.min(self.clock().now_ms())
    }

    /// Answers the sender of a message, if one waits.
    fn answer_sender(&self, id: u64, answer: Answer) {
        if let Some(sender) = self.0.queue.answers.lock().remove(&id) {
            // The sender may have given up.
            let _ = sender.send(answer);
        }
    }

    /// Deletes every message. Senders that wait get
    /// `queue/completion_waiter_dropped`; ids go on where they were.
    pub async fn queue_reset(&self) -> Result<()> {
        let (reply, done) = reply();
        self.queue_op(QueueWrite::Reset, move |ctx, written| {
            if written.is_ok() {
                ctx.0.queue.answers.lock().clear();
            }
            reply.send(written.map(|_| ()));
        });
        done.result().await
    }

    /// Every message without its body, in order; nothing is received.
    pub async fn queue_inspect(&self) -> Result<Vec<QueueHead>> {
        self.in_turn(self.sql().queue_heads()).await
    }

    /// Stored messages, as far as this generation has had to do with them.
    pub fn queue_len(&self) -> u64 {
        self.0.queue.len.load(Ordering::SeqCst)
    }

    /// Most messages the queue may hold.
    pub fn queue_max_size(&self) -> u32 {
        self.config().max_queue_size
    }

    /// Puts an operation in line. `then` runs once it is durable or has failed.
    fn queue_op(
        &self,
        write: QueueWrite,
        then: impl FnOnce(&ActorContext, Result<QueueWritten>) + Send + 'static,
    ) {
        self.queue_push(QueueOp::new(write, then));
    }

    fn queue_push(&self, op: QueueOp) {
        if !self.0.queue.pipe.push(op) {
            return;
        }
        let ctx = self.clone();
        let flush = async move { ctx.flush_queue().await };
        if !self.spawn_work(ActorWorkKind::InternalKeepAwake, flush) {
            for op in self.0.queue.pipe.abandon() {
                (op.then)(self, Err(self.storage_closed()));
            }
        }
    }

    async fn flush_queue(&self) {
        let mut flusher = self.0.queue.pipe.flusher();
        while let Some(ops) = flusher.next_batch() {
            let (writes, thens): (Vec<_>, Vec<_>) =
                ops.into_iter().map(|op| (op.write, op.then)).unzip();
            match self.write_queue(writes).await {
                Ok(written) => {
                    for (then, written) in thens.into_iter().zip(written) {
                        then(self, Ok(written));
                    }
                }
                Err(error) => {
                    for then in thens {
                        then(self, Err(error.duplicate()));
                    }
                }
            }
        }
    }

    async fn write_queue(&self, writes: Vec<QueueWrite>) -> Result<Vec<QueueWritten>> {
        let room = &self.0.queue;
        let batch = QueueBatch {
            writes,
            ledger: room.ledger.lock().take(),
            end_leases: !room.leases_ended.load(Ordering::SeqCst),
            max_len: u64::from(self.config().max_queue_size),
            deliveries: Arc::clone(&room.deliveries),
            now: self.clock().now_ms(),
        };
        let outcome = self.sql().queue_write(batch).await?;
        room.leases_ended.store(true, Ordering::SeqCst);
        room.len.store(outcome.ledger.len, Ordering::SeqCst);
        *room.ledger.lock() = Some(outcome.ledger);
        self.note_redelivery(outcome.next_redelivery);
        self.redelivery_changed(outcome.wake_at).await;
        self.changed_for_inspectors(|revisions| &mut revisions.queue);
        Ok(outcome.written)
    }

    /// Resolves with `queue/timed_out` after the time, never without one.
    async fn time_out(&self, timeout: Option<Duration>) -> Error {
        let Some(span) = timeout else {
            return std::future::pending().await;
        };
        self.clock().sleep(span).await;
        timed_out(span)
    }
}

/// A send whose outcome is not known yet.
struct Sending {
    stored: ReplyReceiver<u64>,
    message: NewMessage,
}

impl Sending {
    async fn settled(self) -> Result<(u64, NewMessage)> {
        Ok((self.stored.result().await?, self.message))
    }
}

/// Forgets a sender that no longer waits.
struct AnswerGuard<'a> {
    ctx: &'a ActorContext,
    id: u64,
}

impl Drop for AnswerGuard<'_> {
    fn drop(&mut self) {
        self.ctx.0.queue.answers.lock().remove(&self.id);
    }
}

/// Bytes of the record that RivetKit's limit is defined on: a version, name and
/// body with their lengths, the time, and four flags that are always there.
fn encoded_len(name: &str, body: &[u8]) -> u64 {
    let with_length = |len: usize| length_prefix(len as u64) + len as u64;
    2 + with_length(name.len()) + with_length(body.len()) + 8 + 4
}

/// Bytes of a length in BARE: seven bits each.
fn length_prefix(len: u64) -> u64 {
    u64::from((64 - len.leading_zeros()).div_ceil(7).max(1))
}

fn timed_out(span: Duration) -> Error {
    let timeout_ms = span.as_millis() as u64;
    Error::with(&code::QUEUE_TIMED_OUT, json!({ "timeout_ms": timeout_ms }))
}

fn other_name(id: u64, expected: Option<&str>, actual: &str) -> Error {
    Error::with(
        &code::QUEUE_MESSAGE_IDENTITY_MISMATCH,
        json!({ "message_id": id, "expected_name": expected, "actual_name": actual }),
    )
}

fn lease_lost(id: u64, attempt: u32) -> Error {
    Error::with(
        &code::QUEUE_LEASE_LOST,
        json!({ "message_id": id, "attempt": attempt }),
    )
}

/// The store answers each operation in kind.
fn unexpected(written: &QueueWritten) -> Error {
    Error::internal(format!("a queue operation was answered with {written:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_message_is_that_of_its_record() {
        // Observed: a body of 65,537 bytes in a queue with a one-letter name.
        assert_eq!(encoded_len("q", &vec![0; 65_537]), 65_556);
        assert_eq!(encoded_len("", b""), 16);
        assert_eq!(encoded_len("a", &[0; 127]), 144);
        assert_eq!(encoded_len("a", &[0; 128]), 146);
    }

    #[test]
    fn lengths_take_seven_bits_a_byte() {
        let sizes = [0, 1, 127, 128, 16_383, 16_384, u64::MAX].map(length_prefix);
        assert_eq!(sizes, [1, 1, 1, 2, 2, 3, 10]);
    }
}
