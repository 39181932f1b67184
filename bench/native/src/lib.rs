//! The bare work that greenroom's figures stand beside: a threadsafe call into
//! JavaScript that returns a promise, and SQLite without anything around it.
//!
//! Nothing of greenroom is in here, and nothing in here is tuned beyond what
//! the measured path does itself: same SQLite settings, same payload.

mod sqlite;
mod threadsafe;
