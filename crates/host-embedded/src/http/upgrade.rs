//! From an HTTP request to a WebSocket.
//!
//! A well-formed upgrade is always accepted, whatever is wrong with what it asks
//! for: clients in Node.js hear nothing of a refused one. The reason follows as a
//! close frame.

use greenroom_gateway::{HttpReply, ReplyBody};
use greenroom_wire::{RayId, SELECTED_SUBPROTOCOL};
use http::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::listener::Door;
use super::service::path_and_query;
use super::websocket::{Opening, serve};

/// Largest message of any socket.
const MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Bytes of frames that may wait for a client that reads slowly.
const OUTBOX_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Accepts a WebSocket; `None` if the request does not ask for one.
pub(super) fn accept<B>(
    door: &Door,
    request: &mut Request<B>,
    ray_id: &RayId,
) -> Option<HttpReply> {
    let key = requested_key(request)?;
    let accepted = HeaderValue::try_from(derive_accept_key(key.as_bytes())).ok()?;
    let opening = Opening {
        path_and_query: path_and_query(request.uri()).to_owned(),
        headers: request.headers().clone(),
        ray_id: *ray_id,
    };
    let upgraded = hyper::upgrade::on(request);
    let at_door = door.clone();
    door.spawn(async move {
        match upgraded.await {
            Ok(upgraded) => {
                let socket = TokioIo::new(upgraded);
                let socket =
                    WebSocketStream::from_raw_socket(socket, Role::Server, Some(config())).await;
                serve(&at_door, socket, opening).await;
            }
            Err(error) => tracing::debug!(%error, "a WebSocket was not opened"),
        }
    });
    let mut reply = HttpReply::new(ReplyBody::empty());
    *reply.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let selected = HeaderValue::from_static(SELECTED_SUBPROTOCOL);
    for (name, value) in [
        (CONNECTION, HeaderValue::from_static("upgrade")),
        (UPGRADE, HeaderValue::from_static("websocket")),
        (SEC_WEBSOCKET_ACCEPT, accepted),
        (SEC_WEBSOCKET_PROTOCOL, selected),
    ] {
        reply.headers_mut().insert(name, value);
    }
    Some(reply)
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(Some(MESSAGE_BYTES_MAX))
        .max_frame_size(Some(MESSAGE_BYTES_MAX))
        .max_write_buffer_size(OUTBOX_BYTES_MAX)
}

/// The key of a handshake as RFC 6455 wants it.
fn requested_key<B>(request: &Request<B>) -> Option<HeaderValue> {
    let headers = request.headers();
    let is_upgrade = request.method() == Method::GET
        && lists(headers, &CONNECTION, "upgrade")
        && lists(headers, &UPGRADE, "websocket")
        && lists(headers, &SEC_WEBSOCKET_VERSION, "13");
    headers
        .get(SEC_WEBSOCKET_KEY)
        .filter(|_| is_upgrade)
        .cloned()
}

/// True if one of the header's comma-separated values is `token`.
fn lists(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    let values = headers.get_all(name).into_iter();
    values.filter_map(|value| value.to_str().ok()).any(|value| {
        value
            .split(',')
            .any(|listed| listed.trim().eq_ignore_ascii_case(token))
    })
}
