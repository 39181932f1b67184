//! One WebSocket, from the moment it is open.
//!
//! Finds and wakes its actor as an HTTP request does. What the two then say to
//! each other is not built yet: the socket is closed with that answer.

use std::time::Duration;

use futures_util::StreamExt;
use greenroom_error::{Error, Result, code};
use greenroom_gateway::LiveActor;
use greenroom_wire::gateway_path::{self, GatewayRoute};
use greenroom_wire::{RayId, Subprotocols};
use http::HeaderMap;
use http::header::SEC_WEBSOCKET_PROTOCOL;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, frame::coding::CloseCode};

use super::listener::Door;
use super::service::target_of;
use crate::ready::Seeker;
use crate::shared::Shared;

/// Time for a client to answer a close frame.
const CLOSE_TIME: Duration = Duration::from_secs(5);
/// A close frame has room for this much text.
const REASON_BYTES_MAX: usize = 123;

pub(super) type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// What the client said when it opened the socket.
pub(super) struct Opening {
    pub(super) path_and_query: String,
    pub(super) headers: HeaderMap,
    pub(super) ray_id: RayId,
}

pub(super) async fn serve(door: &Door, mut socket: Socket, opening: Opening) {
    let error = match find_actor(&door.shared, &opening).await {
        Ok(()) => Error::not_configured("websocket"),
        Err(error) => error,
    };
    tracing::debug!(%error, path = opening.path_and_query, "closing a WebSocket");
    let closed = close(&mut socket, &error, &opening.ray_id);
    if door
        .shared
        .clock()
        .timeout(CLOSE_TIME, closed)
        .await
        .is_err()
    {
        tracing::debug!("a client did not answer a close frame");
    }
}

async fn find_actor(shared: &Shared, opening: &Opening) -> Result<()> {
    let route = route(opening)?;
    let target = target_of(shared, route.target)?;
    let actor = LiveActor::acquire(Seeker::new(shared, &target)).await;
    actor.map(drop)
}

fn route(opening: &Opening) -> Result<GatewayRoute> {
    if let Some(route) = gateway_path::parse(&opening.path_and_query)? {
        return Ok(route);
    }
    let offers = opening.headers.get_all(SEC_WEBSOCKET_PROTOCOL).into_iter();
    let offer = Subprotocols::parse(offers.map(|value| value.as_bytes()));
    let route = gateway_path::from_subprotocols(&offer, &opening.path_and_query)?;
    route.ok_or_else(|| Error::new(&code::GUARD_WEBSOCKET_NOT_SUPPORTED))
}

/// Says why, then waits for the client to agree.
async fn close(socket: &mut Socket, error: &Error, ray_id: &RayId) {
    let frame = CloseFrame {
        code: CloseCode::from(error.close_code()),
        reason: reason(error, ray_id).into(),
    };
    if socket.close(Some(frame)).await.is_err() {
        return;
    }
    while let Some(Ok(_)) = socket.next().await {}
}

/// `group.code#ray`, cut where it must be.
fn reason(error: &Error, ray_id: &RayId) -> String {
    let mut reason = format!("{}.{}#{ray_id}", error.group(), error.code());
    while reason.len() > REASON_BYTES_MAX {
        reason.pop();
    }
    reason
}
