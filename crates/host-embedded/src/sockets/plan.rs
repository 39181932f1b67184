//! What a socket is for, and serving it.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use greenroom_gateway::inspector::InspectRequest;
use greenroom_gateway::websocket::{ClientSocket, Farewell, Outbox, SocketRequest, unreachable};
use greenroom_gateway::{connect, inspector, raw_socket, user_headers};
use greenroom_wire::gateway_path::{self, GatewayRoute};
use greenroom_wire::{Encoding, RayId, Subprotocols};
use http::HeaderMap;
use http::header::{HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::home::SocketPlace;
use crate::http::target_of;
use crate::shared::Shared;
use crate::target::Target;

/// What a socket is for.
pub(crate) struct Plan {
    ray_id: RayId,
    purpose: Purpose,
}

enum Purpose {
    Connect(Target, SocketRequest, Encoding),
    Raw(Target, SocketRequest),
    Inspect(Target, InspectRequest),
    /// Nothing: it is told why.
    Close(Farewell),
}

impl Plan {
    /// Reads the plan out of the request that opened the socket.
    pub(crate) fn read(
        shared: &Shared,
        path_and_query: &str,
        headers: &HeaderMap,
        ray_id: RayId,
    ) -> Self {
        let offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL);
        let offer = Subprotocols::parse(offered.into_iter().map(HeaderValue::as_bytes));
        let found = find(shared, path_and_query, &offer);
        let purpose = match found {
            Ok((target, route)) if route.path() == "/inspector/connect" => {
                let in_runtime = shared.options.inspector_in_runtime;
                let request = InspectRequest::read(&route.uri, &offer, headers, in_runtime, ray_id);
                Purpose::Inspect(target, request)
            }
            Ok((target, route)) => purpose(target, route, &offer, headers, ray_id),
            Err(error) => Purpose::Close(unreachable(&error, &ray_id)),
        };
        Self { ray_id, purpose }
    }
}

struct Route {
    uri: String,
    skip_ready_wait: bool,
}

impl Route {
    fn path(&self) -> &str {
        self.uri.split('?').next().unwrap_or_default()
    }
}

fn find(shared: &Shared, path: &str, offer: &Subprotocols<'_>) -> Result<(Target, Route)> {
    let route = match gateway_path::parse(path)? {
        Some(route) => Some(route),
        None => gateway_path::from_subprotocols(offer, path)?,
    };
    let Some(GatewayRoute {
        target,
        skip_ready_wait,
        path_and_query,
        ..
    }) = route
    else {
        return Err(Error::new(&code::GUARD_WEBSOCKET_NOT_SUPPORTED));
    };
    let route = Route {
        uri: path_and_query,
        skip_ready_wait: skip_ready_wait || offer.skip_ready_wait,
    };
    Ok((target_of(shared, target)?, route))
}

fn purpose(
    target: Target,
    route: Route,
    offer: &Subprotocols<'_>,
    headers: &HeaderMap,
    ray_id: RayId,
) -> Purpose {
    let encoding = (route.path() == "/connect").then(|| offer.encoding());
    let read = || Ok((offer.conn_params()?, encoding.transpose()?));
    let (params, encoding) = match read() {
        Ok(read) => read,
        Err(error) => return Purpose::Close(Farewell::of_error(&error)),
    };
    let request = SocketRequest {
        params,
        uri: route.uri,
        headers: user_headers(headers, &ray_id),
        ray_id,
        skip_ready_wait: route.skip_ready_wait,
    };
    match encoding {
        Some(encoding) => Purpose::Connect(target, request, encoding),
        None => Purpose::Raw(target, request),
    }
}

/// Where a socket came from.
pub(crate) struct Origin {
    /// `None` for one of this process.
    pub(crate) address: Option<IpAddr>,
    /// Fires when the socket has to come to its end.
    pub(crate) leaving: CancellationToken,
}

/// Serving a socket, until it is closed. Most of the memory of an idle socket is
/// this future, so it holds nothing but what that takes.
pub(crate) type Serving = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Begins to serve a socket. What the beginning took is let go with this future;
/// its outcome is the long life.
pub(crate) async fn serve<S>(
    shared: Arc<Shared>,
    origin: Origin,
    stream: S,
    read_ahead: Bytes,
    plan: Plan,
) -> Serving
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let sockets = &shared.sockets;
    let outbox = Outbox::new(sockets.limits().outbox);
    let (options, clock) = (sockets.limits().socket, sockets.clock().clone());
    let socket = ClientSocket::new(stream, &read_ahead, outbox.clone(), options, clock).await;
    // A slice of the whole buffer that the handshake was read into.
    drop(read_ahead);
    let place = match sockets.take_place(origin.address) {
        Ok(place) => place,
        Err(error) => return refuse(socket, unreachable(&error, &plan.ray_id)),
    };
    let (home_shared, leaving) = (Arc::clone(&shared), origin.leaving);
    let home = |target| SocketPlace::new(home_shared, target, outbox, place, leaving);
    match plan.purpose {
        Purpose::Connect(target, request, encoding) => {
            Box::pin(connect::serve(socket, home(target), request, encoding))
        }
        Purpose::Raw(target, request) => Box::pin(raw_socket::serve(socket, home(target), request)),
        Purpose::Inspect(target, request) => {
            Box::pin(inspector::serve(socket, home(target), request))
        }
        Purpose::Close(farewell) => refuse(socket, farewell),
    }
}

fn refuse<S>(socket: ClientSocket<S>, farewell: Farewell) -> Serving
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    socket.outbox().close(farewell);
    Box::pin(async move {
        socket.finish().await;
    })
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    fn room_of_future<A, B, C, F>(_: impl Fn(A, B, C) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn an_idle_socket_takes_little_room() {
        let connect = room_of_future(
            |socket: ClientSocket<TcpStream>, home: SocketPlace, request| {
                connect::serve(socket, home, request, Encoding::Json)
            },
        );
        let raw = room_of_future(raw_socket::serve::<TcpStream, SocketPlace>);
        assert!(connect.max(raw) <= 4_096, "{connect} and {raw} bytes");
    }
}
