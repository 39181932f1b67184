//! What a socket is for, and serving it.

use std::collections::HashMap;
use std::sync::Arc;

use greenroom_core::{ActorContext, Clock, ConnHandle, HeldSocket};
use greenroom_error::Result;
use greenroom_gateway::inspector::InspectRequest;
use greenroom_gateway::websocket::{ClientSocket, Farewell, Outbox, SocketRequest};
use greenroom_gateway::{connect, inspector, raw_socket, user_headers};
use greenroom_wire::{ActorId, Encoding, RayId, Subprotocols};
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use tokio::io::DuplexStream;
use tokio::sync::mpsc;

use super::place::SocketPlace;
use super::{EngineSocket, NewSocket, Resumed, ResumedKind, pipe};
use crate::shared::{Shared, shut_down};

/// Bytes on their way in one direction.
const PIPE_BYTES: usize = 64 * 1024;
/// Messages that a client may be ahead of its session.
const AHEAD_MAX: usize = 4_096;
const CONNECT: &str = "/connect";
const INSPECTOR: &str = "/inspector/connect";

enum Purpose {
    Resume(connect::Resumed),
    ResumeRaw(SocketRequest, Resumed),
    Connect(SocketRequest, Encoding),
    Raw(SocketRequest),
    Inspect(InspectRequest),
    /// Nothing: it is told why.
    Close(Farewell),
}

impl Shared {
    /// Whether the engine is to keep a client of this path while its actor sleeps.
    pub(crate) fn may_hibernate(&self, actor_id: &ActorId, path: &str) -> bool {
        match plain(path) {
            CONNECT => true,
            INSPECTOR => false,
            _ => {
                let instance = self.registry.lookup(actor_id).instance();
                instance.is_some_and(|handle| handle.ctx().config().can_hibernate_websocket)
            }
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
        self.enter_socket(me, actor_id, new, outbox)
    }

    /// Makes a session for a connection that another process held, and gives the
    /// actor its way to it. `None` if this one cannot serve it.
    pub(crate) fn adopt_socket(
        &self,
        ctx: &ActorContext,
        stored: &ConnHandle,
    ) -> Option<HeldSocket> {
        let me = self.me.upgrade()?;
        let meta = stored.hibernation().filter(|meta| !meta.is_given_up())?;
        let headers: HashMap<_, _> = meta.request_headers.into_iter().collect();
        let outbox = Outbox::new(self.options.outbox);
        let (kind, transport) = match plain(&meta.request_path) {
            CONNECT => {
                let fields = header_map(&headers);
                let resumed = connect::Resumed {
                    conn_id: stored.id().to_owned(),
                    encoding: offer_of(&fields).encoding().ok()?,
                    max_outgoing: ctx.config().max_outgoing_message_size,
                    ray_id: ray_id_of(&fields),
                };
                let transport = resumed.transport(&outbox);
                (ResumedKind::Connection(resumed), transport)
            }
            INSPECTOR => return None,
            _ => (ResumedKind::Raw, raw_socket::transport(&outbox)),
        };
        let new = NewSocket {
            id: meta.id,
            path: meta.request_path,
            headers,
            is_hibernatable: true,
            way: None,
            resumed: Some(Resumed {
                conn_id: stored.id().to_owned(),
                last_message: meta.server_message_index,
                kind,
            }),
        };
        let socket = self.enter_socket(me, ctx.actor_id(), new, outbox).ok()?;
        socket.connected(stored, Arc::clone(&transport));
        Some(HeldSocket {
            id: meta.id,
            conn: None,
            transport,
        })
    }

    fn enter_socket(
        &self,
        me: Arc<Self>,
        actor_id: ActorId,
        new: NewSocket,
        outbox: Outbox,
    ) -> Result<Arc<EngineSocket>> {
        let (sender, incoming) = mpsc::channel(AHEAD_MAX);
        let socket = EngineSocket::new(actor_id, new, outbox, sender, self.clock().clone());
        self.sockets.enter(&socket, self.options.max_sockets)?;
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        let tasks = &self.sockets.tasks;
        let driven = pipe::drive(Arc::clone(&me), Arc::clone(&socket), near, incoming);
        tasks.spawn_on(driven, &self.runtime);
        let served = Arc::clone(&socket);
        let serving = async move {
            serve(Arc::clone(&me), Arc::clone(&served), far).await;
            me.sockets.leave(&served);
            // Nobody finds it any more who could hand it over.
            if !served.reachable().is_cancelled() {
                served.forget();
            }
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
    let purpose = match socket.resumed() {
        Some(resumed) => resumption_of(&socket, resumed),
        None => purpose_of(&socket, shared.options.inspector_in_runtime),
    };
    let home = SocketPlace { shared, socket };
    match purpose {
        Purpose::Resume(resumed) => connect::resume(client, home, resumed).await,
        Purpose::ResumeRaw(request, resumed) => {
            let messages = u64::from(resumed.last_message);
            raw_socket::resume(client, home, request, &resumed.conn_id, messages).await;
        }
        Purpose::Connect(request, encoding) => {
            connect::serve(client, home, request, encoding).await;
        }
        Purpose::Raw(request) => raw_socket::serve(client, home, request).await,
        Purpose::Inspect(request) => Box::pin(inspector::serve(client, home, request)).await,
        Purpose::Close(farewell) => {
            client.outbox().close(farewell);
            client.finish().await;
        }
    }
}

fn resumption_of(socket: &EngineSocket, resumed: Resumed) -> Purpose {
    match (&resumed.kind, purpose_of(socket, false)) {
        (ResumedKind::Connection(connection), _) => Purpose::Resume(connection.clone()),
        (ResumedKind::Raw, Purpose::Raw(request)) => Purpose::ResumeRaw(request, resumed),
        (ResumedKind::Raw, other) => other,
    }
}

fn purpose_of(socket: &EngineSocket, inspector_in_runtime: bool) -> Purpose {
    let headers = header_map(socket.headers());
    let ray_id = ray_id_of(&headers);
    let offer = offer_of(&headers);
    let uri = match socket.path().starts_with('/') {
        true => socket.path().to_owned(),
        false => format!("/{}", socket.path()),
    };
    let path = plain(&uri);
    if path == INSPECTOR {
        let request = InspectRequest::read(&uri, &offer, &headers, inspector_in_runtime, ray_id);
        return Purpose::Inspect(request);
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

fn ray_id_of(headers: &HeaderMap) -> RayId {
    RayId::from_header(headers.get("x-rivet-ray-id").map(HeaderValue::as_bytes))
}

fn offer_of(headers: &HeaderMap) -> Subprotocols<'_> {
    let offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL);
    Subprotocols::parse(offered.into_iter().map(HeaderValue::as_bytes))
}

/// What of the engine's headers is one; the rest is left out.
fn header_map(headers: &HashMap<String, String>) -> HeaderMap {
    let header = |(name, value): (&String, &String)| {
        let name = HeaderName::try_from(name.as_str()).ok()?;
        Some((name, HeaderValue::try_from(value.as_str()).ok()?))
    };
    headers.iter().filter_map(header).collect()
}
