//! WebSockets of clients: framing, the bounded outbox, liveness, goodbye.
//!
//! The protocol itself (headers, masks, fragments, UTF-8, close handshake) is
//! tungstenite's. What is ours is the way out: frames are made once and shared,
//! and what waits for a client is bounded. Upgrading a request is the host's
//! business, and so is where a socket lives.

mod frame;
mod frame_io;
mod goodbye;
mod liveness;
mod outbox;
mod socket;

pub use frame::WireFrame;
pub use outbox::{Farewell, Outbox, OutboxLimits};
pub use socket::{ClientSocket, Closed, SocketEvent, SocketOptions};
