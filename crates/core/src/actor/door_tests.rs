//! Who still gets in while the task decides that nothing runs any more.

use std::sync::Arc;

use futures_util::FutureExt;
use greenroom_error::{Result, code};

use crate::actor::connection::{ConnTransport, ConnectOptions};
use crate::actor::lifecycle::LifecycleState;
use crate::actor::messages::ShutdownKind;
use crate::actor::task_fixture::Rig;
use crate::actor::work::ActorWorkKind;

/// In grace, with its hooks done.
async fn almost_over() -> Rig {
    let mut rig = Rig::in_state(LifecycleState::SleepGrace);
    drop(rig.take_adapter_events());
    while rig.ctx.work_counts().core_hooks > 0 {
        tokio::task::yield_now().await;
    }
    rig
}

#[tokio::test]
async fn work_that_is_counted_before_the_last_look_is_drained() {
    let mut rig = almost_over().await;
    let coming = rig.ctx.begin_work(ActorWorkKind::InternalKeepAwake);
    assert!(rig.task.try_finish_grace().is_none());
    assert!(rig.ctx.refusal().is_none(), "others still get in");
    drop(coming);
    assert!(rig.task.try_finish_grace().is_some());
}

#[tokio::test]
async fn nobody_gets_in_after_the_last_look() {
    let mut rig = almost_over().await;
    let early = rig.ctx.connect(ConnectOptions::default()).now_or_never();
    early.expect("at once").expect("connects during grace");
    assert!(rig.task.try_finish_grace().is_some());
    // The state has not changed yet; the answer has.
    assert_eq!(rig.ctx.lifecycle_state(), LifecycleState::SleepGrace);
    assert!(
        rig.ctx
            .refusal()
            .is_some_and(|e| e.is(&code::ACTOR_STOPPING))
    );
    let late = rig.ctx.connect(ConnectOptions::default()).now_or_never();
    let error = late.expect("at once").expect_err("too late");
    assert!(error.is(&code::ACTOR_NOT_CONFIGURED), "{error}");
    assert_eq!(rig.ctx.work_counts().internal_keep_awake, 0);
}

#[tokio::test]
async fn nobody_new_gets_in_once_the_adapter_has_waited_for_the_work_of_a_sleep() {
    let rig = almost_over().await;
    let work = rig.ctx.begin_work(ActorWorkKind::Action);
    let mut waiting = Box::pin(rig.ctx.wait_for_tracked_shutdown_work());
    assert!(waiting.as_mut().now_or_never().is_none());
    assert!(
        rig.ctx.refusal().is_none(),
        "while work is under way others get in"
    );
    drop(work);
    assert!(waiting.await, "all work is done");
    assert!(
        rig.ctx
            .refusal()
            .is_some_and(|e| e.is(&code::ACTOR_STOPPING))
    );
}

#[tokio::test]
async fn an_adapter_that_waits_for_work_while_the_actor_lives_sends_nobody_away() {
    let rig = Rig::in_state(LifecycleState::Started);
    assert!(rig.ctx.wait_for_tracked_shutdown_work().await);
    assert!(rig.ctx.refusal().is_none());
}

#[tokio::test]
async fn nobody_new_gets_in_to_an_actor_that_could_not_save_nor_in_its_grace() {
    let mut rig = Rig::in_state(LifecycleState::Started);
    rig.ctx.end_unsaved("scripted");
    let is_refused = |rig: &Rig| {
        let refusal = rig.ctx.refusal();
        refusal.is_some_and(|e| e.is(&code::ACTOR_STOPPING))
    };
    assert!(is_refused(&rig));
    rig.begin_grace(ShutdownKind::Sleep);
    assert!(is_refused(&rig), "what grace allows puts nothing off");
}

struct Silent;

impl ConnTransport for Silent {
    fn send_event(&self, _: &crate::OutboundEvent) -> Result<()> {
        Ok(())
    }
    fn close(&self, _: u16, _: &str) {}
}

#[tokio::test]
async fn a_client_that_is_gone_leaves_nothing_to_whoever_keeps_its_connection() {
    let rig = Rig::in_state(LifecycleState::Started);
    let transport = Arc::new(Silent);
    let options = ConnectOptions {
        transport: Some(transport.clone()),
        ..ConnectOptions::default()
    };
    let conn = rig.ctx.connect(options).now_or_never();
    let conn = conn.expect("at once").expect("connects");
    assert!(conn.has_transport());
    rig.ctx.connection_closed(conn.id());
    assert!(!conn.has_transport());
    assert_eq!(Arc::strong_count(&transport), 1);
}
