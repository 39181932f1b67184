//! Sockets of clients, as the engine forwards them: message by message.
//!
//! The gateway speaks WebSocket over bytes, so each socket gets a pipe inside the
//! process with the protocol of a client at our end. What a client sends is handed
//! to a bounded queue and never waited for here.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use greenroom_core::HibernationId;
use greenroom_error::{Error, Result, code};
use greenroom_gateway::websocket::unreachable;
use greenroom_wire::{ActorId, RayId};
use rivet_envoy_client::callbacks::BoxFuture;
use rivet_envoy_client::websocket::{WebSocketHandler, WebSocketMessage, WebSocketSender};

use super::backlog::Backlog;
use super::link::Link;
use crate::shared::Shared;
use crate::sockets::{Incoming, NewSocket};

/// The gateway does not pass on a close that comes with the word that the socket is
/// open again.
const AWAY_AFTER: Duration = Duration::from_secs(2);

/// A socket that the engine opens, or brings back after a sleep.
pub(super) struct Opening {
    pub(super) link: Link,
    pub(super) id: HibernationId,
    pub(super) path: String,
    pub(super) headers: HashMap<String, String>,
    pub(super) is_hibernatable: bool,
    pub(super) is_restoring: bool,
    pub(super) sender: WebSocketSender,
}

/// The way out of one socket, in one generation.
#[derive(Clone)]
pub(crate) struct ToGateway {
    sender: WebSocketSender,
    link: Link,
    id: HibernationId,
    backlog: Arc<Backlog>,
}

impl ToGateway {
    pub(crate) fn send(&self, data: &Bytes, binary: bool) {
        self.backlog.queued(data.len());
        self.sender.send(data.to_vec(), binary);
    }

    /// The engine may forget the socket's messages up to this one.
    pub(crate) fn acknowledge(&self, message_index: u16) {
        self.link.acknowledge(self.id, message_index);
    }

    pub(crate) fn close(&self, code: u16, reason: String) {
        // These two stand for a frame without a code and for none at all; neither
        // may be sent.
        let code = (code != 1005 && code != 1006).then_some(code);
        let reason = (!reason.is_empty()).then_some(reason);
        self.sender.close(code, reason);
    }
}

/// Begins to serve a socket, or goes on with one that is still held here.
pub(super) fn open(
    shared: &Arc<Shared>,
    actor_id: ActorId,
    opening: Opening,
) -> Result<WebSocketHandler> {
    let id = opening.id;
    let way = ToGateway {
        sender: opening.sender,
        link: opening.link,
        id,
        backlog: Arc::clone(&shared.backlog),
    };
    let socket = if opening.is_restoring {
        match shared.sockets.resume(&actor_id, id, way.clone()) {
            Some(socket) => socket,
            None => return Ok(send_away(shared, way, &opening.headers)),
        }
    } else {
        let new = NewSocket {
            id,
            path: opening.path,
            headers: opening.headers,
            is_hibernatable: opening.is_hibernatable,
            way: Some(way),
            resumed: None,
        };
        shared.open_socket(actor_id, new)?
    };
    let (messages, closes) = (Arc::clone(&socket), socket);
    let on_message = move |message: WebSocketMessage| -> BoxFuture<()> {
        messages.incoming(Incoming::Message {
            data: Bytes::from(message.data),
            binary: message.binary,
            index: message.message_index,
        });
        Box::pin(async {})
    };
    let on_close = move |code, reason| -> BoxFuture<()> {
        closes.incoming(Incoming::Close { code, reason });
        Box::pin(async {})
    };
    Ok(WebSocketHandler {
        on_message: Box::new(on_message),
        on_close: Box::new(on_close),
        on_open: None,
    })
}

/// Closes the socket of a client that no session here can go on with, so that it
/// connects anew.
fn send_away(
    shared: &Shared,
    way: ToGateway,
    headers: &HashMap<String, String>,
) -> WebSocketHandler {
    let ray_id = RayId::from_header(headers.get("x-rivet-ray-id").map(String::as_bytes));
    let farewell = unreachable(&Error::new(&code::WS_GOING_AWAY), &ray_id);
    let clock = shared.clock().clone();
    shared.spawn(async move {
        clock.sleep(AWAY_AFTER).await;
        way.close(farewell.code, farewell.reason);
    });
    WebSocketHandler {
        on_message: Box::new(|_| Box::pin(async {})),
        on_close: Box::new(|_, _| Box::pin(async {})),
        on_open: None,
    }
}
