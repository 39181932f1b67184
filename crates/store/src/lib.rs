//! Durable storage: one SQLite database per actor, and the directory of actors.
//!
//! [`Store`] runs the databases of many actors on a few threads, the *lanes*,
//! and keeps a bounded number of them open. [`Database`] is the handle to one
//! of them; it opens nothing until it is used. [`Directory`] is the embedded
//! host's own file. Every call is async and answered through a oneshot, so no
//! SQLite code ever runs on a tokio worker or on the Node thread.
//!
//! This crate is the only one that knows `rusqlite`. It decides nothing about
//! actors: it does not know when a save is due, what the bytes mean, or whether
//! a generation is still live.

mod database;
mod directory;
mod disk;
mod failure;
mod figures;
mod files;
mod group_commit;
mod lane;
mod memory;
mod open_file;
mod options;
mod pages;
mod pending_commit;
mod place;
mod pool;
mod queue_batch;
mod ready;
mod save;
mod schedule_batch;
mod schema;
mod session;
mod slot;
mod sql;
mod startup;
mod store;
pub mod tables;
mod transfer;

#[cfg(test)]
mod tests;

pub use database::Database;
pub use directory::{ActorRecord, Directory, ListQuery, NewActor, Started};
pub use disk::{Disk, DiskCall, DiskOp, Fault, Faults, Verdict};
pub use figures::DatabaseFigures;
pub use files::is_unnamed;
pub use options::{StoreOptions, descriptor_limit};
pub use pages::{PAGE_BYTES, PageCommit, PageFailure, PageStore, PagesRead};
pub use pending_commit::PendingCommit;
pub use queue_batch::{
    Buried, Deliveries, Delivery, NewMessage, QueueBatch, QueueLedger, QueueOutcome, QueueStats,
    QueueWrite, QueueWritten, Take, TakeMode, Taken, TakenMessage,
};
pub use save::{ActorRow, SaveBatch, WorkflowWrite};
pub use schedule_batch::{
    Claim, ClaimedFire, NextTrigger, ScheduleBatch, ScheduleOutcome, ScheduleWrite, ScheduleWritten,
};
pub use sql::{
    BeginOptions, ExecuteResult, Guard, GuardSource, Interruption, Page, QueryResult, Rows,
    SqlCursor, SqlRuns, SqlStatement, SqlTransaction, SqlValue, TransactionDeadline, UserSql,
};
pub use startup::{Snapshot, Startup};
pub use store::Store;
pub use tables::conns::{ConnRow, ConnWrite};
pub use tables::dead_letters::DeadLetter;
pub use tables::queue::{QueueHead, QueueRow};
pub use tables::schedule_events::{Cadence, HISTORY_MAX, INTERVAL_MIN_MS, ScheduleRow};
pub use tables::schedule_history::{FireError, FireResult, FireRow};
pub use tables::trace::Trace;
pub use tables::user_kv::{KvPair, KvRange};
