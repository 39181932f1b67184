//! What a socket is for, and serving it.

use std::sync::Arc;

use greenroom_core::{Clock, Lookup};
use greenroom_error::{Error, Result};
use greenroom_gateway::websocket::{ClientSocket, Farewell, Outbox, SocketRequest, unreachable};
use greenroom_gateway::{connect, raw_socket, user_headers};
use greenroom_wire::{ActorId, Encoding, RayId, Subprotocols};
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use tokio::io::DuplexStream;
use tokio::sync::mpsc;

use super::place::SocketPlace;
use super::{EngineSocket, NewSocket, pipe};
use crate::shared::{Shared, shut_down};

/// Bytes on their way in one direction.
const PIPE_BYTES: usize = 64 * 1024;
/// Messages that a client may be ahead of its session.
const AHEAD_MAX: usize = 4_096;
const CONNECT: &str = "/connect";
const INSPECTOR: &str = "/inspector/connect";

enum Purpose {
    Connect(SocketRequest, Encoding),
    Raw(SocketRequest),
    /// Nothing: it is told why.
    Close(Farewell),
}

impl Shared {
    /// Whether the engine is to keep a client of this path while its actor sleeps.
    pub(crate) fn may_hibernate(&self, actor_id: &ActorId, path: &str) -> bool {
        match plain(path) {
            CONNECT => true,
            INSPECTOR => false,
            _ => match self.registry.lookup(actor_id) {
                Lookup::Active(handle) | Lookup::Stopping(handle, _) => {
                    handle.ctx().config().can_hibernate_websocket
                }
                Lookup::Absent | Lookup::Starting => false,
            },
        }
    }

    /// Begins to serve a new socket.
    ///
    /// # Errors
    /// `guard/service_unavailable` if there are too many; `registry/shut_down`.
    pub(crate) fn open_socket(
        &self,
        actor_id: ActorId,
        new: NewSocket,
    ) -> Result<Arc<EngineSocket>> {
        self.check_open()?;
        let me = self.me.upgrade().ok_or_else(shut_down)?;
        let outbox = Outbox::new(self.options.outbox);
        let (sender, incoming) = mpsc::channel(AHEAD_MAX);
        let socket = EngineSocket::new(actor_id, new, outbox, sender);
        self.sockets.enter(&socket, self.options.max_sockets)?;
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        let tasks = &self.sockets.tasks;
        let driven = pipe::drive(Arc::clone(&socket), near, incoming);
        tasks.spawn_on(driven, &self.runtime);
        let served = Arc::clone(&socket);
        let serving = async move {
            serve(Arc::clone(&me), Arc::clone(&served), far).await;
            me.sockets.leave(&served);
        };
        tasks.spawn_on(serving, &self.runtime);
        Ok(socket)
    }
}

async fn serve(shared: Arc<Shared>, socket: Arc<EngineSocket>, stream: DuplexStream) {
    let outbox = socket.outbox().clone();
    let options = shared.options.socket;
    // Clients live in real time, whatever clock the actors have.
    let client = ClientSocket::new(stream, &[], outbox, options, Clock::real()).await;
    let purpose = purpose_of(&socket);
    let home = SocketPlace { shared, socket };
    match purpose {
        Purpose::Connect(request, encoding) => {
            connect::serve(client, home, request, encoding).await;
        }
        Purpose::Raw(request) => raw_socket::serve(client, home, request).await,
        Purpose::Close(farewell) => {
            client.outbox().close(farewell);
            client.finish().await;
        }
    }
}

fn purpose_of(socket: &EngineSocket) -> Purpose {
    let headers = header_map(socket);
    let ray_id = RayId::from_header(headers.get("x-rivet-ray-id").map(HeaderValue::as_bytes));
    let offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL);
    let offer = Subprotocols::parse(offered.into_iter().map(HeaderValue::as_bytes));
    let uri = match socket.path().starts_with('/') {
        true => socket.path().to_owned(),
        false => format!("/{}", socket.path()),
    };
    let path = plain(&uri);
    if path == INSPECTOR {
        let error = Error::not_configured("inspector");
        return Purpose::Close(unreachable(&error, &ray_id));
    }
    let encoding = (path == CONNECT).then(|| offer.encoding());
    let read = || Ok((offer.conn_params()?, encoding.transpose()?));
    let (params, encoding) = match read() {
        Ok(read) => read,
        Err(error) => return Purpose::Close(Farewell::of_error(&error)),
    };
    let request = SocketRequest {
        params,
        uri,
        headers: user_headers(&headers, &ray_id),
        ray_id,
        skip_ready_wait: offer.skip_ready_wait,
    };
    match encoding {
        Some(encoding) => Purpose::Connect(request, encoding),
        None => Purpose::Raw(request),
    }
}

fn plain(path_and_query: &str) -> &str {
    let path = path_and_query.split('?').next();
    path.unwrap_or(path_and_query)
}

/// What of the engine's headers is one; the rest is left out.
fn header_map(socket: &EngineSocket) -> HeaderMap {
    let header = |(name, value): (&String, &String)| {
        let name = HeaderName::try_from(name.as_str()).ok()?;
        Some((name, HeaderValue::try_from(value.as_str()).ok()?))
    };
    socket.headers().iter().filter_map(header).collect()
}
