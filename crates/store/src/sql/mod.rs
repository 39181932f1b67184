//! SQL of the actor's own code, as opposed to the runtime's.
//!
//! Both share one connection. This part owns what follows from that: whose turn
//! it is ([`coordinator`]), what a statement may do ([`policy`]), when it must
//! stop ([`watch`]), and what of a user's belongs to the connection and must
//! survive its replacement ([`UserSide`]). It does not know actors, clocks or
//! languages.

mod cache;
pub(crate) mod coordinator;
mod failure;
mod handle;
pub(crate) mod job;
mod many;
mod policy;
mod pragmas;
mod raw;
mod runner;
mod side;
mod text;
mod transaction;
mod value;
mod watch;

#[cfg(test)]
mod tests;

pub use failure::Interruption;
pub use handle::UserSql;
pub(crate) use side::{UserConnection, UserSide};
pub use transaction::{BeginOptions, SqlTransaction, TransactionDeadline};
pub use value::{ExecuteResult, QueryResult, Rows, SqlStatement, SqlValue};
pub use watch::Guard;
