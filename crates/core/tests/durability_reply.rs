//! With `Durability::Reply`, nothing leaves before the state it was made from is
//! on disk.

mod fixture;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use fixture::{Asked, World, ask, call, settle};
use greenroom_core::*;
use greenroom_error::{Result, code};
use parking_lot::Mutex;

fn world() -> World {
    World::with_config(ActorConfig {
        durability: Durability::Reply,
        ..ActorConfig::default()
    })
}

/// A client that notes events with what was durable when they arrived.
struct Client {
    ctx: ActorContext,
    got: Mutex<Vec<(String, Option<u8>)>>,
}

struct Transport(Arc<Client>);

impl ConnTransport for Transport {
    fn send_event(&self, event: &OutboundEvent) -> Result<()> {
        let durable = self.0.ctx.state().first().copied();
        self.0.got.lock().push((event.name.clone(), durable));
        Ok(())
    }
    fn close(&self, _code: u16, _reason: &str) {}
}

async fn connect(handle: &ActorHandle) -> Arc<Client> {
    let client = Arc::new(Client {
        ctx: handle.ctx().clone(),
        got: Mutex::default(),
    });
    let options = ConnectOptions {
        transport: Some(Arc::new(Transport(Arc::clone(&client)))),
        ..ConnectOptions::default()
    };
    let conn = handle.ctx().connect(options).await.expect("connect");
    handle.ctx().set_subscribed(&conn, "count", true);
    client
}

#[tokio::test]
async fn an_answer_waits_for_its_state() {
    let mut world = world();
    let handle = world.start().await.expect("start");
    assert_eq!(ask(&handle, "increment").await.expect("increment"), 1);
    assert_eq!(handle.ctx().state()[0], 1, "written before the answer");
    assert_eq!(world.script.serialized.load(Ordering::SeqCst), 1);
    ask(&handle, "get").await.expect("get");
    assert_eq!(
        world.script.serialized.load(Ordering::SeqCst),
        1,
        "no change, no save"
    );
}

#[tokio::test]
async fn o1_events_leave_in_order_after_their_state_and_before_the_answer() {
    let mut world = world();
    let handle = world.start().await.expect("start");
    let client = connect(&handle).await;
    for round in 1..=5 {
        assert_eq!(ask(&handle, "count_aloud").await.expect("count"), round);
        let got = client.got.lock().clone();
        let expected: Vec<_> = (1..=round).map(|n| ("count".into(), Some(n))).collect();
        assert_eq!(got, expected);
    }
}

#[tokio::test]
async fn concurrent_actions_share_commits() {
    let mut world = world();
    let handle = world.start().await.expect("start");
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let handle = Arc::clone(&handle);
            tokio::spawn(async move { ask(&handle, "increment").await })
        })
        .collect();
    for call in calls {
        call.await.expect("task").expect("answered");
    }
    let commits = world.script.serialized.load(Ordering::SeqCst);
    assert!(commits < 50, "{commits} commits for 100 answers");
}

#[tokio::test]
async fn o2_a_failed_commit_fails_the_answer_drops_the_event_and_ends_the_generation() {
    let mut world = world();
    let handle = world.start().await.expect("start");
    let client = connect(&handle).await;
    world.script.fail_serialize.store(true, Ordering::SeqCst);
    let error = ask(&handle, "count_aloud").await.expect_err("not durable");
    assert!(error.is(&code::ACTOR_OUTCOME_UNKNOWN), "{error}");
    match world.asked.recv().await {
        Some(Asked::Crash(text)) => assert!(text.contains("could not be written")),
        other => panic!("asked {other:?}"),
    }
    // Who comes now waits for the next generation, and sees no unsaved state.
    let read = ask(&handle, "get").await;
    assert!(read.expect_err("unsaved").is(&code::ACTOR_STOPPING));
    world.stop(StopReason::SleepIntent).await.expect("stop");
    settle().await;
    assert!(client.got.lock().is_empty());
    world.script.fail_serialize.store(false, Ordering::SeqCst);
    let next = world.start().await.expect("wakes");
    assert_eq!(ask(&next, "get").await.expect("get"), 0, "undone");
}

#[tokio::test]
async fn without_the_option_events_leave_at_once() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    let client = connect(&handle).await;
    ask(&handle, "count_aloud").await.expect("count");
    let got = client.got.lock().clone();
    assert_eq!(got, [("count".into(), Some(0))]);
    handle.ctx().broadcast("other", Bytes::new());
    assert_eq!(client.got.lock().len(), 1, "not subscribed");
}

#[tokio::test]
async fn an_answer_that_waits_for_its_state_counts_as_work_and_outlives_a_stop() {
    let mut world = world();
    let handle = world.start().await.expect("start");
    world.script.hold_serialize.store(true, Ordering::SeqCst);
    let answer = tokio::spawn({
        let handle = Arc::clone(&handle);
        async move { ask(&handle, "increment").await }
    });
    // The action is done; its state is on its way.
    world.script.parked.notified().await;
    settle().await;
    assert_eq!(handle.ctx().work_counts().shutdown_tasks, 1);
    world.script.hold_serialize.store(false, Ordering::SeqCst);
    let release = async {
        settle().await;
        world.script.unpark.notify_one();
    };
    let (stopped, ()) = tokio::join!(world.stop(StopReason::GoingAway), release);
    stopped.expect("stops");
    assert_eq!(answer.await.expect("task").expect("answered"), 1);
    assert_eq!(handle.ctx().work_counts().shutdown_tasks, 0);
}

#[tokio::test]
async fn calls_that_race_with_sleep_are_answered_or_refused_and_never_fail() {
    let mut world = world();
    let mut answered = 0;
    for _ in 0..30 {
        let handle = world.start().await.expect("start");
        let calls: Vec<_> = (0..6)
            .map(|_| {
                let handle = Arc::clone(&handle);
                tokio::spawn(async move { handle.action(&call("increment")).await })
            })
            .collect();
        tokio::task::yield_now().await;
        world.stop(StopReason::SleepIntent).await.expect("stops");
        for call in calls {
            match call.await.expect("task") {
                Answer::Done(answer) => {
                    answer.expect("accepted work is answered");
                    answered += 1;
                }
                Answer::Refused(_) => {}
            }
        }
    }
    let handle = world.start().await.expect("start");
    assert_eq!(ask(&handle, "get").await.expect("get"), answered);
}
