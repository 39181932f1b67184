//! The alarm of one actor: what the host is told, and the run wake.

mod fixture;

use std::sync::atomic::Ordering;
use std::time::Duration;

use fixture::schedules::{action, awake};
use fixture::{Asked, settle};
use greenroom_core::*;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test]
async fn the_host_hears_of_each_alarm_once_and_keeps_it_over_sleep() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    let now = world.clock.now_ms();
    let late = ctx
        .schedule_after(9_000, action("tick"))
        .await
        .expect("after");
    ctx.schedule_after(9_500, action("tick"))
        .await
        .expect("after");
    ctx.schedule_after(2_000, action("tick"))
        .await
        .expect("after");
    ctx.set_run_wake_at(Some(now + 1_000))
        .await
        .expect("run wake");
    ctx.set_run_wake_at(None).await.expect("clear");
    ctx.schedule_cancel(late).await.expect("cancel");
    ctx.alarms_settled().await;
    world.stop(StopReason::SleepIntent).await.expect("sleep");
    let handle = world.start().await.expect("wake");
    handle.ctx().alarms_settled().await;
    let mut asked = Vec::new();
    while let Ok(wish) = world.asked.try_recv() {
        asked.push(wish);
    }
    let expected = [9_000, 2_000, 1_000, 2_000].map(|ms| Asked::Alarm(Some(now + ms)));
    assert_eq!(
        asked, expected,
        "and not again at sleep or at the next start"
    );
}

#[tokio::test]
async fn a_direct_alarm_and_the_schedules_do_not_take_each_others_place() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    let now = world.clock.now_ms();
    let mut last = async || world.asked.recv().await;
    ctx.set_alarm(Some(now + 5_000)).await.expect("alarm");
    assert_eq!(last().await, Some(Asked::Alarm(Some(now + 5_000))));
    ctx.schedule_after(9_000, action("tick"))
        .await
        .expect("after");
    ctx.schedule_after(3_000, action("tick"))
        .await
        .expect("after");
    assert_eq!(last().await, Some(Asked::Alarm(Some(now + 3_000))));
    ctx.set_alarm(None).await.expect("no alarm");
    ctx.set_alarm(Some(now + 1_000)).await.expect("alarm");
    assert_eq!(last().await, Some(Asked::Alarm(Some(now + 1_000))));
}

#[tokio::test]
async fn a_run_wake_is_consumed_when_it_is_carried_out_and_kept_when_it_is_not() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    let at = world.clock.now_ms() + 10_000;
    ctx.set_run_wake_at(Some(at)).await.expect("set");
    world.advance_firing(&handle, 10 * SECOND).await;
    assert_eq!(*world.script.run_wakes.lock(), [at]);
    assert_eq!(ctx.run_wake_at(), None);
    let refuse = &world.script.refuse_run_wake;
    refuse.store(true, Ordering::SeqCst);
    ctx.set_run_wake_at(Some(at + 1_000)).await.expect("set");
    world.advance(SECOND).await;
    while world.script.run_wakes.lock().len() < 2 {
        settle().await;
    }
    ctx.alarms_settled().await;
    assert_eq!(ctx.run_wake_at(), Some(at + 1_000), "kept");
    refuse.store(false, Ordering::SeqCst);
    world.advance_firing(&handle, 2 * SECOND).await;
    assert_eq!(world.script.run_wakes.lock().len(), 3, "tried again");
    assert_eq!(ctx.run_wake_at(), None);
}

#[tokio::test]
async fn a_run_wake_survives_a_crash_and_one_that_was_cleared_does_not() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    let at = world.clock.now_ms() + 10_000;
    handle.ctx().set_run_wake_at(Some(at)).await.expect("set");
    let handle = world.crash().await;
    assert_eq!(handle.ctx().run_wake_at(), Some(at));
    handle.ctx().set_run_wake_at(None).await.expect("clear");
    let handle = world.crash().await;
    world.advance_firing(&handle, HOUR).await;
    assert!(world.script.run_wakes.lock().is_empty());
}

#[tokio::test]
async fn a_host_that_fails_loses_no_claimed_work_and_hears_of_the_alarm_later() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    world.host.refuse_alarms(true);
    ctx.schedule_after(1_000, action("tick"))
        .await
        .expect("stored all the same");
    ctx.schedule_after(90_000, action("tick"))
        .await
        .expect("stored");
    world.advance(SECOND).await;
    while world.script.fires.lock().is_empty() {
        settle().await;
    }
    world.host.refuse_alarms(false);
    let due = 1_000_000 + 90_000;
    while world.asked.try_recv().ok() != Some(Asked::Alarm(Some(due))) {
        world.advance(SECOND).await;
    }
    assert_eq!(world.script.take_fires().len(), 1);
}

#[tokio::test]
async fn destroying_itself_inside_a_scheduled_action_leaves_no_alarm() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    ctx.schedule_after(1_000, action("destroy"))
        .await
        .expect("after");
    ctx.schedule_after(60_000, action("tick"))
        .await
        .expect("after");
    world.advance_firing(&handle, SECOND).await;
    let mut asked = Vec::new();
    while let Ok(wish) = world.asked.try_recv() {
        asked.push(wish);
    }
    assert!(asked.contains(&Asked::Destroy));
    world.stop(StopReason::StopIntent).await.expect("stop");
    assert_eq!(world.asked.recv().await, Some(Asked::Alarm(None)));
    assert!(world.asked.try_recv().is_err());
}
