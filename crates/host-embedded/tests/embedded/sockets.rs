//! Opening WebSockets.

use std::net::SocketAddr;

use futures_util::StreamExt;
use http::HeaderValue;
use serde_json::json;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Message, handshake::client::Response};

use crate::client::*;
use crate::fixture::*;

const OK: &str = "rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default";
const GET: &str = "rvt-namespace=default&rvt-method=get";

/// Opens a socket and waits for its close frame.
async fn close_of(addr: SocketAddr, path: &str, protocols: &str) -> (Response, CloseFrame) {
    let url = format!("ws://{addr}{path}");
    let mut request = url.into_client_request().expect("a URL");
    let offered = HeaderValue::from_str(protocols).expect("ASCII");
    request
        .headers_mut()
        .insert("sec-websocket-protocol", offered);
    let stream = TcpStream::connect(addr).await.expect("the port is open");
    let opened = tokio_tungstenite::client_async(request, stream).await;
    let (mut socket, response) = opened.expect("an upgrade is never refused");
    while let Some(message) = socket.next().await {
        if let Message::Close(Some(frame)) = message.expect("a close frame") {
            return (response, frame);
        }
    }
    panic!("closed without a reason");
}

#[tokio::test]
async fn whatever_is_wrong_the_socket_opens_and_its_close_says_it() {
    let world = world().await;
    let addr = listen(&world.host).await.addr();
    let nobody = greenroom_wire::ActorId::generate();
    for (path, expected) in [
        (&*format!("/gateway/{nobody}/connect"), "actor.not_found"),
        (
            &format!("/gateway/counter/connect?{GET}&rvt-key=x"),
            "actor.not_found",
        ),
        (&format!("/gateway/other/connect?{OK}"), "actor.not_found"),
        (
            "/gateway/counter/connect?rvt-method=get",
            "guard.query_invalid_params",
        ),
        (
            &format!("/gateway/counter/connect?{GET}&rvt-x"),
            "guard.query_invalid_params",
        ),
        (
            &OK.replace("default&rvt-m", "n&rvt-m")
                .replace("rvt-n", "/gateway/counter/connect?rvt-n"),
            "namespace.not_found",
        ),
        ("/actors", "guard.websocket_not_supported"),
    ] {
        let (response, close) = close_of(addr, path, "rivet, rivet_encoding.json").await;
        assert_eq!(u16::from(close.code), 1011, "{path}");
        let (reason, ray_id) = close.reason.split_once('#').expect("a ray id");
        assert_eq!(reason, expected, "{path}");
        let headers = response.headers();
        assert_eq!(headers["x-rivet-ray-id"], ray_id);
        assert_eq!(headers["sec-websocket-protocol"], "rivet");
        assert_eq!(headers["access-control-allow-origin"], "*");
        assert!(!headers.contains_key("sec-websocket-extensions"));
    }
}

#[tokio::test]
async fn subprotocols_name_the_target_of_a_bare_path() {
    let world = world().await;
    let addr = listen(&world.host).await.addr();
    let id = world.call(&counter_of("a"), "id", json!([])).await.unwrap();
    let offer = format!(
        "rivet, rivet_target.actor, rivet_actor.{}",
        id.as_str().unwrap()
    );
    // The actor is there; it wants to know who looks.
    let (_, close) = close_of(addr, "/inspector/connect", &offer).await;
    assert_eq!(u16::from(close.code), 1008);
    assert_eq!(close.reason.as_str(), "inspector.unauthorized");
    let (_, close) = close_of(addr, "/connect", "rivet, rivet_target.actor").await;
    assert!(close.reason.starts_with("guard.missing_header#"));
}

#[tokio::test]
async fn an_actor_that_does_not_start_is_the_reason_of_the_close() {
    let world = world().await;
    let addr = listen(&world.host).await.addr();
    world
        .script
        .failing_starts
        .store(1_000, std::sync::atomic::Ordering::SeqCst);
    let path = format!("/gateway/counter/connect?{OK}");
    let (_, close) = close_of(addr, &path, "rivet").await;
    assert!(
        close
            .reason
            .starts_with("guard.actor_wake_retries_exceeded#")
    );
}

#[tokio::test]
async fn half_a_handshake_is_an_ordinary_request() {
    let world = world().await;
    let addr = listen(&world.host).await.addr();
    let mut client = Client::connect(addr).await;
    let headers = [("upgrade", "websocket"), ("connection", "upgrade")];
    let reply = client.ask("GET", "/health", &headers, "").await;
    assert_eq!(reply.json()["status"], "ok");
}
