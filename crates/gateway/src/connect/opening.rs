//! From an upgraded socket to a connection that is live.

use std::pin::pin;
use std::sync::Arc;

use greenroom_core::{
    ActorHandle, ActorWorkKind, Answer, ConnTransport, ConnectOptions, HibernationMetadata,
};
use greenroom_error::Error;
use tokio::io::{AsyncRead, AsyncWrite};

use super::ConnectRequest;
use super::transport::ToClientWay;
use crate::live::ActorSource;
use crate::websocket::inbox::Inbox;
use crate::websocket::{ClientSocket, SocketHome};

/// A connection and the generation it was made in.
pub(super) struct Opened {
    pub(super) actor: Arc<ActorHandle>,
    pub(super) conn_id: String,
    pub(super) way: ToClientWay,
}

/// Finds the actor and connects. `None` if nothing came of it; the client has
/// been told why, unless it left.
pub(super) async fn open<S, H>(
    socket: &mut ClientSocket<S>,
    inbox: &mut Inbox,
    home: &H,
    request: &ConnectRequest,
) -> Option<Opened>
where
    S: AsyncRead + AsyncWrite + Unpin,
    H: SocketHome,
{
    let mut source = home.seek();
    let mut refused_by = None;
    loop {
        let found = socket.during(inbox, source.acquire(refused_by)).await?;
        let entered = found.and_then(|actor| home.enter(actor.actor()).map(|()| actor));
        let actor = match entered {
            Ok(actor) => actor,
            Err(error) => {
                request.unreachable(socket.outbox(), &error);
                return None;
            }
        };
        refused_by = Some(actor.actor());
        if actor.ctx().sleep_requested() && !request.skip_ready_wait {
            continue;
        }
        match connect(socket, inbox, home, request, actor).await {
            Attempt::Opened(opened) => return Some(opened),
            Attempt::Rejected(way, error) => {
                way.reject(&error);
                return None;
            }
            Attempt::Left => return None,
            Attempt::Refused => {}
        }
    }
}

/// What came of one generation.
enum Attempt {
    Opened(Opened),
    Rejected(ToClientWay, Error),
    /// It takes no more work; the next one may.
    Refused,
    /// The client did not wait for the answer.
    Left,
}

async fn connect<S, H>(
    socket: &mut ClientSocket<S>,
    inbox: &mut Inbox,
    home: &H,
    request: &ConnectRequest,
    actor: Arc<ActorHandle>,
) -> Attempt
where
    S: AsyncRead + AsyncWrite + Unpin,
    H: SocketHome,
{
    let ctx = actor.ctx();
    // Until the host holds the connection, a sleep would lose it.
    let coming = ctx.begin_work(ActorWorkKind::InternalKeepAwake);
    let limit = ctx.config().max_outgoing_message_size;
    let way = ToClientWay::new(socket.outbox().clone(), request.encoding, limit);
    let transport: Arc<dyn ConnTransport> = Arc::new(way.clone());
    let hooks = ctx.config().hooks;
    // Events of hooks wait for Init.
    socket.outbox().cork();
    let mut connecting = pin!(actor.connect(ConnectOptions {
        params: request.params.clone(),
        request: (hooks.preflight || hooks.open).then(|| Box::new(request.to_request())),
        hibernation: Some(HibernationMetadata {
            id: home.hibernation_id(),
            server_message_index: 0,
            client_message_index: 0,
            request_path: request.uri.clone(),
            request_headers: request.headers.clone(),
        }),
        transport: Some(Arc::clone(&transport)),
    }));
    let Some(answer) = socket.during(inbox, connecting.as_mut()).await else {
        // Hooks that have begun are not cut: whoever saw the client come has to
        // see it go.
        if let Answer::Done(Ok(conn)) = connecting.await {
            ctx.connection_closed(conn.id());
        }
        return Attempt::Left;
    };
    match answer {
        Answer::Done(Ok(conn)) => {
            home.hold(&conn, transport);
            way.init(ctx.actor_id().as_str(), conn.id());
            drop(coming);
            Attempt::Opened(Opened {
                conn_id: conn.id().to_owned(),
                actor: Arc::clone(&actor),
                way,
            })
        }
        Answer::Done(Err(error)) => Attempt::Rejected(way, error),
        Answer::Refused(_) => Attempt::Refused,
    }
}
