//! Bounds of clients' sockets.

use greenroom_gateway::websocket::{OutboxLimits, SocketOptions};

/// How many sockets there may be, and what each may take.
#[derive(Clone, Copy, Debug)]
pub struct SocketLimits {
    /// Open sockets of the process; a further one is closed with
    /// `guard.service_unavailable`. Default five eighths of the process's
    /// descriptor limit, at most 100,000.
    pub max_sockets: usize,
    /// Open sockets of one address; a further one is closed with
    /// `guard.rate_limit`. Default no limit, because a proxy is one address.
    pub max_sockets_per_address: usize,
    /// Sockets of one actor, asleep or awake; a further one is closed with
    /// `actor.overloaded`. Default 20,000.
    pub max_sockets_per_actor: usize,
    /// What may wait for one client.
    pub outbox: OutboxLimits,
    /// Message size and times of one socket.
    pub socket: SocketOptions,
}

impl Default for SocketLimits {
    fn default() -> Self {
        let descriptors = usize::try_from(greenroom_store::descriptor_limit());
        Self {
            max_sockets: (descriptors.unwrap_or(usize::MAX) / 8 * 5).clamp(16, 100_000),
            max_sockets_per_address: usize::MAX,
            max_sockets_per_actor: 20_000,
            outbox: OutboxLimits::default(),
            socket: SocketOptions::default(),
        }
    }
}
