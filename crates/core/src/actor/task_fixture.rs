//! A task without a registry around it, put into any state by a test.

use std::sync::Arc;

use bytes::Bytes;
use greenroom_error::Result;
use greenroom_store::{Database, Store, StoreOptions};
use greenroom_wire::{ActorId, ActorKey};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::actor::context::{ActorContext, ContextParts, Identity};
use crate::actor::factory::{ActorEvents, ActorFactory, ActorStart};
use crate::actor::lifecycle::LifecycleState;
use crate::actor::messages::{ActorEvent, LifecycleCommand, ShutdownKind};
use crate::actor::task::{ActorTask, Inboxes, PendingStart, StartPhase};
use crate::actor::work::WorkRegistry;
use crate::actor::{DispatchSender, ProcessPending, dispatch_channel};
use crate::clock::{Clock, ManualClock};
use crate::config::ActorConfig;
use crate::host::{ActorRef, ClientEndpoint, HibernationId, Host, HostFuture};
use crate::reply::{Reply, ReplyReceiver, reply};

/// A host that notes what it is asked for.
pub(super) struct NotingHost {
    folder: tempfile::TempDir,
    store: Store,
    pub asked: Mutex<Vec<&'static str>>,
}

impl Host for NotingHost {
    fn open_storage(&self, actor: ActorRef) -> Result<Database> {
        let path = self.folder.path().join(format!("{}.db", actor.actor_id));
        Ok(self.store.database(path))
    }
    fn set_alarm(&self, _: ActorRef, _: Option<i64>) -> HostFuture<Result<()>> {
        Box::pin(async { Ok(()) })
    }
    fn request_sleep(&self, _: ActorRef) {
        self.asked.lock().push("sleep");
    }
    fn request_stop(&self, _: ActorRef, error: Option<String>) {
        let what = error.map_or("destroy", |_| "stop with error");
        self.asked.lock().push(what);
    }
    fn region(&self) -> String {
        String::new()
    }
    fn client_endpoint(&self) -> ClientEndpoint {
        ClientEndpoint::default()
    }
    fn ack_hibernating_message(&self, _: ActorRef, _: HibernationId, _: u16) {}
}

/// A task with both ends of all its channels.
pub(super) struct Rig {
    pub task: ActorTask,
    pub ctx: ActorContext,
    pub host: Arc<NotingHost>,
    pub time: ManualClock,
    pub lifecycle: Option<mpsc::UnboundedSender<LifecycleCommand>>,
    pub dispatch: Option<DispatchSender>,
    /// The adapter's end, unless the task still holds it.
    pub adapter: Option<ActorEvents>,
    /// Answer of the stop that led to the state.
    pub stopped: Option<ReplyReceiver<()>>,
    /// Answer of a start under way, and the right to end it.
    pub started: Option<(ReplyReceiver<()>, Reply<()>)>,
}

impl Rig {
    /// A task in `Loading`, whose adapter reports ready at once when it starts.
    #[expect(clippy::disallowed_methods, reason = "a test's own queues")]
    pub fn loading() -> Self {
        let (clock, time) = Clock::manual(0);
        let entry = |mut start: ActorStart| async move {
            start.startup_ready.send(Ok(()));
            while start.events.recv().await.is_some() {}
            Ok(())
        };
        let factory = Arc::new(ActorFactory::new(ActorConfig::default(), entry));
        let actor = ActorRef {
            actor_id: ActorId::generate(),
            generation: 1,
        };
        let noting = Arc::new(NotingHost {
            folder: tempfile::tempdir().expect("temporary folder"),
            store: Store::new(StoreOptions::default()),
            asked: Mutex::default(),
        });
        let host: Arc<dyn Host> = noting.clone();
        let sql = host.open_storage(actor).expect("lazy handle");
        let work = WorkRegistry::new(clock.clone());
        let (lifecycle, lifecycle_inbox) = mpsc::unbounded_channel();
        let (lifecycle_events, events_inbox) = mpsc::unbounded_channel();
        let (actor_events, adapter_inbox) = mpsc::unbounded_channel();
        let (dispatch, dispatch_inbox) =
            dispatch_channel(9, Arc::clone(&work), ProcessPending::new(9));
        let ctx = ActorContext::new(ContextParts {
            identity: Identity {
                actor,
                name: "a".into(),
                key: ActorKey::new(["k"]).expect("short key"),
                region: String::new(),
            },
            factory: Arc::clone(&factory),
            clock,
            host,
            sql,
            input: None,
            work,
            lifecycle_events,
            actor_events,
        });
        let inboxes = Inboxes {
            lifecycle: lifecycle_inbox,
            events: events_inbox,
            dispatch: dispatch_inbox,
            adapter: ActorEvents::new(adapter_inbox),
        };
        Self {
            task: ActorTask::new(ctx.clone(), factory, inboxes),
            ctx,
            host: noting,
            time,
            lifecycle: Some(lifecycle),
            dispatch: Some(dispatch),
            adapter: None,
            stopped: None,
            started: None,
        }
    }

    /// As a start leaves it while the preamble of user code runs.
    pub fn starting() -> Self {
        let mut rig = Self::loading();
        let (ready_reply, ready) = reply();
        let (start_reply, started) = reply();
        let waiting = StartPhase::Waiting(PendingStart {
            ready,
            reply: start_reply,
            is_new: false,
            corked: false,
            began: rig.task.ctx.clock().now(),
            loaded: rig.task.ctx.clock().now(),
        });
        let before = std::mem::replace(&mut rig.task.start, waiting);
        if let StartPhase::Before(events) = before {
            rig.adapter = Some(events);
        }
        rig.task.transition_to(LifecycleState::Started);
        rig.started = Some((started, ready_reply));
        rig
    }

    /// A task in `state`, reached as in life, with nothing left to do.
    pub fn in_state(state: LifecycleState) -> Self {
        use LifecycleState as S;
        if state == S::Loading {
            return Self::loading();
        }
        let mut rig = Self::starting();
        rig.task.start = StartPhase::Done;
        rig.started = None;
        match state {
            S::Loading | S::Started => {}
            S::SleepGrace => rig.begin_grace(ShutdownKind::Sleep),
            S::DestroyGrace => rig.begin_grace(ShutdownKind::Destroy),
            S::SleepFinalize => rig.leave_loop(ShutdownKind::Sleep),
            S::Destroying => rig.leave_loop(ShutdownKind::Destroy),
            S::Terminated => {
                rig.leave_loop(ShutdownKind::Sleep);
                rig.task.transition_to(S::Terminated);
            }
        }
        rig
    }

    pub fn begin_grace(&mut self, kind: ShutdownKind) {
        let (answer, stopped) = reply();
        self.stopped = Some(stopped);
        self.task.stopping = Some((kind, answer));
        self.task.begin_grace(kind);
    }

    fn leave_loop(&mut self, kind: ShutdownKind) {
        self.begin_grace(kind);
        self.task.transition_to(LifecycleState::finalize_of(kind));
        self.task.timers.clear();
        self.ctx.close_actor_events();
    }

    /// Events that the adapter was given and has not taken yet. Dropping them
    /// answers them.
    pub fn take_adapter_events(&mut self) -> Vec<ActorEvent> {
        let events = self.adapter.as_mut();
        events.map_or_else(Vec::new, |events| {
            std::iter::from_fn(|| events.try_recv()).collect()
        })
    }
}

/// A state of one byte.
pub(super) fn one_byte() -> Bytes {
    Bytes::from_static(&[1])
}
