//! Receiving: what is there now, or what comes.
//!
//! Looking and taking are one operation of the queue's line, so receivers are
//! served in order of arrival and never see the same message twice. A take is not
//! undone by a caller that goes away: what was taken for nobody is put back.

use std::collections::BTreeSet;
use std::time::Duration;

use greenroom_error::{Error, Result, code};
use greenroom_store::{QueueWrite, QueueWritten, Take, TakeMode, Taken, TakenMessage};
use tokio_util::sync::CancellationToken;

use super::message::QueueMessage;
use super::waiting::Place;
use super::{QueueOp, timed_out, unexpected};
use crate::actor::context::ActorContext;
use crate::reply::{Reply, ReplyReceiver, reply};

/// What to receive and how long to wait.
#[derive(Clone, Debug, Default)]
pub struct Receive {
    /// Empty means any.
    pub names: Vec<String>,
    /// Messages at most; 0 counts as 1.
    pub count: u32,
    /// `None` waits until a message comes; zero does not wait.
    pub timeout: Option<Duration>,
    /// Messages stay in the queue until they are completed.
    pub completable: bool,
    /// Fires when the caller gives up.
    pub cancelled: CancellationToken,
}

impl Receive {
    fn take(&self, mode: TakeMode) -> Take {
        let names: BTreeSet<&String> = self.names.iter().collect();
        Take {
            // Sorted: the line of receivers relies on it.
            names: names.into_iter().cloned().collect(),
            count: self.count.max(1) as usize,
            mode,
        }
    }

    fn mode(&self) -> TakeMode {
        if self.completable {
            TakeMode::Keep
        } else {
            TakeMode::Remove
        }
    }
}

impl ActorContext {
    /// Up to `count` messages, waiting for the first; empty after the timeout.
    ///
    /// Errors: `actor/aborted` when the actor stops or `cancelled` fires. Without
    /// time to wait, it is empty while the actor stops.
    pub async fn queue_next_batch(&self, receive: Receive) -> Result<Vec<QueueMessage>> {
        let take = receive.take(receive.mode());
        let parcel = self.look_until(&receive, take).await?;
        Ok(parcel.map_or_else(Vec::new, |parcel| parcel.accept(receive.completable)))
    }

    /// One message, or `queue/timed_out`.
    pub async fn queue_wait_for_names(&self, receive: Receive) -> Result<QueueMessage> {
        let timeout = receive.timeout.unwrap_or_default();
        let one = Receive {
            count: 1,
            ..receive
        };
        let mut messages = self.queue_next_batch(one).await?;
        messages.pop().ok_or_else(|| timed_out(timeout))
    }

    /// Resolves when a message is there, without receiving it; `queue/timed_out`
    /// after the timeout.
    pub async fn queue_wait_for_names_available(&self, receive: Receive) -> Result<()> {
        let take = receive.take(TakeMode::Look);
        let found = self.look_until(&receive, take).await?;
        let timeout = receive.timeout.unwrap_or_default();
        found.map(|_| ()).ok_or_else(|| timed_out(timeout))
    }

    /// What is there now; never waits for messages, also while the actor stops.
    /// Must be called inside a tokio runtime; the future may be waited for on a
    /// thread outside of it.
    pub fn queue_try_next_batch(
        &self,
        receive: &Receive,
    ) -> impl Future<Output = Result<Vec<QueueMessage>>> + Send + 'static {
        let completable = receive.completable;
        let taken = self.begin_take(receive.take(receive.mode()));
        async move { Ok(taken.result().await?.accept(completable)) }
    }

    /// Looks again whenever it is worth it; `None` after the timeout.
    async fn look_until(&self, receive: &Receive, take: Take) -> Result<Option<Parcel>> {
        let aborted = || Err(Error::new(&code::ACTOR_ABORTED));
        if receive.cancelled.is_cancelled() {
            return aborted();
        }
        let waits = !receive.timeout.is_some_and(|span| span.is_zero());
        if self.aborted() {
            self.0.queue.cut_off.note(&take.names);
            // Who would not wait has nothing to give up: a workflow that looks just
            // as its actor falls asleep finds nothing, instead of failing for good.
            return if waits { aborted() } else { Ok(None) };
        }
        let deadline = receive.timeout.map(|span| self.clock().now() + span);
        let watches = take.mode == TakeMode::Look;
        let place = self.0.queue.receivers.join(take.names.clone(), watches);
        loop {
            place.clear_signal();
            let parcel = self.begin_take(take.clone()).result().await?;
            if parcel.taken.available {
                return Ok(Some(parcel));
            }
            if !waits {
                return Ok(None);
            }
            let _parked = self.queue_wait_guard();
            let timeout = async {
                match deadline {
                    Some(at) => self.clock().sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let abort = self.abort_signal();
            tokio::select! {
                biased;
                () = self.worth_a_look(&place) => {}
                () = receive.cancelled.cancelled() => return aborted(),
                () = abort.cancelled() => {
                    self.0.queue.cut_off.note(&take.names);
                    return aborted();
                }
                () = timeout => return Ok(None),
            }
        }
    }

    async fn worth_a_look(&self, place: &Place<'_>) {
        if self.0.queue.deliveries.is_empty() {
            return place.signalled().await;
        }
        tokio::select! {
            biased;
            () = place.signalled() => {}
            () = self.redelivery_due() => {}
        }
    }

    /// Resolves when a hidden message becomes visible.
    async fn redelivery_due(&self) {
        let mut redelivery = self.0.queue.redelivery.subscribe();
        loop {
            let at = *redelivery.borrow_and_update();
            let due = async {
                match at {
                    Some(at) => self.clock().sleep_until_wall(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = due => return,
                // The sender lives in the context this borrows.
                _ = redelivery.changed() => {}
            }
        }
    }

    /// Notes when the next hidden message becomes visible, for those who wait.
    pub(super) fn note_redelivery(&self, at: Option<i64>) {
        self.0.queue.redelivery.send_if_modified(|known| {
            let changed = *known != at;
            *known = at;
            changed
        });
    }

    /// At the end of a generation: a message that a receiver was about to get when
    /// the end cut it off wakes the next one.
    pub(crate) async fn wake_for_cut_off_receivers(&self) -> Result<()> {
        for names in self.0.queue.cut_off.take() {
            let take = Take {
                names,
                count: 1,
                mode: TakeMode::Look,
            };
            let (reply, looked) = reply();
            let look = take_op(take, reply);
            // Here and not as tracked work, which takes nothing any more.
            if self.0.queue.pipe.push(look) {
                self.flush_queue().await;
            }
            if looked.result().await?.taken.available {
                self.wake_again_now();
                return Ok(());
            }
        }
        Ok(())
    }

    fn begin_take(&self, take: Take) -> ReplyReceiver<Parcel> {
        let (reply, taken) = reply();
        self.queue_push(take_op(take, reply));
        taken
    }
}

fn take_op(take: Take, reply: Reply<Parcel>) -> QueueOp {
    QueueOp::new(QueueWrite::Take(take), move |ctx, written| {
        let parcel = written.and_then(|written| match written {
            QueueWritten::Taken(mut taken) => {
                for buried in taken.buried.drain(..) {
                    ctx.tell_buried(buried);
                }
                Ok(Parcel {
                    ctx: ctx.clone(),
                    taken,
                })
            }
            other => Err(unexpected(&other)),
        });
        reply.send(parcel);
    })
}

/// Messages on their way to a receiver. Dropped undelivered, they go back.
#[derive(Debug)]
struct Parcel {
    ctx: ActorContext,
    taken: Taken,
}

impl Parcel {
    fn accept(mut self, completable: bool) -> Vec<QueueMessage> {
        let received = self.taken.messages.len();
        self.ctx.type_figures().messages_received(received);
        let messages = std::mem::take(&mut self.taken.messages);
        let own = |taken| QueueMessage::received(self.ctx.clone(), taken, completable);
        messages.into_iter().map(own).collect()
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        let messages = std::mem::take(&mut self.taken.messages);
        let changed = |message: &TakenMessage| message.removed || message.attempt.is_some();
        if !messages.iter().any(changed) {
            return;
        }
        // Outside a runtime nothing can be written. Leases end by themselves.
        if tokio::runtime::Handle::try_current().is_err() {
            tracing::warn!(actor_id = %self.ctx.actor_id(), "received queue messages were dropped outside the runtime");
            return;
        }
        let names: BTreeSet<String> = messages.iter().map(|m| m.row.name.clone()).collect();
        self.ctx
            .queue_op(QueueWrite::PutBack(messages), move |ctx, written| {
                match written {
                    Ok(_) => {
                        for name in &names {
                            ctx.0.queue.receivers.message_arrived(name);
                        }
                    }
                    Err(error) => {
                        tracing::error!(actor_id = %ctx.actor_id(), %error, "received queue messages could not be put back");
                    }
                }
            });
    }
}
