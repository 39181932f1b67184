//! Connections that outlive the generations of their actor.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use greenroom_core::{ActorConfig, Clock};
use greenroom_host_embedded::Target;
use greenroom_wire::{ActorId, Encoding};
use serde_json::{Value, json};

use crate::fixture::{Client, World, config, eventually, open, room_of, world, world_with};

/// A connected client that has heard its welcome and listens to `said`.
async fn member(world: &World, encoding: Encoding) -> Client {
    let mut client = world.connect("a", encoding).await;
    client.seen().await;
    client.subscribe("said", true).await;
    client.call("get", json!([])).await.unwrap();
    client
}

async fn id_of(world: &World) -> ActorId {
    world.host.resolve(&room_of("a")).await.unwrap()
}

async fn sleep(world: &World) {
    world.call("a", "sleep", json!([])).await.unwrap();
    world.asleep().await;
}

#[tokio::test]
async fn a_connection_survives_a_sleep_with_everything_it_had() {
    for encoding in Encoding::ALL {
        let world = world().await;
        let mut client = member(&world, encoding).await;
        client.call("calls", json!([])).await.unwrap();
        let connects = world.script.times("connect");
        client.call("sleep", json!([])).await.unwrap();
        world.asleep().await;
        // The message wakes the actor.
        assert_eq!(
            client.call("generation", json!([])).await.unwrap(),
            json!(2)
        );
        let who = client.call("who", json!([])).await.unwrap();
        assert_eq!(who, json!(client.connection_id), "no second Init either");
        assert_eq!(client.call("calls", json!([])).await.unwrap(), json!(2));
        client.start("say", json!(["hi"])).await;
        assert_eq!(client.seen().await.1, "said", "still subscribed");
        assert_eq!(world.script.times("connect"), connects);
        assert_eq!(world.script.times("disconnect"), 0);
        assert_eq!(world.script.times("wake"), 1);
    }
}

#[tokio::test]
async fn an_event_after_a_wake_reaches_who_sent_nothing() {
    let world = world().await;
    let mut client = member(&world, Encoding::Json).await;
    sleep(&world).await;
    world.call("a", "say", json!(["morning"])).await.unwrap();
    let morning = ("event", "said".to_owned(), json!(["morning", 1]));
    assert_eq!(client.seen().await, morning);
}

#[tokio::test]
async fn messages_during_a_slow_sleep_are_answered_by_the_next_generation_in_order() {
    let world = world().await;
    let mut client = member(&world, Encoding::Bare).await;
    world.script.slow_sleep.store(true, Ordering::SeqCst);
    client.call("sleep", json!([])).await.unwrap();
    eventually("onSleep runs", || world.script.times("on sleep") == 1).await;
    for n in 1..=20 {
        client.start("say", json!([n])).await;
    }
    world.script.slow_sleep.store(false, Ordering::SeqCst);
    world.script.unpark.notify_one();
    let (mut events, mut answers) = (Vec::new(), Vec::new());
    while events.len() + answers.len() < 40 {
        let (kind, _, payload) = client.seen().await;
        match kind {
            "event" => events.push(payload),
            _ => answers.push(payload),
        }
    }
    // Nothing ran before the sleep, and nothing twice.
    let expected: Vec<Value> = (1..=20).map(|n| json!([n, n])).collect();
    assert_eq!(events, expected);
    answers.sort_by_key(Value::as_i64);
    assert_eq!(answers, (1..=20).map(Value::from).collect::<Vec<_>>());
    assert_eq!(
        client.call("generation", json!([])).await.unwrap(),
        json!(2)
    );
}

#[tokio::test]
async fn a_connection_that_no_save_has_seen_survives_a_crash_too() {
    let world = world().await;
    let mut client = member(&world, Encoding::Cbor).await;
    world.host.evict(&id_of(&world).await).await.unwrap();
    world
        .call("a", "say", json!(["still there?"]))
        .await
        .unwrap();
    assert_eq!(client.seen().await.1, "said");
    let who = client.call("who", json!([])).await.unwrap();
    assert_eq!(who, json!(client.connection_id));
}

#[tokio::test]
async fn what_a_generation_died_over_is_answered_by_the_next_once() {
    let world = world().await;
    let mut client = member(&world, Encoding::Bare).await;
    let parked = client.start("park", json!([])).await;
    let parks = || world.script.parked.load(Ordering::SeqCst);
    eventually("parked", || parks() == 1).await;
    world.host.evict(&id_of(&world).await).await.unwrap();
    eventually("handed over again", || parks() == 2).await;
    world.script.unpark.notify_one();
    assert_eq!(
        client.seen().await,
        ("answer", parked.to_string(), json!(0))
    );
    assert_eq!(
        client.call("generation", json!([])).await.unwrap(),
        json!(2)
    );
}

#[tokio::test]
async fn a_message_that_kills_every_generation_is_given_up() {
    let world = world().await;
    let mut client = member(&world, Encoding::Bare).await;
    let answer = client.call("panic", json!([])).await;
    assert_eq!(answer.unwrap_err(), "actor.dropped_reply");
    assert_eq!(
        client.call("generation", json!([])).await.unwrap(),
        json!(3)
    );
}

#[tokio::test]
async fn who_leaves_while_the_actor_sleeps_is_gone_when_it_wakes() {
    let world = world().await;
    let client = member(&world, Encoding::Bare).await;
    sleep(&world).await;
    assert_eq!(client.close().await.0, 1000);
    eventually("the socket is let go", || world.host.open_sockets() == 0).await;
    assert_eq!(world.host.awake_count(), 0, "nobody is woken for that");
    assert_eq!(world.call("a", "conns", json!([])).await.unwrap(), json!(1));
    // Nor does it come back later.
    sleep(&world).await;
    assert_eq!(world.call("a", "conns", json!([])).await.unwrap(), json!(1));
}

#[tokio::test]
async fn destroying_a_sleeping_actor_closes_its_sockets() {
    let world = world().await;
    let mut client = member(&world, Encoding::Bare).await;
    sleep(&world).await;
    world.host.destroy(&id_of(&world).await).await.unwrap();
    assert_eq!(client.closed().await, (1000, String::new()));
}

#[tokio::test]
async fn idle_sockets_keep_an_actor_awake_unless_they_may_hibernate() {
    for (hibernate_when_idle, asleep) in [(false, false), (true, true)] {
        let (clock, time) = Clock::manual(0);
        let config = ActorConfig {
            hibernate_when_idle,
            ..config()
        };
        let world = world_with(config, |options| options.clock = clock.clone()).await;
        let mut client = member(&world, Encoding::Bare).await;
        for _ in 0..40 {
            tokio::time::sleep(Duration::from_millis(2)).await;
            time.advance_to_next(clock.now() + Duration::from_secs(1));
        }
        let sleeps = || world.host.awake_count() == 0;
        if asleep {
            world.asleep().await;
        }
        assert_eq!(sleeps(), asleep);
        let generation = client.call("generation", json!([])).await.unwrap();
        assert_eq!(generation, json!(1 + u32::from(asleep)));
    }
}

#[tokio::test]
async fn connections_end_with_the_process() {
    let world = world().await;
    let mut client = member(&world, Encoding::Bare).await;
    client.call("save", json!([])).await.unwrap();
    world.host.crash().await;
    let (script, folder) = (Arc::clone(&world.script), Arc::clone(&world.folder));
    let next = open(config(), script, folder, |_| {}).await;
    assert_eq!(next.call("a", "conns", json!([])).await.unwrap(), json!(1));
    eventually("only the caller's", || next.script.times("disconnect") == 1).await;
}

#[tokio::test]
async fn many_sleeps_under_traffic_lose_and_repeat_nothing() {
    let world = world().await;
    let mut client = member(&world, Encoding::Bare).await;
    let target: Target = room_of("a");
    let mut answers = Vec::new();
    let mut events = Vec::new();
    for round in 0..10 {
        for n in 0..20 {
            client.start("say", json!([round * 20 + n])).await;
        }
        client.start("sleep", json!([])).await;
        let _ = world.host.resolve(&target).await.unwrap();
    }
    while answers.len() < 200 {
        match client.seen().await {
            ("event", _, args) => events.push(args[0].as_i64().unwrap()),
            ("answer", _, count) if count != Value::Null => answers.push(count),
            other => panic!("unexpected: {other:?}"),
        }
        answers.dedup();
    }
    let all: Vec<i64> = (0..200).collect();
    assert_eq!(events, all);
    assert_eq!(world.call("a", "get", json!([])).await.unwrap(), json!(200));
}
