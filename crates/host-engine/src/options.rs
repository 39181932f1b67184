//! What an [`EngineHost`](crate::EngineHost) is opened with.

use std::time::Duration;

use greenroom_core::Clock;
use greenroom_gateway::websocket::{OutboxLimits, SocketOptions};
use greenroom_store::StoreOptions;

pub const DEFAULT_NAMESPACE: &str = "default";
pub const DEFAULT_POOL: &str = "default";

/// Threads that wait for the engine's storage. A lane spends its time waiting for
/// the network, and databases are many.
const LANES: usize = 16;

/// Which engine to join, and how.
#[derive(Clone)]
pub struct EngineOptions {
    /// Base URL of the engine, such as `http://127.0.0.1:6420`.
    pub endpoint: String,
    /// Must exist. Default `default`.
    pub namespace: String,
    /// Sent with every request and with the session. Default none.
    pub token: Option<String>,
    /// Actors are placed in pools; made if it does not exist. Default `default`.
    pub pool_name: String,
    /// A process of a higher version takes the actors of lower ones over.
    /// Default 1.
    pub version: u32,
    /// Whether actors come with requests that the engine makes to this program, by
    /// [`EngineHost::start_serverless`](crate::EngineHost::start_serverless). The
    /// pool is left as it is then. Default false.
    pub is_serverless: bool,
    /// Region shown to user code. Default empty.
    pub region: String,
    pub clock: Clock,
    /// Lanes and open databases. Default: 16 lanes, the rest as for files.
    pub store: StoreOptions,
    /// Whether `/metadata` of an actor calls this a deployment. Default true.
    pub deployed: bool,
    /// Whether `onRequest` answers `/inspector/…`. Default false.
    pub inspector_in_runtime: bool,
    /// Time for the engine to answer the first time. Default 30 s.
    pub join_timeout: Duration,
    /// Time for actors to stop when the host leaves. In its last two thirds, or 10 s if
    /// that is less, those stop by themselves that the engine has not got to; what is not
    /// done in the end is abandoned, as in a crash. Default 30 s.
    pub drain_timeout: Duration,
    /// Bounds of each socket.
    pub socket: SocketOptions,
    /// What may wait for one socket's client.
    pub outbox: OutboxLimits,
    /// Sockets open at the same time. Default 65,536.
    pub max_sockets: usize,
}

impl EngineOptions {
    /// The defaults, for this engine.
    pub fn new(endpoint: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.into(),
            namespace: DEFAULT_NAMESPACE.to_owned(),
            token: None,
            pool_name: DEFAULT_POOL.to_owned(),
            version: 1,
            is_serverless: false,
            region: String::new(),
            clock: Clock::real(),
            store: StoreOptions {
                lanes: LANES,
                ..StoreOptions::default()
            },
            deployed: true,
            inspector_in_runtime: false,
            join_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(30),
            socket: SocketOptions::default(),
            outbox: OutboxLimits::default(),
            max_sockets: 65_536,
        }
    }
}
