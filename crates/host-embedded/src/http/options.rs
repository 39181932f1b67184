//! How to listen: defaults of the port.

use std::time::Duration;

/// The port that published clients expect.
pub const DEFAULT_PORT: u16 = 6420;

/// How to listen.
#[derive(Clone, Debug)]
pub struct ListenOptions {
    /// Address or name to listen on. `None` and `localhost` mean this machine
    /// only: 127.0.0.1, and `[::1]` where that exists.
    pub host: Option<String>,
    /// Default 6420; 0 lets the system choose.
    pub port: u16,
    /// Connections at the same time; further ones wait in the system's queue.
    /// Default a quarter of the process's descriptor limit, at most 10,000.
    pub max_connections: usize,
    /// Time for the head of a request to arrive, and longest rest of a connection
    /// between two requests. Default 30 s.
    pub header_timeout: Duration,
    /// Longest time in which a client may take nothing of a response. Default 60 s.
    pub stall_timeout: Duration,
    /// Time that running requests get when the listener closes. Default 5 s.
    pub close_timeout: Duration,
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self {
            host: None,
            port: DEFAULT_PORT,
            max_connections: default_max_connections(),
            header_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_secs(60),
            close_timeout: Duration::from_secs(5),
        }
    }
}

fn default_max_connections() -> usize {
    usize::try_from(greenroom_store::descriptor_limit() / 4)
        .unwrap_or(usize::MAX)
        .clamp(16, 10_000)
}
