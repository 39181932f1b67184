//! The embedded host: actors of one data directory, in this process.
//!
//! [`EmbeddedHost`] keeps the directory of actors, starts one generation of an
//! actor at a time, stops it when it asks, wakes it when somebody calls or its
//! alarm is due, and closes everything in order. It decides where actors are and
//! when they live; what they do is the runtime's business, and what clients say
//! to them the gateway's.

mod alarm;
mod api;
mod data_dir;
mod directory;
mod embedded;
mod end;
mod fetch;
mod find;
mod host_impl;
mod http;
mod metrics;
mod options;
mod probe;
mod ready;
mod resident;
mod residents;
mod shared;
mod sockets;
mod spare_ids;
mod start;
mod stop;
mod sweep;
mod target;
mod transfer;
mod trouble;

pub use embedded::EmbeddedHost;
pub use http::{Answering, AppRequest, CorsRequest, DEFAULT_PORT, ListenOptions, Listener, WebApp};
pub use options::{DEFAULT_NAMESPACE, DEFAULT_POOL, EmbeddedOptions};
pub use probe::{Occupant, probe};
pub use sockets::{LocalSocket, LocalSocketEvent, SocketLimits};
pub use target::{Missing, Target};
