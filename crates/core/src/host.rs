//! Where actors live: the one seam between the runtime and its surroundings.
//!
//! The runtime asks a [`Host`] for storage, one alarm per actor and a way to say
//! "please put me to sleep"; the host drives the runtime through
//! [`crate::registry::RegistryDispatcher`]. A request never changes local state:
//! only a Stop that comes back from the host moves an actor out of Started.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use greenroom_error::Result;
use greenroom_store::Database;
use greenroom_wire::ActorId;

use crate::actor::connection::{ConnHandle, ConnTransport};
use crate::actor::context::ActorContext;

pub type HostFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// One generation of one actor, as hosts and logs name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ActorRef {
    pub actor_id: ActorId,
    pub generation: u32,
}

/// Why the host stops an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The actor asked to sleep, or crashed and asked with an error.
    SleepIntent,
    /// The actor asked to be destroyed.
    StopIntent,
    /// The host leaves: the process shuts down or the actor moves.
    GoingAway,
    /// The host lost its right to run the actor.
    Lost,
    /// Somebody outside destroyed the actor.
    Destroy,
}

impl StopReason {
    /// Moving an actor keeps its state and runs `onSleep`, never `onDestroy`.
    pub fn shutdown_kind(self) -> crate::actor::messages::ShutdownKind {
        use crate::actor::messages::ShutdownKind;
        match self {
            Self::SleepIntent | Self::GoingAway | Self::Lost => ShutdownKind::Sleep,
            Self::StopIntent | Self::Destroy => ShutdownKind::Destroy,
        }
    }
}

/// How code inside an actor reaches other actors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientEndpoint {
    /// Base URL; `None` while the host has no listener.
    pub url: Option<String>,
    pub namespace: String,
    pub token: Option<String>,
    pub pool_name: String,
}

/// Names a hibernating socket on the host's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HibernationId {
    pub gateway_id: [u8; 4],
    pub request_id: [u8; 4],
}

/// A client's socket that a host keeps open from one generation of its actor to
/// the next.
pub struct HeldSocket {
    pub id: HibernationId,
    /// The connection as the last generation left it, if that lived in this
    /// process. It knows of subscriptions and connections that a crash kept from
    /// storage.
    pub conn: Option<ConnHandle>,
    pub transport: Arc<dyn ConnTransport>,
}

/// Surroundings of actors. Every method may be called from any thread; none may
/// block.
pub trait Host: Send + Sync + 'static {
    /// The actor's database. Called once per generation, before its start; the
    /// handle may be lazy.
    fn open_storage(&self, actor: ActorRef) -> Result<Database>;

    /// Arms the actor's one wake-up (Unix milliseconds), or disarms it. Completes
    /// when the request survives a crash of the process. A later call wins.
    fn set_alarm(&self, actor: ActorRef, at_ms: Option<i64>) -> HostFuture<Result<()>>;

    /// Asks for a sleep stop. May be called twice and after a stop began; must
    /// then do nothing.
    fn request_sleep(&self, actor: ActorRef);

    /// Asks for a destroy stop, or, with `error`, reports a crash: the host
    /// answers that with a sleep stop and applies its restart policy.
    fn request_stop(&self, actor: ActorRef, error: Option<String>);

    /// Region label shown to user code; empty if none.
    fn region(&self) -> String;

    fn client_endpoint(&self) -> ClientEndpoint;

    /// The actor's inspector token is in its storage, for good. Told once per
    /// generation, after its start; a host whose dashboards look for tokens
    /// elsewhere puts it there.
    fn inspector_token_stored(&self, actor: ActorRef, token: &str) {
        let _ = (actor, token);
    }

    /// Sockets that the actor's next generation begins with. Asked once per
    /// start, after storage was loaded and before user code runs.
    fn held_sockets(&self, actor: ActorRef) -> Vec<HeldSocket> {
        let _ = actor;
        Vec::new()
    }

    /// Stored connections that are not among the held sockets, because another
    /// process held them. A host whose surroundings may still have their clients
    /// names those that go on; the actor forgets the others. Asked after
    /// [`held_sockets`](Self::held_sockets), if there are any.
    fn adopt_sockets(&self, ctx: &ActorContext, stored: &[ConnHandle]) -> Vec<HeldSocket> {
        let _ = (ctx, stored);
        Vec::new()
    }

    /// Waits until of everything that the actor has answered on its sockets it is
    /// [noted](ConnHandle::message_handled) that it was. Asked before the last save of
    /// a generation that others follow, when nothing is worked on any more; `None` if
    /// there is nothing to wait for. The host bounds the wait.
    fn settle_sockets(&self, actor: ActorRef) -> Option<HostFuture<()>> {
        let _ = actor;
        None
    }

    /// The actor handled everything up to this message, and what it stores says so:
    /// the host may forget it. Repeated with every save of the connection.
    fn ack_hibernating_message(&self, actor: ActorRef, socket: HibernationId, message_index: u16);
}
