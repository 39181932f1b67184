//! Actions and queue messages over HTTP, byte for byte.

use greenroom_core::ActorConfig;
use serde_json::json;

use crate::client::*;
use crate::fixture::*;

const QUERY: &str = "rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default";
const BARE: &[(&str, &str)] = &[("x-rivet-encoding", "bare")];
const CBOR: &[(&str, &str)] = &[("x-rivet-encoding", "cbor")];
const JSON: &[(&str, &str)] = &[("x-rivet-encoding", "json")];

fn path(route: &str) -> String {
    format!("/gateway/counter{route}?{QUERY}&rvt-key=a")
}

async fn open() -> (World, Client) {
    let world = world().await;
    let listener = listen(&world.host).await;
    let client = Client::connect(listener.addr()).await;
    (world, client)
}

#[tokio::test]
async fn an_action_is_answered_in_the_encoding_of_its_request() {
    let (_world, mut client) = open().await;
    let path = path("/action/increment");
    let bare = client
        .ask("POST", &path, BARE, &b"\x04\x00\x02\x81\x04"[..])
        .await;
    assert_eq!(bare.status, 200);
    assert_eq!(bare.body, b"\x04\x00\x01\x04".as_slice());
    assert_eq!(
        bare.header("content-type"),
        Some("application/octet-stream")
    );
    let cbor = client
        .ask("POST", &path, CBOR, &b"\xa1\x64args\x81\x01"[..])
        .await;
    assert_eq!(cbor.body, b"\xa1\x66output\x05".as_slice());
    assert_eq!(
        cbor.header("content-type"),
        Some("application/octet-stream")
    );
    let json = client.ask("POST", &path, JSON, r#"{"args":[2]}"#).await;
    assert_eq!(json.body, br#"{"output":7}"#.as_slice());
    assert_eq!(json.header("content-type"), Some("application/json"));
    // Unknown and absent encodings are JSON, whatever the content type says.
    let headers = [("x-rivet-encoding", "xml"), ("content-type", "text/plain")];
    let unknown = client.ask("POST", &path, &headers, r#"{"args":[1]}"#).await;
    assert_eq!(unknown.body, br#"{"output":8}"#.as_slice());
}

#[tokio::test]
async fn values_with_tags_come_back_as_the_bytes_they_were() {
    let (_world, mut client) = open().await;
    let args = b"\x82\x67$BigInt\x63123";
    let mut body = b"\x04\x00".to_vec();
    body.push(args.len() as u8 + 1);
    body.push(0x81);
    body.extend_from_slice(args);
    let reply = client.ask("POST", &path("/action/echo"), BARE, body).await;
    let mut expected = b"\x04\x00".to_vec();
    expected.push(args.len() as u8);
    expected.extend_from_slice(args);
    assert_eq!(reply.body, expected);
    let json = r#"{"args":[["$BigInt","123"]]}"#;
    let reply = client.ask("POST", &path("/action/echo"), JSON, json).await;
    assert_eq!(reply.body, br#"{"output":["$BigInt","123"]}"#.as_slice());
}

#[tokio::test]
async fn arguments_are_taken_leniently() {
    let (_world, mut client) = open().await;
    let path = path("/action/increment");
    for (body, expected) in [
        ("{}", 1),
        (r#"{"args":null}"#, 2),
        (r#"{"args":3}"#, 5),
        (r#"{"args":[]}"#, 6),
    ] {
        let reply = client.ask("POST", &path, JSON, body).await;
        assert_eq!(reply.json(), json!({ "output": expected }), "{body}");
    }
    let empty = client.ask("POST", &path, BARE, &b"\x04\x00\x00"[..]).await;
    assert_eq!(empty.body, b"\x04\x00\x01\x07".as_slice());
    for version in 1..=4u8 {
        let reply = client
            .ask("POST", &path, BARE, vec![version, 0, 1, 0x80])
            .await;
        assert_eq!(reply.status, 200, "version {version}");
    }
}

#[tokio::test]
async fn a_body_that_does_not_decode_is_a_masked_400() {
    let (_world, mut client) = open().await;
    let path = path("/action/increment");
    for (headers, body) in [
        (JSON, &b""[..]),
        (JSON, b"{"),
        (JSON, b"[]"),
        (CBOR, b""),
        (CBOR, b"\xff"),
        (BARE, b""),
        (BARE, b"\x05\x00\x01\x80"),
        (BARE, b"\x00\x00\x01\x80"),
        (BARE, b"\x04\x00\x01\x80\x00"),
        (BARE, b"\x04\x00\xff\xff\xff\xff\x0f"),
    ] {
        let reply = client.ask("POST", &path, headers, body).await;
        assert_eq!(reply.status, 400, "{body:?}");
        assert!(reply.header("x-rivet-actor").is_some());
        if headers == JSON {
            assert_eq!(reply.error().1, "core.internal_error");
            assert_eq!(reply.json()["message"], "An internal error occurred");
        }
    }
    assert_eq!(
        client.ask("POST", &path, JSON, "{}").await.json()["output"],
        1
    );
}

#[tokio::test]
async fn errors_keep_what_their_row_of_the_table_says() {
    let (_world, mut client) = open().await;
    let post = async |client: &mut Client, action: &str| {
        client
            .ask("POST", &path(&format!("/action/{action}")), JSON, "{}")
            .await
    };
    let user = post(&mut client, "fail").await;
    assert_eq!(user.error(), (500, "user.teapot".to_owned()));
    assert_eq!(user.json()["message"], "short and stout");
    assert_eq!(user.json()["metadata"], json!({ "handle": true }));
    let thrown = post(&mut client, "throw").await;
    assert_eq!(thrown.error(), (500, "core.internal_error".to_owned()));
    assert_eq!(thrown.json()["message"], "An internal error occurred");
    assert_eq!(thrown.json().get("metadata"), None);
    let unknown = post(&mut client, "nosuch").await;
    assert_eq!(unknown.error(), (404, "actor.action_not_found".to_owned()));
    assert_eq!(unknown.json()["message"], "Action `nosuch` was not found.");
    for reply in [user, thrown, unknown] {
        let actor = &reply.json()["actor"];
        assert_eq!(actor["actorId"], reply.header("x-rivet-actor").unwrap());
        assert_eq!(actor["generation"], 1);
        assert_eq!(actor["key"], "a");
    }
    let bare = client
        .ask(
            "POST",
            &path("/action/nosuch"),
            BARE,
            &b"\x04\x00\x01\x80"[..],
        )
        .await;
    assert_eq!(bare.status, 404);
    let start =
        b"\x04\x00\x05actor\x10action_not_found\x1eAction `nosuch` was not found.\x00\x01\x1e";
    assert_eq!(&bare.body[..start.len()], start);
    assert_eq!(&bare.body[start.len() + 30..], b"\x01\x01\x01a");
}

#[tokio::test]
async fn routes_of_an_actor_take_their_method_and_no_other() {
    let (_world, mut client) = open().await;
    for (method, route, status, code) in [
        ("GET", "/action/increment", 405, "actor.method_not_allowed"),
        ("POST", "/health", 405, "actor.method_not_allowed"),
        ("POST", "/metadata", 405, "actor.method_not_allowed"),
        ("POST", "/action/a/b", 404, "actor.not_found"),
        ("POST", "/action/", 404, "actor.not_found"),
        ("GET", "/connect", 404, "actor.not_found"),
        ("PUT", "/dynamic/reload", 404, "actor.not_found"),
        ("GET", "/requestfoo", 404, "actor.not_found"),
        ("POST", "/action/%zz", 500, "envoy.fetch_failed"),
    ] {
        let reply = client.ask(method, &path(route), JSON, "{}").await;
        assert_eq!(reply.error(), (status, code.to_owned()), "{method} {route}");
    }
    let unknown = client.ask("GET", &path("/x"), JSON, "").await;
    let expected = json!({ "id": "/x", "resource": "route" });
    assert_eq!(unknown.json()["metadata"], expected);
    assert_eq!(unknown.json()["message"], "Actor route '/x' was not found.");
}

#[tokio::test]
async fn an_actor_describes_itself() {
    let (world, mut client) = open().await;
    let health = client.get(&path("/health")).await;
    assert_eq!(health.body, b"ok".as_slice());
    let metadata = client.get(&path("/metadata")).await;
    let expected = json!({ "runtime": "rivetkit", "type": "local", "version": "2.3.19" });
    assert_eq!(metadata.json(), expected);
    assert_eq!(metadata.header("referrer-policy"), Some("no-referrer"));
    let banner = client.get(&path("")).await;
    assert!(banner.body.starts_with(b"This is an RivetKit actor."));
    let id = world.host.resolve(&counter_of("a")).await.unwrap();
    assert_eq!(banner.header("x-rivet-actor"), Some(id.as_str()));
    assert_eq!(banner.header("x-rivet-actor-generation"), Some("1"));
    assert_eq!(banner.header("x-rivet-actor-key"), Some("a"));
    let direct = client.get(&format!("/gateway/{id}@token/health")).await;
    assert_eq!(direct.body, b"ok".as_slice());
}

#[tokio::test]
async fn the_key_of_a_query_is_split_at_commas_and_shown_serialized() {
    let (_world, mut client) = open().await;
    let path = format!("/gateway/counter/action/get?{QUERY}&rvt-key=c1%2Ca%2Fb%2C%2Cx%2Cy");
    let reply = client.ask("POST", &path, JSON, "{}").await;
    assert_eq!(reply.header("x-rivet-actor-key"), Some("c1/a\\/b/\\0/x/y"));
    // What cannot stand in a header is left out.
    let path = format!("/gateway/counter/action/get?{QUERY}&rvt-key=a%0Ab");
    let reply = client.ask("POST", &path, JSON, "{}").await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("x-rivet-actor-key"), None);
}

#[tokio::test]
async fn messages_are_measured_as_they_are_encoded() {
    let config = ActorConfig {
        max_incoming_message_size: 100,
        max_outgoing_message_size: 100,
        ..ActorConfig::default()
    };
    let setup = Setup {
        config,
        ..Setup::default()
    };
    let world = setup.open().await;
    let listener = listen(&world.host).await;
    let mut client = Client::connect(listener.addr()).await;
    let fits = format!("{{\"args\":[\"{}\"]}}", "x".repeat(100 - 13));
    assert_eq!(fits.len(), 100);
    let reply = client
        .ask("POST", &path("/action/get"), JSON, fits.clone())
        .await;
    assert_eq!(reply.status, 200);
    for length in [101, 70_000, 3 << 20] {
        let body = format!("{}{fits}", " ".repeat(length - fits.len()));
        let reply = client.ask("POST", &path("/action/get"), JSON, body).await;
        assert_eq!(reply.error(), (400, "message.incoming_too_long".to_owned()));
        assert_eq!(reply.json()["message"], "Incoming message too long");
    }
    // {"output":"…"} adds 13 bytes.
    let reply = client
        .ask("POST", &path("/action/big"), JSON, r#"{"args":[87]}"#)
        .await;
    assert_eq!((reply.status, reply.body.len()), (200, 100));
    let reply = client
        .ask("POST", &path("/action/big"), JSON, r#"{"args":[88]}"#)
        .await;
    assert_eq!(reply.error(), (400, "message.outgoing_too_long".to_owned()));
}

#[tokio::test]
async fn a_body_over_the_limit_of_the_port_is_a_413() {
    let (_world, mut client) = open().await;
    let body = vec![b' '; (20 << 20) + 1];
    let reply = client.ask("POST", &path("/action/get"), JSON, body).await;
    assert_eq!(
        reply.error(),
        (413, "guard.invalid_request_body".to_owned())
    );
}

#[tokio::test]
async fn queue_messages_are_answered_as_they_end() {
    let (world, mut client) = open().await;
    let sent = b"\x04\x00\x06\xb9\x00\x01\x61\x6a\x01\x01\x04jobs\x01\x00\x00";
    let reply = client
        .ask("POST", &path("/queue/jobs"), BARE, &sent[..])
        .await;
    assert_eq!(reply.body, b"\x04\x00\x09completed\x00".as_slice());
    let json = r#"{"body":{"j":1},"wait":true,"name":"other"}"#;
    let reply = client.ask("POST", &path("/queue/jobs"), JSON, json).await;
    let expected = json!({ "status": "completed", "response": { "j": 1 } });
    assert_eq!(reply.json(), expected);
    let json = r#"{"body":1,"wait":true,"timeout":0}"#;
    let reply = client.ask("POST", &path("/queue/jobs"), JSON, json).await;
    assert_eq!(reply.json(), json!({ "status": "timedOut" }));
    assert_eq!(
        world.script.times("queue jobs"),
        3,
        "the path names the queue"
    );
    let reply = client.ask("POST", &path("/queue/jobs"), JSON, "{").await;
    assert_eq!(reply.error(), (400, "core.internal_error".to_owned()));
}

#[tokio::test]
async fn connection_hooks_see_the_parameters_and_the_request() {
    let mut config = ActorConfig::default();
    config.hooks.preflight = true;
    let setup = Setup {
        config,
        ..Setup::default()
    };
    let world = setup.open().await;
    let listener = listen(&world.host).await;
    let mut client = Client::connect(listener.addr()).await;
    let headers = [("x-rivet-conn-params", r#"{"tok":1}"#)];
    let user_query = format!("/gateway/counter/action/get?x=%zz&{QUERY}&y");
    let reply = client.ask("POST", &user_query, &headers, "{}").await;
    assert_eq!(reply.status, 200);
    let seen = r#"preflight {"tok":1} POST /action/get?x=%zz&y"#;
    assert_eq!(world.script.times(seen), 1, "{:?}", world.script.log.lock());
    let headers = [("x-rivet-conn-params", "{")];
    let reply = client.ask("POST", &user_query, &headers, "{}").await;
    assert_eq!(reply.error(), (400, "actor.invalid_request".to_owned()));
    assert_eq!(reply.json()["message"], "An internal error occurred");
}

#[tokio::test]
async fn a_caller_that_hangs_up_cancels_its_action() {
    let (world, mut client) = open().await;
    client.ask("POST", &path("/action/get"), JSON, "{}").await;
    let request = hyper::Request::post(path("/action/hang"))
        .body(full("{}"))
        .unwrap();
    let hanging = tokio::time::timeout(std::time::Duration::from_millis(50), client.send(request));
    assert!(hanging.await.is_err(), "the action hangs");
    drop(client);
    let cancelled = || world.script.times("cancelled") == 1;
    eventually("the action hears of it", cancelled).await;
}
