//! The order of [`Wake`]s, on tasks to which everything has happened at once.

use std::future::poll_fn;
use std::task::Poll;

use greenroom_error::Error;

use crate::actor::deltas::Written;
use crate::actor::lifecycle::LifecycleState;
use crate::actor::messages::{DispatchCommand, LifecycleCommand, LifecycleEvent};
use crate::actor::persistence::PendingPersistence;
use crate::actor::task::{AdapterExit, Wake};
use crate::actor::task_fixture::Rig;
use crate::actor::timers::TimerKind;
use crate::reply::Reply;

/// Everything that can happen to a task, happened; the lowest first.
async fn let_everything_happen(rig: &mut Rig) {
    let now = rig.ctx.clock().now();
    rig.task.timers.arm(TimerKind::Sleep, now);
    rig.task.timers.arm(TimerKind::Save, now);
    rig.task.timers.set_alarm(Some(0));
    rig.task.persistence.running = Some(PendingPersistence::finished(Ok(Written::Yes)));
    rig.task.adapter = Some(tokio::spawn(async {
        Err::<(), _>(Error::internal("over"))
    }));
    tokio::task::yield_now().await;
    if let Some(dispatch) = &rig.dispatch {
        dispatch.send(DispatchCommand::WorkflowHistory {
            reply: Reply::ignored(),
        });
    }
    rig.task.timers.arm_grace(now);
    rig.ctx.0.work.poke_always();
    assert!(rig.ctx.send_lifecycle_event(LifecycleEvent::SleepTick));
    let alarm = LifecycleCommand::FireAlarm {
        reply: Reply::ignored(),
    };
    assert!(
        rig.lifecycle
            .as_ref()
            .is_some_and(|l| l.send(alarm).is_ok())
    );
}

async fn order(rig: &mut Rig) -> Vec<&'static str> {
    let mut order = Vec::new();
    loop {
        let next = poll_fn(|cx| Poll::Ready(rig.task.poll_next(cx))).await;
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
            Wake::AdapterExited(AdapterExit::Returned(Err(_))) => "adapter",
            Wake::AdapterExited(_) => "adapter ended otherwise",
            Wake::Persisted(_) => "persisted",
            Wake::Timer(TimerKind::Save) => "save timer",
            Wake::Timer(TimerKind::Sleep) => "sleep timer",
            Wake::AlarmDue => "alarm",
            Wake::InboxClosed(_) => "closed",
        });
        if order.last() == Some(&"adapter") {
            rig.task.adapter = None;
        }
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
        "adapter",
        "persisted",
        "alarm",
        "save timer",
        "sleep timer",
    ];
    for state in LifecycleState::ALL {
        let mut rig = Rig::in_state(state);
        let_everything_happen(&mut rig).await;
        let got = order(&mut rig).await;
        let expected: Vec<_> = expected
            .into_iter()
            .filter(|what| *what != "dispatch" || state.reads_dispatch())
            .collect();
        assert_eq!(got, expected, "{state:?}");
    }
}

#[tokio::test]
async fn while_the_preamble_runs_commands_and_client_work_wait_and_nothing_else_does() {
    let mut rig = Rig::starting();
    let_everything_happen(&mut rig).await;
    if let Some((_, ready)) = rig.started.take() {
        ready.send(Ok(()));
    }
    let expected = ["lifecycle event", "activity", "grace deadline", "startup"];
    let mut got = Vec::new();
    for _ in 0..expected.len() {
        let next = poll_fn(|cx| rig.task.poll_next(cx)).await;
        got.push(match next {
            Wake::Event(_) => "lifecycle event",
            Wake::Activity => "activity",
            Wake::GraceDeadline => "grace deadline",
            Wake::StartupReady(Ok(())) => "startup",
            _ => "something else",
        });
    }
    assert_eq!(got, expected);
}

#[tokio::test]
async fn a_save_in_flight_holds_the_save_timer_and_nothing_else() {
    let mut rig = Rig::in_state(LifecycleState::Started);
    rig.task.persistence.running = Some(PendingPersistence::hanging());
    let now = rig.ctx.clock().now();
    rig.task.timers.arm(TimerKind::Save, now);
    rig.task.timers.arm(TimerKind::Sleep, now);
    assert_eq!(order(&mut rig).await, ["sleep timer"]);
    rig.task.persistence.running = None;
    assert_eq!(order(&mut rig).await, ["save timer"]);
}
