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
            session.run(socket, actor, conn).await;
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

struct Raw(Outbox);

impl Kind for Raw {
    fn transport(&self, _: &ActorContext) -> Arc<dyn ConnTransport> {
        Arc::new(RawTransport(self.0.clone()))
    }

    fn hibernates(&self, config: &ActorConfig) -> bool {
        config.can_hibernate_websocket
    }
}
