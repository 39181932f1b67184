//! The endpoint API.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use greenroom_wire::{ActorId, value};
use serde_json::{Value, json};

use crate::client::*;
use crate::fixture::*;

async fn open() -> (World, Client) {
    let world = world().await;
    let listener = listen(&world.host).await;
    let client = Client::connect(listener.addr()).await;
    (world, client)
}

fn body(key: &str) -> String {
    json!({
        "name": "counter",
        "key": key,
        "runner_name_selector": "default",
        "crash_policy": "sleep",
    })
    .to_string()
}

async fn put(client: &mut Client, key: &str) -> Value {
    let reply = client
        .ask("PUT", "/actors?namespace=default", &[], body(key))
        .await;
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()
}

#[tokio::test]
async fn putting_a_key_twice_creates_one_actor() {
    let (world, mut client) = open().await;
    let first = put(&mut client, "a/b").await;
    assert_eq!(first["created"], true);
    let actor = &first["actor"];
    assert_eq!(actor["name"], "counter");
    assert_eq!(actor["key"], "a/b");
    assert_eq!(actor["datacenter"], "default");
    assert_eq!(actor["crash_policy"], "sleep");
    assert!(actor["create_ts"].is_number());
    for absent in ["start_ts", "destroy_ts", "sleep_ts", "reschedule_ts"] {
        assert_eq!(actor[absent], Value::Null, "{absent}");
    }
    assert_eq!(actor.get("error"), None);
    let second = put(&mut client, "a/b").await;
    assert_eq!(second["created"], false);
    assert_eq!(second["actor"]["actor_id"], actor["actor_id"]);
    let key = greenroom_wire::ActorKey::new(["a", "b"]).unwrap();
    let target = greenroom_host_embedded::Target::get("counter", key);
    let id = world.host.resolve(&target).await.unwrap();
    assert_eq!(actor["actor_id"], id.as_str());
}

#[tokio::test]
async fn posting_a_key_twice_is_a_duplicate_that_names_the_first() {
    let (world, mut client) = open().await;
    let input = STANDARD.encode(value::from_value(&json!({ "hi": 1 })));
    let mut with_input: Value = serde_json::from_str(&body("a")).unwrap();
    with_input["input"] = json!(input);
    let first = client
        .ask("POST", "/actors", &[], with_input.to_string())
        .await;
    assert_eq!(first.status, 200);
    let id = first.json()["actor"]["actor_id"].clone();
    let again = client.ask("POST", "/actors", &[], body("a")).await;
    assert_eq!(again.error(), (400, "actor.duplicate_key".to_owned()));
    assert_eq!(again.json()["metadata"]["existing_actor_id"], id);
    assert_eq!(again.json()["metadata"]["key"], "a");
    let seen = world.call(&counter_of("a"), "input", json!([])).await;
    assert_eq!(seen.unwrap(), json!({ "hi": 1 }));
}

#[tokio::test]
async fn what_a_body_must_not_say_is_refused() {
    let (world, mut client) = open().await;
    let long = "x".repeat(1_025);
    let big = STANDARD.encode(vec![0; (4 << 20) + 1]);
    for (change, status, expected) in [
        (json!({ "key": null }), 400, "actor.empty_key"),
        (json!({ "key": "" }), 400, "actor.empty_key"),
        (json!({ "key": long }), 400, "actor.key_too_large"),
        (json!({ "input": "!" }), 400, "api.bad_request"),
        (json!({ "input": "/w==" }), 400, "api.bad_request"),
        (json!({ "input": big }), 400, "actor.input_too_large"),
        (json!({ "datacenter": "mars" }), 400, "datacenter.not_found"),
        (json!({ "crash_policy": "explode" }), 400, "api.bad_request"),
        (json!({ "extra": 1 }), 400, "api.bad_request"),
        (json!({ "name": 1 }), 400, "api.bad_request"),
        (json!({ "name": "unregistered" }), 404, "actor.not_found"),
    ] {
        let mut body: Value = serde_json::from_str(&body("a")).unwrap();
        for (name, value) in change.as_object().unwrap() {
            body[name] = value.clone();
        }
        for method in ["PUT", "POST"] {
            let reply = client.ask(method, "/actors", &[], body.to_string()).await;
            assert_eq!(
                reply.error(),
                (status, expected.to_owned()),
                "{method} {change}"
            );
        }
    }
    for text in ["", "{", "[]", "null", "\"x\""] {
        let reply = client.ask("PUT", "/actors", &[], text).await;
        assert_eq!(reply.error(), (400, "api.bad_request".to_owned()), "{text}");
        assert!(reply.json()["metadata"]["reason"].is_string());
    }
    let reply = client
        .ask("PUT", "/actors?namespace=nope", &[], body("a"))
        .await;
    assert_eq!(reply.error(), (400, "namespace.not_found".to_owned()));
    let reply = client.ask("PUT", "/actors?x=1", &[], body("a")).await;
    assert_eq!(reply.error(), (400, "api.bad_request".to_owned()));
    let big = vec![b' '; 7 << 20];
    let reply = client.ask("PUT", "/actors", &[], big).await;
    assert_eq!(reply.error(), (400, "api.bad_request".to_owned()));
    assert_eq!(world.host.awake_count(), 0, "nothing was created");
}

#[tokio::test]
async fn actors_are_listed_by_key_name_and_id() {
    let (world, mut client) = open().await;
    let mut ids = Vec::new();
    for key in ["a", "b", "c"] {
        ids.push(
            put(&mut client, key).await["actor"]["actor_id"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    let ids_of = |json: Value| -> Vec<String> {
        let actors = json["actors"].as_array().unwrap();
        actors
            .iter()
            .map(|a| a["actor_id"].as_str().unwrap().to_owned())
            .collect()
    };
    let by_key = client
        .get("/actors?name=counter&key=b&namespace=default")
        .await;
    assert_eq!(ids_of(by_key.json()), [ids[1].clone()]);
    assert_eq!(by_key.json()["pagination"], json!({ "cursor": null }));
    let mut by_name = ids_of(client.get("/actors?name=counter").await.json());
    by_name.sort();
    ids.sort();
    assert_eq!(by_name, ids);
    let stranger = ActorId::generate();
    let list = format!("{},{stranger},not-an-id,{}", ids[0], ids[2]);
    let mut by_id = ids_of(
        client
            .get(&format!("/actors?actor_ids={list}"))
            .await
            .json(),
    );
    by_id.sort();
    assert_eq!(by_id, [ids[0].clone(), ids[2].clone()]);
    let repeated = format!("/actors?actor_id={}&actor_id={}", ids[0], ids[1]);
    assert_eq!(ids_of(client.get(&repeated).await.json()).len(), 2);
    for nobody in [
        "/actors?actor_ids=",
        "/actors?actor_ids=x",
        "/actors?name=other",
    ] {
        assert_eq!(
            client.get(nobody).await.json()["actors"],
            json!([]),
            "{nobody}"
        );
    }
    // Destroyed actors are found by id, and by name only on request.
    let gone = ActorId::parse(&ids[0]).unwrap();
    world.host.destroy(&gone).await.unwrap();
    let by_id = client
        .get(&format!("/actors?actor_ids={gone}"))
        .await
        .json();
    assert!(by_id["actors"][0]["destroy_ts"].is_number());
    assert_eq!(
        ids_of(client.get("/actors?name=counter").await.json()).len(),
        2
    );
    let all = client
        .get("/actors?name=counter&include_destroyed=true")
        .await;
    assert_eq!(ids_of(all.json()).len(), 3);
}

#[tokio::test]
async fn pages_lead_to_every_actor_once() {
    let (_world, mut client) = open().await;
    for n in 0..7 {
        put(&mut client, &n.to_string()).await;
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = client
            .get(&format!("/actors?name=counter&limit=3{cursor}"))
            .await
            .json();
        let actors = page["actors"].as_array().unwrap().clone();
        assert!(actors.len() <= 3);
        seen.extend(
            actors
                .iter()
                .map(|actor| actor["key"].as_str().unwrap().to_owned()),
        );
        match page["pagination"]["cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, ["6", "5", "4", "3", "2", "1", "0"]);
}

#[tokio::test]
async fn a_list_that_asks_for_nothing_in_particular_is_refused() {
    let (_world, mut client) = open().await;
    let many = (0..33)
        .map(|_| ActorId::generate().to_string())
        .collect::<Vec<_>>()
        .join(",");
    for (query, expected, message) in [
        (
            "key=a".to_owned(),
            "validation.invalid_input",
            "Name is required when key is provided.",
        ),
        (
            String::new(),
            "validation.invalid_input",
            "Name is required when not using actor_ids.",
        ),
        (
            "actor_ids=x&name=counter".to_owned(),
            "validation.invalid_input",
            "Cannot provide both actor IDs and a name or key.",
        ),
        (
            format!("actor_ids={many}"),
            "validation.too_many_actor_ids",
            "Too many actor IDs provided. Maximum is 32, got 33",
        ),
        (
            "name=counter&limit=x".to_owned(),
            "api.bad_request",
            "Request is invalid: query parameter `limit` is not a positive number",
        ),
        (
            "name=counter&nope=1".to_owned(),
            "api.bad_request",
            "Request is invalid: unknown query parameter `nope`",
        ),
        (
            "name=counter&cursor=x".to_owned(),
            "api.bad_request",
            "Request is invalid: query parameter `cursor` is not one that was handed out",
        ),
        (
            "name=counter&key=".to_owned(),
            "actor.empty_key",
            "Key label cannot be empty.",
        ),
    ] {
        let reply = client.get(&format!("/actors?{query}")).await;
        assert_eq!(reply.error(), (400, expected.to_owned()), "{query}");
        assert_eq!(reply.json()["message"], message);
    }
}

#[tokio::test]
async fn timestamps_follow_an_actor_through_its_life() {
    let (world, mut client) = open().await;
    let target = counter_of("a");
    world.call(&target, "increment", json!([])).await.unwrap();
    let id = world.host.resolve(&target).await.unwrap();
    let path = format!("/actors?actor_ids={id}");
    let awake = client.get(&path).await.json()["actors"][0].clone();
    assert!(awake["connectable_ts"].is_number());
    assert_eq!(awake["sleep_ts"], Value::Null);
    let slept = client
        .ask("POST", &format!("/actors/{id}/sleep"), &[], "{}")
        .await;
    assert_eq!(slept.json(), json!({}));
    eventually("the actor sleeps", || world.host.awake_count() == 0).await;
    let asleep = client.get(&path).await.json()["actors"][0].clone();
    assert_eq!(asleep["connectable_ts"], Value::Null);
    assert!(asleep["sleep_ts"].is_number() && asleep["start_ts"].is_number());
    client
        .ask("POST", &format!("/actors/{id}/reschedule"), &[], "{}")
        .await;
    eventually("the actor wakes", || world.host.awake_count() == 1).await;
}

#[tokio::test]
async fn a_failing_actor_shows_its_error() {
    let (world, mut client) = open().await;
    world
        .script
        .failing_starts
        .store(1_000, std::sync::atomic::Ordering::SeqCst);
    let id = put(&mut client, "a").await["actor"]["actor_id"]
        .as_str()
        .unwrap()
        .to_owned();
    world
        .call(&counter_of("a"), "get", json!([]))
        .await
        .unwrap_err();
    let path = format!("/actors?actor_ids={id}");
    let actor = client.get(&path).await.json()["actors"][0].clone();
    let message = actor["error"]["crashed"]["message"].as_str().unwrap();
    assert!(message.contains("no_start"), "{message}");
}

#[tokio::test]
async fn deleting_is_idempotent_and_takes_ids_only() {
    let (world, mut client) = open().await;
    let id = put(&mut client, "a").await["actor"]["actor_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/actors/{id}?namespace=default");
    for _ in 0..2 {
        let reply = client.ask("DELETE", &path, &[], "").await;
        assert_eq!((reply.status, reply.json()), (200, json!({})));
    }
    let id = ActorId::parse(&id).unwrap();
    assert!(!world.database_path(&id).exists());
    let reply = client.ask("DELETE", "/actors/nonsense", &[], "").await;
    assert_eq!(reply.error(), (400, "api.bad_request".to_owned()));
    let nobody = format!("/actors/{}", ActorId::generate());
    let reply = client.ask("DELETE", &nobody, &[], "").await;
    assert_eq!(reply.error(), (404, "actor.not_found".to_owned()));
    // A parameter that is not known stops the request before it acts.
    let id = put(&mut client, "b").await["actor"]["actor_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let reply = client
        .ask("DELETE", &format!("/actors/{id}?force=1"), &[], "")
        .await;
    assert_eq!(reply.error(), (400, "api.bad_request".to_owned()));
    let b = world.call(&counter_of("b"), "id", json!([])).await.unwrap();
    assert_eq!(b, json!(id));
}

#[tokio::test]
async fn methods_that_a_route_does_not_take_get_its_list() {
    let (_world, mut client) = open().await;
    for (method, path, allowed) in [
        ("PATCH", "/actors", "GET,HEAD,PUT,POST"),
        ("POST", "/metadata", "GET,HEAD"),
        ("GET", "/actors/x", "DELETE"),
        ("DELETE", "/health", "GET,HEAD"),
    ] {
        let reply = client.ask(method, path, &[], "").await;
        assert_eq!(
            (reply.status, reply.body.len()),
            (405, 0),
            "{method} {path}"
        );
        assert_eq!(reply.header("allow"), Some(allowed));
    }
    let head = client.ask("HEAD", "/health", &[], "").await;
    assert_eq!((head.status, head.body.len()), (200, 0));
}

#[tokio::test]
async fn the_host_describes_itself_as_a_cluster_of_one() {
    let (_world, mut client) = open().await;
    let metadata = client.get("/metadata?namespace=default").await;
    assert_eq!(metadata.header("content-type"), Some("application/json"));
    assert_eq!(metadata.json()["version"], "2.3.19");
    assert_eq!(metadata.json().get("clientEndpoint"), None);
    assert!(metadata.json()["actorNames"]["counter"].is_object());
    let health = client.get("/health").await.json();
    assert_eq!(
        health,
        json!({ "runtime": "engine", "status": "ok", "version": "2.3.19" })
    );
    let names = client.get("/actors/names?namespace=default").await.json();
    assert_eq!(names["names"], json!({ "counter": { "metadata": {} } }));
    let namespaces = client.get("/namespaces").await.json();
    assert_eq!(namespaces["namespaces"][0]["name"], "default");
    let id = namespaces["namespaces"][0]["namespace_id"]
        .as_str()
        .unwrap();
    assert!(ActorId::parse(id).is_some());
    let taken = json!({ "name": "default", "display_name": "x" }).to_string();
    let reply = client.ask("POST", "/namespaces", &[], taken).await;
    assert_eq!(reply.error(), (400, "namespace.name_not_unique".to_owned()));
    let datacenters = client.get("/datacenters").await.json();
    assert_eq!(datacenters["datacenters"][0]["label"], 1);
    let configs = client
        .get("/runner-configs?namespace=default&runner_name=default")
        .await;
    assert!(configs.json()["runner_configs"]["default"]["datacenters"].is_object());
    let reply = client
        .ask("PUT", "/runner-configs/default", &[], "{}")
        .await;
    assert_eq!(reply.json(), json!({ "endpoint_config_changed": false }));
    let envoys = client.get("/envoys?namespace=default").await.json();
    assert_eq!(
        envoys["envoys"][0]["metadata"]["rivetkit"]["version"],
        "2.3.19"
    );
    assert_eq!(client.get("/runners").await.json()["runners"], json!([]));
    assert_eq!(
        client.get("/runners/names").await.json()["names"],
        json!([])
    );
    assert_eq!(
        client.get("/health/fanout").await.json()["datacenters"][0]["status"],
        "ok"
    );
}

#[tokio::test]
async fn dashboards_find_the_inspector_token_which_lasts() {
    let (world, mut client) = open().await;
    let id = put(&mut client, "a").await["actor"]["actor_id"].clone();
    let id = id.as_str().unwrap();
    let path = format!("/actors/{id}/kv/keys/Aw%3D%3D?namespace=default");
    let first = client.get(&path).await;
    assert_eq!(first.status, 200, "{first:?}");
    let token = STANDARD.decode(first.json()["value"].as_str().unwrap());
    let token = String::from_utf8(token.unwrap()).unwrap();
    assert_eq!(token.len(), 43);

    let actor = world.host.wake(&counter_of("a")).await.unwrap();
    assert!(actor.ctx().verify_inspector_token(Some(&token)).is_ok());
    for wrong in [None, Some(""), Some("x"), Some(&token[1..])] {
        let refused = actor.ctx().verify_inspector_token(wrong).unwrap_err();
        assert!(refused.is(&greenroom_error::code::INSPECTOR_UNAUTHORIZED));
    }
    drop(actor);
    world.host.shutdown().await;
    let world = world.reopen().await;
    let listener = listen(&world.host).await;
    let mut client = Client::connect(listener.addr()).await;
    assert_eq!(client.get(&path).await.json(), first.json());

    for (id, key, expected) in [
        (id, "BA%3D%3D", "actor.kv_key_not_found"),
        (id, "!", "api.bad_request"),
        ("x", "Aw%3D%3D", "api.bad_request"),
    ] {
        let path = format!("/actors/{id}/kv/keys/{key}?namespace=default");
        assert_eq!(client.get(&path).await.error(), (400, expected.to_owned()));
    }
}
