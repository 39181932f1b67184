//! From an upgraded socket to a connection that is live.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use greenroom_core::{
    ActorConfig, ActorContext, ActorHandle, ActorWorkKind, Answer, ConnHandle, ConnTransport,
    ConnectOptions, HibernationMetadata, Request,
};
use greenroom_error::Error;
use greenroom_wire::RayId;
use tokio::io::{AsyncRead, AsyncWrite};

use super::inbox::Inbox;
use super::{ClientSocket, SocketHome, going_away, unreachable};
use crate::live::ActorSource;

/// What a client asked for when it opened its socket.
#[derive(Clone, Debug)]
pub struct SocketRequest {
    /// CBOR parameters of the connection.
    pub params: Bytes,
    /// Path and query inside the actor.
    pub uri: String,
    /// As user code sees them.
    pub headers: Vec<(String, String)>,
    pub ray_id: RayId,
    /// Do not wait for the next generation if this one is about to sleep.
    pub skip_ready_wait: bool,
}

impl SocketRequest {
    pub(crate) fn to_request(&self) -> Request {
        Request {
            method: "GET".to_owned(),
            uri: self.uri.clone(),
            headers: self.headers.clone(),
            ..Request::default()
        }
    }
}

/// What kind of connection a socket makes.
pub(crate) trait Kind {
    /// The actor's way to the client.
    fn transport(&self, ctx: &ActorContext) -> Arc<dyn ConnTransport>;
    /// True if the connection can outlive its generation.
    fn hibernates(&self, config: &ActorConfig) -> bool;
}

/// What came of it.
pub(crate) enum Opening {
    /// The connection is live in this generation, and the host holds it.
    Live(Arc<ActorHandle>, ConnHandle),
    /// A hook said no; the client has not been told.
    Rejected(Arc<ActorHandle>, Error),
    /// The client left, or was told that its actor cannot be reached.
    Over,
}

/// Finds the actor and connects.
pub(crate) async fn open<S, H>(
    socket: &mut ClientSocket<S>,
    inbox: &mut Inbox,
    home: &H,
    request: &SocketRequest,
    kind: &impl Kind,
) -> Opening
where
    S: AsyncRead + AsyncWrite + Unpin,
    H: SocketHome,
{
    let mut source = home.seek();
    let mut refused_by = None;
    loop {
        let found = tokio::select! {
            biased;
            found = socket.during(inbox, source.acquire(refused_by)) => found,
            () = home.leaving().cancelled() => Some(Err(going_away())),
        };
        let Some(found) = found else {
            return Opening::Over;
        };
        let entered = found.and_then(|actor| home.enter(actor.actor()).map(|()| actor));
        let actor = match entered {
            Ok(actor) => actor,
            Err(error) => {
                socket.outbox().close(unreachable(&error, &request.ray_id));
                return Opening::Over;
            }
        };
        refused_by = Some(actor.actor());
        if actor.ctx().sleep_requested() && !request.skip_ready_wait {
            continue;
        }
        if let Some(opening) = connect(socket, inbox, home, request, kind, actor).await {
            return opening;
        }
    }
}

/// Connects in one generation. `None` if it takes no more work; the next one may.
async fn connect<S, H>(
    socket: &mut ClientSocket<S>,
    inbox: &mut Inbox,
    home: &H,
    request: &SocketRequest,
    kind: &impl Kind,
    actor: Arc<ActorHandle>,
) -> Option<Opening>
where
    S: AsyncRead + AsyncWrite + Unpin,
    H: SocketHome,
{
    let ctx = actor.ctx();
    let config = ctx.config();
    // Until the host holds the connection, a sleep would lose it.
    let coming = ctx.begin_work(ActorWorkKind::InternalKeepAwake);
    let transport = kind.transport(ctx);
    let has_hooks = config.hooks.preflight || config.hooks.open;
    let options = ConnectOptions {
        params: request.params.clone(),
        request: has_hooks.then(|| Box::new(request.to_request())),
        hibernation: kind.hibernates(config).then(|| HibernationMetadata {
            id: home.hibernation_id(),
            server_message_index: 0,
            client_message_index: 0,
            request_path: request.uri.clone(),
            request_headers: request.headers.clone(),
        }),
        transport: Some(Arc::clone(&transport)),
    };
    let mut connecting = pin!(actor.connect(options));
    let Some(answer) = socket.during(inbox, connecting.as_mut()).await else {
        // Hooks that have begun are not cut: whoever saw the client come has to
        // see it go.
        if let Answer::Done(Ok(conn)) = connecting.await {
            ctx.connection_closed(conn.id());
        }
        return Some(Opening::Over);
    };
    match answer {
        Answer::Done(Ok(conn)) => {
            home.hold(&conn, transport);
            drop(coming);
            Some(Opening::Live(Arc::clone(&actor), conn))
        }
        Answer::Done(Err(error)) => Some(Opening::Rejected(Arc::clone(&actor), error)),
        Answer::Refused(_) => None,
    }
}
