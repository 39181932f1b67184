//! Scheduled actions and recurring jobs of one actor, on a manual clock.

mod fixture;

use std::time::Duration;

use fixture::schedules::{action, awake};
use fixture::{Asked, Fired, World, ask, settle};
use greenroom_core::*;
use greenroom_error::{Result, code};
use greenroom_store::FireResult;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY_MS: i64 = 86_400_000;
/// 1 January 2026, midnight UTC.
const NEW_YEAR: i64 = 1_767_225_600_000;

fn job(name: &str, action_name: &str) -> NewJob {
    NewJob {
        name: name.to_owned(),
        call: action(action_name),
        max_history: None,
    }
}

async fn every(ctx: &ActorContext, name: &str, seconds: i64) {
    let set = ctx.cron_every(job(name, "tick"), seconds * 1_000).await;
    set.expect("set");
}

fn times(fires: &[Fired]) -> Vec<i64> {
    fires.iter().map(|fire| fire.fired_at).collect()
}

async fn results(ctx: &ActorContext, name: &str) -> Vec<&'static str> {
    let history = ctx.cron_history(name, None).await.expect("history");
    history.iter().map(|fire| fire.result.label()).collect()
}

#[tokio::test]
async fn a_schedule_fires_once_at_its_time() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    let now = world.clock.now_ms();
    let id = ctx
        .schedule_after(60_000, action("tick"))
        .await
        .expect("after");
    let info = ctx
        .schedule_get(id.clone())
        .await
        .expect("get")
        .expect("there");
    assert_eq!((info.run_at, info.action.as_str()), (now + 60_000, "tick"));
    world.advance_firing(&handle, 59 * SECOND).await;
    assert!(world.script.take_fires().is_empty());
    world.advance_firing(&handle, HOUR).await;
    let fired = Fired {
        action: "tick".into(),
        id: id.clone(),
        scheduled_at: now + 60_000,
        fired_at: now + 60_000,
    };
    assert_eq!(world.script.take_fires(), [fired]);
    assert!(ctx.schedule_get(id.clone()).await.expect("get").is_none());
    assert!(!ctx.schedule_cancel(id).await.expect("cancel"));
}

#[tokio::test]
async fn a_schedule_in_the_past_fires_at_once_and_a_cancelled_one_never() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    ctx.schedule_at(-5, action("tick")).await.expect("at");
    let later = ctx.schedule_at(i64::MAX, action("tick")).await.expect("at");
    let id = ctx
        .schedule_after(1_000, action("tick"))
        .await
        .expect("after");
    assert!(ctx.schedule_cancel(id).await.expect("cancel"));
    world.advance_firing(&handle, HOUR).await;
    assert_eq!(world.script.take_fires().len(), 1);
    let left = ctx.schedule_list().await.expect("list");
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].id, later);
}

#[tokio::test]
async fn sixty_days_are_no_problem() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    let delay = 60 * 24 * HOUR;
    let ms = delay.as_millis() as u64;
    handle
        .ctx()
        .schedule_after(ms, action("tick"))
        .await
        .expect("after");
    world.advance_firing(&handle, delay - SECOND).await;
    assert!(world.script.take_fires().is_empty());
    world.advance_firing(&handle, SECOND).await;
    assert_eq!(world.script.take_fires().len(), 1);
}

#[tokio::test]
async fn a_schedule_set_before_a_crash_fires_once_after_it() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    let now = world.clock.now_ms();
    handle
        .ctx()
        .schedule_after(1_000, action("tick"))
        .await
        .expect("after");
    assert_eq!(
        world.asked.recv().await,
        Some(Asked::Alarm(Some(now + 1_000)))
    );
    world.registry.abandon_actor(world.actor()).await;
    world.time.advance(HOUR);
    let handle = world.start().await.expect("the host's alarm wakes it");
    settle().await;
    handle.ctx().alarms_settled().await;
    let fires = world.script.take_fires();
    assert_eq!(times(&fires), [now + 3_600_000]);
    assert_eq!(fires[0].scheduled_at, now + 1_000);
    assert_eq!(world.asked.recv().await, Some(Asked::Alarm(None)));
    let handle = world.crash().await;
    handle.ctx().alarms_settled().await;
    assert!(world.script.take_fires().is_empty(), "not a second time");
}

#[tokio::test]
async fn an_interval_keeps_its_phase_and_missed_fires_collapse_into_one() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    let start = world.clock.now_ms();
    every(handle.ctx(), "beat", 10).await;
    world.advance_firing(&handle, 31 * SECOND).await;
    let expected: Vec<i64> = (1..=3).map(|n| start + n * 10_000).collect();
    assert_eq!(times(&world.script.take_fires()), expected);
    world.stop(StopReason::GoingAway).await.expect("sleep");
    world.time.advance(64 * SECOND);
    let handle = world.start().await.expect("wake");
    world.advance_firing(&handle, 6 * SECOND).await;
    let fires = world.script.take_fires();
    assert_eq!(times(&fires), [start + 95_000, start + 100_000]);
    assert_eq!(fires[0].scheduled_at, start + 40_000);
}

#[tokio::test]
async fn setting_a_job_again_in_each_wake_neither_delays_nor_multiplies_it() {
    let mut world = awake();
    let start = world.clock.now_ms();
    for round in 1..=5 {
        let handle = world.start().await.expect("wake");
        every(handle.ctx(), "beat", 5).await;
        world.advance_firing(&handle, 3 * SECOND).await;
        world.advance_firing(&handle, 2 * SECOND).await;
        assert_eq!(times(&world.script.take_fires()), [start + round * 5_000]);
        world.stop(StopReason::SleepIntent).await.expect("sleep");
    }
    let handle = world.start().await.expect("wake");
    assert_eq!(handle.ctx().cron_list().await.expect("list").len(), 1);
}

#[tokio::test]
async fn a_year_of_cron_passes_in_order() {
    let mut world = awake();
    world.time.set_wall_ms(NEW_YEAR);
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    let zone = Some("Europe/Berlin".to_owned());
    let daily = ctx.cron_set(job("daily", "tick"), "30 2 * * *".into(), zone);
    daily.await.expect("set");
    let monthly = ctx.cron_set(job("monthly", "get"), "0 0 1 * *".into(), None);
    monthly.await.expect("set");
    world.advance_firing(&handle, 365 * 24 * HOUR).await;
    let fires = world.script.take_fires();
    assert!(fires.is_sorted_by_key(|fire| fire.fired_at));
    let of = |action: &str| fires.iter().filter(|fire| fire.action == action).count();
    // The morning of 29 March has no 02:30 in Berlin.
    assert_eq!((of("tick"), of("get")), (364, 12));
    assert!(fires.iter().all(|fire| fire.fired_at == fire.scheduled_at));
    assert_eq!(
        ctx.cron_history("daily", Some(1_000))
            .await
            .expect("history")
            .len(),
        100
    );
}

#[tokio::test]
async fn an_overlapping_fire_is_skipped_and_other_jobs_go_on() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    ctx.cron_every(job("slow", "park"), 5_000)
        .await
        .expect("set");
    every(ctx, "quick", 5).await;
    world.advance(5 * SECOND).await;
    world.script.parked.notified().await;
    while world.script.fires.lock().len() < 2 {
        settle().await;
    }
    world.advance(5 * SECOND).await;
    while results(ctx, "quick").await != ["ok", "ok"] {
        settle().await;
    }
    assert_eq!(results(ctx, "slow").await, ["skipped", "running"]);
    world.script.unpark.notify_one();
    ctx.alarms_settled().await;
    assert_eq!(results(ctx, "slow").await, ["skipped", "ok"]);
    let slow = ctx.cron_get("slow").await.expect("get").expect("there");
    assert_eq!(slow.last_run_at, Some(1_005_000));
}

#[tokio::test]
async fn failures_are_remembered_as_clients_may_see_them() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    ctx.cron_every(job("public", "fail"), 5_000)
        .await
        .expect("set");
    ctx.cron_every(job("private", "fail_inside"), 5_000)
        .await
        .expect("set");
    world.advance_firing(&handle, 5 * SECOND).await;
    let error = |fires: Vec<JobFire>| match fires.into_iter().next().map(|f| f.result) {
        Some(FireResult::Error(error)) => error,
        other => panic!("{other:?}"),
    };
    let public = error(ctx.cron_history("public", None).await.expect("history"));
    assert_eq!(
        (public.group.as_str(), public.code.as_str()),
        ("user", "broken")
    );
    let private = error(ctx.cron_history("private", None).await.expect("history"));
    assert_eq!(private.message, greenroom_error::MASKED_MESSAGE);
    assert_eq!(private.metadata, None);
    assert_eq!(public.message, "scripted failure");
    assert_eq!(public.metadata.as_deref(), Some(&b"\xa1\x61n\x01"[..]));
}

#[tokio::test]
async fn a_job_without_its_action_is_deleted_and_tells_why() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    ctx.cron_every(job("lost", "no_such_action"), 5_000)
        .await
        .expect("set");
    ctx.schedule_after(5_000, action("no_such_action"))
        .await
        .expect("after");
    world.advance_firing(&handle, 5 * SECOND).await;
    assert!(ctx.cron_get("lost").await.expect("get").is_none());
    assert_eq!(results(ctx, "lost").await, ["error"]);
    assert!(ctx.schedule_list().await.expect("list").is_empty());
    assert!(!ctx.cron_delete("lost").await.expect("delete"));
    assert!(results(ctx, "lost").await.is_empty());
}

#[tokio::test]
async fn nothing_fires_once_the_end_has_begun_and_everything_after_the_wake() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx().clone();
    let parked = tokio::spawn(async move { ask(&handle, "park").await });
    world.script.parked.notified().await;
    let stop = world.stop(StopReason::GoingAway);
    let during = async {
        settle().await;
        ctx.schedule_at(0, action("tick"))
            .await
            .expect("stored in grace");
        world
            .registry
            .fire_alarm(world.actor())
            .await
            .expect("ignored");
        settle().await;
        assert!(world.script.take_fires().is_empty());
        world.script.unpark.notify_one();
    };
    let (stopped, ()) = tokio::join!(stop, during);
    stopped.expect("stop");
    parked.await.expect("task").expect("park");
    let handle = world.start().await.expect("wake");
    settle().await;
    handle.ctx().alarms_settled().await;
    assert_eq!(world.script.take_fires().len(), 1);
}

#[tokio::test]
async fn the_limit_of_schedules_holds_under_concurrency() {
    let config = ActorConfig {
        max_schedules: 10,
        no_sleep: true,
        ..ActorConfig::default()
    };
    let mut world = World::with_config(config);
    let handle = world.start().await.expect("start");
    let adds: Vec<_> = (0..30)
        .map(|_| {
            let ctx = handle.ctx().clone();
            tokio::spawn(async move { ctx.schedule_after(9_000, action("tick")).await })
        })
        .collect();
    let mut refused = 0;
    for add in adds {
        if let Err(error) = add.await.expect("task") {
            assert!(error.is(&code::SCHEDULE_MAX_SCHEDULES_EXCEEDED));
            refused += 1;
        }
    }
    assert_eq!(refused, 20);
}

#[tokio::test]
async fn a_clock_that_is_set_moves_no_fire_from_its_wall_time() {
    let mut world = awake();
    world.time.set_wall_ms(NEW_YEAR);
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    let hourly = ctx.cron_set(job("hourly", "tick"), "0 * * * *".into(), None);
    hourly.await.expect("set");
    world.advance_firing(&handle, HOUR).await;
    assert_eq!(times(&world.script.take_fires()), [NEW_YEAR + 3_600_000]);
    // Back by an hour: what has fired does not fire again.
    world.time.set_wall_ms(NEW_YEAR + 60_000);
    world.advance_firing(&handle, HOUR).await;
    assert!(world.script.take_fires().is_empty());
    world.advance_firing(&handle, HOUR).await;
    assert_eq!(times(&world.script.take_fires()), [NEW_YEAR + 7_200_000]);
    // Forward by a year: once, at once, and on from there.
    let a_year_on = NEW_YEAR + 365 * DAY_MS + 60_000;
    world.time.set_wall_ms(a_year_on);
    world.advance_firing(&handle, SECOND).await;
    assert_eq!(times(&world.script.take_fires()), [a_year_on]);
    world.advance_firing(&handle, HOUR).await;
    let next = NEW_YEAR + 365 * DAY_MS + 3_600_000;
    assert_eq!(times(&world.script.take_fires()), [next]);
}

#[tokio::test]
async fn bad_arguments_are_refused_before_anything_is_stored() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    let set = |name: &str, expression: &str, zone: Option<&str>| {
        let (job, zone) = (job(name, "tick"), zone.map(str::to_owned));
        ctx.cron_set(job, expression.to_owned(), zone)
    };
    let check = |outcome: Result<()>, code: &code::Code| {
        assert!(outcome.expect_err(code.code).is(code));
    };
    check(
        set("", "* * * * *", None).await,
        &code::SCHEDULE_INVALID_NAME,
    );
    let long = "n".repeat(129);
    check(
        set(&long, "* * * * *", None).await,
        &code::SCHEDULE_INVALID_NAME,
    );
    let expression = &code::SCHEDULE_INVALID_CRON_EXPRESSION;
    check(set("x", "* * * *", None).await, expression);
    check(set("x", "0 0 30 2 *", None).await, expression);
    let zone = &code::SCHEDULE_INVALID_TIMEZONE;
    check(set("x", "* * * * *", Some("Mars/Base")).await, zone);
    let interval = ctx
        .cron_every(job("x", "tick"), 4_999)
        .await
        .expect_err("short");
    assert_eq!(
        interval.message(),
        "Schedule interval must be at least 5000 ms; received 4999 ms."
    );
    let remembers = NewJob {
        max_history: Some(1_001),
        ..job("x", "tick")
    };
    let history = &code::SCHEDULE_INVALID_MAX_HISTORY;
    check(ctx.cron_every(remembers, 5_000).await, history);
    for limit in [0, 1_001] {
        let error = ctx.cron_history("x", Some(limit)).await.expect_err("limit");
        assert!(error.is(history));
    }
    assert!(ctx.cron_list().await.expect("list").is_empty());
}

#[tokio::test]
async fn a_schedule_keeps_the_trace_it_was_set_in() {
    let mut world = awake();
    let handle = world.start().await.expect("start");
    let call = ScheduledCall {
        trace: greenroom_store::Trace {
            ray_id: Some("ray".into()),
            ..greenroom_store::Trace::default()
        },
        ..action("tick")
    };
    handle
        .ctx()
        .schedule_after(1_000, call)
        .await
        .expect("after");
    world.advance_firing(&handle, SECOND).await;
    assert_eq!(*world.script.rays.lock(), ["ray"]);
}

#[tokio::test]
async fn a_scheduled_action_keeps_the_actor_awake_until_it_ends() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    handle
        .ctx()
        .schedule_after(1_000, action("park"))
        .await
        .expect("after");
    world.advance(SECOND).await;
    world.script.parked.notified().await;
    world.advance(50 * SECOND).await;
    while let Ok(wish) = world.asked.try_recv() {
        assert_ne!(wish, Asked::Sleep);
    }
    world.script.unpark.notify_one();
    handle.ctx().alarms_settled().await;
    world.advance(31 * SECOND).await;
    assert_eq!(world.asked.recv().await, Some(Asked::Sleep));
}
