//! One transaction's worth of work on an actor's schedules.
//!
//! Setting, deleting, claiming and finishing run in the order given, so the limit
//! of rows holds under concurrency and a claim never meets half a change. What is
//! due when, is computed by the caller through [`Claim::next`].
//!
//! Invariant C1: a schedule that fires once is deleted in the transaction that
//! claims it, so it never fires twice.
//! Invariant C2: a recurring one is moved past `now` in the transaction that
//! claims it; however many fires were missed, one is claimed.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use greenroom_error::{Result, code};
use rusqlite::Connection;

use crate::database::Database;
use crate::tables::schedule_events::{self, ScheduleRow};
use crate::tables::schedule_history::{self, FireError, FireRow, NewFire, PRUNE_INTERVAL};

/// Due time after a fire at `now`; `None` if there is none.
pub type NextTrigger = dyn Fn(&ScheduleRow, i64) -> Option<i64> + Send + Sync;

/// Takes what is due.
#[derive(Clone)]
pub struct Claim {
    /// Unix milliseconds.
    pub now: i64,
    /// Rows taken at most.
    pub limit: usize,
    /// Ids of recurring schedules whose last fire still runs.
    pub running: HashSet<String>,
    pub next: Arc<NextTrigger>,
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("now", &self.now).finish()
    }
}

/// One operation.
#[derive(Clone, Debug)]
pub enum ScheduleWrite {
    /// Adds a schedule that fires once.
    Add(ScheduleRow),
    /// Adds a recurring schedule or replaces the one of the same id. An unchanged
    /// cadence keeps its due time; the last fire is kept in any case.
    Put(ScheduleRow),
    /// Deletes a schedule that fires once.
    Cancel {
        id: String,
    },
    /// Deletes a recurring schedule with its history.
    Delete {
        id: String,
    },
    /// Deletes a recurring schedule that still calls this action; its history
    /// stays, because it tells why.
    DeleteIfAction {
        id: String,
        action: String,
    },
    Claim(Claim),
    /// Puts back what was claimed and not called, whatever the limit.
    Restore(ScheduleRow),
    Finish {
        history_id: i64,
        /// Unix milliseconds.
        finished_at: i64,
        error: Option<FireError>,
    },
}

/// A schedule whose time has come, as it was before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedFire {
    pub row: ScheduleRow,
    /// Where its outcome goes, if it is remembered.
    pub history_id: Option<i64>,
}

/// What became of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleWritten {
    Stored,
    /// The actor has as many schedules as it may have; nothing was stored.
    Full,
    /// Whether there was one.
    Deleted(bool),
    Claimed {
        /// In the order to fire.
        fires: Vec<ClaimedFire>,
        /// The limit was reached: more may be due.
        more: bool,
    },
    Finished,
}

#[derive(Debug)]
pub struct ScheduleBatch {
    pub writes: Vec<ScheduleWrite>,
    /// Stored schedules, from the batch before; `None` counts them.
    pub len: Option<u64>,
    /// Schedules the actor may have.
    pub max_len: u64,
    /// History rows since the whole history was last pruned.
    pub unpruned: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleOutcome {
    /// One for each operation, in order.
    pub written: Vec<ScheduleWritten>,
    pub len: u64,
    pub unpruned: u32,
    /// The earliest due time afterwards.
    pub next: Option<i64>,
}

impl Database {
    /// Runs the batch in one transaction. An error means that nothing of it was
    /// written and that the schedules must be counted anew.
    pub async fn schedule_write(&self, batch: ScheduleBatch) -> Result<ScheduleOutcome> {
        self.write(move |conn| run(conn, batch)).await
    }

    pub async fn schedule(&self, id: String) -> Result<Option<ScheduleRow>> {
        self.read(move |conn| schedule_events::get(conn, &id)).await
    }

    /// All schedules by due time and id.
    pub async fn schedules(&self) -> Result<Vec<ScheduleRow>> {
        self.read(schedule_events::list).await
    }

    /// The newest fires of a recurring schedule, newest first.
    pub async fn schedule_history(&self, id: String, limit: u32) -> Result<Vec<FireRow>> {
        self.read(move |conn| schedule_history::list(conn, &id, limit))
            .await
    }

    /// Marks fires that an earlier generation left running as interrupted.
    pub async fn interrupt_schedules(&self, now: i64) -> Result<()> {
        self.write(move |conn| schedule_history::interrupt(conn, now))
            .await
    }
}

struct Batch<'a> {
    conn: &'a Connection,
    len: u64,
    max_len: u64,
    unpruned: u32,
}

fn run(conn: &Connection, batch: ScheduleBatch) -> Result<ScheduleOutcome> {
    let mut work = Batch {
        conn,
        len: match batch.len {
            Some(len) => len,
            None => schedule_events::count(conn)?,
        },
        max_len: batch.max_len,
        unpruned: batch.unpruned,
    };
    let mut written = Vec::with_capacity(batch.writes.len());
    for write in batch.writes {
        written.push(work.apply(write)?);
    }
    Ok(ScheduleOutcome {
        written,
        len: work.len,
        unpruned: work.unpruned,
        next: schedule_events::next_trigger(conn)?,
    })
}

impl Batch<'_> {
    fn apply(&mut self, write: ScheduleWrite) -> Result<ScheduleWritten> {
        match write {
            ScheduleWrite::Add(row) => self.store(&row, true),
            ScheduleWrite::Put(row) => self.put(row),
            ScheduleWrite::Cancel { id } => self.cancel(&id),
            ScheduleWrite::Delete { id } => self.delete(&id),
            ScheduleWrite::DeleteIfAction { id, action } => self.delete_if_action(&id, &action),
            ScheduleWrite::Claim(claim) => self.claim(&claim),
            ScheduleWrite::Restore(row) => {
                schedule_events::put(self.conn, &row)?;
                self.len += 1;
                Ok(ScheduleWritten::Stored)
            }
            ScheduleWrite::Finish {
                history_id,
                finished_at,
                error,
            } => {
                schedule_history::finish(self.conn, history_id, finished_at, error.as_ref())?;
                Ok(ScheduleWritten::Finished)
            }
        }
    }

    fn store(&mut self, row: &ScheduleRow, is_new: bool) -> Result<ScheduleWritten> {
        if is_new && self.len >= self.max_len {
            return Ok(ScheduleWritten::Full);
        }
        schedule_events::put(self.conn, row)?;
        self.len += u64::from(is_new);
        Ok(ScheduleWritten::Stored)
    }

    fn put(&mut self, mut row: ScheduleRow) -> Result<ScheduleWritten> {
        let (old, is_new) = match schedule_events::get(self.conn, &row.event_id) {
            Ok(old) => {
                let is_new = old.is_none();
                (old, is_new)
            }
            // Setting a damaged schedule again is how it is repaired.
            Err(error) if error.is(&code::SCHEDULE_INVALID_ROW) => (None, false),
            Err(error) => return Err(error),
        };
        if let Some(old) = old {
            row.last_started_at = old.last_started_at;
            if old.cadence == row.cadence && old.can_fire() {
                row.trigger_at = old.trigger_at;
            }
        }
        let stored = self.store(&row, is_new)?;
        if !is_new {
            schedule_history::prune(self.conn, &row.event_id, row.max_history)?;
        }
        Ok(stored)
    }

    fn cancel(&mut self, id: &str) -> Result<ScheduleWritten> {
        let once =
            schedule_events::get(self.conn, id)?.is_some_and(|row| !row.cadence.is_recurring());
        Ok(ScheduleWritten::Deleted(once && self.remove(id)?))
    }

    fn delete(&mut self, id: &str) -> Result<ScheduleWritten> {
        let deleted = self.remove(id)?;
        schedule_history::delete(self.conn, id)?;
        Ok(ScheduleWritten::Deleted(deleted))
    }

    fn delete_if_action(&mut self, id: &str, action: &str) -> Result<ScheduleWritten> {
        let same = schedule_events::get(self.conn, id)?.is_some_and(|row| row.action == action);
        Ok(ScheduleWritten::Deleted(same && self.remove(id)?))
    }

    fn remove(&mut self, id: &str) -> Result<bool> {
        let existed = schedule_events::delete(self.conn, id)?;
        self.len = self.len.saturating_sub(u64::from(existed));
        Ok(existed)
    }

    fn claim(&mut self, claim: &Claim) -> Result<ScheduleWritten> {
        let due = schedule_events::due(self.conn, claim.now, claim.limit)?;
        let more = due.len() >= claim.limit;
        let mut fires = Vec::with_capacity(due.len());
        for found in due {
            match found.row {
                Ok(row) if row.cadence.is_recurring() => {
                    fires.extend(self.claim_recurring(row, claim)?);
                }
                Ok(row) => {
                    self.remove(&row.event_id)?;
                    fires.push(ClaimedFire {
                        row,
                        history_id: None,
                    });
                }
                Err(error) => {
                    // It would be due for ever and hold up all others.
                    tracing::error!(schedule_id = found.event_id, %error, "a damaged schedule was set aside");
                    schedule_events::skip_to(self.conn, &found.event_id, None)?;
                }
            }
        }
        Ok(ScheduleWritten::Claimed { fires, more })
    }

    /// `None` if its last fire still runs.
    fn claim_recurring(&mut self, row: ScheduleRow, claim: &Claim) -> Result<Option<ClaimedFire>> {
        let next = (claim.next)(&row, claim.now);
        if next.is_none() {
            tracing::error!(schedule_id = row.event_id, cadence = ?row.cadence, "a recurring schedule has no next time");
        }
        let skipped = claim.running.contains(&row.event_id);
        if skipped {
            schedule_events::skip_to(self.conn, &row.event_id, next)?;
        } else {
            schedule_events::advance(self.conn, &row.event_id, next, claim.now)?;
        }
        let history_id = self.note(&row, claim.now, skipped)?;
        Ok((!skipped).then_some(ClaimedFire { row, history_id }))
    }

    fn note(&mut self, row: &ScheduleRow, now: i64, skipped: bool) -> Result<Option<i64>> {
        if row.max_history == 0 {
            return Ok(None);
        }
        let fire = NewFire {
            schedule_id: &row.event_id,
            action: &row.action,
            scheduled_at: row.trigger_at,
            fired_at: now,
            skipped,
        };
        let id = schedule_history::insert(self.conn, &fire)?;
        schedule_history::prune(self.conn, &row.event_id, row.max_history)?;
        self.unpruned += 1;
        if self.unpruned >= PRUNE_INTERVAL {
            schedule_history::prune_all(self.conn)?;
            self.unpruned = 0;
        }
        Ok(Some(id))
    }
}
