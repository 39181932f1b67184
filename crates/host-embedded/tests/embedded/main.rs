//! The embedded host from the outside.
//!
//! One binary, so that the host and SQLite are linked once.

mod addressing;
mod alarms;
mod fixture;
mod lifetimes;
mod raw;
mod trouble;
