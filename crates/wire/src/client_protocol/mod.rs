//! The messages between a client and an actor: WebSocket messages
//! ([`ToClient`], [`ToServer`]) and the bodies of `/action` and `/queue`.
//!
//! Each type encodes and decodes itself in every [`Encoding`]. User values
//! (arguments, outputs, event arguments, queue bodies, metadata) are opaque
//! CBOR [`Bytes`]; a decoded message shares the buffer it was read from, and an
//! encoded one ([`Frame`]) shares its payload. They are looked into only for
//! JSON peers. Decoders check that payloads are well-formed, so nothing broken
//! reaches user code or storage.
//!
//! BARE messages start with a version. Versions [`VERSION_MIN`] to [`VERSION`]
//! are read, [`VERSION`] is written. Size limits, statuses and the order of
//! messages are the gateway's business.
//!
//! [`Encoding`]: crate::Encoding
//! [`Bytes`]: bytes::Bytes

mod fields;
mod frame;
mod http_action;
mod http_queue;
mod shared;
mod to_client;
mod to_server;

pub use frame::Frame;
pub use http_action::{HttpActionRequest, HttpActionResponse};
pub use http_queue::{HttpQueueSendRequest, HttpQueueSendResponse, QueueSendStatus};
pub use shared::SharedMessage;
pub use to_client::ToClient;
pub use to_server::ToServer;

use bytes::Bytes;

use crate::bare::{Reader, Writer};
use crate::malformed::{Malformed, Read};

pub(crate) use fields::{Object, WireUint, incoming, optional, present, read_map, text, uint};

/// The version this process writes.
pub const VERSION: u16 = 4;
/// The oldest version this process reads.
pub const VERSION_MIN: u16 = 1;

/// Errors name the actor from this version on.
pub(crate) const VERSION_WITH_ACTOR: u16 = 4;
/// Queue messages exist from this version on.
const VERSION_WITH_QUEUE: u16 = 3;
/// `Init` has no connection token from this version on.
const VERSION_WITHOUT_TOKEN: u16 = 2;

/// A reader behind the version prefix, and the version.
pub(crate) fn read_version(body: Bytes) -> Read<(Reader, u16)> {
    let mut reader = Reader::new(body);
    match reader.u16()? {
        version @ VERSION_MIN..=VERSION => Ok((reader, version)),
        _ => Err(Malformed::new("client protocol version is not supported")),
    }
}

/// A writer with the version prefix, and room for `capacity` bytes behind it.
pub(crate) fn write_version(capacity: usize) -> Writer {
    let mut writer = Writer::with_capacity(capacity + 2);
    writer.u16(VERSION);
    writer
}

#[cfg(test)]
mod tests;
