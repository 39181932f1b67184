//! The same promises, kept by the real engine. Its binary has to be there:
//! `npm install --prefix compat/engine`, then `cargo test -p greenroom-host-engine
//! --features real-engine --test engine`.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test waits in real time, and says how long each scenario took"
)]

mod hosts;

use std::time::{Duration, Instant};

use greenroom_conformance::actor;
use greenroom_conformance::scenarios::{self, Scenario};
use greenroom_core::ActorConfig;
use greenroom_host_engine::EngineOptions;

use crate::hosts::{Engine, Joined};

/// One test, because the engine takes longer to start than the scenarios do.
/// `GREENROOM_SCENARIO` picks those whose name contains it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_real_engine_keeps_the_same_promises() {
    hosts::log();
    let engine = Engine::start().await;
    let mut failed = Vec::new();
    for Scenario { name, run } in scenarios::all() {
        if std::env::var("GREENROOM_SCENARIO").is_ok_and(|only| !name.contains(&only)) {
            continue;
        }
        let host = engine.join_alone().await;
        let under = host.under();
        let began = Instant::now();
        let outcome = tokio::spawn(run(under)).await;
        println!("{name}: {} in {:?}", outcome.is_ok(), began.elapsed());
        if outcome.is_err() {
            failed.push(name);
        }
        host.close().await;
    }
    engine.stop().await;
    assert!(failed.is_empty(), "failed: {failed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaving_an_engine_is_quick_and_actors_go_on_elsewhere() {
    let engine = Engine::start().await;
    let first = engine.join("shared").await;
    let under = first.under();
    let actor = under.create("moves").await;
    assert_eq!(under.action(&actor, "add", 7).await, 7);
    let began = Instant::now();
    first.close().await;
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
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
    let actor = under.create("frozen").await;
    assert_eq!(under.action(&actor, "add", 1).await, 1);
    assert_eq!(under.action(&actor, "add_unsaved", 1).await, 2);
    engine.signal("STOP");
    let began = Instant::now();
    host.close().await;
    let took = began.elapsed();
    engine.signal("CONT");
    assert!(took < time + Duration::from_secs(8), "{took:?}");
    engine.stop().await;
}

/// An engine stops few actors a second; more than it gets to here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn actors_that_the_engine_does_not_stop_in_time_save_their_last_by_themselves() {
    const ACTORS: usize = 96;
    let engine = Engine::start().await;
    let time = Duration::from_millis(1_200);
    let first = late_saver(&engine, time).await;
    let under = first.under();
    let mut actors = Vec::new();
    for at in 0..ACTORS {
        let actor = under.create(&format!("last-{at}")).await;
        assert_eq!(under.action(&actor, "add", 1).await, 1);
        actors.push(actor);
    }
    for actor in &actors {
        assert_eq!(under.action(actor, "add_unsaved", 1).await, 2);
    }
    let began = Instant::now();
    first.close().await;
    let took = began.elapsed();
    assert!(took > time / 3, "the engine has stopped all: {took:?}");
    let second = engine.join("shared").await;
    for actor in &actors {
        assert_eq!(under.action(actor, "get", 0).await, 2);
    }
    second.close().await;
    engine.stop().await;
}

#[tokio::test]
async fn a_second_process_at_the_endpoint_uses_the_engine_that_runs() {
    let engine = Engine::start().await;
    let found = engine.again().await.expect("the engine answers");
    assert!(!found.is_ours());
    found.stop().await;
    let host = engine.join("shared").await;
    host.close().await;
    engine.stop().await;
}
