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

mod session;
#[cfg(test)]
mod tests;
mod transport;

use std::sync::{Arc, Weak};

use greenroom_core::{ActorConfig, ActorContext, ConnTransport};
use greenroom_wire::{Encoding, RayId};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::connect::session::{Opened, Session};
use crate::connect::transport::ToClientWay;
use crate::websocket::inbox::Inbox;
use crate::websocket::opening::{Kind, Opening, open};
use crate::websocket::{ClientSocket, Outbox, SocketHome, SocketRequest};

/// Serves a client until its socket is closed.
pub async fn serve<S, H>(
    mut socket: ClientSocket<S>,
    home: H,
    request: SocketRequest,
    encoding: Encoding,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    H: SocketHome,
{
    let mut inbox = Inbox::default();
    let kind = ToClient(socket.outbox().clone(), encoding);
    // Boxed, and the request dropped: what it takes to open is let go before the
    // long life of the socket.
    let opening = Box::pin(open(&mut socket, &mut inbox, &home, &request, &kind)).await;
    let ray_id = request.ray_id;
    drop(request);
    match opening {
        Opening::Live(actor, conn) => {
            let way = kind.way(actor.ctx());
            way.init(actor.ctx().actor_id().as_str(), conn.id());
            let opened = Opened {
                conn_id: conn.id().to_owned(),
                actor: Arc::downgrade(&actor),
                way,
            };
            drop((actor, conn));
            Session::new(&mut socket, inbox, &home, &ray_id, opened)
                .run()
                .await;
        }
        Opening::Rejected(actor, error) => kind.way(actor.ctx()).reject(&error),
        Opening::Over => {}
    }
    drop(home);
    socket.finish().await;
}

/// A connection that lived in another process, as this one goes on with it.
#[derive(Clone, Debug)]
pub struct Resumed {
    pub conn_id: String,
    pub encoding: Encoding,
    /// Longest message that is sent, in bytes.
    pub max_outgoing: u32,
    pub ray_id: RayId,
}

impl Resumed {
    /// The actor's way to the client.
    pub fn transport(&self, outbox: &Outbox) -> Arc<dyn ConnTransport> {
        Arc::new(self.way(outbox))
    }

    fn way(&self, outbox: &Outbox) -> ToClientWay {
        ToClientWay::new(outbox.clone(), self.encoding, self.max_outgoing)
    }
}

/// Serves the client of such a connection until its socket is closed. It has been
/// told of its connection, and asks nobody anew.
pub async fn resume<S, H>(mut socket: ClientSocket<S>, home: H, resumed: Resumed)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    H: SocketHome,
{
    let opened = Opened {
        actor: Weak::new(),
        way: resumed.way(socket.outbox()),
        conn_id: resumed.conn_id,
    };
    Session::new(
        &mut socket,
        Inbox::default(),
        &home,
        &resumed.ray_id,
        opened,
    )
    .run()
    .await;
    drop(home);
    socket.finish().await;
}

struct ToClient(Outbox, Encoding);

impl ToClient {
    fn way(&self, ctx: &ActorContext) -> ToClientWay {
        let limit = ctx.config().max_outgoing_message_size;
        ToClientWay::new(self.0.clone(), self.1, limit)
    }
}

impl Kind for ToClient {
    fn transport(&self, ctx: &ActorContext) -> Arc<dyn ConnTransport> {
        // Events of hooks wait for Init.
        self.0.cork();
        Arc::new(self.way(ctx))
    }

    fn hibernates(&self, _: &ActorConfig) -> bool {
        true
    }
}
