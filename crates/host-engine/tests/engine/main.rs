//! The same promises, kept by the real engine. Its binary has to be there:
//! `npm install --prefix compat/engine`, then `cargo test -p greenroom-host-engine
//! --features real-engine --test engine`.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test waits in real time, and says how long each scenario took"
)]

mod hosts;
mod leave;

use std::time::Instant;

use greenroom_conformance::scenarios::{self, Scenario};

use crate::hosts::Engine;

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
