//! SQL of the actor's own code, as opposed to the runtime's.
//!
//! Both share one connection. This part owns what follows from that: whose turn
//! it is ([`coordinator`]), what a statement may do ([`policy`]), when it must
//! stop ([`watch`]), and what of a user's belongs to the connection and must
//! survive its replacement ([`UserSide`]). It does not know actors, clocks or
//! languages.

mod cache;
pub(crate) mod coordinator;
mod cursor;
mod failure;
mod handle;
pub(crate) mod job;
mod many;
mod policy;
mod pragmas;
mod raw;
pub(crate) mod reader;
mod reading;
mod result_set;
mod runner;
mod side;
mod spill;
mod text;
mod transaction;
mod value;
mod watch;

#[cfg(test)]
mod tests;

pub use cursor::{GuardSource, Page};
pub use failure::Interruption;
pub use handle::UserSql;
pub use result_set::SqlCursor;
pub(crate) use side::{UserConnection, UserSide};
pub use transaction::{BeginOptions, SqlTransaction, TransactionDeadline};
pub use value::{ExecuteResult, QueryResult, Rows, SqlRuns, SqlStatement, SqlValue};
pub use watch::Guard;
