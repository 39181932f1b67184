//! What an embedded host is opened with.
//!
//! Defaults live here. The listener has its own, in [`crate::ListenOptions`].

use std::path::PathBuf;
use std::time::Duration;

use greenroom_core::Clock;
use greenroom_store::StoreOptions;

use crate::sockets::SocketLimits;

/// The namespace that always exists.
pub const DEFAULT_NAMESPACE: &str = "default";
/// The pool that always exists.
pub const DEFAULT_POOL: &str = "default";

/// Options of an [`crate::EmbeddedHost`].
#[derive(Clone)]
pub struct EmbeddedOptions {
    /// Folder of everything durable; created if missing. One process may have it
    /// open at a time.
    pub data_dir: PathBuf,
    pub clock: Clock,
    pub store: StoreOptions,
    /// Label shown to user code. Default empty.
    pub region: String,
    /// A second namespace name that clients may use. Default `default`.
    pub namespace: String,
    /// Name of the one pool. Default `default`.
    pub pool_name: String,
    /// Token that code inside actors sends along; nobody checks it here.
    pub token: Option<String>,
    /// Base URL that code inside actors uses; default that of the first listener.
    pub client_url: Option<String>,
    /// Whether actors call themselves a deployment rather than a local process.
    pub deployed: bool,
    /// Whether actors' `onRequest` answers `/inspector/…`. Default false.
    pub inspector_in_runtime: bool,
    /// How long a request waits for its actor to take work. Default 30 s.
    pub ready_timeout: Duration,
    /// Bounds of clients' WebSockets.
    pub sockets: SocketLimits,
}

impl EmbeddedOptions {
    /// Defaults for a data directory.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            clock: Clock::real(),
            store: StoreOptions::default(),
            region: String::new(),
            namespace: DEFAULT_NAMESPACE.to_owned(),
            pool_name: DEFAULT_POOL.to_owned(),
            token: None,
            client_url: None,
            deployed: false,
            inspector_in_runtime: false,
            ready_timeout: Duration::from_secs(30),
            sockets: SocketLimits::default(),
        }
    }
}
