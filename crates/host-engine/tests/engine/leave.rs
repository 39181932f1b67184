//! A host that leaves: quickly, within the time it has, and with what its actors have
//! not saved yet.

use std::time::{Duration, Instant};

use greenroom_conformance::{Under, actor, eventually, in_time};
use greenroom_core::ActorConfig;
use greenroom_host_engine::EngineOptions;
use greenroom_wire::ActorId;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::hosts::{self, Engine, Joined};

/// Actors whose count is 2, of which 1 is saved.
async fn half_saved(under: &Under, count: usize) -> Vec<ActorId> {
    let mut actors = Vec::new();
    for at in 0..count {
        let actor = under.create(&format!("last-{at}")).await;
        assert_eq!(under.action(&actor, "add", 1).await, 1);
        actors.push(actor);
    }
    for actor in &actors {
        assert_eq!(under.action(actor, "add_unsaved", 1).await, 2);
    }
    actors
}

async fn time_of(work: impl Future) -> Duration {
    let began = Instant::now();
    work.await;
    began.elapsed()
}

/// The count. Until an engine has noticed where its actors are not any more, it may
/// answer for them itself, with an error.
async fn answer(under: &Under, actor: &ActorId) -> Value {
    in_time("an answer of the actor", async {
        loop {
            let reply = under.call(actor, "get", 0).await;
            match reply.status {
                200 => return reply.json()["output"].clone(),
                status => assert!(status >= 500, "get: {status} {:?}", reply.body),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
}

async fn assert_saved(under: &Under, actors: &[ActorId]) {
    for actor in actors {
        assert_eq!(answer(under, actor).await, 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaving_an_engine_is_quick_and_actors_go_on_elsewhere() {
    let engine = Engine::start().await;
    let first = engine.join("shared").await;
    let under = first.under();
    let actor = under.create("moves").await;
    assert_eq!(under.action(&actor, "add", 7).await, 7);
    let took = time_of(first.close()).await;
    assert!(took.as_secs() < 10, "{took:?}");
    let second = engine.join("shared").await;
    assert_eq!(under.action(&actor, "get", 0).await, 7);
    second.close().await;
    engine.stop().await;
}

/// Leaves within `time`, and its actors save nothing before they stop.
async fn late_saver(engine: &Engine, time: Duration) -> Joined {
    let options = EngineOptions {
        drain_timeout: time,
        ..engine.options_for("shared")
    };
    let config = ActorConfig {
        state_save_interval: Duration::from_secs(60),
        ..actor::config()
    };
    engine.join_with(options, config).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaving_an_engine_that_does_not_answer_takes_no_longer_than_it_may() {
    let engine = Engine::start().await;
    let time = Duration::from_millis(600);
    let host = late_saver(&engine, time).await;
    let under = host.under();
    half_saved(&under, 8).await;
    engine.signal("STOP");
    let took = time_of(host.close()).await;
    engine.signal("CONT");
    assert!(took < time + Duration::from_secs(8), "{took:?}");
    engine.stop().await;
}

/// An engine stops few actors a second; more than it gets to here in a third of the
/// time. It commits about a hundred a second, which leaves room in the rest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn actors_that_the_engine_does_not_stop_in_time_save_their_last_by_themselves() {
    const ACTORS: usize = 96;
    hosts::log();
    let engine = Engine::start().await;
    let time = Duration::from_secs(6);
    let first = late_saver(&engine, time).await;
    let under = first.under();
    let actors = half_saved(&under, ACTORS).await;
    let took = time_of(first.close()).await;
    assert!(took > time / 3, "the engine has stopped all: {took:?}");
    let second = engine.join("shared").await;
    assert_saved(&under, &actors).await;
    second.close().await;
    engine.stop().await;
}

/// As when the machine of both is updated. Its actors have others to go to at once, as
/// the engine hears that they stopped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_leaves_while_the_engine_is_away_hands_over_when_it_is_back() {
    hosts::log();
    let mut engine = Engine::start().await;
    let time = Duration::from_secs(24);
    let first = late_saver(&engine, time).await;
    let under = first.under();
    let actors = half_saved(&under, 8).await;
    engine.go_away().await;
    let leaving = async { tokio::join!(first.close(), engine.start_again()) };
    let took = time_of(leaving).await;
    assert!(took < time, "the engine has not heard of it: {took:?}");
    let second = engine.join("shared").await;
    let took = time_of(assert_saved(&under, &actors)).await;
    assert!(
        took < Duration::from_secs(12),
        "it looked for them: {took:?}"
    );
    second.close().await;
    engine.stop().await;
}

/// Whichever have begun are stopped, and the others begin elsewhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_leaves_while_actors_start_leaves_none_behind() {
    const ACTORS: usize = 24;
    hosts::log();
    let engine = Engine::start().await;
    let first = engine.join("shared").await;
    let (begun, mut count) = watch::channel(0);
    let mut creations = JoinSet::new();
    for at in 0..ACTORS {
        let (under, begun) = (first.under(), begun.clone());
        creations.spawn(async move {
            let actor = under.create(&format!("early-{at}")).await;
            begun.send_modify(|count| *count += 1);
            actor
        });
    }
    let under = first.under();
    let some = count.wait_for(|count| *count >= ACTORS / 4).await;
    drop(some.expect("some begin"));
    first.close().await;
    let second = engine.join("shared").await;
    let actors = creations.join_all().await;
    for actor in actors {
        assert_eq!(answer(&under, &actor).await, 0);
    }
    second.close().await;
    engine.stop().await;
}

/// As when a program has one process and is updated. An engine that has to move actors and
/// finds no place for them tries again after 2, 4, 8 s and so on up to minutes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn actors_of_a_host_that_was_alone_answer_as_soon_as_another_comes() {
    const AWAY: Duration = Duration::from_secs(8);
    hosts::log();
    let engine = Engine::start().await;
    let first = engine.join("shared").await;
    let under = first.under();
    let actors = half_saved(&under, 4).await;
    first.close().await;
    tokio::time::sleep(AWAY).await;
    let second = engine.join("shared").await;
    let took = time_of(assert_saved(&under, &actors)).await;
    assert!(took < Duration::from_secs(3), "{took:?}");
    second.close().await;
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn actors_go_on_at_once_where_another_process_is_there() {
    hosts::log();
    let engine = Engine::start().await;
    let first = engine.join("shared").await;
    let under = first.under();
    let actors = half_saved(&under, 3).await;
    let second = engine.join("shared").await;
    first.close().await;
    // Nobody calls them.
    let awake = || second.host.awake_count() == actors.len();
    eventually("they are awake there", awake).await;
    assert_saved(&under, &actors).await;
    second.close().await;
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_alarm_that_is_due_while_no_process_is_there_wakes_its_actor_after() {
    hosts::log();
    let engine = Engine::start().await;
    let first = engine.join("shared").await;
    let under = first.under();
    let actor = under.create("wakes").await;
    assert_eq!(under.action(&actor, "alarm_in", 4_000).await, 0);
    first.close().await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    let second = engine.join("shared").await;
    let awake = || second.host.awake_count() == 1;
    eventually("it is awake there", awake).await;
    second.close().await;
    engine.stop().await;
}
