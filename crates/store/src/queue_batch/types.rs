//! What goes into a batch of queue operations and what comes out.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::tables::queue::QueueRow;
use crate::tables::trace::Trace;

/// What is known of a queue between two batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLedger {
    /// Never given out before.
    pub next_id: u64,
    /// Stored messages, leased ones included.
    pub len: u64,
    pub(super) leases: bool,
    pub(super) dead_letters: bool,
}

/// How messages of one queue are delivered when a receiver may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Milliseconds a receiver has before the message is delivered again.
    pub visible_after_ms: i64,
    /// Deliveries before a message is given up; at least 1.
    pub max_attempts: u32,
    /// Keep what was given up; otherwise it is dropped.
    pub dead_letters: bool,
}

/// Deliveries by queue name.
pub type Deliveries = BTreeMap<String, Delivery>;

/// A message to store.
#[derive(Clone, Debug)]
pub struct NewMessage {
    pub name: String,
    pub body: Bytes,
    /// Unix milliseconds.
    pub created_at: i64,
    pub trace: Trace,
}

/// What a receive does with the messages it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeMode {
    /// Deletes them: at most once.
    Remove,
    /// Leaves them until they are completed.
    Keep,
    /// Hands out nothing; only tells whether there is one.
    Look,
}

#[derive(Clone, Debug)]
pub struct Take {
    /// Without duplicates; empty means any.
    pub names: Arc<[String]>,
    /// At least 1.
    pub count: usize,
    pub mode: TakeMode,
}

/// One operation.
#[derive(Clone, Debug)]
pub enum QueueWrite {
    Send(NewMessage),
    Take(Take),
    /// Undoes a take whose receiver went away.
    PutBack(Vec<TakenMessage>),
    Complete {
        id: u64,
        expected_name: Option<String>,
        /// Delivery that the caller holds, if it is a leased one.
        attempt: Option<u32>,
    },
    /// Ends a lease: visible again at a time (Unix milliseconds), or given up if
    /// that was the last attempt.
    Retry {
        id: u64,
        attempt: u32,
        visible_at: i64,
        reason: Option<String>,
    },
    /// Ends a lease and gives the message up.
    Fail {
        id: u64,
        attempt: u32,
        reason: String,
    },
    /// Deletes every message; ids go on where they were.
    Reset,
    /// Sends dead letters again, under new ids. `ids` narrows the choice.
    Replay {
        name: Option<String>,
        ids: Option<Vec<u64>>,
    },
    Purge {
        name: Option<String>,
        ids: Option<Vec<u64>>,
    },
}

/// A message as it is handed to a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenMessage {
    pub row: QueueRow,
    /// Number of this delivery, from 1; `None` where nothing counts them.
    pub attempt: Option<u32>,
    /// The row is gone from the queue.
    pub removed: bool,
}

/// A message that was given up while receiving or ending a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buried {
    pub id: u64,
    pub name: String,
    pub attempts: u32,
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    pub messages: Vec<TakenMessage>,
    /// A matching message exists now; the answer to [`TakeMode::Look`].
    pub available: bool,
    /// When a message that matches but is hidden becomes visible. Exact only if
    /// nothing was found.
    pub next_visible_at: Option<i64>,
    pub buried: Vec<Buried>,
}

/// What became of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueWritten {
    Sent(u64),
    /// The queue has reached its limit; nothing was stored.
    Full,
    Taken(Taken),
    /// The message is gone. `name` is the queue it was in.
    Completed {
        name: String,
    },
    Retried {
        name: String,
    },
    Buried(Buried),
    /// No such message any more.
    Missing,
    /// The id belongs to a message of another name.
    OtherName {
        actual_name: String,
    },
    /// The message was delivered again meanwhile.
    LeaseLost {
        attempt: u32,
    },
    Reset,
    /// Messages put back into the queue, with their names.
    Replayed(Vec<String>),
    Purged(u64),
    PutBack,
}

/// A batch of operations and what it may rely on.
#[derive(Debug)]
pub struct QueueBatch {
    pub writes: Vec<QueueWrite>,
    /// From the batch before; `None` reads it from the tables.
    pub ledger: Option<QueueLedger>,
    /// First batch of a generation: leases held by earlier ones have ended.
    pub end_leases: bool,
    /// Messages the queue may hold.
    pub max_len: u64,
    pub deliveries: Arc<Deliveries>,
    /// Unix milliseconds.
    pub now: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueOutcome {
    /// One for each operation, in order.
    pub written: Vec<QueueWritten>,
    pub ledger: QueueLedger,
    /// When the next hidden message becomes visible.
    pub next_redelivery: Option<i64>,
    /// When the first message becomes visible again, or did and nobody took it.
    pub wake_at: Option<i64>,
}

/// Numbers of one queue, or of all of an actor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Messages stored.
    pub depth: u64,
    /// Held by a receiver until completed or timed out.
    pub in_flight: u64,
    /// Waiting for their next attempt.
    pub delayed: u64,
    pub dead: u64,
    /// Unix milliseconds.
    pub oldest_at: Option<i64>,
}
