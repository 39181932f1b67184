//! Queues whose messages are leased: redelivery, giving back, giving up.

mod fixture;

use std::collections::BTreeMap;
use std::time::Duration;

use fixture::queue::{keep, message, parked, receive, send, take};
use fixture::{Asked, World};
use greenroom_core::*;
use greenroom_error::code;
use tokio_util::sync::CancellationToken;

const SECOND: Duration = Duration::from_secs(1);

fn leased() -> World {
    let policy = QueuePolicy {
        max_attempts: 2,
        visibility_timeout: 10 * SECOND,
        ..QueuePolicy::default()
    };
    World::with_config(ActorConfig {
        queues: BTreeMap::from([("jobs".to_owned(), policy)]),
        no_sleep: true,
        ..ActorConfig::default()
    })
}

#[tokio::test]
async fn a_leased_message_that_is_not_completed_in_time_goes_to_the_next_waiter() {
    let mut world = leased();
    let ctx = world.start().await.expect("start").ctx().clone();
    send(&ctx, "jobs").await;
    let first = take(&ctx, keep(receive(&[], 1))).await.remove(0);
    assert_eq!(first.attempt(), Some(1));
    let waiter = parked(&ctx, keep(receive(&["jobs"], 1))).await;
    world.advance(9 * SECOND).await;
    assert!(!waiter.is_finished());
    world.advance(2 * SECOND).await;
    let second = waiter.await.expect("task").expect("receive").remove(0);
    assert_eq!((second.id(), second.attempt()), (1, Some(2)));
    let error = first.complete(None).await.expect_err("lost");
    assert!(error.is(&code::QUEUE_LEASE_LOST));
    second.complete(None).await.expect("complete");
    let stats = ctx.queue_stats(None).await.expect("stats");
    assert_eq!((stats.depth, stats.dead), (0, 0));
}

#[tokio::test]
async fn a_message_given_back_returns_after_its_pause_and_is_given_up_in_the_end() {
    let mut world = leased();
    let ctx = world.start().await.expect("start").ctx().clone();
    let sender = tokio::spawn(ctx.queue_enqueue_and_wait(
        message("jobs", b"job"),
        None,
        CancellationToken::new(),
    ));
    let first = take(&ctx, keep(receive(&[], 1))).await.remove(0);
    let after = Some(Duration::from_secs(3_600));
    first
        .retry(after, Some("busy".into()))
        .await
        .expect("retry");
    let waiter = parked(&ctx, keep(receive(&[], 1))).await;
    let stats = ctx.queue_stats(Some("jobs".into())).await.expect("stats");
    assert_eq!((stats.depth, stats.delayed, stats.in_flight), (1, 1, 0));
    world.advance(Duration::from_secs(3_600)).await;
    let second = waiter.await.expect("task").expect("receive").remove(0);
    second
        .retry(None, Some("still busy".into()))
        .await
        .expect("given up");
    let error = sender.await.expect("task").expect_err("given up");
    assert!(error.is(&code::QUEUE_DEAD_LETTERED));
    let dead = ctx.dead_letters(None, 0, 10).await.expect("dead letters");
    assert_eq!(
        (dead[0].attempts, dead[0].reason.as_str()),
        (2, "still busy")
    );
    let choice = LetterChoice::default();
    assert_eq!(
        ctx.replay_dead_letters(choice.clone())
            .await
            .expect("replay"),
        1
    );
    let third = take(&ctx, keep(receive(&[], 1))).await.remove(0);
    assert_eq!((third.id(), third.attempt()), (2, Some(1)));
    third.fail("hopeless".into()).await.expect("fail");
    assert_eq!(ctx.purge_dead_letters(choice).await.expect("purge"), 1);
    assert!(
        ctx.dead_letters(None, 0, 10)
            .await
            .expect("none")
            .is_empty()
    );
}

#[tokio::test]
async fn a_leased_message_wakes_the_actor_that_died_with_it() {
    let mut world = leased();
    let ctx = world.start().await.expect("start").ctx().clone();
    send(&ctx, "jobs").await;
    take(&ctx, keep(receive(&[], 1))).await;
    // Armed already: whoever took it may die in this moment.
    let due = world.clock.now_ms() + 10_000;
    assert_eq!(world.asked.try_recv().ok(), Some(Asked::Alarm(Some(due))));
    let handle = world.crash().await;
    let again = take(handle.ctx(), keep(receive(&[], 1))).await;
    assert_eq!(again[0].attempt(), Some(2));
}

#[tokio::test]
async fn a_message_given_back_wakes_the_actor_that_died_after_it() {
    let mut world = leased();
    let ctx = world.start().await.expect("start").ctx().clone();
    send(&ctx, "jobs").await;
    let message = take(&ctx, keep(receive(&[], 1))).await.remove(0);
    while world.asked.try_recv().is_ok() {}
    let sooner = Some(2 * SECOND);
    message.retry(sooner, None).await.expect("retry");
    let due = world.clock.now_ms() + 2_000;
    assert_eq!(world.asked.try_recv().ok(), Some(Asked::Alarm(Some(due))));
}

#[tokio::test]
async fn the_host_hears_of_a_lease_only_if_it_would_ring_too_late() {
    let mut world = leased();
    let ctx = world.start().await.expect("start").ctx().clone();
    for _ in 0..5 {
        send(&ctx, "jobs").await;
        let message = take(&ctx, keep(receive(&[], 1))).await.remove(0);
        message.complete(None).await.expect("complete");
        world.advance(SECOND).await;
    }
    let first = Asked::Alarm(Some(1_000_000 + 10_000));
    assert_eq!(world.asked.try_recv().ok(), Some(first));
    assert_eq!(world.asked.try_recv().ok(), None, "it rings early enough");
}

/// What the host rings for after everything it was told.
fn rings_at(world: &mut World, mut known: Option<i64>) -> Option<i64> {
    while let Ok(asked) = world.asked.try_recv() {
        if let Asked::Alarm(at) = asked {
            known = at;
        }
    }
    known
}

#[tokio::test]
async fn a_lease_that_ran_out_wakes_the_next_generation_however_this_one_ends() {
    let mut world = leased();
    let ctx = world.start().await.expect("start").ctx().clone();
    send(&ctx, "jobs").await;
    let held = take(&ctx, keep(receive(&[], 1))).await;
    let due = world.clock.now_ms() + 10_000;
    world.advance(12 * SECOND).await;
    world
        .registry
        .fire_alarm(world.actor())
        .await
        .expect("rings");
    ctx.alarms_settled().await;
    assert_eq!(rings_at(&mut world, None), Some(due), "it may die now");
    world.stop(StopReason::GoingAway).await.expect("stop");
    assert_eq!(rings_at(&mut world, Some(due)), Some(due), "or sleep");
    drop(held);
    // Nobody takes the message: having woken its actor once, it lets it rest.
    world.start().await.expect("wake");
    world.stop(StopReason::GoingAway).await.expect("stop");
    assert_eq!(rings_at(&mut world, Some(due)), None);
}

#[tokio::test]
async fn a_redelivery_to_come_outlasts_another_that_has_passed_and_a_wake_that_touches_no_queue() {
    let mut world = leased();
    let ctx = world.start().await.expect("start").ctx().clone();
    send(&ctx, "jobs").await;
    send(&ctx, "jobs").await;
    let both = take(&ctx, keep(receive(&[], 2))).await;
    let pause = Some(Duration::from_secs(60));
    both[1].retry(pause, None).await.expect("retry");
    let later = world.clock.now_ms() + 60_000;
    world.advance(12 * SECOND).await;
    world.stop(StopReason::GoingAway).await.expect("stop");
    world.start().await.expect("wake");
    world.stop(StopReason::GoingAway).await.expect("stop");
    assert_eq!(rings_at(&mut world, None), Some(later));
}

#[tokio::test]
async fn ending_a_delivery_that_another_has_overtaken_is_an_error_even_when_the_message_is_gone() {
    let mut world = leased();
    let ctx = world.start().await.expect("start").ctx().clone();
    for end in [0, 1, 2] {
        send(&ctx, "jobs").await;
        let stale = take(&ctx, keep(receive(&[], 1))).await.remove(0);
        world.advance(11 * SECOND).await;
        let second = take(&ctx, keep(receive(&[], 1))).await.remove(0);
        second.complete(None).await.expect("complete");
        let ended = match end {
            0 => stale.complete(None).await,
            1 => stale.retry(None, None).await,
            _ => stale.fail("late".into()).await,
        };
        let error = ended.expect_err("lost");
        assert!(error.is(&code::QUEUE_LEASE_LOST), "{error}");
    }
}

#[tokio::test]
async fn a_wake_that_a_crash_cuts_short_before_the_receive_is_not_used_up() {
    let mut world = leased();
    let ctx = world.start().await.expect("start").ctx().clone();
    send(&ctx, "jobs").await;
    take(&ctx, keep(receive(&[], 1))).await;
    let due = world.clock.now_ms() + 10_000;
    world.advance(12 * SECOND).await;
    let woken = world.crash().await;
    woken.ctx().alarms_settled().await;
    assert_eq!(rings_at(&mut world, None), Some(due));
}
