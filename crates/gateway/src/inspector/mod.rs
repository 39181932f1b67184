//! The inspector's WebSocket: questions about one actor, and news of its changes.
//!
//! An inspection belongs to the generation that lives when it begins, and ends with
//! it: whoever looks comes again and looks at the next. It is no connection of the
//! actor; no hook runs, and it does not keep the actor awake.
//!
//! Owns who may look, framing and limits. The messages are in `greenroom_wire`.

mod answers;
pub(crate) mod assets;
mod database;
mod page;
mod session;
mod views;

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use greenroom_core::ActorHandle;
use greenroom_error::{Error, Result, code};
use greenroom_wire::inspector_protocol::{InspectorVersion, ToClient, ToServer};
use greenroom_wire::{RayId, Subprotocols};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::inspector::session::Session;
use crate::live::ActorSource;
use crate::websocket::inbox::Inbox;
use crate::websocket::{ClientSocket, SocketHome, going_away, unreachable};

/// What an inspector says when it opens its socket.
#[derive(Clone, Debug)]
pub struct InspectRequest {
    /// Of its subprotocol, or else of its bearer header.
    pub token: Option<String>,
    /// The query's `protocol_version`, as it was sent.
    pub protocol_version: Option<String>,
    /// Whether user code's layer answers the inspector's HTTP routes; it alone can
    /// change the state.
    pub runtime_routes: bool,
    pub ray_id: RayId,
}

impl InspectRequest {
    /// Reads what the request for a socket says. `uri` is path and query inside the
    /// actor.
    pub fn read(
        uri: &str,
        offer: &Subprotocols<'_>,
        headers: &HeaderMap,
        runtime_routes: bool,
        ray_id: RayId,
    ) -> Self {
        let offered = offer.inspector_token.map(str::to_owned);
        Self {
            token: offered.or_else(|| bearer(headers)),
            protocol_version: query(uri, "protocol_version"),
            runtime_routes,
            ray_id,
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("bearer");
    is_bearer.then(|| token.trim().to_owned())
}

/// The first value of a parameter, as it was sent.
fn query(uri: &str, name: &str) -> Option<String> {
    let (_, query) = uri.split_once('?')?;
    query.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key == name).then(|| value.to_owned())
    })
}

/// How messages are framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Framing {
    version: InspectorVersion,
    /// Each message begins with its version, two bytes, little-endian.
    prefixed: bool,
}

impl Framing {
    /// # Errors
    /// `inspector/invalid_protocol_version`.
    fn negotiate(asked: Option<&str>) -> Result<Self> {
        let Some(asked) = asked else {
            return Ok(Self {
                version: InspectorVersion::LEGACY,
                prefixed: true,
            });
        };
        let version = asked.parse().ok().and_then(InspectorVersion::new);
        let version = version.ok_or_else(|| Error::new(&code::INSPECTOR_INVALID_PROTOCOL_VERSION));
        Ok(Self {
            version: version?,
            prefixed: false,
        })
    }

    fn encode(self, message: &ToClient) -> Bytes {
        let body = message.encode(self.version);
        if !self.prefixed {
            return body;
        }
        let mut framed = BytesMut::with_capacity(2 + body.len());
        framed.put_u16_le(self.version.number());
        framed.put(body);
        framed.freeze()
    }

    /// The request, or what is wrong with it.
    fn decode(self, mut message: Bytes) -> Result<ToServer, String> {
        let mut version = self.version;
        if self.prefixed {
            if message.len() < 2 {
                return Err("the message has no version".to_owned());
            }
            let prefix = message.split_to(2);
            let number = u16::from_le_bytes([prefix[0], prefix[1]]);
            version = InspectorVersion::new(number)
                .ok_or_else(|| format!("there is no version {number} of the protocol"))?;
        }
        ToServer::decode(message, version).map_err(|error| error.to_string())
    }
}

/// Serves an inspector until its socket is closed.
pub async fn serve<S, H>(mut socket: ClientSocket<S>, home: H, request: InspectRequest)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    H: SocketHome,
{
    let mut inbox = Inbox::default();
    if let Some(begun) = begin(&mut socket, &mut inbox, &home, &request).await {
        let session = Session::new(&mut socket, inbox, &home, begun, request.runtime_routes);
        session.run().await;
    }
    drop(home);
    socket.finish().await;
}

/// Finds the actor and checks who looks. `None` once the socket is on its way to
/// its end.
async fn begin<S, H>(
    socket: &mut ClientSocket<S>,
    inbox: &mut Inbox,
    home: &H,
    request: &InspectRequest,
) -> Option<(Arc<ActorHandle>, Framing)>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    H: SocketHome,
{
    // Before anybody is woken.
    let framing = match Framing::negotiate(request.protocol_version.as_deref()) {
        Ok(framing) => framing,
        Err(error) => {
            socket.outbox().close_with(&error);
            return None;
        }
    };
    let mut source = home.seek();
    let found = tokio::select! {
        biased;
        found = socket.during(inbox, source.acquire(None)) => found?,
        () = home.leaving().cancelled() => Err(going_away()),
    };
    let actor = match found.and_then(|actor| home.enter(actor.actor()).map(|()| actor)) {
        Ok(actor) => actor,
        Err(error) => {
            socket.outbox().close(unreachable(&error, &request.ray_id));
            return None;
        }
    };
    if let Err(error) = actor.ctx().verify_inspector_token(request.token.as_deref()) {
        socket.outbox().close_with(&error);
        return None;
    }
    Some((actor, framing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_negotiated_or_refused() {
        let legacy = Framing::negotiate(None).unwrap();
        assert!(legacy.prefixed && legacy.version == InspectorVersion::LEGACY);
        for version in 1..=6u16 {
            let framing = Framing::negotiate(Some(&version.to_string())).unwrap();
            assert_eq!(
                (framing.version.number(), framing.prefixed),
                (version, false)
            );
        }
        for asked in ["", "0", "7", "six", "-1", "6.0", "65542"] {
            let error = Framing::negotiate(Some(asked)).unwrap_err();
            assert!(
                error.is(&code::INSPECTOR_INVALID_PROTOCOL_VERSION),
                "{asked}"
            );
            assert_eq!(error.close_code(), 1002);
        }
    }

    #[test]
    fn legacy_frames_carry_their_version() {
        let legacy = Framing::negotiate(None).unwrap();
        let message = ToClient::QueueUpdated { queue_size: 3 };
        assert_eq!(legacy.encode(&message)[..2], [5, 0]);
        let request = ToServer::State { id: 9 };
        // Whoever names a version is understood in it.
        for version in [5u8, 6] {
            let framed = [&[version, 0], &request.encode()[..]].concat();
            assert_eq!(legacy.decode(framed.into()), Ok(request.clone()));
        }
        for broken in [
            &b""[..],
            b"\x05",
            b"\x07\x00\x01\x09",
            b"\x05\x00",
            b"\x05\x00\xff",
        ] {
            assert!(legacy.decode(Bytes::from_static(broken)).is_err());
        }
    }
}
