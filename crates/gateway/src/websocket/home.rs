//! Where a socket lives, as far as its session has to know.

use std::sync::Arc;
use std::task::{Context, Poll};

use greenroom_core::{ActorHandle, ActorRef, ConnHandle, ConnTransport, HibernationId};
use greenroom_error::Result;
use tokio_util::sync::CancellationToken;

use crate::live::ActorSource;

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

    /// So many of the socket's messages, counted from its first, need not be kept
    /// by whoever sent them here: they were handled, and so were all before them.
    fn handled(&self, messages: u64) {
        let _ = messages;
    }

    /// Fires when the host wants the socket to finish what runs and to close.
    fn leaving(&self) -> &CancellationToken;
}
