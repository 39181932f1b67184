//! Alarms wake actors that nobody asks for.

use std::sync::atomic::Ordering;
use std::time::Duration;

use greenroom_core::Clock;
use serde_json::json;

use crate::fixture::*;

const START_MS: i64 = 1_000_000;

#[tokio::test]
async fn a_sleeping_actor_wakes_at_its_alarm_and_not_before() {
    let (clock, hands) = Clock::manual(START_MS);
    let setup = Setup {
        clock,
        ..Setup::default()
    };
    let world = setup.open().await;
    let target = counter_of("a");
    world
        .call(&target, "alarm", json!([START_MS + 5_000]))
        .await
        .unwrap();
    world.call(&target, "sleep", json!([])).await.unwrap();
    eventually("the actor sleeps", || world.host.awake_count() == 0).await;
    eventually("the alarm is armed", || hands.armed() > 0).await;
    hands.advance(Duration::from_millis(4_999));
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(world.script.woken.load(Ordering::SeqCst), 0);
    hands.advance(Duration::from_millis(1));
    let woken = || world.script.woken.load(Ordering::SeqCst) == 1;
    eventually("the alarm wakes it", woken).await;
}

#[tokio::test]
async fn alarms_that_came_due_while_nothing_ran_ring_after_a_restart() {
    let (clock, _hands) = Clock::manual(START_MS);
    let setup = Setup {
        clock,
        ..Setup::default()
    };
    let world = setup.open().await;
    for n in 0..50 {
        let target = counter_of(&n.to_string());
        world
            .call(&target, "alarm", json!([START_MS + 1 + n]))
            .await
            .unwrap();
    }
    world.host.shutdown().await;
    let (clock, _hands) = Clock::manual(START_MS + 3_600_000);
    let setup = Setup {
        clock,
        script: world.script.clone(),
        folder: world.folder.clone(),
        ..Setup::default()
    };
    let again = setup.open().await;
    let woken = || again.script.woken.load(Ordering::SeqCst) == 50;
    eventually("all of them wake", woken).await;
}

#[tokio::test]
async fn an_alarm_that_was_cleared_wakes_nobody() {
    let (clock, hands) = Clock::manual(START_MS);
    let setup = Setup {
        clock,
        ..Setup::default()
    };
    let world = setup.open().await;
    let target = counter_of("a");
    world
        .call(&target, "alarm", json!([START_MS + 5_000]))
        .await
        .unwrap();
    world.call(&target, "alarm", json!([null])).await.unwrap();
    world.call(&target, "sleep", json!([])).await.unwrap();
    eventually("the actor sleeps", || world.host.awake_count() == 0).await;
    hands.advance(Duration::from_secs(3_600));
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert_eq!(world.script.woken.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_actor_that_cannot_start_at_its_alarm_is_tried_again_with_pauses() {
    let (clock, hands) = Clock::manual(START_MS);
    let setup = Setup {
        clock,
        ..Setup::default()
    };
    let world = setup.open().await;
    let target = counter_of("a");
    world
        .call(&target, "alarm", json!([START_MS + 1_000]))
        .await
        .unwrap();
    world.call(&target, "sleep", json!([])).await.unwrap();
    eventually("the actor sleeps", || world.host.awake_count() == 0).await;
    world.script.failing_starts.store(2, Ordering::SeqCst);
    for failures in 1..=2 {
        eventually("a timer is armed", || hands.armed() > 0).await;
        while world.script.times("failed start") < failures {
            hands.advance(Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    while world.script.woken.load(Ordering::SeqCst) == 0 {
        hands.advance(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(world.script.times("failed start"), 2);
}
