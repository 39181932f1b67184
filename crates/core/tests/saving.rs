//! What is acknowledged as saved is saved; what fails is tried again or told.

mod fixture;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fixture::{World, ask, settle};
use futures_util::FutureExt;
use greenroom_core::*;
use greenroom_error::code;
use greenroom_store::{Disk, Fault, StoreOptions};

#[tokio::test]
async fn waiters_of_one_actor_share_commits() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    let tasks: Vec<_> = (0..200)
        .map(|_| {
            let handle = Arc::clone(&handle);
            tokio::spawn(async move { ask(&handle, "increment_durably").await })
        })
        .collect();
    for task in tasks {
        task.await.expect("task").expect("saved");
    }
    let serialized = world.script.serialized.load(Ordering::SeqCst);
    assert!(
        serialized < 100,
        "{serialized} serializations for 200 saves"
    );
    assert_eq!(handle.ctx().state()[0], 200);
}

#[tokio::test]
async fn a_throttled_save_happens_at_the_interval_and_not_before() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    ask(&handle, "increment").await.expect("increment");
    world.advance(Duration::from_millis(999)).await;
    assert_eq!(world.script.serialized.load(Ordering::SeqCst), 0);
    world.advance(Duration::from_millis(2)).await;
    assert_eq!(world.script.serialized.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_failed_serialization_is_tried_again_at_the_interval_without_rejecting_waiters() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    world.script.fail_serialize.store(true, Ordering::SeqCst);
    let waiting = {
        let handle = Arc::clone(&handle);
        tokio::spawn(async move { ask(&handle, "increment_durably").await })
    };
    settle().await;
    assert_eq!(world.script.serialized.load(Ordering::SeqCst), 1);
    world.advance(Duration::from_millis(500)).await;
    assert_eq!(world.script.serialized.load(Ordering::SeqCst), 1, "no spin");
    world.script.fail_serialize.store(false, Ordering::SeqCst);
    world.advance(Duration::from_millis(600)).await;
    assert_eq!(waiting.await.expect("task").expect("saved"), 1);
}

#[tokio::test]
async fn waiters_hear_that_the_final_state_was_not_written() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    world.script.fail_serialize.store(true, Ordering::SeqCst);
    let waiting = {
        let handle = Arc::clone(&handle);
        tokio::spawn(async move {
            let opts = RequestSaveOpts::IMMEDIATE;
            handle.ctx().request_save_and_wait(opts).await
        })
    };
    settle().await;
    world.stop(StopReason::GoingAway).await.expect("stops");
    let error = waiting.await.expect("task").expect_err("not written");
    assert!(error.is(&code::ACTOR_STOPPING));
}

#[tokio::test]
async fn a_hanging_serializer_is_bounded_at_shutdown() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    ask(&handle, "increment").await.expect("increment");
    world.script.hang_serialize.store(true, Ordering::SeqCst);
    let stop = world.stop(StopReason::GoingAway);
    let (stopped, ()) = tokio::join!(stop, world.advance(Duration::from_secs(60)));
    stopped.expect("stop ends");
}

#[tokio::test]
async fn saving_after_the_end_is_refused() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    world.stop(StopReason::GoingAway).await.expect("stop");
    let opts = RequestSaveOpts::default();
    let error = handle.ctx().request_save_and_wait(opts).await;
    assert!(error.expect_err("ended").is(&code::ACTOR_NOT_CONFIGURED));
}

#[tokio::test]
async fn a_state_that_was_brought_along_is_not_overwritten_by_an_older_serialization() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    world.script.hold_serialize.store(true, Ordering::SeqCst);
    let older = {
        let handle = Arc::clone(&handle);
        tokio::spawn(async move { ask(&handle, "increment_durably").await })
    };
    world.script.parked.notified().await;
    world.script.hold_serialize.store(false, Ordering::SeqCst);
    ask(&handle, "increment").await.expect("increment");
    let brought = StateDelta::ActorState(bytes::Bytes::from_static(&[2]));
    handle.ctx().save_state(vec![brought]).await.expect("saved");
    assert_eq!(handle.ctx().state()[0], 2);
    world.script.unpark.notify_one();
    // What it waits for is covered by the newer state.
    older.await.expect("task").expect("saved");
    settle().await;
    assert_eq!(handle.ctx().state()[0], 2);
    let next = world.crash().await;
    assert_eq!(ask(&next, "get").await.expect("get"), 2);
}

#[tokio::test]
async fn states_that_were_brought_along_reach_the_disk_in_their_order() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    let saves: Vec<_> = (1..=100)
        .map(|byte: u8| {
            let ctx = handle.ctx().clone();
            let state = StateDelta::ActorState(bytes::Bytes::from(vec![byte]));
            let mut saving = Box::pin(async move { ctx.save_state(vec![state]).await });
            // The first poll puts it in line.
            assert!(saving.as_mut().now_or_never().is_none());
            saving
        })
        .collect();
    futures_util::future::try_join_all(saves)
        .await
        .expect("saved");
    let next = world.crash().await;
    assert_eq!(ask(&next, "get").await.expect("get"), 100);
}

#[tokio::test]
async fn d3_a_late_save_of_a_generation_that_is_over_does_not_reach_the_next_ones_state() {
    let mut world = World::new();
    let old = world.start().await.expect("start");
    world.stop(StopReason::GoingAway).await.expect("stop");
    let new = world.start().await.expect("start");
    assert_eq!(ask(&new, "increment_durably").await.expect("saved"), 1);
    let late = StateDelta::ActorState(bytes::Bytes::from_static(&[99]));
    let refused = old.ctx().save_state(vec![late]).await;
    assert!(refused.expect_err("over").is(&code::ACTOR_STOPPING));
    let next = world.crash().await;
    assert_eq!(ask(&next, "get").await.expect("get"), 1);
}

#[tokio::test]
async fn d4_a_save_without_changes_is_not_answered_before_the_state_that_was_brought_along() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    ask(&handle, "increment").await.expect("increment");
    let brought = StateDelta::ActorState(bytes::Bytes::from_static(&[1]));
    let mut bringing = Box::pin(handle.ctx().save_state(vec![brought]));
    // In line, and nobody knows whether it gets to the disk.
    assert!(bringing.as_mut().now_or_never().is_none());
    handle.ctx().take_dirty();
    let immediate = RequestSaveOpts::IMMEDIATE;
    let mut waiting = Box::pin(handle.ctx().request_save_and_wait(immediate));
    assert!(waiting.as_mut().now_or_never().is_none());
    handle.ctx().take_dirty();
    waiting.await.expect("saved");
    let asked = world.script.serialized.load(Ordering::SeqCst);
    assert_eq!(asked, 2, "asked again, for all of the state");
    bringing.await.expect("saved");
}

#[tokio::test]
async fn the_last_save_is_tried_again_until_the_host_lets_go() {
    let (disk, faults) = Disk::with_faults().expect("a scripted disk");
    let store = StoreOptions {
        disk,
        ..StoreOptions::default()
    };
    let mut world = World::with_store(ActorConfig::default(), store);
    let handle = world.start().await.expect("start");
    ask(&handle, "increment_durably").await.expect("saved");
    ask(&handle, "increment").await.expect("increment");
    faults.set(Some(Fault::Full));
    let (actor, writes) = (handle.actor(), faults.writes());
    let stopping = {
        let registry = Arc::clone(&world.registry);
        tokio::spawn(async move { registry.stop_actor(actor, StopReason::GoingAway).await })
    };
    // The clock stands still: it waits for its next attempt.
    while faults.writes() == writes {
        settle().await;
    }
    settle().await;
    assert!(!stopping.is_finished());
    let gone = world.registry.abandon_actor(actor);
    let gone = tokio::time::timeout(Duration::from_secs(20), gone).await;
    gone.expect("nothing waits for the clock");
    let error = stopping.await.expect("task").expect_err("no disk");
    assert!(error.is(&code::HOST_STORAGE_FAILED), "{error}");
}
