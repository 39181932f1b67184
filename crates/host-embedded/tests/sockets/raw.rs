//! Raw WebSockets: user code speaks with the client by itself.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use greenroom_core::ActorConfig;
use serde_json::json;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message};

use crate::fixture::{World, config, eventually, handshake, path_of, room_of, world, world_with};

type Socket = WebSocketStream<TcpStream>;

async fn dial(world: &World, path: &str) -> Socket {
    let path = path_of("a").replace("/connect?", &format!("{path}?"));
    handshake(&world.listener, &path, "rivet, rivet_encoding.bare").await
}

async fn next(socket: &mut Socket) -> Message {
    let next = tokio::time::timeout(Duration::from_secs(20), socket.next());
    next.await
        .expect("in time")
        .expect("not the end")
        .expect("a frame")
}

async fn closed(socket: &mut Socket) -> (u16, String) {
    loop {
        if let Message::Close(frame) = next(socket).await {
            let frame = frame.expect("a reason");
            while let Some(Ok(_)) = socket.next().await {}
            return (frame.code.into(), frame.reason.to_string());
        }
    }
}

async fn world_of_hibernators() -> World {
    let config = ActorConfig {
        can_hibernate_websocket: true,
        ..config()
    };
    world_with(config, |_| {}).await
}

#[tokio::test]
async fn messages_pass_unchanged_and_in_order_on_any_path() {
    let world = world().await;
    for path in ["/websocket/my/path", "/websocket", "/nope"] {
        let mut socket = dial(&world, path).await;
        assert_eq!(next(&mut socket).await, Message::text("hello from 1"));
        let big = Bytes::from(vec![7; 200_000]);
        let messages = [
            Message::text("grüße"),
            Message::binary(vec![0, 255]),
            Message::Binary(big),
            Message::text(""),
            Message::binary(vec![]),
        ];
        for message in &messages {
            socket.send(message.clone()).await.unwrap();
        }
        for message in messages {
            assert_eq!(next(&mut socket).await, message);
        }
    }
    assert_eq!(world.script.times("open /websocket/my/path"), 1);
    assert_eq!(world.script.times("connect"), 3);
}

#[tokio::test]
async fn closes_are_told_both_ways() {
    let world = world().await;
    let mut socket = dial(&world, "/websocket/x").await;
    next(&mut socket).await;
    let frame = CloseFrame {
        code: 4001.into(),
        reason: "custom.reason".into(),
    };
    socket.close(Some(frame)).await.unwrap();
    assert_eq!(
        closed(&mut socket).await,
        (4001, "custom.reason".to_owned())
    );
    eventually("user code hears it", || {
        world.script.times("closed 4001 custom.reason") == 1
    })
    .await;
    eventually("onDisconnect", || world.script.times("disconnect") == 1).await;

    let mut socket = dial(&world, "/websocket/x").await;
    next(&mut socket).await;
    let raw = world.script.raw.lock().clone().expect("opened");
    raw.send(Bytes::from_static(b"last"), false).unwrap();
    raw.close(Some(4002), Some("ours".to_owned()));
    assert_eq!(next(&mut socket).await, Message::text("last"));
    assert_eq!(closed(&mut socket).await, (4002, "ours".to_owned()));
    eventually("user code hears that, too", || {
        world.script.times("closed 4002 ours") == 1
    })
    .await;
}

#[tokio::test]
async fn a_handler_or_hook_that_fails_closes_the_socket_with_its_error() {
    let world = world().await;
    let mut socket = dial(&world, "/websocket/refuse").await;
    assert_eq!(
        closed(&mut socket).await,
        (1011, "user.no_entry".to_owned())
    );
    let path = path_of("a").replace("/connect?", "/websocket?");
    let offer = "rivet, rivet_conn_params.%7B%22refuse%22%3A%22banned%22%7D";
    let mut socket = handshake(&world.listener, &path, offer).await;
    assert_eq!(closed(&mut socket).await, (1011, "user.banned".to_owned()));
}

#[tokio::test]
async fn what_the_client_says_at_once_is_not_lost() {
    let world = world().await;
    let mut socket = dial(&world, "/websocket/x").await;
    // Sent while the actor is created.
    socket.send(Message::text("early")).await.unwrap();
    assert_eq!(next(&mut socket).await, Message::text("hello from 1"));
    assert_eq!(next(&mut socket).await, Message::text("early"));
}

#[tokio::test]
async fn text_that_is_not_utf_8_is_refused() {
    use tokio::io::AsyncWriteExt;
    let world = world().await;
    let mut socket = dial(&world, "/websocket/x").await;
    next(&mut socket).await;
    let frame = [0x81, 0x81, 0, 0, 0, 0, 0xff];
    socket.get_mut().write_all(&frame).await.unwrap();
    assert_eq!(
        closed(&mut socket).await,
        (1007, "message.invalid_utf8".to_owned())
    );
}

#[tokio::test]
async fn a_socket_that_cannot_hibernate_ends_with_its_generation() {
    for (how, path) in [("sleep", "/websocket/x"), ("destroy", "/websocket/linger")] {
        let world = world().await;
        let mut socket = dial(&world, path).await;
        next(&mut socket).await;
        world.call("a", how, json!([])).await.unwrap();
        assert_eq!(
            closed(&mut socket).await,
            (1000, "actor.stopped".to_owned())
        );
    }
    let world = world().await;
    let mut socket = dial(&world, "/websocket/x").await;
    next(&mut socket).await;
    let id = world.host.resolve(&room_of("a")).await.unwrap();
    world.host.evict(&id).await.unwrap();
    assert_eq!(
        closed(&mut socket).await,
        (1000, "actor.stopped".to_owned())
    );
}

#[tokio::test]
async fn a_hibernating_socket_is_opened_anew_and_misses_nothing() {
    let world = world_of_hibernators().await;
    let mut socket = dial(&world, "/websocket/linger").await;
    assert_eq!(next(&mut socket).await, Message::text("hello from 1"));
    world.call("a", "sleep", json!([])).await.unwrap();
    world.asleep().await;
    for n in 0..10 {
        socket.send(Message::text(n.to_string())).await.unwrap();
    }
    // The handler runs again before the message that woke the actor.
    assert_eq!(next(&mut socket).await, Message::text("hello from 2"));
    for n in 0..10 {
        assert_eq!(next(&mut socket).await, Message::text(n.to_string()));
    }
    assert!(world.script.times("disconnect") <= 1, "only the caller's");
    assert_eq!(world.script.times("open /websocket/linger"), 2);
}

#[tokio::test]
async fn a_wake_by_somebody_else_opens_the_socket_too() {
    let world = world_of_hibernators().await;
    let mut socket = dial(&world, "/websocket/x").await;
    next(&mut socket).await;
    world.call("a", "sleep", json!([])).await.unwrap();
    world.asleep().await;
    world.call("a", "get", json!([])).await.unwrap();
    assert_eq!(next(&mut socket).await, Message::text("hello from 2"));
}

#[tokio::test]
async fn what_a_generation_did_not_take_goes_to_the_next() {
    let world = world_of_hibernators().await;
    world.script.deaf.store(true, Ordering::SeqCst);
    let mut socket = dial(&world, "/websocket/x").await;
    assert_eq!(next(&mut socket).await, Message::text("hello from 1"));
    for n in 0..5 {
        socket.send(Message::text(n.to_string())).await.unwrap();
    }
    world.script.deaf.store(false, Ordering::SeqCst);
    let id = world.host.resolve(&room_of("a")).await.unwrap();
    world.host.evict(&id).await.unwrap();
    world.call("a", "get", json!([])).await.unwrap();
    assert_eq!(next(&mut socket).await, Message::text("hello from 2"));
    for n in 0..5 {
        assert_eq!(next(&mut socket).await, Message::text(n.to_string()));
    }
}

#[tokio::test]
async fn an_actor_that_takes_nothing_slows_its_client_down() {
    let world = world().await;
    world.script.deaf.store(true, Ordering::SeqCst);
    let mut socket = dial(&world, "/websocket/x").await;
    next(&mut socket).await;
    let chunk = Bytes::from(vec![0; 64 * 1024]);
    let flood = async {
        for _ in 0..2_000 {
            socket.send(Message::Binary(chunk.clone())).await.unwrap();
        }
    };
    let flooded = tokio::time::timeout(Duration::from_millis(500), flood).await;
    assert!(flooded.is_err(), "128 MB went somewhere");
}
