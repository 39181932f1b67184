//! Raw WebSockets: user code speaks with the client by itself.
//!
//! Messages pass through unchanged. A socket whose actor type allows it outlives a
//! sleep: user code gets it anew in the next generation, together with whatever
//! the last one was given and did not take. Any other ends with its generation.

mod session;
mod side;

use std::sync::Arc;

use greenroom_core::{ActorConfig, ActorContext, ConnTransport};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::raw_socket::session::Session;
use crate::raw_socket::side::RawTransport;
use crate::websocket::inbox::Inbox;
use crate::websocket::opening::{Kind, Opening, open};
use crate::websocket::{ClientSocket, Outbox, SocketHome, SocketRequest};

/// Serves a client until its socket is closed.
pub async fn serve<S, H>(mut socket: ClientSocket<S>, home: H, request: SocketRequest)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    H: SocketHome,
{
    let mut inbox = Inbox::default();
    let kind = Raw(socket.outbox().clone());
    // Boxed: what it takes to open is let go before the long life of the socket.
    match Box::pin(open(&mut socket, &mut inbox, &home, &request, &kind)).await {
        Opening::Live(actor, conn) => {
            let session = Session::new(inbox, &home, &request, &conn);
            session.run(socket, Some((actor, conn))).await;
        }
        Opening::Rejected(_, error) => {
            socket.outbox().close_with(&error);
            drop(home);
            socket.finish().await;
        }
        Opening::Over => {
            drop(home);
            socket.finish().await;
        }
    }
}

/// The actor's way to the client of such a socket.
pub fn transport(outbox: &Outbox) -> Arc<dyn ConnTransport> {
    Arc::new(RawTransport(outbox.clone()))
}

/// Serves the client of a connection that lived in another process, which had so
/// many of its messages: user code gets the socket when the actor's next generation
/// begins.
pub async fn resume<S, H>(
    socket: ClientSocket<S>,
    home: H,
    request: SocketRequest,
    conn_id: &str,
    messages: u64,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    H: SocketHome,
{
    let session = Session::resumed(&home, &request, conn_id, messages);
    session.run(socket, None).await;
}

struct Raw(Outbox);

impl Kind for Raw {
    fn transport(&self, _: &ActorContext) -> Arc<dyn ConnTransport> {
        transport(&self.0)
    }

    fn hibernates(&self, config: &ActorConfig) -> bool {
        config.can_hibernate_websocket
    }
}
