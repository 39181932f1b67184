//! Names, keys and ids.

use greenroom_error::code;
use greenroom_host_embedded::Target;
use greenroom_wire::{ActorId, value};
use serde_json::json;

use crate::fixture::*;
use std::sync::atomic::Ordering;

#[tokio::test]
async fn a_first_call_creates_the_actor_and_later_ones_find_it() {
    let world = world().await;
    let target = counter_of("a");
    assert_eq!(
        world.call(&target, "increment", json!([2])).await.unwrap(),
        2
    );
    assert_eq!(
        world.call(&target, "increment", json!([])).await.unwrap(),
        3
    );
    let id = world.host.resolve(&target).await.unwrap();
    let by_id = world.call(&Target::Id(id), "get", json!([])).await.unwrap();
    assert_eq!(by_id, 3);
    assert_eq!(world.script.created.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_first_calls_create_one_actor_with_the_input_of_one() {
    let world = world().await;
    let calls = (0..200).map(|n| {
        let host = world.host.clone();
        tokio::spawn(async move {
            let input = value::from_value(&json!(n));
            let target = Target::get_or_create("counter", key("a"), Some(input));
            let counted = host.action(&target, &call("increment", json!([]))).await;
            counted.unwrap();
            let input = host.action(&target, &call("input", json!([]))).await;
            json_of(input.unwrap())
        })
    });
    let mut inputs = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        inputs.push(call.await.unwrap());
    }
    inputs.dedup();
    assert_eq!(inputs.len(), 1, "one input won: {inputs:?}");
    assert_eq!(world.script.created.load(Ordering::SeqCst), 1);
    let count = world.call(&counter_of("a"), "get", json!([])).await;
    assert_eq!(count.unwrap(), 200);
}

#[tokio::test]
async fn keys_that_differ_are_different_actors() {
    let world = world().await;
    let keys = [
        vec![],
        vec!["a"],
        vec!["a", "b"],
        vec!["a/b"],
        vec!["a", ""],
    ];
    let mut ids = Vec::new();
    for key in &keys {
        let key = greenroom_wire::ActorKey::new(key).unwrap();
        let target = Target::get_or_create("counter", key, None);
        ids.push(
            world
                .call(&target, "id", json!([]))
                .await
                .unwrap()
                .to_string(),
        );
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), keys.len());
}

#[tokio::test]
async fn what_does_not_exist_is_not_found_at_once() {
    let world = world().await;
    let missing = [
        Target::get("counter", key("nobody")),
        Target::Id(ActorId::generate()),
        Target::get_or_create("unregistered", key("a"), None),
        Target::get("unregistered", key("a")),
    ];
    for target in missing {
        let error = world.call(&target, "get", json!([])).await.unwrap_err();
        assert!(error.is(&code::ACTOR_NOT_FOUND), "{target:?}: {error}");
        assert_eq!(
            error.message(),
            "The actor does not exist or was destroyed."
        );
        let error = world.host.resolve(&target).await.unwrap_err();
        assert!(error.is(&code::ACTOR_NOT_FOUND));
    }
    assert_eq!(world.host.awake_count(), 0);
}

#[tokio::test]
async fn creating_a_key_twice_names_the_first_actor() {
    let world = world().await;
    let id = world.host.create("counter", &key("a"), None).await.unwrap();
    let error = world
        .host
        .create("counter", &key("a"), None)
        .await
        .unwrap_err();
    assert!(error.is(&code::ACTOR_DUPLICATE_KEY));
    let expected = json!({ "existing_actor_id": id.as_str(), "key": "a" });
    assert_eq!(error.metadata(), Some(&expected));
    let found = world.host.resolve(&Target::get("counter", key("a"))).await;
    assert_eq!(found.unwrap(), id);
}

#[tokio::test]
async fn an_actor_created_starts_without_a_call() {
    let world = world().await;
    let input = value::from_value(&json!({ "x": 1 }));
    world
        .host
        .create("counter", &key("a"), Some(input))
        .await
        .unwrap();
    let created = || world.script.created.load(Ordering::SeqCst) == 1;
    eventually("the actor starts", created).await;
    let input = world.call(&counter_of("a"), "input", json!([])).await;
    assert_eq!(input.unwrap(), json!({ "x": 1 }));
}
