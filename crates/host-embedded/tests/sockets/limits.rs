//! Bounds: sockets, slow clients, and what is not WebSocket.

use std::time::Duration;

use greenroom_gateway::websocket::OutboxLimits;
use greenroom_wire::Encoding;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fixture::{config, eventually, path_of, world, world_with};

#[tokio::test]
async fn too_many_sockets_are_told_so_and_places_come_back() {
    let world = world_with(config(), |options| options.sockets.max_sockets = 2).await;
    let one = world.connect("a", Encoding::Bare).await;
    let _two = world.connect("a", Encoding::Bare).await;
    let mut three = world.dial(&path_of("a"), Encoding::Bare, "").await;
    let (code, reason) = three.closed().await;
    assert_eq!(
        (code, reason.split('#').next()),
        (1011, Some("guard.service_unavailable"))
    );
    one.close().await;
    eventually("a place is free", || world.host.open_sockets() == 1).await;
    world.connect("a", Encoding::Bare).await;
}

#[tokio::test]
async fn an_address_and_an_actor_have_bounds_of_their_own() {
    let world = world_with(config(), |options| {
        options.sockets.max_sockets_per_actor = 1;
        options.sockets.max_sockets_per_address = 2;
    })
    .await;
    let _one = world.connect("a", Encoding::Bare).await;
    let mut full = world.dial(&path_of("a"), Encoding::Bare, "").await;
    let (_, reason) = full.closed().await;
    assert_eq!(reason.split('#').next(), Some("actor.overloaded"));
    eventually("its place is free", || world.host.open_sockets() == 1).await;
    let _two = world.connect("b", Encoding::Bare).await;
    let mut third = world.dial(&path_of("c"), Encoding::Bare, "").await;
    let (_, reason) = third.closed().await;
    assert_eq!(reason.split('#').next(), Some("guard.rate_limit"));
}

#[tokio::test]
async fn a_client_that_does_not_read_is_dropped_and_the_others_are_not() {
    let world = world_with(config(), |options| {
        options.sockets.outbox = OutboxLimits {
            bytes: 1 << 20,
            frames: 1_000,
        };
    })
    .await;
    let mut slow = world.connect("a", Encoding::Bare).await;
    slow.subscribe("said", true).await;
    slow.call("get", json!([])).await.unwrap();
    let mut quick = world.connect("a", Encoding::Bare).await;
    quick.seen().await;
    quick.subscribe("said", true).await;
    // The slow one reads nothing from here on: what the system's buffers and the
    // outbox hold is soon full.
    while world.script.times("disconnect") == 0 {
        quick.call("shout", json!([200_000])).await.unwrap();
    }
    let (code, reason) = slow.closed().await;
    assert_eq!((code, &*reason), (1013, "connection.slow_consumer"));
    quick.call("get", json!([])).await.unwrap();
}

#[tokio::test]
async fn a_handshake_that_is_none_is_refused_in_http() {
    let world = world().await;
    let ask = |headers: &'static str| {
        let addr = world.listener.addr();
        async move {
            let mut stream = TcpStream::connect(addr).await.unwrap();
            let head = format!(
                "GET {} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n{headers}\r\n",
                path_of("a")
            );
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut reply = [0; 12];
            let read = tokio::time::timeout(Duration::from_secs(20), stream.read_exact(&mut reply));
            read.await.unwrap().unwrap();
            String::from_utf8_lossy(&reply).into_owned()
        }
    };
    assert_eq!(ask("sec-websocket-key: a\r\n").await, "HTTP/1.1 404");
    assert_eq!(ask("sec-websocket-version: 13\r\n").await, "HTTP/1.1 404");
    let good = "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    assert_eq!(ask(good).await, "HTTP/1.1 101");
}
