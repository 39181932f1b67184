//! The embedded host from the outside.
//!
//! One binary, so that the host and SQLite are linked once.

mod actions;
mod addressing;
mod alarms;
mod api;
mod births;
mod client;
mod disk;
mod fixture;
mod lifetimes;
mod port;
mod processes;
mod raw;
mod requests;
mod sockets;
mod trouble;
