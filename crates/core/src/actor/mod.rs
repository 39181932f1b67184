//! One actor: its task, its context and the subsystems composed into it.

mod conn_rows;
pub mod connection;
pub mod context;
mod cron;
mod deltas;
mod dispatch;
#[cfg(test)]
mod door_tests;
pub mod factory;
pub mod inspection;
mod inspector;
mod intents;
pub mod kv;
pub mod lifecycle;
pub mod messages;
mod output;
mod persistence;
mod pipe;
#[cfg(test)]
mod pipeline_tests;
#[cfg(test)]
mod priority_tests;
pub mod queue;
mod run_wake;
pub mod save_book;
pub mod schedule;
mod shutdown;
pub mod sleep;
pub mod sql;
pub mod sql_handles;
mod startup;
mod state;
pub mod state_transaction;
mod storage_turns;
#[cfg(test)]
mod table_events;
#[cfg(test)]
mod table_tests;
pub(crate) mod task;
#[cfg(test)]
mod task_fixture;
mod timers;
pub mod work;

pub(crate) use dispatch::{DispatchSender, ProcessPending, dispatch_channel};
