//! The engine host: actors that a Rivet Engine places, in this process.
//!
//! [`EngineHost`] joins an engine as one envoy of a pool. The engine decides which
//! actors live here and for how long, keeps their pages and wakes them; this crate
//! starts and stops their generations, hands requests and sockets to the gateway,
//! and leaves in order. What actors do is the runtime's business, as everywhere.
//!
//! The published client of the engine is used in [`envoy`] only; nothing outside
//! knows its types.

mod api;
mod envoy;
mod generations;
mod host_impl;
mod join;
mod leave;
mod net;
mod options;
mod process;
#[cfg(test)]
mod rig;
mod serverless;
mod shared;
mod sockets;
mod source;
mod transfer;

pub use api::{EngineApi, EngineMetadata};
pub use join::EngineHost;
pub use options::{DEFAULT_NAMESPACE, DEFAULT_POOL, EngineOptions};
pub use process::{EngineProcess, ProcessOptions};
pub use serverless::ServerlessActor;
