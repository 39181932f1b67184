//! [`ActorTask`]: the one task that owns one generation of one actor.
//!
//! # Four inboxes, one order
//!
//! | inbox | from | trust |
//! |---|---|---|
//! | `lifecycle` | registry | may end the actor |
//! | `events` | subsystems, through the context | internal signals |
//! | `dispatch` | clients, through the registry | untrusted work |
//! | actor events | this task → adapter | read by user code's adapter |
//!
//! Client work never competes with a stop, and signals never wait behind client
//! work: [`ActorTask::poll_next`] asks in strict priority and everything that can
//! happen is one [`Wake`].
//!
//! The task decides nothing about user code (the adapter does) and nothing about
//! placement (the host does). Starting, saving and ending live in the sibling
//! files `startup`, `persistence` and `shutdown`.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use greenroom_error::{Error, Result, code};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::actor::context::ActorContext;
use crate::actor::dispatch::{DispatchInbox, PendingPermit};
use crate::actor::factory::{ActorEvents, ActorFactory};
use crate::actor::lifecycle::{self, LifecycleState, OnAlarm, OnStart, OnStop};
use crate::actor::messages::{
    DispatchCommand, LifecycleCommand, LifecycleEvent, ShutdownKind, WorkflowKvWrite,
};
use crate::actor::persistence::{PendingPersistence, PersistenceOutcome};
use crate::actor::sleep::{self, CanSleep, IdleInputs};
use crate::actor::timers::{TimerKind, Timers};
use crate::clock::Instant;
use crate::reply::{Reply, ReplyReceiver};

/// Least time between two requests to sleep that the host leaves unanswered.
const ASK_AGAIN_MIN: Duration = Duration::from_secs(1);

/// Everything that can happen to a live actor, in order of priority.
pub(crate) enum Wake {
    Lifecycle(LifecycleCommand),
    Event(LifecycleEvent),
    /// A count of running work changed.
    Activity,
    GraceDeadline,
    Dispatch((DispatchCommand, PendingPermit)),
    /// The adapter answered the start handshake.
    StartupReady(Result<()>),
    AdapterExited(AdapterExit),
    Persisted(PersistenceOutcome),
    Timer(TimerKind),
    /// The time of a schedule or of the run wake has come.
    AlarmDue,
    /// An inbox lost all its senders.
    InboxClosed(&'static str),
}

/// How the adapter's entry ended.
pub(crate) enum AdapterExit {
    Returned(Result<()>),
    Panicked,
    Cancelled,
}

/// Why the loop was left.
pub(crate) enum LiveExit {
    Shutdown(ShutdownKind),
    Terminated,
}

/// A start that waits for the adapter's preamble.
pub(crate) struct PendingStart {
    pub ready: ReplyReceiver<()>,
    pub reply: Reply<()>,
    pub is_new: bool,
    /// Startup writes are held back until they are committed as one.
    pub corked: bool,
    pub began: Instant,
    pub loaded: Instant,
}

pub(crate) struct ActorTask {
    pub(super) ctx: ActorContext,
    pub(super) factory: Arc<ActorFactory>,
    pub(super) state: LifecycleState,
    lifecycle_inbox: mpsc::UnboundedReceiver<LifecycleCommand>,
    lifecycle_events: mpsc::UnboundedReceiver<LifecycleEvent>,
    dispatch_inbox: DispatchInbox,
    pub(super) start: StartPhase,
    pub(super) adapter: Option<JoinHandle<Result<()>>>,
    pub(super) persistence: PersistenceSlot,
    pub(super) timers: Timers,
    /// The stop under way: its kind and the reply held until the end.
    pub(super) stopping: Option<(ShutdownKind, Reply<()>)>,
    /// When the grace of that stop is over.
    pub(super) grace_until: Option<Instant>,
    pub(super) grace_began: Option<Instant>,
    /// It took work, so its end is that of a started actor.
    pub(super) has_started: bool,
}

/// What of the start is still ahead.
pub(crate) enum StartPhase {
    /// Not begun; holds the adapter's event stream.
    Before(ActorEvents),
    Waiting(PendingStart),
    Done,
}

/// The one persistence operation that may be in flight, and what waits for it.
#[derive(Default)]
pub(crate) struct PersistenceSlot {
    pub running: Option<PendingPersistence>,
    pub workflow_queue: std::collections::VecDeque<(Vec<WorkflowKvWrite>, Reply<()>)>,
    /// A serialization was taken from the adapter and never written, so an empty
    /// final snapshot no longer proves that there is nothing to save.
    pub unwritten: bool,
    /// The adapter let a serialization hang: it will not hear of its end either.
    pub hangs: bool,
}

/// The receiving ends a task is built with.
pub(crate) struct Inboxes {
    pub lifecycle: mpsc::UnboundedReceiver<LifecycleCommand>,
    pub events: mpsc::UnboundedReceiver<LifecycleEvent>,
    pub dispatch: DispatchInbox,
    pub adapter: ActorEvents,
}

impl ActorTask {
    pub(crate) fn new(ctx: ActorContext, factory: Arc<ActorFactory>, inboxes: Inboxes) -> Self {
        Self {
            timers: Timers::new(ctx.clock().clone()),
            ctx,
            factory,
            state: LifecycleState::Loading,
            lifecycle_inbox: inboxes.lifecycle,
            lifecycle_events: inboxes.events,
            dispatch_inbox: inboxes.dispatch,
            start: StartPhase::Before(inboxes.adapter),
            adapter: None,
            persistence: PersistenceSlot::default(),
            stopping: None,
            grace_until: None,
            grace_began: None,
            has_started: false,
        }
    }

    /// The whole life: live until something ends it, then the ordered end.
    pub(crate) async fn run(mut self) {
        let _guard = ExitGuard(self.ctx.clone());
        match self.run_live().await {
            LiveExit::Shutdown(reason) => {
                let result = Box::pin(self.run_shutdown(reason)).await;
                self.transition_to(LifecycleState::Terminated);
                self.end_inboxes();
                if let Some((_, reply)) = self.stopping.take() {
                    reply.send(result.map_err(|error| self.ctx.attach_actor(error)));
                }
            }
            LiveExit::Terminated => {
                Box::pin(self.run_terminated()).await;
                self.end_inboxes();
            }
        }
        if self.has_started {
            self.ctx.type_figures().actor_stopped();
        }
    }

    async fn run_live(&mut self) -> LiveExit {
        loop {
            let wake = poll_fn(|cx| self.poll_next(cx)).await;
            if let Some(exit) = self.handle(wake).await {
                return exit;
            }
        }
    }

    /// The priority order. While a start waits for its preamble, commands and
    /// client work stay queued; saves, timers and the adapter's end do not.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Wake> {
        let starting = matches!(self.start, StartPhase::Waiting(_));
        if !starting && let Poll::Ready(command) = self.lifecycle_inbox.poll_recv(cx) {
            return Poll::Ready(command.map_or(Wake::InboxClosed("lifecycle"), Wake::Lifecycle));
        }
        if let Poll::Ready(event) = self.lifecycle_events.poll_recv(cx) {
            return Poll::Ready(event.map_or(Wake::InboxClosed("lifecycle_event"), Wake::Event));
        }
        if self.ctx.0.work.poll_activity(cx) {
            return Poll::Ready(Wake::Activity);
        }
        if self.timers.poll_grace(cx).is_ready() {
            return Poll::Ready(Wake::GraceDeadline);
        }
        if !starting
            && self.state.reads_dispatch()
            && let Poll::Ready(command) = self.dispatch_inbox.poll_recv(cx)
        {
            return Poll::Ready(command.map_or(Wake::InboxClosed("dispatch"), Wake::Dispatch));
        }
        if let StartPhase::Waiting(pending) = &mut self.start
            && let Poll::Ready(answer) = Pin::new(&mut pending.ready).poll(cx)
        {
            return Poll::Ready(Wake::StartupReady(answer.into_result()));
        }
        if let Some(adapter) = &mut self.adapter
            && let Poll::Ready(joined) = Pin::new(adapter).poll(cx)
        {
            return Poll::Ready(Wake::AdapterExited(match joined {
                Ok(result) => AdapterExit::Returned(result),
                Err(error) if error.is_cancelled() => AdapterExit::Cancelled,
                Err(_) => AdapterExit::Panicked,
            }));
        }
        if let Some(running) = &mut self.persistence.running
            && let Poll::Ready(outcome) = running.poll(cx)
        {
            self.persistence.running = None;
            return Poll::Ready(Wake::Persisted(outcome));
        }
        if self.timers.poll_alarm(cx).is_ready() {
            return Poll::Ready(Wake::AlarmDue);
        }
        let saving = self.persistence.running.is_some();
        self.timers.poll_other(cx, saving).map(Wake::Timer)
    }

    pub(super) async fn handle(&mut self, wake: Wake) -> Option<LiveExit> {
        match wake {
            Wake::Lifecycle(command) => self.handle_lifecycle(command).await,
            Wake::Event(event) => {
                self.handle_event(event);
                None
            }
            Wake::Activity => self.on_activity(),
            Wake::GraceDeadline => Some(self.on_grace_deadline()),
            Wake::Dispatch(command) => {
                self.handle_dispatch(command);
                None
            }
            Wake::StartupReady(result) => Box::pin(self.finish_start(result)).await,
            Wake::AdapterExited(exit) => self.on_adapter_exit(exit).await,
            Wake::Persisted(outcome) => {
                self.on_persisted(outcome);
                self.next_workflow_flush();
                self.try_finish_grace()
            }
            Wake::Timer(TimerKind::Save) => {
                self.start_state_save();
                None
            }
            Wake::Timer(TimerKind::Sleep) => {
                self.on_sleep_tick();
                None
            }
            Wake::AlarmDue => {
                self.ctx.fire_alarms(None);
                None
            }
            Wake::InboxClosed(inbox) => {
                tracing::warn!(actor_id = %self.ctx.actor_id(), inbox, "inbox lost all senders; the actor ends");
                Some(LiveExit::Terminated)
            }
        }
    }

    async fn handle_lifecycle(&mut self, command: LifecycleCommand) -> Option<LiveExit> {
        tracing::debug!(actor_id = %self.ctx.actor_id(), command = command.kind(), state = ?self.state, "lifecycle command");
        match command {
            LifecycleCommand::Start { reply } => match lifecycle::on_start(self.state) {
                OnStart::Run => Box::pin(self.begin_start(reply)).await,
                OnStart::Refuse(code) => {
                    reply.refuse(self.ctx.attach_actor(Error::new(code)));
                    None
                }
            },
            LifecycleCommand::Stop { reason, reply } => self.on_stop(reason, reply),
            LifecycleCommand::Abandon => Some(LiveExit::Terminated),
            LifecycleCommand::FireAlarm { reply } => {
                match lifecycle::on_alarm(self.state) {
                    OnAlarm::Fire => self.ctx.fire_alarms(Some(reply)),
                    OnAlarm::ConsumeRunWake => self.ctx.forget_due_run_wake(reply),
                    OnAlarm::Nothing => reply.send(Ok(())),
                }
                None
            }
        }
    }

    fn on_stop(&mut self, reason: ShutdownKind, reply: Reply<()>) -> Option<LiveExit> {
        match lifecycle::on_stop(self.state, reason) {
            OnStop::BeginGrace => {
                self.stopping = Some((reason, reply));
                self.drain_accepted_dispatch();
                self.begin_grace(reason);
                self.try_finish_grace()
            }
            OnStop::AlreadyStopping => {
                reply.send(Ok(()));
                None
            }
            OnStop::Conflict => {
                tracing::warn!(actor_id = %self.ctx.actor_id(), reason = reason.label(), state = ?self.state, "a stop of the other kind is under way; ignored");
                reply.send(Ok(()));
                None
            }
            OnStop::Refuse(code) => {
                reply.refuse(self.ctx.attach_actor(Error::new(code)));
                None
            }
        }
    }

    fn handle_event(&mut self, event: LifecycleEvent) {
        match event {
            LifecycleEvent::SaveRequested { immediate } => self.schedule_state_save(immediate),
            LifecycleEvent::WorkflowFlushRequested { writes, reply } => {
                self.persistence.workflow_queue.push_back((writes, reply));
                self.next_workflow_flush();
            }
            LifecycleEvent::StateTransactionFinished => {
                self.resume_pending_save();
                self.next_workflow_flush();
            }
            LifecycleEvent::SleepTick => self.on_sleep_tick(),
            // The guard, held until the timer is set.
            LifecycleEvent::AlarmChanged(_busy) => self.arm_alarm(),
            // The inspector attaches through its own channel once it exists.
            LifecycleEvent::InspectorSerializeRequested
            | LifecycleEvent::InspectorAttachmentsChanged => {}
        }
    }

    /// Sets the local timer to what is due next.
    pub(super) fn arm_alarm(&mut self) {
        self.ctx.alarm_noticed();
        self.timers.set_alarm(self.ctx.local_alarm_at());
    }

    /// Takes everything that was accepted before the stop.
    fn drain_accepted_dispatch(&mut self) {
        while let Some(command) = self.dispatch_inbox.try_recv() {
            self.handle_dispatch(command);
        }
    }

    fn on_activity(&mut self) -> Option<LiveExit> {
        match self.state {
            LifecycleState::Started => {
                self.arm_sleep_timer();
                None
            }
            LifecycleState::SleepGrace | LifecycleState::DestroyGrace => self.try_finish_grace(),
            _ => None,
        }
    }

    fn idle_inputs(&self) -> IdleInputs {
        IdleInputs {
            started: self.state.is_started(),
            no_sleep: self.ctx.config().no_sleep,
            work: self.ctx.work_counts(),
            blocking_connections: self.ctx.blocking_connections(),
        }
    }

    /// Arms the idle timer if the actor is idle; otherwise asks to be woken when
    /// that changes. An armed timer is not moved by later activity: its tick
    /// looks at when the actor was last active.
    pub(super) fn arm_sleep_timer(&mut self) {
        // Interest first, then the question: a change in between wakes the task.
        self.ctx.0.work.set_interested(true);
        if self.state == LifecycleState::Started
            && sleep::can_sleep(&self.idle_inputs()) == CanSleep::Yes
        {
            let idle_since = self.ctx.0.work.idle_since();
            let at = idle_since + self.ctx.config().sleep_timeout;
            self.timers.arm(TimerKind::Sleep, at);
            self.ctx.0.work.set_interested(false);
        }
    }

    fn on_sleep_tick(&mut self) {
        self.timers.disarm(TimerKind::Sleep);
        if self.state != LifecycleState::Started || !matches!(self.start, StartPhase::Done) {
            return;
        }
        let due = self.ctx.0.work.idle_since() + self.ctx.config().sleep_timeout;
        let can_sleep = sleep::can_sleep(&self.idle_inputs());
        if can_sleep != CanSleep::Yes || self.ctx.clock().now() < due {
            tracing::trace!(actor_id = %self.ctx.actor_id(), reason = ?can_sleep, "not idle for long enough; staying awake");
            self.arm_sleep_timer();
            return;
        }
        self.ctx.ask_to_sleep();
        // A host that does not answer is asked again; the actor serves meanwhile.
        let again = self.ctx.clock().now() + self.ctx.config().sleep_timeout.max(ASK_AGAIN_MIN);
        self.timers.arm(TimerKind::Sleep, again);
    }

    pub(super) fn transition_to(&mut self, next: LifecycleState) {
        debug_assert!(self.state.may_become(next), "{:?} -> {next:?}", self.state);
        tracing::debug!(actor_id = %self.ctx.actor_id(), generation = self.ctx.generation(), old = ?self.state, new = ?next, "lifecycle transition");
        self.state = next;
        self.ctx.publish_lifecycle_state(next);
    }

    /// Refuses everything that is still queued, so that each caller may go to
    /// another generation.
    pub(super) fn refuse_leftovers(&mut self) {
        self.dispatch_inbox.close_and_refuse(|| {
            let refusal = self.ctx.refusal();
            refusal.unwrap_or_else(|| Error::new(&code::ACTOR_STOPPING))
        });
    }

    /// Answers what came after the loop was left: a stop is carried out, nothing
    /// is due any more, and nothing starts or is saved again.
    pub(super) fn end_inboxes(&mut self) {
        self.refuse_leftovers();
        self.lifecycle_inbox.close();
        while let Ok(command) = self.lifecycle_inbox.try_recv() {
            match command {
                LifecycleCommand::Start { reply } => {
                    reply.refuse(self.ctx.attach_actor(Error::new(&code::ACTOR_STOPPING)));
                }
                LifecycleCommand::Stop { reply, .. } | LifecycleCommand::FireAlarm { reply } => {
                    reply.send(Ok(()));
                }
                LifecycleCommand::Abandon => {}
            }
        }
        self.lifecycle_events.close();
        while let Ok(event) = self.lifecycle_events.try_recv() {
            if let LifecycleEvent::WorkflowFlushRequested { reply, .. } = event {
                reply.refuse(Error::new(&code::ACTOR_NOT_READY));
            }
        }
        for (_, reply) in self.persistence.workflow_queue.drain(..) {
            reply.refuse(Error::new(&code::ACTOR_NOT_READY));
        }
    }
}

/// Releases everybody who waits on the task, however it ends.
struct ExitGuard(ActorContext);

impl Drop for ExitGuard {
    fn drop(&mut self) {
        self.0.publish_lifecycle_state(LifecycleState::Terminated);
        self.0.abort_signal().cancel();
        self.0.shutdown_deadline().cancel();
        self.0.close_actor_events();
        self.0.with_book(|book| book.close());
    }
}
