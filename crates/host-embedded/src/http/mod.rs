//! The port: sockets, connections, and which part of the host answers a request.
//!
//! Says nothing about actors themselves; that is the gateway's, and the endpoint
//! API's in [`crate::api`].

mod app;
mod connection;
mod cors;
mod listener;
mod options;
mod service;
mod stall;
mod timer;
mod upgrade;

pub use app::{Answering, AppRequest, WebApp};
pub use cors::CorsRequest;
pub use listener::Listener;
pub(crate) use listener::Port;
pub(crate) use service::{answer_here, ask, target_of};

pub use options::{DEFAULT_PORT, ListenOptions};
