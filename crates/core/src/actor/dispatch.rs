//! Client work on its way into the actor: the bounded dispatch inbox and the
//! hand-over to the adapter.
//!
//! Invariant D1: work that was queued and never handed to the adapter is refused,
//! not dropped, whatever ends the inbox. The caller may then go to the next
//! generation.
//! Invariant D2: no more than the configured number of commands is pending, from
//! send until the adapter lets go of the work; neither in one actor nor in the
//! process. A caller that gives up early frees nothing, so nobody can pile up work
//! by hanging up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use greenroom_error::{Error, code};
use serde_json::json;
use tokio::sync::mpsc;

use crate::actor::messages::{ActorEvent, DispatchCommand};
use crate::actor::task::ActorTask;
use crate::actor::work::{ActorWorkKind, WorkRegistry};

/// Client work pending in the whole process.
pub(crate) struct ProcessPending {
    count: AtomicUsize,
    capacity: usize,
}

impl ProcessPending {
    pub(crate) fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self {
            count: AtomicUsize::new(0),
            capacity,
        })
    }

    fn admit(self: &Arc<Self>) -> Option<PendingPermit> {
        let permit = PendingPermit(Arc::clone(self));
        let before = self.count.fetch_add(1, Ordering::SeqCst);
        (before < self.capacity).then_some(permit)
    }
}

/// One piece of pending work of the process, counted until dropped.
pub(crate) struct PendingPermit(Arc<ProcessPending>);

impl Drop for PendingPermit {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::SeqCst);
    }
}

type Admitted = (DispatchCommand, PendingPermit);

/// Makes a connected pair. Queued and running work together stay below
/// `capacity`; `work` counts what runs.
#[expect(
    clippy::disallowed_methods,
    reason = "the bound counts running work too, so the sender keeps it (D2)"
)]
pub(crate) fn dispatch_channel(
    capacity: usize,
    work: Arc<WorkRegistry>,
    process: Arc<ProcessPending>,
) -> (DispatchSender, DispatchInbox) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let queued = Arc::new(AtomicUsize::new(0));
    let sender = DispatchSender {
        sender,
        queued: Arc::clone(&queued),
        work,
        process,
        capacity,
    };
    (sender, DispatchInbox { receiver, queued })
}

/// The registry's end.
#[derive(Clone)]
pub(crate) struct DispatchSender {
    sender: mpsc::UnboundedSender<Admitted>,
    queued: Arc<AtomicUsize>,
    work: Arc<WorkRegistry>,
    process: Arc<ProcessPending>,
    capacity: usize,
}

impl DispatchSender {
    /// Queues a command, or refuses it at once: `actor/overloaded` when full,
    /// `actor/stopping` when the task has ended.
    pub(crate) fn send(&self, command: DispatchCommand) {
        let queued = self.queued.fetch_add(1, Ordering::SeqCst);
        if queued + self.work.counts().shutdown_tasks >= self.capacity {
            return self.refuse(command, "dispatch_inbox", self.capacity);
        }
        let Some(permit) = self.process.admit() else {
            return self.refuse(command, "process", self.process.capacity);
        };
        if let Err(mpsc::error::SendError((command, _))) = self.sender.send((command, permit)) {
            command.refuse(Error::new(&code::ACTOR_STOPPING));
        }
    }

    fn refuse(&self, command: DispatchCommand, channel: &str, capacity: usize) {
        self.queued.fetch_sub(1, Ordering::SeqCst);
        let operation = format!("dispatch_{}", command.kind());
        command.refuse(Error::with(
            &code::ACTOR_OVERLOADED,
            json!({ "channel": channel, "operation": operation, "capacity": capacity }),
        ));
    }
}

/// The task's end.
pub(crate) struct DispatchInbox {
    receiver: mpsc::UnboundedReceiver<Admitted>,
    queued: Arc<AtomicUsize>,
}

impl DispatchInbox {
    pub(crate) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<Admitted>> {
        let polled = self.receiver.poll_recv(cx);
        if let Poll::Ready(Some(_)) = &polled {
            self.queued.fetch_sub(1, Ordering::SeqCst);
        }
        polled
    }

    pub(crate) fn try_recv(&mut self) -> Option<Admitted> {
        let command = self.receiver.try_recv().ok()?;
        self.queued.fetch_sub(1, Ordering::SeqCst);
        Some(command)
    }

    /// Takes no more and refuses what is queued (D1).
    pub(crate) fn close_and_refuse(&mut self, error: impl Fn() -> Error) {
        self.receiver.close();
        while let Some((command, _)) = self.try_recv() {
            command.refuse(error());
        }
    }
}

impl Drop for DispatchInbox {
    fn drop(&mut self) {
        self.close_and_refuse(|| Error::new(&code::ACTOR_STOPPING));
    }
}

impl ActorTask {
    pub(super) fn handle_dispatch(&mut self, (command, permit): Admitted) {
        if let Some(error) = self.ctx.refusal() {
            command.refuse(self.ctx.attach_actor(error));
            return;
        }
        let event = match command {
            DispatchCommand::Action(mut call) => {
                let region = self.ctx.begin_work(ActorWorkKind::Action);
                call.reply = call.reply.holding(region.carrying(permit));
                ActorEvent::Action {
                    call,
                    scheduled_fire: None,
                }
            }
            DispatchCommand::QueueSend(mut send) => {
                let region = self.ctx.begin_work(ActorWorkKind::Action);
                send.reply = send.reply.holding(region.carrying(permit));
                ActorEvent::QueueSend(send)
            }
            DispatchCommand::Http { mut request, reply } => {
                let region = self.ctx.begin_work(ActorWorkKind::HttpRequest);
                request.region = Some(region.carrying(permit));
                ActorEvent::HttpRequest { request, reply }
            }
            DispatchCommand::OpenWebSocket {
                conn,
                ws,
                request,
                reply,
            } => ActorEvent::WebSocketOpen {
                conn,
                ws,
                request,
                reply,
            },
            DispatchCommand::WorkflowHistory { reply } => {
                ActorEvent::WorkflowHistoryRequested { reply }
            }
            DispatchCommand::WorkflowReplay { entry_id, reply } => {
                ActorEvent::WorkflowReplayRequested { entry_id, reply }
            }
        };
        // A closed adapter drops the event, and with it the reply: the caller
        // hears actor/dropped_reply, because the adapter may have died over it.
        if let Err(error) = self.ctx.send_actor_event(event) {
            tracing::debug!(actor_id = %self.ctx.actor_id(), %error, "dispatch reached a closed adapter");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::reply::{Answer, reply};

    fn work() -> Arc<WorkRegistry> {
        WorkRegistry::new(Clock::manual(0).0)
    }

    fn command() -> (
        DispatchCommand,
        crate::reply::ReplyReceiver<Option<bytes::Bytes>>,
    ) {
        let (reply, receiver) = reply();
        (DispatchCommand::WorkflowHistory { reply }, receiver)
    }

    #[tokio::test]
    async fn d1_queued_work_is_refused_when_the_inbox_dies() {
        let (sender, inbox) = dispatch_channel(8, work(), ProcessPending::new(8));
        let (queued, answer) = command();
        sender.send(queued);
        drop(inbox);
        assert!(matches!(answer.await, Answer::Refused(_)));
        let (late, answer) = command();
        sender.send(late);
        assert!(matches!(answer.await, Answer::Refused(_)));
    }

    #[tokio::test]
    async fn d2_the_process_has_a_bound_of_its_own() {
        let process = ProcessPending::new(1);
        let (first, mut first_inbox) = dispatch_channel(8, work(), Arc::clone(&process));
        let (second, _second_inbox) = dispatch_channel(8, work(), process);
        let (queued, _queued_answer) = command();
        first.send(queued);
        let (refused, answer) = command();
        second.send(refused);
        let error = answer.await.into_result().expect_err("over the bound");
        assert!(error.is(&code::ACTOR_OVERLOADED));
        drop(first_inbox.try_recv());
        let (admitted, answer) = command();
        second.send(admitted);
        assert!(futures_util::FutureExt::now_or_never(answer).is_none());
    }

    #[tokio::test]
    async fn d2_work_beyond_the_bound_is_refused_as_overloaded() {
        let work = work();
        let (sender, mut inbox) = dispatch_channel(1, Arc::clone(&work), ProcessPending::new(8));
        let (first, _first_answer) = command();
        sender.send(first);
        let (second, answer) = command();
        sender.send(second);
        match answer.await {
            Answer::Refused(error) => assert!(error.is(&code::ACTOR_OVERLOADED)),
            Answer::Done(_) => panic!("ran beyond the bound"),
        }
        assert!(inbox.try_recv().is_some());
        let running = work.begin(ActorWorkKind::Action);
        let (third, _answer) = command();
        sender.send(third);
        assert!(inbox.try_recv().is_none(), "running work counts too");
        drop(running);
        let (fourth, _answer) = command();
        sender.send(fourth);
        assert!(inbox.try_recv().is_some());
    }
}
