//! One actor: its task, its context and the subsystems composed into it.

mod conn_rows;
pub mod connection;
pub mod context;
mod deltas;
mod dispatch;
pub mod factory;
mod intents;
pub mod lifecycle;
pub mod messages;
mod output;
mod persistence;
#[cfg(test)]
mod priority_tests;
pub mod save_book;
mod schedule;
mod shutdown;
pub mod sleep;
pub mod sql;
mod startup;
mod state;
pub mod state_transaction;
pub(crate) mod task;
mod timers;
pub mod work;

pub(crate) use dispatch::{DispatchSender, ProcessPending, dispatch_channel};
