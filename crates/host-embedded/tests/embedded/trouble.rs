//! Failing starts, crashes, damaged and foreign files.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use greenroom_core::{ActorConfig, Clock};
use greenroom_error::code;
use greenroom_host_embedded::Target;
use greenroom_wire::ActorId;
use serde_json::json;

use crate::fixture::*;

#[tokio::test]
async fn a_start_that_fails_now_and_then_is_retried_for_the_caller() {
    let world = world().await;
    world.script.failing_starts.store(3, Ordering::SeqCst);
    let answer = world.call(&counter_of("a"), "increment", json!([])).await;
    assert_eq!(answer.unwrap(), 1);
    assert_eq!(world.script.times("failed start"), 3);
}

#[tokio::test]
async fn a_caller_gives_up_after_eight_failed_starts_and_is_told_why() {
    let world = world().await;
    world.script.failing_starts.store(1_000, Ordering::SeqCst);
    let error = world
        .call(&counter_of("a"), "get", json!([]))
        .await
        .unwrap_err();
    assert!(
        error.is(&code::GUARD_ACTOR_WAKE_RETRIES_EXCEEDED),
        "{error}"
    );
    assert_eq!(error.http_status(), 503);
    let metadata = error.metadata().unwrap();
    assert_eq!(metadata["wake_retries"], 8);
    assert_eq!(metadata["reason"], "actor_stopped_before_ready");
    assert_eq!(metadata["error"]["code"], "no_start");
    assert_eq!(world.script.times("failed start"), 8);
    // The next caller does not sit through the whole series again.
    let error = world
        .call(&counter_of("a"), "get", json!([]))
        .await
        .unwrap_err();
    assert!(error.is(&code::GUARD_ACTOR_WAKE_RETRIES_EXCEEDED));
    assert_eq!(world.script.times("failed start"), 9);
    world.script.failing_starts.store(0, Ordering::SeqCst);
    assert_eq!(
        world
            .call(&counter_of("a"), "get", json!([]))
            .await
            .unwrap(),
        0
    );
}

#[tokio::test]
async fn callers_that_wait_together_share_the_starts() {
    let world = Arc::new(world().await);
    world.script.failing_starts.store(4, Ordering::SeqCst);
    let calls = (0..50).map(|_| {
        let world = Arc::clone(&world);
        tokio::spawn(async move { world.call(&counter_of("a"), "increment", json!([])).await })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
    assert_eq!(world.script.times("failed start"), 4);
    assert_eq!(world.script.created.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_caller_waits_no_longer_than_the_ready_timeout() {
    let (clock, hands) = Clock::manual(0);
    let setup = Setup {
        clock,
        config: ActorConfig {
            no_sleep: true,
            ..ActorConfig::default()
        },
        ..Setup::default()
    };
    let world = Arc::new(setup.open().await);
    world.script.gate_starts.store(true, Ordering::SeqCst);
    let waiting = {
        let world = Arc::clone(&world);
        tokio::spawn(async move { world.call(&counter_of("a"), "get", json!([])).await })
    };
    world.script.at_gate.notified().await;
    eventually("the wait has an end", || hands.armed() > 0).await;
    hands.advance(Duration::from_secs(30));
    let error = waiting.await.unwrap().unwrap_err();
    assert!(error.is(&code::GUARD_ACTOR_READY_TIMEOUT), "{error}");
    // The start itself goes on.
    world.script.gate.add_permits(1);
    assert_eq!(
        world
            .call(&counter_of("a"), "get", json!([]))
            .await
            .unwrap(),
        0
    );
}

#[tokio::test]
async fn a_crashed_actor_is_restarted_by_the_next_call() {
    let world = world().await;
    let target = counter_of("a");
    world
        .call(&target, "increment_durably", json!([6]))
        .await
        .unwrap();
    for action in ["crash", "panic"] {
        world.call(&target, action, json!([])).await.ok();
        let waiting = || world.host.awake_count() == 0;
        eventually("the generation ends", waiting).await;
        assert_eq!(world.call(&target, "get", json!([])).await.unwrap(), 6);
    }
    assert_eq!(
        world.call(&target, "generation", json!([])).await.unwrap(),
        3
    );
}

#[tokio::test]
async fn a_damaged_database_stops_its_own_actor_only() {
    let world = world().await;
    let (bad, good) = (counter_of("bad"), counter_of("good"));
    world.call(&bad, "increment", json!([])).await.unwrap();
    world.call(&good, "increment", json!([])).await.unwrap();
    let id = world.host.resolve(&bad).await.unwrap();
    world.host.shutdown().await;
    let path = world.database_path(&id);
    let mut bytes = fs::read(&path).unwrap();
    for byte in &mut bytes[100..] {
        *byte = 0xa5;
    }
    fs::write(&path, bytes).unwrap();
    let again = world.reopen().await;
    let error = again.call(&bad, "get", json!([])).await.unwrap_err();
    assert!(error.is(&code::ACTOR_CORRUPT), "{error}");
    assert_eq!(again.call(&good, "get", json!([])).await.unwrap(), 1);
    again
        .host
        .destroy(&id)
        .await
        .expect("what is damaged can be destroyed");
    assert_eq!(again.call(&bad, "get", json!([])).await.unwrap(), 0);
}

#[tokio::test]
async fn a_second_host_on_the_same_folder_is_turned_away() {
    let world = world().await;
    let setup = Setup {
        folder: world.folder.clone(),
        ..Setup::default()
    };
    let error = setup.try_open().await.err().expect("locked");
    assert!(error.is(&code::HOST_DATA_DIR_LOCKED));
    assert!(error.message().contains(&std::process::id().to_string()));
    assert_eq!(
        world
            .call(&counter_of("a"), "get", json!([]))
            .await
            .unwrap(),
        0
    );
}

#[tokio::test]
async fn leftovers_of_destroyed_actors_are_deleted_and_unknown_databases_set_aside() {
    let world = world().await;
    let target = counter_of("a");
    world.call(&target, "increment", json!([])).await.unwrap();
    let destroyed = world.host.resolve(&target).await.unwrap();
    world.host.destroy(&destroyed).await.unwrap();
    world
        .call(&counter_of("b"), "increment_durably", json!([]))
        .await
        .unwrap();
    world.host.shutdown().await;
    let leftover = world.database_path(&destroyed);
    fs::create_dir_all(leftover.parent().unwrap()).unwrap();
    fs::write(&leftover, "left").unwrap();
    let stranger = ActorId::generate();
    let unknown = world.database_path(&stranger);
    fs::create_dir_all(unknown.parent().unwrap()).unwrap();
    fs::write(&unknown, "somebody's data").unwrap();
    let again = world.reopen().await;
    let aside = again
        .folder
        .path()
        .join("orphans")
        .join(unknown.file_name().unwrap());
    eventually("the sweep ends", || !leftover.exists() && aside.exists()).await;
    assert!(!unknown.exists());
    let kept = Target::get("counter", key("b"));
    assert_eq!(again.call(&kept, "get", json!([])).await.unwrap(), 1);
}
