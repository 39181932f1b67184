//! Where a socket lives, as far as its session has to know.

use std::sync::Arc;
use std::task::{Context, Poll};

use greenroom_core::{ActorHandle, ActorRef, ConnHandle, ConnTransport, HibernationId};
use greenroom_error::Result;
use tokio_util::sync::CancellationToken;

use crate::live::ActorSource;

/// How far the messages of one socket have come. Called often and from any thread:
/// must not wait.
pub trait MessageLog: Send + Sync {
    /// So many of the messages that the session read, counted from its first, were
    /// handled: they were answered, or user code took them. Never fewer than before.
    fn handled(&self, messages: u64);

    /// Whether the session waits for answers. What of them it has not seen yet does
    /// not count as handled.
    fn waits_for_answers(&self, waits: bool) {
        let _ = waits;
    }
}

/// A host's end of one socket: the way to its actor, and the memory of it while
/// that actor sleeps. Dropping it says that the socket is gone.
pub trait SocketHome: Send + Sync + 'static {
    type Source: ActorSource + 'static;

    /// A way to the actor, with a bounded time of its own.
    fn seek(&self) -> Self::Source;

    /// The generation that lives now; wakes nobody.
    fn live(&self) -> Option<Arc<ActorHandle>>;

    /// The name under which a connection of this socket can outlive a generation.
    fn hibernation_id(&self) -> HibernationId;

    /// Counts the socket as one of the actor's. Called once it is known which
    /// actor that is, before any of its hooks runs; may be called again.
    ///
    /// # Errors
    /// If the actor has too many.
    fn enter(&self, actor: ActorRef) -> Result<()>;

    /// The actor's next generations begin with this connection.
    fn hold(&self, conn: &ConnHandle, transport: Arc<dyn ConnTransport>);

    /// Ready once a generation after `generation` began with this connection.
    /// Otherwise the session is woken by the next one.
    fn poll_began(&self, cx: &mut Context<'_>, generation: u32) -> Poll<()>;

    /// Who wants to know how far the socket's messages have come; `None` if nobody.
    fn message_log(&self) -> Option<Arc<dyn MessageLog>> {
        None
    }

    /// Whether the connection goes on without this socket: the session leaves it alone
    /// at its end.
    fn has_let_go(&self) -> bool {
        false
    }

    /// Fires when the host wants the socket to finish what runs and to close.
    fn leaving(&self) -> &CancellationToken;
}
