//! One transaction's worth of work on a queue: sends, receives, completions.
//!
//! The operations run in the order given, and each sees what those before it
//! did. Core sends them from one place per actor, so the [`QueueLedger`] it hands
//! in is always that of the batch before. What is not in here: who waits for a
//! message, and when.
//!
//! A queue whose name has a [`Delivery`] leases what it hands out; its state is
//! in tables of our own. Every other queue behaves as RivetKit's do.

mod deliver;
mod take;
mod types;

use greenroom_error::Result;
use rusqlite::Connection;

use crate::database::Database;
use crate::tables::dead_letters::{self, DeadLetter};
use crate::tables::queue::{self, QueueHead, QueueRow};
use crate::tables::{queue_leases, runtime};

pub use types::*;

impl Database {
    /// Runs the batch in one transaction. An error means that nothing of it was
    /// written and that the ledger must be read anew.
    pub async fn queue_write(&self, batch: QueueBatch) -> Result<QueueOutcome> {
        self.write(move |conn| run(conn, batch)).await
    }

    /// When the first message becomes, or became, visible again after `after`.
    pub async fn next_redelivery(&self, after: i64) -> Result<Option<i64>> {
        self.read(move |conn| {
            if queue_leases::exists(conn)? {
                queue_leases::next_visible_at(conn, after)
            } else {
                Ok(None)
            }
        })
        .await
    }

    /// Id, name and time of every message, in order.
    pub async fn queue_heads(&self) -> Result<Vec<QueueHead>> {
        self.read(queue::heads).await
    }

    pub async fn queue_stats(&self, name: Option<String>, now: i64) -> Result<QueueStats> {
        self.read(move |conn| stats(conn, name.as_deref(), now))
            .await
    }

    /// Up to `limit` dead letters with ids above `after`, in order.
    pub async fn dead_letters(
        &self,
        name: Option<String>,
        after: u64,
        limit: u32,
    ) -> Result<Vec<DeadLetter>> {
        self.read(move |conn| {
            if dead_letters::exists(conn)? {
                dead_letters::list(conn, name.as_deref(), after, limit)
            } else {
                Ok(Vec::new())
            }
        })
        .await
    }
}

/// The state one batch works on.
struct Batch<'a> {
    conn: &'a Connection,
    ledger: QueueLedger,
    max_len: u64,
    deliveries: &'a Deliveries,
    now: i64,
}

fn run(conn: &Connection, batch: QueueBatch) -> Result<QueueOutcome> {
    let ledger = match batch.ledger {
        Some(ledger) => ledger,
        None => read_ledger(conn)?,
    };
    if batch.end_leases && ledger.leases {
        queue_leases::end_all(conn, batch.now)?;
    }
    let first_id = ledger.next_id;
    let mut work = Batch {
        conn,
        ledger,
        max_len: batch.max_len,
        deliveries: &batch.deliveries,
        now: batch.now,
    };
    let mut written = Vec::with_capacity(batch.writes.len());
    for write in batch.writes {
        written.push(work.apply(write)?);
    }
    if work.ledger.next_id != first_id {
        runtime::set_queue_next_id(conn, work.ledger.next_id)?;
    }
    let (mut next_redelivery, mut wake_at) = (None, None);
    if work.ledger.leases {
        next_redelivery = queue_leases::next_visible_at(conn, batch.now)?;
        wake_at = queue_leases::next_visible_at(conn, i64::MIN)?;
    }
    Ok(QueueOutcome {
        written,
        ledger: work.ledger,
        next_redelivery,
        wake_at,
    })
}

fn read_ledger(conn: &Connection) -> Result<QueueLedger> {
    Ok(QueueLedger {
        next_id: queue::next_id(conn)?,
        len: queue::count(conn, None)?,
        leases: queue_leases::exists(conn)?,
        dead_letters: dead_letters::exists(conn)?,
    })
}

impl Batch<'_> {
    fn apply(&mut self, write: QueueWrite) -> Result<QueueWritten> {
        match write {
            QueueWrite::Send(message) => self.send(message),
            QueueWrite::Take(take) => self.take(&take).map(QueueWritten::Taken),
            QueueWrite::PutBack(messages) => self.put_back(messages),
            QueueWrite::Complete {
                id,
                expected_name,
                attempt,
            } => self.complete(id, expected_name, attempt),
            QueueWrite::Retry {
                id,
                attempt,
                visible_at,
                reason,
            } => self.retry(id, attempt, visible_at, reason),
            QueueWrite::Fail {
                id,
                attempt,
                reason,
            } => self.fail(id, attempt, reason),
            QueueWrite::Reset => self.reset(),
            QueueWrite::Replay { name, ids } => self.replay(name.as_deref(), ids.as_deref()),
            QueueWrite::Purge { name, ids } => self.purge(name.as_deref(), ids.as_deref()),
        }
    }

    fn send(&mut self, message: NewMessage) -> Result<QueueWritten> {
        if self.ledger.len >= self.max_len {
            return Ok(QueueWritten::Full);
        }
        let id = self.ledger.next_id;
        let row = QueueRow {
            id,
            name: message.name,
            body: message.body,
            created_at: message.created_at,
            trace: message.trace,
        };
        queue::insert(self.conn, &row)?;
        self.ledger.next_id += 1;
        self.ledger.len += 1;
        Ok(QueueWritten::Sent(id))
    }

    /// Deletes a message with its delivery state; whether there was one.
    fn remove(&mut self, id: u64) -> Result<bool> {
        let existed = queue::delete(self.conn, id)?;
        if existed {
            self.ledger.len = self.ledger.len.saturating_sub(1);
        }
        if self.ledger.leases {
            queue_leases::delete(self.conn, id)?;
        }
        Ok(existed)
    }

    fn complete(
        &mut self,
        id: u64,
        expected_name: Option<String>,
        attempt: Option<u32>,
    ) -> Result<QueueWritten> {
        let Some(name) = queue::name_of(self.conn, id)? else {
            return Ok(gone(attempt));
        };
        if expected_name.is_some_and(|expected| expected != name) {
            return Ok(QueueWritten::OtherName { actual_name: name });
        }
        if let Some(attempt) = attempt
            && let Some(lost) = self.lost_lease(id, attempt)?
        {
            return Ok(lost);
        }
        self.remove(id)?;
        Ok(QueueWritten::Completed { name })
    }

    fn reset(&mut self) -> Result<QueueWritten> {
        queue::delete_all(self.conn)?;
        if self.ledger.leases {
            queue_leases::delete_all(self.conn)?;
        }
        self.ledger.len = 0;
        Ok(QueueWritten::Reset)
    }
}

/// The answer to whoever ends the delivery of a message that is there no more:
/// under a lease, another delivery has decided what becomes of it.
fn gone(attempt: Option<u32>) -> QueueWritten {
    attempt.map_or(QueueWritten::Missing, |attempt| QueueWritten::LeaseLost {
        attempt,
    })
}

fn stats(conn: &Connection, name: Option<&str>, now: i64) -> Result<QueueStats> {
    let mut stats = QueueStats {
        depth: queue::count(conn, name)?,
        oldest_at: queue::oldest(conn, name)?,
        ..QueueStats::default()
    };
    if queue_leases::exists(conn)? {
        for (id, leased) in queue_leases::hidden(conn, now)? {
            if name.is_some() && queue::name_of(conn, id)?.as_deref() != name {
                continue;
            }
            if leased {
                stats.in_flight += 1;
            } else {
                stats.delayed += 1;
            }
        }
    }
    if dead_letters::exists(conn)? {
        stats.dead = dead_letters::count(conn, name)?;
    }
    Ok(stats)
}
