//! The order of [`Wake`]s, on a task whose inboxes are all full at once.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use greenroom_error::Result;
use greenroom_store::{Database, Store, StoreOptions};
use greenroom_wire::{ActorId, ActorKey};
use tokio::sync::mpsc;

use crate::actor::context::{ActorContext, ContextParts, Identity};
use crate::actor::factory::{ActorEvents, ActorFactory};
use crate::actor::lifecycle::LifecycleState;
use crate::actor::messages::{DispatchCommand, LifecycleCommand, LifecycleEvent};
use crate::actor::task::{ActorTask, Inboxes, StartPhase, Wake};
use crate::actor::timers::TimerKind;
use crate::actor::work::WorkRegistry;
use crate::actor::{DispatchSender, ProcessPending, dispatch_channel};
use crate::clock::{Clock, ManualClock};
use crate::config::ActorConfig;
use crate::host::{ActorRef, ClientEndpoint, HibernationId, Host, HostFuture};
use crate::reply::Reply;

struct Nowhere(Store);

impl Host for Nowhere {
    fn open_storage(&self, actor: ActorRef) -> Result<Database> {
        Ok(self.0.database(actor.actor_id.to_string()))
    }
    fn set_alarm(&self, _: ActorRef, _: Option<i64>) -> HostFuture<Result<()>> {
        Box::pin(async { Ok(()) })
    }
    fn request_sleep(&self, _: ActorRef) {}
    fn request_stop(&self, _: ActorRef, _: Option<String>) {}
    fn region(&self) -> String {
        String::new()
    }
    fn client_endpoint(&self) -> ClientEndpoint {
        ClientEndpoint::default()
    }
    fn ack_hibernating_message(&self, _: ActorRef, _: HibernationId, _: u16) {}
}

struct Full {
    task: ActorTask,
    _lifecycle: mpsc::UnboundedSender<LifecycleCommand>,
    _dispatch: DispatchSender,
    _time: ManualClock,
}

/// A started task in which everything has happened already.
#[expect(clippy::disallowed_methods, reason = "a test's own queues")]
fn everything_at_once(state: LifecycleState) -> Full {
    let (clock, time) = Clock::manual(0);
    let factory = Arc::new(ActorFactory::new(ActorConfig::default(), |_| async {
        Ok(())
    }));
    let actor = ActorRef {
        actor_id: ActorId::generate(),
        generation: 1,
    };
    let host: Arc<dyn Host> = Arc::new(Nowhere(Store::new(StoreOptions::default())));
    let sql = host.open_storage(actor).expect("lazy handle");
    let work = WorkRegistry::new(clock.clone());
    let (lifecycle, lifecycle_inbox) = mpsc::unbounded_channel();
    let (lifecycle_events, events_inbox) = mpsc::unbounded_channel();
    let (actor_events, adapter_inbox) = mpsc::unbounded_channel();
    let (dispatch, dispatch_inbox) = dispatch_channel(9, Arc::clone(&work), ProcessPending::new(9));
    let ctx = ActorContext::new(ContextParts {
        identity: Identity {
            actor,
            name: "a".into(),
            key: ActorKey::new(["k"]).expect("short key"),
            region: String::new(),
        },
        factory: Arc::clone(&factory),
        clock: clock.clone(),
        host,
        sql,
        input: None,
        work,
        lifecycle_events,
        actor_events,
    });
    let mut task = ActorTask::new(
        ctx.clone(),
        factory,
        Inboxes {
            lifecycle: lifecycle_inbox,
            events: events_inbox,
            dispatch: dispatch_inbox,
            adapter: ActorEvents::new(adapter_inbox),
        },
    );
    task.state = state;
    task.start = StartPhase::Done;
    let now = clock.now();
    task.timers.arm(TimerKind::Sleep, now);
    task.timers.arm(TimerKind::Save, now);
    task.timers.arm_grace(now);
    task.timers.set_alarm(Some(0));
    dispatch.send(DispatchCommand::WorkflowHistory {
        reply: Reply::ignored(),
    });
    ctx.0.work.poke_always();
    assert!(ctx.send_lifecycle_event(LifecycleEvent::SleepTick));
    let alarm = LifecycleCommand::FireAlarm {
        reply: Reply::ignored(),
    };
    assert!(lifecycle.send(alarm).is_ok());
    Full {
        task,
        _lifecycle: lifecycle,
        _dispatch: dispatch,
        _time: time,
    }
}

async fn order(mut full: Full) -> Vec<&'static str> {
    let mut order = Vec::new();
    loop {
        let next = poll_fn(|cx| Poll::Ready(full.task.poll_next(cx))).await;
        let Poll::Ready(wake) = next else {
            return order;
        };
        order.push(match wake {
            Wake::Lifecycle(_) => "lifecycle command",
            Wake::Event(_) => "lifecycle event",
            Wake::Activity => "activity",
            Wake::GraceDeadline => "grace deadline",
            Wake::Dispatch(_) => "dispatch",
            Wake::StartupReady(_) => "startup",
            Wake::AdapterExited(_) => "adapter",
            Wake::Persisted(_) => "persisted",
            Wake::Timer(TimerKind::Save) => "save timer",
            Wake::Timer(TimerKind::Sleep) => "sleep timer",
            Wake::AlarmDue => "alarm",
            Wake::InboxClosed(_) => "closed",
        });
    }
}

#[tokio::test]
async fn each_class_overtakes_the_lower_ones_whatever_arrived_first() {
    let expected = [
        "lifecycle command",
        "lifecycle event",
        "activity",
        "grace deadline",
        "dispatch",
        "alarm",
        "save timer",
        "sleep timer",
    ];
    for state in LifecycleState::ALL {
        let got = order(everything_at_once(state)).await;
        let expected: Vec<_> = expected
            .into_iter()
            .filter(|what| *what != "dispatch" || state.reads_dispatch())
            .collect();
        assert_eq!(got, expected, "{state:?}");
    }
}
