//! From an HTTP request to a WebSocket.
//!
//! A well-formed upgrade is always accepted, whatever is wrong with what it asks
//! for: clients in Node.js hear nothing of a refused one. The reason follows as a
//! close frame.

use std::sync::Arc;

use bytes::Bytes;
use greenroom_gateway::{HttpReply, ReplyBody};
use greenroom_wire::{RayId, SELECTED_SUBPROTOCOL};
use http::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{Method, Request, StatusCode};
use hyper::upgrade::{OnUpgrade, Parts};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::listener::Door;
use super::service::path_and_query;
use super::stall::StallGuard;
use crate::shared::Shared;
use crate::sockets::{Plan, serve};

/// Accepts a WebSocket; `None` if the request does not ask for one.
pub(super) fn accept<B>(
    door: &Door,
    shared: &Arc<Shared>,
    request: &mut Request<B>,
    ray_id: &RayId,
) -> Option<HttpReply> {
    let key = requested_key(request)?;
    let accepted = HeaderValue::try_from(derive_accept_key(key.as_bytes())).ok()?;
    let path = path_and_query(request.uri());
    let plan = Plan::read(shared, path, request.headers(), *ray_id);
    let upgraded = hyper::upgrade::on(request);
    let (host, origin) = (Arc::clone(shared), door.origin());
    let opening = async move {
        let (stream, read_ahead) = stream_of(upgraded).await?;
        Some(serve(host, origin, stream, read_ahead, plan).await)
    };
    door.spawn_socket(shared, async move {
        // Boxed and let go before the long life of the socket.
        let serving = Box::pin(opening).await;
        if let Some(serving) = serving {
            serving.await;
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

/// The stream behind an upgraded request, and what of it was read already. `None`
/// if the client went before it was answered.
async fn stream_of(upgraded: OnUpgrade) -> Option<(TcpStream, Bytes)> {
    let upgraded = match upgraded.await {
        Ok(upgraded) => upgraded,
        Err(error) => {
            tracing::debug!(%error, "a WebSocket was not opened");
            return None;
        }
    };
    let Ok(Parts { io, read_buf, .. }) = upgraded.downcast::<TokioIo<StallGuard<TcpStream>>>()
    else {
        tracing::error!("an upgraded connection is not one of this port");
        return None;
    };
    // Clients of sockets are watched by the sockets themselves.
    Some((io.into_inner().into_inner(), read_buf))
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
