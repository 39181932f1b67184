//! Ends and starts that go wrong, or cross each other.

mod fixture;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fixture::{Asked, World, ask, call, settle};
use greenroom_core::actor::lifecycle::LifecycleState;
use greenroom_core::*;
use greenroom_error::code;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_host_that_never_answers_is_asked_again_and_the_actor_serves_on() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    for _ in 0..3 {
        world.advance(31 * SECOND).await;
        assert_eq!(world.asked.try_recv().ok(), Some(Asked::Sleep));
        assert!(handle.ctx().sleep_requested());
    }
    assert_eq!(ask(&handle, "increment").await.expect("served"), 1);
    world.stop(StopReason::SleepIntent).await.expect("at last");
    assert_eq!(world.time.armed(), 0);
}

#[tokio::test]
async fn a_stop_during_a_start_that_fails_ends_with_it_and_spares_the_next_generation() {
    let mut world = World::new();
    world.script.fail_preamble.store(true, Ordering::SeqCst);
    let actor = ActorRef {
        actor_id: world.actor_id,
        generation: 1,
    };
    let registry = Arc::clone(&world.registry);
    let (started, stopped) = tokio::join!(world.start(), async {
        tokio::task::yield_now().await;
        registry.stop_actor(actor, StopReason::Destroy).await
    });
    assert!(started.is_err());
    assert!(stopped.expect("nothing to stop").is_none());
    world.script.fail_preamble.store(false, Ordering::SeqCst);
    let next = world.start().await.expect("not stopped by an old wish");
    assert_eq!(ask(&next, "get").await.expect("get"), 0);
}

#[tokio::test]
async fn a_start_during_a_stop_waits_for_its_end() {
    let mut world = World::new();
    let first = world.start().await.expect("start");
    let old = world.actor();
    let parked = {
        let first = Arc::clone(&first);
        tokio::spawn(async move { ask(&first, "park").await })
    };
    world.script.parked.notified().await;
    ask(&first, "increment").await.expect("increment");
    let stop = {
        let registry = Arc::clone(&world.registry);
        tokio::spawn(async move { registry.stop_actor(old, StopReason::GoingAway).await })
    };
    settle().await;
    let script = Arc::clone(&world.script);
    let (second, ()) = tokio::join!(world.start(), async {
        settle().await;
        assert_eq!(script.log(), ["create", "on_sleep"], "not begun");
        script.unpark.notify_one();
    });
    let second = second.expect("second generation");
    stop.await.expect("task").expect("stopped");
    assert_eq!(parked.await.expect("task").expect("answered in grace"), 1);
    assert_eq!(ask(&second, "get").await.expect("get"), 1);
    assert_eq!(world.registry.instance_count(), 1);
}

#[tokio::test]
async fn an_adapter_that_returned_leaves_an_actor_that_can_be_stopped() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    let left = handle.action(&call("leave")).await.into_result();
    assert!(
        left.expect_err("nobody left")
            .is(&code::ACTOR_DROPPED_REPLY)
    );
    let late = handle.action(&call("get")).await.into_result();
    assert!(late.is_err(), "an error instead of silence");
    assert!(world.asked.try_recv().is_err(), "returning is no crash");
    let report = world.stop(StopReason::GoingAway).await.expect("stops");
    assert!(report.is_none());
    assert_eq!(world.host.open_databases(), 0);
}

#[tokio::test]
async fn wishes_are_taken_once_and_the_stronger_one_wins() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    ctx.sleep().expect("asked");
    ctx.sleep().expect("asked already");
    ctx.stop_with_error("first").expect("reported");
    ctx.stop_with_error("second").expect("replaces it");
    ctx.destroy().expect("stronger");
    let again = ctx.destroy().expect_err("twice");
    assert!(again.is(&code::ACTOR_STOPPING));
    let late = ctx.stop_with_error("third").expect_err("destroyed");
    assert!(late.is(&code::ACTOR_STOPPING));
    let mut asked = Vec::new();
    while let Ok(one) = world.asked.try_recv() {
        asked.push(one);
    }
    assert_eq!(
        asked,
        [Asked::Sleep, Asked::Crash("first".into()), Asked::Destroy]
    );
    let report = world.stop(StopReason::StopIntent).await.expect("stop");
    assert!(report.is_none(), "a destroy is no crash: {report:?}");
    let late = ctx.sleep().expect_err("over");
    assert!(late.is(&code::ACTOR_STOPPING));
}

#[tokio::test]
async fn a_save_requested_while_the_snapshot_is_in_flight_is_not_forgotten() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    let (one, two) = tokio::join!(
        ask(&handle, "increment_durably"),
        ask(&handle, "increment_durably")
    );
    assert_eq!(one.expect("saved").max(two.expect("saved")), 2);
    let next = world.crash().await;
    assert_eq!(ask(&next, "get").await.expect("get"), 2);
}

#[tokio::test]
async fn a_running_request_holds_off_idle_sleep_and_is_drained_in_grace() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    let request = {
        let handle = Arc::clone(&handle);
        tokio::spawn(async move { handle.http(Box::default()).await.into_result() })
    };
    world.script.parked.notified().await;
    assert_eq!(handle.ctx().work_counts().http_requests, 1);
    world.advance(59 * SECOND).await;
    assert!(world.asked.try_recv().is_err(), "busy");
    let finish = async {
        settle().await;
        world.script.unpark.notify_one();
        let response = request.await.expect("task").expect("answered in grace");
        assert_eq!(response.status, 204);
        settle().await;
        // Counted until its body has ended, which is when the response is dropped.
        assert!(!handle.ctx().shutdown_deadline().is_cancelled());
        assert_eq!(handle.ctx().lifecycle_state(), LifecycleState::SleepGrace);
        drop(response);
    };
    let (stopped, ()) = tokio::join!(world.stop(StopReason::GoingAway), finish);
    stopped.expect("stop");
}
