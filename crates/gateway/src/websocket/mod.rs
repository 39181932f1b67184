//! WebSockets of clients: framing, the bounded outbox, liveness, goodbye.
//!
//! The protocol itself (headers, masks, fragments, UTF-8, close handshake) is
//! tungstenite's. What is ours is the way out: frames are made once and shared,
//! and what waits for a client is bounded. Upgrading a request is the host's
//! business, and so is where a socket lives.

mod frame;
mod frame_io;
mod goodbye;
mod home;
pub(crate) mod inbox;
mod liveness;
pub(crate) mod opening;
mod outbox;
mod socket;

use greenroom_error::{Error, code};
use greenroom_wire::{RayId, close_reason};

pub use frame::WireFrame;
pub use home::{MessageLog, SocketHome};
pub use opening::SocketRequest;
pub use outbox::{Farewell, Outbox, OutboxLimits};
pub use socket::{ClientSocket, Closed, SocketEvent, SocketOptions};

/// What clients are told when the process shuts down.
pub(crate) fn going_away() -> Error {
    Error::new(&code::WS_GOING_AWAY)
}

/// The close that tells a client why its actor cannot be reached. It names the
/// request, because nobody else knows of it.
pub fn unreachable(error: &Error, ray_id: &RayId) -> Farewell {
    let going_away = going_away();
    let error = if error.is(&code::REGISTRY_SHUT_DOWN) {
        &going_away
    } else {
        error
    };
    Farewell {
        code: error.close_code(),
        reason: close_reason::of_error(error, Some(ray_id)),
    }
}
