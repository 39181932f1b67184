//! The connection protocol: actions, subscriptions and events over one WebSocket.
//!
//! A connection outlives the generations of its actor. The session hands each
//! message to the generation that lives, in the order of arrival, and keeps it
//! until it was answered: work that a generation refused or died over goes to the
//! next one. Answers may overtake each other; an event leaves before the answer
//! of the action that sent it.
//!
//! This module owns the protocol. The socket is [`crate::websocket`]'s, and where
//! it lives while the actor sleeps is its [`SocketHome`]'s.

mod opening;
mod session;
mod transport;

use bytes::Bytes;
use greenroom_core::{Incoming, Request};
use greenroom_error::Error;
use greenroom_wire::{Encoding, RayId};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::websocket::inbox::Inbox;
use crate::websocket::{ClientSocket, Outbox, SocketHome, unreachable};

/// What a client asked for when it connected.
#[derive(Clone, Debug)]
pub struct ConnectRequest {
    pub encoding: Encoding,
    /// CBOR.
    pub params: Bytes,
    /// Path and query inside the actor.
    pub uri: String,
    /// As user code sees them.
    pub headers: Vec<(String, String)>,
    pub ray_id: RayId,
    /// Do not wait for the next generation if this one is about to sleep.
    pub skip_ready_wait: bool,
}

impl ConnectRequest {
    fn to_request(&self) -> Request {
        Request {
            method: "GET".to_owned(),
            uri: self.uri.clone(),
            headers: self.headers.clone(),
            ..Request::default()
        }
    }

    fn incoming(&self) -> Incoming {
        Incoming {
            ray_id: Some(self.ray_id.as_str().to_owned()),
            ..Incoming::default()
        }
    }

    /// Closes because of something that lies before the actor.
    fn unreachable(&self, outbox: &Outbox, error: &Error) {
        outbox.close(unreachable(error, &self.ray_id));
    }
}

/// Serves a client until its socket is closed.
pub async fn serve<S, H>(mut socket: ClientSocket<S>, home: H, request: ConnectRequest)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    H: SocketHome,
{
    let mut inbox = Inbox::default();
    let opened = opening::open(&mut socket, &mut inbox, &home, &request).await;
    if let Some(opened) = opened {
        session::Session::new(&mut socket, inbox, &home, &request, opened)
            .run()
            .await;
    }
    drop(home);
    socket.finish().await;
}
