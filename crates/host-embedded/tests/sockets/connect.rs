//! The connection protocol over a live actor.

use greenroom_core::ActorConfig;
use greenroom_wire::Encoding;
use greenroom_wire::client_protocol::ToClient;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::protocol::Message;

use crate::fixture::{config, eventually, path_of, world, world_with};
use futures_util::SinkExt;

#[tokio::test]
async fn init_comes_first_and_everything_works_in_each_encoding() {
    for encoding in Encoding::ALL {
        let world = world().await;
        let mut client = world.connect("a", encoding).await;
        // Sent by onConnect, before Init was.
        let welcome = ("event", "welcome".to_owned(), json!(["hello"]));
        assert_eq!(client.seen().await, welcome);
        assert_eq!(client.connection_id.len(), 36);
        let value = json!({ "deep": [1, "two", null, 3.5, true], "ü": "€" });
        let echoed = client.call("echo", json!([value])).await;
        assert_eq!(echoed.unwrap(), value);
        let who = client.call("who", json!([])).await.unwrap();
        assert_eq!(who, json!(client.connection_id));
        assert_eq!(client.close().await, (1000, "Disposed".to_owned()));
        eventually("onDisconnect", || world.script.times("disconnect") == 1).await;
        assert_eq!(world.call("a", "conns", json!([])).await.unwrap(), json!(1));
    }
}

#[tokio::test]
async fn events_reach_subscribers_in_their_encoding_before_the_answer() {
    let world = world().await;
    let mut clients = Vec::new();
    for encoding in Encoding::ALL {
        let mut client = world.connect("a", encoding).await;
        client.seen().await;
        client.subscribe("said", true).await;
        // Answered, so the subscription before it is in effect.
        client.call("get", json!([])).await.unwrap();
        clients.push(client);
    }
    let id = clients[0].start("say", json!(["hi"])).await;
    let said = ("event", "said".to_owned(), json!(["hi", 1]));
    assert_eq!(clients[0].seen().await, said);
    assert_eq!(
        clients[0].seen().await,
        ("answer", id.to_string(), json!(1))
    );
    for client in &mut clients[1..] {
        assert_eq!(client.seen().await, said);
    }
    clients[1].subscribe("said", false).await;
    clients[1].call("whisper", json!([7])).await.unwrap();
    clients[1].start("say", json!(["again"])).await;
    let (kind, ..) = clients[1].seen().await;
    assert_eq!(kind, "answer", "no longer subscribed");
    let again = ("event", "said".to_owned(), json!(["again", 2]));
    assert_eq!(clients[2].seen().await, again);
}

#[tokio::test]
async fn a_direct_event_needs_no_subscription() {
    let world = world().await;
    let mut client = world.connect("a", Encoding::Bare).await;
    client.seen().await;
    client.start("whisper", json!(["psst"])).await;
    let whispered = ("event", "whispered".to_owned(), json!(["psst"]));
    assert_eq!(client.seen().await, whispered);
    assert_eq!(client.seen().await.0, "answer");
}

#[tokio::test]
async fn actions_run_side_by_side_and_each_is_answered_once() {
    let world = world().await;
    let mut client = world.connect("a", Encoding::Cbor).await;
    client.seen().await;
    let parked = client.start("park", json!([])).await;
    for n in 0..300 {
        assert_eq!(client.call("echo", json!([n])).await.unwrap(), json!(n));
    }
    world.script.unpark.notify_one();
    assert_eq!(
        client.seen().await,
        ("answer", parked.to_string(), json!(0))
    );
}

#[tokio::test]
async fn failures_of_actions_carry_their_id_and_leave_the_socket_open() {
    let world = world().await;
    for encoding in Encoding::ALL {
        let mut client = world.connect("a", encoding).await;
        client.seen().await;
        let id = client.start("fail", json!([])).await;
        assert_eq!(id, 0, "0 is an id");
        let ToClient::Error { error, action_id } = client.next().await else {
            panic!("not an error");
        };
        assert_eq!((&*error.group, &*error.code), ("user", "teapot"));
        assert_eq!(error.message, "short and stout");
        assert_eq!(action_id, Some(0));
        let actor = error.actor.expect("names its actor");
        assert_eq!((actor.generation, actor.key.as_deref()), (1, Some("a")));
        let unknown = client.call("nope", json!([])).await;
        assert_eq!(unknown.unwrap_err(), "actor.action_not_found");
        let too_long = client.call("big", json!([1_048_600])).await;
        assert_eq!(too_long.unwrap_err(), "message.outgoing_too_long");
        client.call("get", json!([])).await.unwrap();
    }
}

#[tokio::test]
async fn a_refused_connect_is_told_why_and_then_closed() {
    let world = world().await;
    for encoding in Encoding::ALL {
        let params = ", rivet_conn_params.%7B%22refuse%22%3A%22banned%22%7D";
        let mut client = world.dial(&path_of("a"), encoding, params).await;
        let ToClient::Error { error, action_id } = client.next().await else {
            panic!("not an error");
        };
        assert_eq!((&*error.group, &*error.code), ("user", "banned"));
        assert!(error.metadata.is_some() && error.actor.is_none());
        assert_eq!(action_id, None);
        assert_eq!(client.closed().await, (1011, "user.banned".to_owned()));
    }
    assert_eq!(world.script.times("connect"), 0);
    assert_eq!(world.script.times("disconnect"), 0);
    assert_eq!(world.call("a", "conns", json!([])).await.unwrap(), json!(1));
}

#[tokio::test]
async fn whatever_is_wrong_the_upgrade_succeeds_and_the_close_says_why() {
    let world = world().await;
    let unknown = "/gateway/x45shjmfofvy2hsn71ye5t4dkwal00/connect";
    let missing = path_of("nobody").replace("getOrCreate&rvt-runner=default", "get");
    let namespace = path_of("a").replace("=default&rvt-method", "=other&rvt-method");
    let runner = path_of("a").replace("&rvt-runner=default", "");
    for (path, name) in [
        (unknown, "actor.not_found"),
        (&missing, "actor.not_found"),
        (
            &path_of("a").replace("/room/", "/nothing/"),
            "actor.not_found",
        ),
        (&namespace, "namespace.not_found"),
        (&runner, "guard.query_missing_pool"),
        ("/actors", "guard.websocket_not_supported"),
        ("/", "guard.websocket_not_supported"),
    ] {
        let mut client = world.dial(path, Encoding::Bare, "").await;
        let (code, reason) = client.closed().await;
        let (found, ray_id) = reason.split_once('#').expect("names the request");
        assert_eq!(
            (code, found, ray_id.is_empty()),
            (1011, name, false),
            "{path}"
        );
    }
}

#[tokio::test]
async fn bad_choices_of_the_client_are_closed_with_their_name() {
    let world = world().await;
    let dial = |offer: &'static str| {
        let world = &world;
        async move {
            let path = path_of("a");
            crate::fixture::handshake(&world.listener, &path, offer).await
        }
    };
    for (offer, code, reason) in [
        (
            "rivet, rivet_encoding.xml",
            1003,
            "actor.unsupported_websocket_encoding",
        ),
        (
            "rivet, rivet_conn_params.nonsense",
            1011,
            "actor.invalid_request",
        ),
    ] {
        let mut socket = dial(offer).await;
        let Some(Ok(Message::Close(Some(frame)))) =
            futures_util::StreamExt::next(&mut socket).await
        else {
            panic!("not a close");
        };
        assert_eq!((u16::from(frame.code), &*frame.reason), (code, reason));
    }
}

#[tokio::test]
async fn messages_that_break_the_rules_close_the_connection() {
    let world = world_with(
        ActorConfig {
            max_outgoing_message_size: 1_000,
            ..config()
        },
        |_| {},
    )
    .await;
    let mut too_long = world.connect("a", Encoding::Bare).await;
    let long = "x".repeat(70_000);
    too_long.start("echo", json!([long])).await;
    let expected = (1011, "message.incoming_too_long".to_owned());
    assert_eq!(too_long.closed().await, expected);

    let mut garbage = world.connect("a", Encoding::Bare).await;
    garbage
        .socket
        .send(Message::binary(vec![9, 9, 9]))
        .await
        .unwrap();
    let expected = (1011, "actor.invalid_request".to_owned());
    assert_eq!(garbage.closed().await, expected);

    let mut nosy = world.connect("a", Encoding::Json).await;
    nosy.subscribe("secret", true).await;
    assert_eq!(nosy.closed().await, (1011, "auth.forbidden".to_owned()));

    let mut listener = world.connect("a", Encoding::Cbor).await;
    listener.subscribe("said", true).await;
    listener.start("shout", json!([2_000])).await;
    let expected = (1011, "message.outgoing_too_long".to_owned());
    assert_eq!(listener.closed().await, expected);
    eventually("all are gone", || world.script.times("disconnect") == 4).await;
}

#[tokio::test]
async fn the_actor_may_disconnect_and_a_destroyed_one_does() {
    let world = world().await;
    let mut kicked = world.connect("a", Encoding::Bare).await;
    kicked.start("kick", json!(["bye"])).await;
    assert_eq!(kicked.closed().await, (1000, "bye".to_owned()));
    assert_eq!(world.script.times("disconnect"), 1);

    let mut left = world.connect("a", Encoding::Bare).await;
    world.call("a", "destroy", json!([])).await.unwrap();
    assert_eq!(left.closed().await, (1000, String::new()));
    assert_eq!(
        world.script.times("grace disconnect"),
        2,
        "the caller's too"
    );
    let mut next = world.connect("a", Encoding::Bare).await;
    assert_eq!(next.call("generation", json!([])).await.unwrap(), json!(1));
}

#[tokio::test]
async fn parameters_reach_the_hooks_and_are_null_when_absent() {
    let world = world().await;
    world.connect("a", Encoding::Bare).await;
    let params = ", rivet_conn_params.%7B%22name%22%3A%22%C3%BC%22%7D";
    let mut client = world.dial(&path_of("a"), Encoding::Bare, params).await;
    client.next().await;
    assert_eq!(world.script.times("before connect null"), 1);
    assert_eq!(world.script.times(r#"before connect {"name":"ü"}"#), 1);
}

#[tokio::test]
async fn two_sockets_in_one_moment_are_two_connections() {
    let world = world().await;
    let (mut one, mut two) = tokio::join!(
        world.connect("a", Encoding::Bare),
        world.connect("a", Encoding::Json)
    );
    assert_ne!(one.connection_id, two.connection_id);
    let answers = tokio::join!(one.call("who", json!([])), two.call("who", json!([])));
    assert_eq!(answers.0.unwrap(), json!(one.connection_id));
    assert_eq!(answers.1.unwrap(), json!(two.connection_id));
    assert_eq!(world.script.times("create"), 1);
}

#[tokio::test]
async fn shutdown_answers_what_runs_and_says_goodbye() {
    let world = world().await;
    let mut client = world.connect("a", Encoding::Bare).await;
    client.seen().await;
    let id = client.start("park", json!([])).await;
    eventually("parked", || {
        world
            .script
            .parked
            .load(std::sync::atomic::Ordering::SeqCst)
            == 1
    })
    .await;
    let host = world.host.clone();
    let ending = tokio::spawn(async move { host.shutdown().await });
    tokio::task::yield_now().await;
    world.script.unpark.notify_one();
    assert_eq!(
        client.seen().await,
        ("answer", id.to_string(), Value::from(0))
    );
    let (code, reason) = client.closed().await;
    assert_eq!(
        (code, reason.split('#').next()),
        (1001, Some("ws.going_away"))
    );
    ending.await.unwrap();
    let log = world.script.log.lock().clone();
    assert_eq!(log[log.len() - 2..], ["disconnect", "on sleep"]);
}
