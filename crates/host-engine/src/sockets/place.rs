//! A socket's way to its actor.

use std::sync::Arc;
use std::task::{Context, Poll};

use greenroom_core::{ActorHandle, ActorRef, ConnHandle, ConnTransport, HibernationId};
use greenroom_error::Result;
use greenroom_gateway::websocket::{MessageLog, SocketHome};
use tokio_util::sync::CancellationToken;

use super::EngineSocket;
use crate::shared::Shared;
use crate::source::Seeker;

/// Where one socket lives: always with the same actor.
pub(super) struct SocketPlace {
    pub(super) shared: Arc<Shared>,
    pub(super) socket: Arc<EngineSocket>,
}

impl SocketHome for SocketPlace {
    type Source = Seeker;

    fn seek(&self) -> Seeker {
        Seeker::of_socket(Arc::clone(&self.shared), Arc::clone(&self.socket))
    }

    fn live(&self) -> Option<Arc<ActorHandle>> {
        let found = self.shared.registry.lookup(&self.socket.actor_id);
        found.instance()
    }

    fn hibernation_id(&self) -> HibernationId {
        self.socket.id
    }

    /// The engine bounds the sockets of one actor; ours bounds the process.
    fn enter(&self, actor: ActorRef) -> Result<()> {
        self.socket.entered(actor.generation);
        Ok(())
    }

    /// Of sockets that end with their generation nobody wants to know.
    fn message_log(&self) -> Option<Arc<dyn MessageLog>> {
        let log = Arc::clone(&self.socket);
        self.socket.is_hibernatable().then_some(log as _)
    }

    fn hold(&self, conn: &ConnHandle, transport: Arc<dyn ConnTransport>) {
        self.socket.connected(conn, transport);
    }

    fn poll_began(&self, cx: &mut Context<'_>, generation: u32) -> Poll<()> {
        self.socket.poll_began(cx, generation)
    }

    fn has_let_go(&self) -> bool {
        self.socket.has_let_go()
    }

    fn leaving(&self) -> &CancellationToken {
        &self.shared.sockets.leaving
    }
}
