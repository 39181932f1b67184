//! Sleep, destruction, crash, shutdown: what survives and who answers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use greenroom_core::{ActorConfig, Clock};
use greenroom_error::code;
use greenroom_host_embedded::Target;
use greenroom_wire::value;
use serde_json::json;

use crate::fixture::*;

#[tokio::test]
async fn an_idle_actor_sleeps_and_the_next_call_wakes_it_with_its_state() {
    let (clock, hands) = Clock::manual(1_000_000);
    let setup = Setup {
        clock,
        ..Setup::default()
    };
    let world = setup.open().await;
    let target = counter_of("a");
    world.call(&target, "increment", json!([5])).await.unwrap();
    eventually("the idle timer is armed", || hands.armed() > 0).await;
    hands.advance(ActorConfig::default().sleep_timeout);
    eventually("the actor sleeps", || world.host.awake_count() == 0).await;
    assert_eq!(world.host.open_databases(), 0);
    assert_eq!(world.call(&target, "get", json!([])).await.unwrap(), 5);
    assert_eq!(world.script.created.load(Ordering::SeqCst), 1);
    assert_eq!(world.script.woken.load(Ordering::SeqCst), 1);
    let generation = world.call(&target, "generation", json!([])).await;
    assert_eq!(generation.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_is_lost_while_the_actor_keeps_falling_asleep() {
    let world = Arc::new(world().await);
    let target = counter_of("a");
    let calls = (0..8).map(|lane| {
        let (world, target) = (Arc::clone(&world), target.clone());
        tokio::spawn(async move {
            for round in 0..40 {
                world.call(&target, "increment", json!([])).await.unwrap();
                if (lane + round) % 5 == 0 {
                    world.call(&target, "sleep", json!([])).await.ok();
                }
            }
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    assert_eq!(world.call(&target, "get", json!([])).await.unwrap(), 8 * 40);
    assert_eq!(world.script.created.load(Ordering::SeqCst), 1);
    assert!(
        world.script.woken.load(Ordering::SeqCst) > 0,
        "it slept at all"
    );
}

#[tokio::test]
async fn a_call_during_the_grace_of_a_sleep_is_answered_by_this_generation_or_the_next() {
    let world = world().await;
    let target = counter_of("a");
    world.script.gate_cleanup.store(true, Ordering::SeqCst);
    world.call(&target, "sleep", json!([])).await.unwrap();
    world.script.at_gate.notified().await;
    let during = world.call(&target, "generation", json!([])).await;
    assert_eq!(during.unwrap(), 1, "hooks run, work is still taken");
    world.script.gate_cleanup.store(false, Ordering::SeqCst);
    world.script.gate.add_permits(1);
    eventually("the actor sleeps", || world.host.awake_count() == 0).await;
    let after = world.call(&target, "generation", json!([])).await;
    assert_eq!(after.unwrap(), 2);
}

#[tokio::test]
async fn a_destroyed_actor_is_gone_and_its_key_is_free() {
    let world = world().await;
    let target = counter_of("a");
    world.call(&target, "increment", json!([7])).await.unwrap();
    let id = world.host.resolve(&target).await.unwrap();
    let path = world.database_path(&id);
    assert!(path.exists());
    world.call(&target, "destroy", json!([])).await.unwrap();
    world
        .host
        .destroy(&id)
        .await
        .expect("destroying is idempotent");
    assert_eq!(world.script.times("on destroy"), 1);
    let by_id = world.call(&Target::Id(id), "get", json!([])).await;
    assert!(by_id.unwrap_err().is(&code::ACTOR_NOT_FOUND));
    let by_key = world
        .call(&Target::get("counter", key("a")), "get", json!([]))
        .await;
    assert!(by_key.unwrap_err().is(&code::ACTOR_NOT_FOUND));
    assert!(!path.exists());
    assert_eq!(world.call(&target, "get", json!([])).await.unwrap(), 0);
    assert_ne!(world.host.resolve(&target).await.unwrap(), id);
}

#[tokio::test]
async fn an_actor_is_destroyed_from_outside_awake_or_asleep() {
    let world = world().await;
    for awake in [true, false] {
        let target = counter_of("a");
        world.call(&target, "increment", json!([])).await.unwrap();
        let id = world.host.resolve(&target).await.unwrap();
        if !awake {
            world.call(&target, "sleep", json!([])).await.unwrap();
            eventually("the actor sleeps", || world.host.awake_count() == 0).await;
        }
        world.host.destroy(&id).await.unwrap();
        let gone = world.call(&Target::Id(id), "get", json!([])).await;
        assert!(gone.unwrap_err().is(&code::ACTOR_NOT_FOUND));
        assert!(!world.database_path(&id).exists());
    }
}

#[tokio::test]
async fn a_wish_of_a_starting_actor_is_carried_out_once_it_has_started() {
    let world = world().await;
    let target = counter_of("a");
    for (wish, hook) in [(1, "on sleep"), (2, "on destroy")] {
        world.script.wish_in_start.store(wish, Ordering::SeqCst);
        // Answered by this generation, or by the next if this one is gone by then.
        world.call(&target, "get", json!([])).await.unwrap();
        eventually(hook, || world.script.times(hook) == 1).await;
        world.call(&target, "sleep", json!([])).await.unwrap();
        eventually("the actor sleeps", || world.host.awake_count() == 0).await;
        world.script.log.lock().clear();
    }
}

#[tokio::test]
async fn an_actor_is_destroyed_while_it_starts() {
    let world = Arc::new(world().await);
    world.script.gate_starts.store(true, Ordering::SeqCst);
    let id = world.host.create("counter", &key("a"), None).await.unwrap();
    world.script.at_gate.notified().await;
    let destroying = tokio::spawn({
        let world = Arc::clone(&world);
        async move { world.host.destroy(&id).await }
    });
    world.script.gate.add_permits(1);
    destroying.await.unwrap().unwrap();
    let gone = world.call(&Target::Id(id), "get", json!([])).await;
    assert!(gone.unwrap_err().is(&code::ACTOR_NOT_FOUND));
}

#[tokio::test]
async fn destroying_what_never_was_is_not_found() {
    let world = world().await;
    let nobody = greenroom_wire::ActorId::generate();
    let error = world.host.destroy(&nobody).await.unwrap_err();
    assert!(error.is(&code::ACTOR_NOT_FOUND));
}

#[tokio::test]
async fn a_call_that_meets_a_destruction_goes_to_the_next_actor_or_is_not_found() {
    let world = Arc::new(world().await);
    let target = counter_of("a");
    world.call(&target, "increment", json!([])).await.unwrap();
    let id = world.host.resolve(&target).await.unwrap();
    world.script.gate_cleanup.store(true, Ordering::SeqCst);
    world.call(&target, "destroy", json!([])).await.unwrap();
    world.script.at_gate.notified().await;
    let during = |target: Target| {
        let world = Arc::clone(&world);
        tokio::spawn(async move { world.call(&target, "id", json!([])).await })
    };
    let next = during(target.clone());
    let by_id = during(Target::Id(id));
    let by_get = during(Target::get("counter", key("a")));
    // They wait for the end of the destruction, and are not answered before.
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!next.is_finished() && !by_id.is_finished() && !by_get.is_finished());
    world.script.gate_cleanup.store(false, Ordering::SeqCst);
    world.script.gate.add_permits(1);
    assert_ne!(next.await.unwrap().unwrap(), json!(id.as_str()));
    assert!(by_id.await.unwrap().unwrap_err().is(&code::ACTOR_NOT_FOUND));
    // Its key may already be the next actor's.
    if let Err(error) = by_get.await.unwrap() {
        assert!(error.is(&code::ACTOR_NOT_FOUND));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_and_destroyers_in_a_race_get_answers() {
    let world = Arc::new(world().await);
    let calls = (0..8).map(|lane| {
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            for round in 0..25 {
                let target = counter_of("a");
                let counted = world.call(&target, "increment", json!([])).await.unwrap();
                assert!(counted.as_i64().unwrap() >= 1);
                if (lane + round) % 4 == 0 {
                    let id = world.host.resolve(&target).await.unwrap();
                    world.host.destroy(&id).await.unwrap();
                }
            }
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    let destroyed = world.script.times("on destroy") as u32;
    let created = world.script.created.load(Ordering::SeqCst);
    assert!(destroyed > 0 && created >= destroyed);
}

#[tokio::test]
async fn everything_is_on_disk_after_a_shutdown() {
    let world = world().await;
    for name in ["a", "b", "c"] {
        world
            .call(&counter_of(name), "increment", json!([3]))
            .await
            .unwrap();
    }
    tokio::join!(world.host.shutdown(), world.host.shutdown());
    assert_eq!(world.script.times("on sleep"), 3);
    let late = world.call(&counter_of("a"), "get", json!([])).await;
    assert!(late.unwrap_err().is(&code::REGISTRY_SHUT_DOWN));
    let again = world.reopen().await;
    for name in ["a", "b", "c"] {
        let target = Target::get("counter", key(name));
        assert_eq!(again.call(&target, "get", json!([])).await.unwrap(), 3);
    }
    assert_eq!(again.script.created.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn after_a_crash_what_was_acknowledged_is_there_and_no_hook_has_run() {
    let world = world().await;
    let target = counter_of("a");
    world
        .call(&target, "increment_durably", json!([4]))
        .await
        .unwrap();
    world.host.crash().await;
    let again = world.reopen().await;
    assert_eq!(again.call(&target, "get", json!([])).await.unwrap(), 4);
    assert_eq!(again.script.times("on sleep"), 0);
    assert_eq!(again.script.created.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_input_survives_a_crash_before_the_first_start() {
    let world = world().await;
    world.script.gate_starts.store(true, Ordering::SeqCst);
    let input = value::from_value(&json!("the input"));
    let id = world
        .host
        .create("counter", &key("a"), Some(input))
        .await
        .unwrap();
    world.script.at_gate.notified().await;
    world.host.crash().await;
    world.script.gate_starts.store(false, Ordering::SeqCst);
    let again = world.reopen().await;
    let input = again.call(&Target::Id(id), "input", json!([])).await;
    assert_eq!(input.unwrap(), "the input");
}

#[tokio::test]
async fn a_dropped_host_lets_go_of_its_folder() {
    let World {
        host,
        folder,
        script,
    } = world().await;
    host.action(&counter_of("a"), &call("increment_durably", json!([])))
        .await
        .unwrap();
    drop(host);
    let setup = Setup {
        folder,
        script,
        ..Setup::default()
    };
    let mut host = None;
    for _ in 0..2_000 {
        match setup.try_open().await {
            Ok(opened) => {
                host = Some(opened);
                break;
            }
            Err(error) => assert!(error.is(&code::HOST_DATA_DIR_LOCKED), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let host = host.expect("the folder opens in the end");
    let count = host.action(&counter_of("a"), &call("get", json!([]))).await;
    assert_eq!(json_of(count.unwrap()), 1);
}

#[tokio::test]
async fn nothing_of_a_host_is_left_once_it_has_ended() {
    for crash in [false, true] {
        let World { host, script, .. } = world().await;
        for name in ["a", "b"] {
            let get = call("get", json!([]));
            host.action(&counter_of(name), &get).await.unwrap();
        }
        match crash {
            true => host.crash().await,
            false => host.shutdown().await,
        }
        drop(host);
        // The factory, which the registry owns, holds the other reference.
        let freed = || Arc::strong_count(&script) == 1;
        eventually("the registry is freed", freed).await;
    }
}

#[tokio::test]
async fn an_evicted_actor_loses_its_memory_and_nothing_else() {
    let (clock, _hands) = Clock::manual(1_000_000);
    let setup = Setup {
        clock,
        ..Setup::default()
    };
    let world = setup.open().await;
    let target = counter_of("a");
    world
        .call(&target, "increment_durably", json!([1]))
        .await
        .unwrap();
    // Not saved: the clock stands still.
    assert_eq!(
        world.call(&target, "increment", json!([1])).await.unwrap(),
        2
    );
    let id = world.host.resolve(&target).await.unwrap();
    world.host.evict(&id).await.unwrap();
    assert_eq!(world.script.times("on sleep"), 0);
    assert_eq!(world.call(&target, "get", json!([])).await.unwrap(), 1);
    assert_eq!(
        world.call(&target, "generation", json!([])).await.unwrap(),
        2
    );
}
