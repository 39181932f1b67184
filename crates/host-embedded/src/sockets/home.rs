//! A socket's way to its actor.

use std::sync::Arc;
use std::task::{Context, Poll};

use greenroom_core::{ActorHandle, ActorRef, ConnHandle, ConnTransport, HibernationId};
use greenroom_error::Result;
use greenroom_gateway::websocket::{Outbox, SocketHome};
use greenroom_wire::ActorId;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::Place;
use super::held::Held;
use crate::ready::Seeker;
use crate::shared::Shared;
use crate::target::Target;

/// Where one socket lives. Once its actor is known it stays with that actor.
pub(crate) struct SocketPlace {
    shared: Arc<Shared>,
    target: Target,
    actor_id: Mutex<Option<ActorId>>,
    held: Arc<Held>,
    leaving: CancellationToken,
    _place: Place,
}

impl SocketPlace {
    /// `leaving` fires when the socket has to come to its end.
    pub(crate) fn new(
        shared: Arc<Shared>,
        target: Target,
        outbox: Outbox,
        place: Place,
        leaving: CancellationToken,
    ) -> Self {
        let id = shared.sockets.next_id();
        Self {
            shared,
            target,
            actor_id: Mutex::default(),
            held: Held::new(id, outbox),
            leaving,
            _place: place,
        }
    }
}

impl SocketHome for SocketPlace {
    type Source = Seeker<Arc<Shared>, Target>;

    fn seek(&self) -> Self::Source {
        let target = match *self.actor_id.lock() {
            Some(id) => Target::Id(id),
            None => self.target.clone(),
        };
        Seeker::new(Arc::clone(&self.shared), target)
    }

    fn live(&self) -> Option<Arc<ActorHandle>> {
        let actor_id = (*self.actor_id.lock())?;
        let resident = self.shared.residents.by_id(&actor_id)?;
        resident.phase().handle().cloned()
    }

    fn hibernation_id(&self) -> HibernationId {
        self.held.id
    }

    fn enter(&self, actor: ActorRef) -> Result<()> {
        let sockets = &self.shared.sockets;
        let mut actor_id = self.actor_id.lock();
        if let Some(before) = actor_id.take()
            && before != actor.actor_id
        {
            // The first was destroyed before it took the connection.
            sockets.leave(&before, &self.held.id);
        }
        sockets.enter(actor.actor_id, &self.held)?;
        *actor_id = Some(actor.actor_id);
        self.held.entered(actor.generation);
        Ok(())
    }

    fn hold(&self, conn: &ConnHandle, transport: Arc<dyn ConnTransport>) {
        self.held.connected(conn, transport);
    }

    fn poll_began(&self, cx: &mut Context<'_>, generation: u32) -> Poll<()> {
        self.held.poll_began(cx, generation)
    }

    fn leaving(&self) -> &CancellationToken {
        &self.leaving
    }
}

impl Drop for SocketPlace {
    fn drop(&mut self) {
        if let Some(actor_id) = self.actor_id.get_mut() {
            self.shared.sockets.leave(actor_id, &self.held.id);
        }
    }
}
