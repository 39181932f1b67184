//! Schedules that are due together: what a crash, an end or a destroy in between
//! leaves of them.

mod fixture;

use std::sync::Arc;
use std::time::Duration;

use fixture::schedules::{action, awake};
use fixture::{World, settle};
use greenroom_core::*;

const SECOND: Duration = Duration::from_secs(1);

/// Twenty that are due together; the third has been called and not begun.
async fn twenty_of_which_the_third_is_about_to_begin(world: &mut World) -> Arc<ActorHandle> {
    let handle = world.start().await.expect("start");
    *world.script.hold_fires_from.lock() = Some(3);
    for n in 0..20 {
        let added = handle.ctx().schedule_after(1_000 + n, action("tick"));
        added.await.expect("after");
    }
    world.time.advance(2 * SECOND);
    world.script.parked.notified().await;
    *world.script.hold_fires_from.lock() = None;
    handle
}

#[tokio::test]
async fn a_crash_takes_along_no_due_action_but_those_that_were_called() {
    let mut world = awake();
    twenty_of_which_the_third_is_about_to_begin(&mut world).await;
    settle().await;
    assert_eq!(world.script.fires.lock().len(), 3);
    let handle = world.crash().await;
    settle().await;
    handle.ctx().alarms_settled().await;
    let fires = world.script.take_fires();
    let mut ids: Vec<_> = fires.iter().map(|fire| &fire.id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((fires.len(), ids.len()), (20, 20), "each is called once");
}

#[tokio::test]
async fn what_is_due_when_the_end_begins_is_left_to_the_next_generation() {
    let mut world = awake();
    twenty_of_which_the_third_is_about_to_begin(&mut world).await;
    let stop = world.stop(StopReason::GoingAway);
    let begin = async {
        settle().await;
        world.script.held_fires.lock().clear();
    };
    let (stopped, ()) = tokio::join!(stop, begin);
    stopped.expect("stop");
    assert_eq!(world.script.fires.lock().len(), 3);
    let handle = world.start().await.expect("wake");
    settle().await;
    handle.ctx().alarms_settled().await;
    assert_eq!(world.script.take_fires().len(), 20);
}

#[tokio::test]
async fn nothing_that_is_due_follows_an_action_that_destroyed_the_actor() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    for (at, name) in [(1_000, "tick"), (1_001, "destroy"), (1_002, "tick")] {
        let added = handle.ctx().schedule_after(at, action(name));
        added.await.expect("after");
    }
    world.time.advance(2 * SECOND);
    world.advance_firing(&handle, SECOND).await;
    let fires = world.script.take_fires();
    let called: Vec<_> = fires.iter().map(|fire| fire.action.as_str()).collect();
    assert_eq!(called, ["tick", "destroy"]);
    world.stop(StopReason::StopIntent).await.expect("stop");
}

#[tokio::test]
async fn ten_thousand_schedules_fire_in_order() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    let adds: Vec<_> = (0..10_000_u64)
        .map(|n| {
            let ctx = ctx.clone();
            // In an order of their own.
            let delay = 1_000 + (n * 7_919) % 10_000;
            tokio::spawn(async move { ctx.schedule_after(delay, action("tick")).await })
        })
        .collect();
    for add in adds {
        add.await.expect("task").expect("after");
    }
    world.advance_firing(&handle, 2 * SECOND).await;
    // And the rest at once.
    world.time.advance(20 * SECOND);
    world.advance_firing(&handle, SECOND).await;
    let fires = world.script.take_fires();
    assert_eq!(fires.len(), 10_000);
    assert!(fires.is_sorted_by_key(|fire| fire.scheduled_at));
    assert!(ctx.schedule_list().await.expect("list").is_empty());
}
