//! What every host promises, asked through what every host has: the management
//! API, the gateway and sockets, at an endpoint.
//!
//! A host's own tests open it with [`actor::factory`] and run the [`scenarios`]
//! against it. The scenarios do not know which host they talk to; what hosts do
//! differently is in `docs/hosts.md` and is asked by nobody here. For tests only:
//! a promise that is not kept is a panic.

#![allow(clippy::disallowed_methods, reason = "a test waits in real time")]

pub mod actor;
mod client;
pub mod scenarios;

pub use client::{PATIENCE, Reply, Socket, Under, eventually, in_time};
