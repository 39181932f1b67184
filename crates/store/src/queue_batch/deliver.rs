//! Leases and dead letters: what happens to a message whose receiver failed.

use greenroom_error::Result;

use super::{Batch, Buried, QueueWritten, TakenMessage, gone};
use crate::tables::dead_letters::{self, DeadLetter};
use crate::tables::queue_leases::{self, Lease};
use crate::tables::{queue, queue::QueueRow};

/// Why a message is given up when no receiver said so.
const ATTEMPTS_EXHAUSTED: &str = "attempts exhausted";

/// Dead letters read in one step.
const PAGE: u32 = 128;

impl Batch<'_> {
    pub(super) fn put_lease(&mut self, id: u64, lease: &Lease) -> Result<()> {
        if !self.ledger.leases {
            queue_leases::create(self.conn)?;
            self.ledger.leases = true;
        }
        queue_leases::put(self.conn, id, lease)
    }

    /// The answer to a holder whose message was delivered again meanwhile.
    pub(super) fn lost_lease(&self, id: u64, attempt: u32) -> Result<Option<QueueWritten>> {
        if !self.ledger.leases {
            return Ok(None);
        }
        let lease = queue_leases::get(self.conn, id)?;
        Ok(lease
            .filter(|lease| lease.attempt != attempt)
            .map(|lease| QueueWritten::LeaseLost {
                attempt: lease.attempt,
            }))
    }

    pub(super) fn retry(
        &mut self,
        id: u64,
        attempt: u32,
        visible_at: i64,
        reason: Option<String>,
    ) -> Result<QueueWritten> {
        let Some(name) = queue::name_of(self.conn, id)? else {
            return Ok(gone(Some(attempt)));
        };
        if let Some(lost) = self.lost_lease(id, attempt)? {
            return Ok(lost);
        }
        let delivery = self.deliveries.get(&name);
        if delivery.is_some_and(|delivery| attempt >= delivery.max_attempts) {
            let buried = self.bury(id, &name, attempt, reason)?;
            return Ok(buried.map_or(QueueWritten::Missing, QueueWritten::Buried));
        }
        let lease = Lease {
            attempt,
            visible_at,
            leased: false,
            reason,
        };
        self.put_lease(id, &lease)?;
        Ok(QueueWritten::Retried { name })
    }

    pub(super) fn fail(&mut self, id: u64, attempt: u32, reason: String) -> Result<QueueWritten> {
        let Some(name) = queue::name_of(self.conn, id)? else {
            return Ok(gone(Some(attempt)));
        };
        if let Some(lost) = self.lost_lease(id, attempt)? {
            return Ok(lost);
        }
        let buried = self.bury(id, &name, attempt, Some(reason))?;
        Ok(buried.map_or(QueueWritten::Missing, QueueWritten::Buried))
    }

    /// Takes a message out of the queue for good.
    pub(super) fn bury(
        &mut self,
        id: u64,
        name: &str,
        attempts: u32,
        reason: Option<String>,
    ) -> Result<Option<Buried>> {
        let Some(message) = queue::by_id(self.conn, id)? else {
            return Ok(None);
        };
        let reason = reason.unwrap_or_else(|| ATTEMPTS_EXHAUSTED.to_owned());
        let keep = self.deliveries.get(name).is_none_or(|d| d.dead_letters);
        if keep {
            if !self.ledger.dead_letters {
                dead_letters::create(self.conn)?;
                self.ledger.dead_letters = true;
            }
            let letter = DeadLetter {
                message,
                attempts,
                reason: reason.clone(),
                died_at: self.now,
            };
            dead_letters::insert(self.conn, &letter)?;
        }
        self.remove(id)?;
        Ok(Some(Buried {
            id,
            name: name.to_owned(),
            attempts,
            reason,
        }))
    }

    /// Makes undelivered messages available again, as if nobody had asked.
    pub(super) fn put_back(&mut self, messages: Vec<TakenMessage>) -> Result<QueueWritten> {
        for message in messages {
            let earlier = message
                .attempt
                .map_or(0, |attempt| attempt.saturating_sub(1));
            let id = message.row.id;
            if message.removed {
                queue::insert(self.conn, &message.row)?;
                self.ledger.len += 1;
            } else if queue::name_of(self.conn, id)?.is_none() {
                continue;
            }
            match message.attempt {
                Some(_) if earlier > 0 => {
                    let lease = Lease {
                        attempt: earlier,
                        visible_at: self.now,
                        ..Lease::default()
                    };
                    self.put_lease(id, &lease)?;
                }
                Some(_) if self.ledger.leases => queue_leases::delete(self.conn, id)?,
                _ => {}
            }
        }
        Ok(QueueWritten::PutBack)
    }

    pub(super) fn replay(
        &mut self,
        name: Option<&str>,
        ids: Option<&[u64]>,
    ) -> Result<QueueWritten> {
        let mut names = Vec::new();
        if !self.ledger.dead_letters {
            return Ok(QueueWritten::Replayed(names));
        }
        let mut after = 0;
        loop {
            let page = dead_letters::list(self.conn, name, after, PAGE)?;
            let Some(last) = page.last() else {
                return Ok(QueueWritten::Replayed(names));
            };
            after = last.message.id;
            for letter in page {
                if ids.is_some_and(|ids| !ids.contains(&letter.message.id)) {
                    continue;
                }
                if self.ledger.len >= self.max_len {
                    // Nothing of the batch is lost: what did not fit stays dead.
                    return Ok(QueueWritten::Replayed(names));
                }
                dead_letters::delete(self.conn, letter.message.id)?;
                names.push(letter.message.name.clone());
                self.revive(letter.message)?;
            }
        }
    }

    /// A replayed message stands at the end of the queue: ids are never reused.
    fn revive(&mut self, message: QueueRow) -> Result<()> {
        let row = QueueRow {
            id: self.ledger.next_id,
            ..message
        };
        queue::insert(self.conn, &row)?;
        self.ledger.next_id += 1;
        self.ledger.len += 1;
        Ok(())
    }

    pub(super) fn purge(
        &mut self,
        name: Option<&str>,
        ids: Option<&[u64]>,
    ) -> Result<QueueWritten> {
        if !self.ledger.dead_letters {
            return Ok(QueueWritten::Purged(0));
        }
        let Some(ids) = ids else {
            return dead_letters::purge(self.conn, name).map(QueueWritten::Purged);
        };
        let mut purged = 0;
        for id in ids {
            purged += u64::from(dead_letters::delete(self.conn, *id)?);
        }
        Ok(QueueWritten::Purged(purged))
    }
}
