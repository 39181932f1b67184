//! The messages between an inspector and an actor: BARE, in six versions.
//!
//! [`ToServer`] and [`ToClient`] are the newest version. Older ones number the
//! same messages differently and lack some; a message that an older inspector has
//! no name for reaches it as an [`ToClient::Error`] that says what was dropped.
//! User values are opaque CBOR, workflow history is opaque altogether.
//!
//! Who may connect, and what the answers are, is decided elsewhere.

mod numbering;
mod parts;
mod to_client;
mod to_server;

use bytes::Bytes;

pub use parts::{
    Connection, FireError, QueueStatus, Queued, Schedule, ScheduleFire, TabConfigEntry,
};
pub use to_client::{Init, ToClient};
pub use to_server::ToServer;

use crate::malformed::Read;

/// A version of the inspector protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InspectorVersion(u16);

impl InspectorVersion {
    /// What inspectors that negotiate nothing speak.
    pub const LEGACY: Self = Self(5);
    pub const CURRENT: Self = Self(6);

    /// `None` unless it is one of the versions there are.
    pub fn new(version: u16) -> Option<Self> {
        (1..=Self::CURRENT.0)
            .contains(&version)
            .then_some(Self(version))
    }

    pub fn number(self) -> u16 {
        self.0
    }

    fn at_least(self, version: u16) -> bool {
        self.0 >= version
    }
}

/// Reads a request of an older inspector and writes it as a current one.
///
/// # Errors
/// If the bytes are no message of that version, or one that is no longer there.
pub fn upgrade_request(message: Bytes, version: InspectorVersion) -> Read<Bytes> {
    Ok(ToServer::decode(message, version)?.encode())
}

/// Reads a current response and writes it as an older inspector expects it.
///
/// # Errors
/// If the bytes are no current message.
pub fn downgrade_response(message: Bytes, version: InspectorVersion) -> Read<Bytes> {
    Ok(ToClient::decode(message)?.encode(version))
}

#[cfg(test)]
mod tests;
