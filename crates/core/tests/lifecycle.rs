//! Start, sleep, wake and destroy of one actor, driven from the host's side.

mod fixture;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fixture::{Asked, World, ask, call, settle};
use greenroom_core::*;
use greenroom_error::code;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn state_survives_sleep_and_the_hooks_run_once() {
    let mut world = World::new();
    let first = world.start().await.expect("start");
    assert_eq!(ask(&first, "increment").await.expect("increment"), 1);
    world.stop(StopReason::GoingAway).await.expect("stop");
    assert!(matches!(
        world.registry.lookup(&world.actor_id),
        Lookup::Absent
    ));
    let second = world.start().await.expect("wake");
    assert_eq!(ask(&second, "get").await.expect("get"), 1);
    assert_eq!(world.script.log(), ["create", "on_sleep", "wake"]);
}

#[tokio::test]
async fn an_idle_actor_asks_for_sleep_after_its_timeout_and_holds_no_timer_after() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    world.advance(20 * SECOND).await;
    ask(&handle, "get").await.expect("get");
    world.advance(29 * SECOND).await;
    assert!(
        world.asked.try_recv().is_err(),
        "activity restarts the wait"
    );
    world.advance(2 * SECOND).await;
    assert_eq!(world.asked.recv().await, Some(Asked::Sleep));
    world.stop(StopReason::SleepIntent).await.expect("stop");
    drop(handle);
    assert_eq!(world.time.armed(), 0);
}

#[tokio::test]
async fn a_start_that_takes_long_is_no_idleness() {
    let mut world = World::new();
    let (script, time) = (Arc::clone(&world.script), world.time.clone());
    script.park_preamble.store(true, Ordering::SeqCst);
    let slow = async {
        script.parked.notified().await;
        time.advance(25 * SECOND);
        script.unpark.notify_one();
    };
    let (handle, ()) = tokio::join!(world.start(), slow);
    let _handle = handle.expect("start");
    world.advance(29 * SECOND).await;
    assert!(world.asked.try_recv().is_err(), "it has just started");
    world.advance(2 * SECOND).await;
    assert_eq!(world.asked.recv().await, Some(Asked::Sleep));
}

#[tokio::test]
async fn a_running_action_holds_off_idle_sleep_until_it_ends() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    let parked = {
        let handle = Arc::clone(&handle);
        tokio::spawn(async move { ask(&handle, "park").await })
    };
    world.script.parked.notified().await;
    world.advance(50 * SECOND).await;
    assert!(world.asked.try_recv().is_err());
    world.script.unpark.notify_one();
    parked.await.expect("task").expect("park");
    world.advance(31 * SECOND).await;
    assert_eq!(world.asked.recv().await, Some(Asked::Sleep));
}

#[tokio::test]
async fn accepted_work_is_answered_during_grace() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    let parked = {
        let handle = Arc::clone(&handle);
        tokio::spawn(async move { ask(&handle, "park").await })
    };
    world.script.parked.notified().await;
    let stop = world.stop(StopReason::GoingAway);
    let finish = async {
        settle().await;
        assert_eq!(ask(&handle, "increment").await.expect("in grace"), 1);
        world.script.unpark.notify_one();
    };
    let (stopped, ()) = tokio::join!(stop, finish);
    stopped.expect("stop");
    assert_eq!(parked.await.expect("task").expect("park"), 1);
    let next = world.start().await.expect("wake");
    assert_eq!(ask(&next, "get").await.expect("get"), 1);
}

#[tokio::test]
async fn grace_ends_at_its_deadline_and_the_rest_is_cut() {
    let mut world = World::new();
    world.script.hang_cleanup.store(true, Ordering::SeqCst);
    let handle = world.start().await.expect("start");
    ask(&handle, "increment").await.expect("increment");
    let stop = world.stop(StopReason::GoingAway);
    let (stopped, ()) = tokio::join!(stop, world.advance(16 * SECOND));
    stopped.expect("stop");
    world.script.hang_cleanup.store(false, Ordering::SeqCst);
    let next = world.start().await.expect("wake");
    assert_eq!(ask(&next, "get").await.expect("kept"), 1);
}

#[tokio::test]
async fn work_for_an_ended_generation_is_refused_not_lost() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    world.stop(StopReason::GoingAway).await.expect("stop");
    assert!(matches!(
        handle.action(&call("increment")).await,
        Answer::Refused(_)
    ));
}

#[tokio::test]
async fn destroy_refuses_new_work_at_once_and_reports_completion() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    ask(&handle, "destroy").await.expect("destroy");
    assert_eq!(world.asked.recv().await, Some(Asked::Destroy));
    match handle.action(&call("get")).await {
        Answer::Refused(error) => assert!(error.is(&code::ACTOR_DESTROYING)),
        Answer::Done(_) => panic!("ran after destroy"),
    }
    world.stop(StopReason::StopIntent).await.expect("stop");
    handle.ctx().wait_for_destroy_completion().await;
    assert_eq!(world.script.log(), ["create", "on_destroy"]);
    // The alarm of a destroyed actor is cleared only if one was set.
    assert!(world.asked.try_recv().is_err());
}

#[tokio::test]
async fn a_failed_preamble_fails_the_start_with_its_own_error_and_leaves_nothing() {
    let mut world = World::new();
    world.script.fail_preamble.store(true, Ordering::SeqCst);
    let error = world.start().await.err().expect("fails");
    assert_eq!((error.group(), error.code()), ("user", "no_start"));
    assert!(error.actor().is_some());
    assert_eq!(world.registry.instance_count(), 0);
    world.script.fail_preamble.store(false, Ordering::SeqCst);
    world.start().await.expect("next start");
    assert_eq!(world.script.log(), ["create", "create"], "still new");
}

#[tokio::test]
async fn a_panicking_entry_fails_the_start_as_panicked() {
    let mut world = World::new();
    world.script.panic_in_entry.store(true, Ordering::SeqCst);
    let error = world.start().await.err().expect("fails");
    assert!(error.is(&code::ACTOR_PANICKED), "{error}");
}

#[tokio::test]
async fn a_stop_during_start_waits_for_it_and_one_of_an_old_generation_does_nothing() {
    let mut world = World::new();
    world.start().await.expect("start");
    let old = world.actor();
    world.stop(StopReason::GoingAway).await.expect("stop");
    let handle = world.start().await.expect("second generation");
    let stale = world.registry.stop_actor(old, StopReason::Destroy).await;
    assert!(stale.expect("stale stop").is_none());
    assert_eq!(ask(&handle, "get").await.expect("alive"), 0);
    let twice = tokio::join!(
        world.stop(StopReason::GoingAway),
        world.stop(StopReason::GoingAway)
    );
    twice.0.expect("first");
    twice.1.expect("second");
}

#[tokio::test]
async fn an_unregistered_name_leaves_no_entry_behind() {
    let world = World::new();
    let host: Arc<dyn Host> = world.host.clone();
    let start = StartActor {
        actor: ActorRef {
            actor_id: world.actor_id,
            generation: 1,
        },
        name: "nobody".into(),
        key: greenroom_wire::ActorKey::new(["k"]).expect("short key"),
        input: None,
    };
    let error = world.registry.start_actor(host, start).await.err();
    assert!(error.expect("fails").is(&code::ACTOR_NOT_REGISTERED));
    assert_eq!(world.registry.instance_count(), 0);
}

#[tokio::test]
async fn an_abandoned_start_ends_its_task_before_another_generation_may_run() {
    let mut world = World::new();
    {
        let mut start = std::pin::pin!(world.start());
        // Polled once, so that the task exists, then dropped.
        let polled = futures_util::poll!(start.as_mut());
        assert!(polled.is_pending());
    }
    assert!(matches!(
        world.registry.lookup(&world.actor_id),
        Lookup::Starting
    ));
    world.registry.changed(&world.actor_id).await;
    assert_eq!(world.registry.instance_count(), 0);
    let handle = world.start().await.expect("next generation");
    assert_eq!(ask(&handle, "get").await.expect("get"), 0);
}

#[tokio::test]
async fn a_crashed_adapter_is_reported_and_the_stop_that_follows_still_closes() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    let answer = handle.action(&call("panic_adapter")).await.into_result();
    assert!(answer.expect_err("died").is(&code::ACTOR_DROPPED_REPLY));
    match world.asked.recv().await {
        Some(Asked::Crash(text)) => assert!(text.contains("panicked"), "{text}"),
        other => panic!("asked {other:?}"),
    }
    let report = world.stop(StopReason::SleepIntent).await.expect("stops");
    assert!(report.is_some_and(|text| text.contains("panicked")));
    let next = world.start().await.expect("wakes again");
    assert_eq!(ask(&next, "get").await.expect("get"), 0);
}

#[tokio::test]
async fn many_lifecycles_leave_nothing_open() {
    let mut world = World::new();
    for round in 0..50 {
        let handle = world.start().await.expect("start");
        assert_eq!(ask(&handle, "increment").await.expect("count"), round + 1);
        world.stop(StopReason::GoingAway).await.expect("stop");
    }
    assert_eq!(world.registry.instance_count(), 0);
    assert_eq!(world.time.armed(), 0);
    assert_eq!(world.host.open_databases(), 0);
}

#[tokio::test]
async fn an_abandoned_actor_ends_without_hooks_and_keeps_what_was_acknowledged() {
    let mut world = World::new();
    let first = world.start().await.expect("start");
    ask(&first, "increment_durably").await.expect("saved");
    ask(&first, "increment").await.expect("not saved yet");
    world.registry.abandon_actor(world.actor()).await;
    assert!(matches!(
        world.registry.lookup(&world.actor_id),
        Lookup::Absent
    ));
    let late = first.action(&call("get")).await;
    assert!(matches!(late, Answer::Refused(_)));
    let second = world.start().await.expect("wake");
    assert_eq!(ask(&second, "get").await.expect("get"), 1);
    assert_eq!(world.script.log(), ["create", "wake"]);
}

#[tokio::test]
async fn a_change_between_the_call_and_the_wait_is_not_missed() {
    let mut world = World::new();
    world.start().await.expect("start");
    let changed = world.registry.changed(&world.actor_id);
    world.stop(StopReason::GoingAway).await.expect("stop");
    changed.await;
}

#[tokio::test]
async fn a_call_that_comes_when_grace_is_all_but_over_is_left_to_the_next_generation() {
    let config = ActorConfig {
        sleep_grace_period: Duration::from_secs(10),
        ..ActorConfig::default()
    };
    let mut world = World::with_config(config);
    let handle = world.start().await.expect("start");
    let parked = tokio::spawn({
        let handle = Arc::clone(&handle);
        async move { ask(&handle, "park").await }
    });
    world.script.parked.notified().await;
    let calls = async {
        world.advance(Duration::from_millis(9_499)).await;
        ask(&handle, "get").await.expect("there is time");
        world.advance(Duration::from_millis(1)).await;
        let late = handle.action(&call("get")).await;
        assert!(matches!(late, Answer::Refused(error) if error.is(&code::ACTOR_STOPPING)));
        // Who is in has the rest of the time.
        world.script.unpark.notify_one();
    };
    let (stopped, ()) = tokio::join!(world.stop(StopReason::SleepIntent), calls);
    stopped.expect("stops");
    parked.await.expect("task").expect("answered");
}
