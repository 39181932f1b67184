//! Scheduled actions: durable calls of the actor to itself at a later time.
//!
//! Rows live in the database; what is kept here is only what a generation needs
//! between two transactions. All changes and claims go through one [`Pipe`], so
//! they have one order and share commits. The alarm that wakes the actor is in
//! [`alarm`], firing in [`fire`], recurring jobs in [`jobs`].

mod alarm;
mod begun;
mod busy;
mod fire;
mod jobs;
mod rounds;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use greenroom_store::{Cadence, ScheduleBatch, ScheduleRow, ScheduleWrite, ScheduleWritten, Trace};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Mutex as AsyncMutex;
use uuid::Uuid;

use crate::actor::context::ActorContext;
use crate::actor::pipe::{Pipe, Weigh};
use crate::actor::work::ActorWorkKind;
use crate::reply::{Reply, reply};

pub use begun::NotBegun;
pub(crate) use busy::BusyGuard;
pub use jobs::{CronJob, JobCadence, JobFire, NewJob};

use alarm::{AlarmSources, Pushed};
use busy::Busy;
use rounds::Rounds;

/// Precedes the name of a recurring job in its id.
const JOB_PREFIX: &str = "cron:";

/// Schedules of one generation.
pub(crate) struct ScheduleRoom {
    pipe: Pipe<ScheduleOp>,
    counted: Mutex<Counted>,
    sources: Mutex<AlarmSources>,
    pushed: AsyncMutex<Pushed>,
    /// A push in the background has not begun yet.
    sync_queued: AtomicBool,
    /// The task was told of a changed alarm and has not looked yet.
    task_told: AtomicBool,
    /// Nothing may fire: before the start has finished, and once the end began.
    suspended: AtomicBool,
    rounds: Mutex<Rounds>,
    /// Recurring schedules whose last fire still runs.
    running: Mutex<HashSet<String>>,
    /// No round begins by itself before, Unix milliseconds; a pause after failure.
    not_before: AtomicI64,
    busy: Busy,
}

/// What batches tell each other.
#[derive(Default)]
struct Counted {
    /// `None` until counted, and after a failure.
    schedules: Option<u64>,
    /// Fires noted since the whole history was pruned.
    unpruned: u32,
}

struct ScheduleOp {
    write: ScheduleWrite,
    reply: Reply<ScheduleWritten>,
}

impl Weigh for ScheduleOp {
    fn weight(&self) -> usize {
        match &self.write {
            ScheduleWrite::Add(row) | ScheduleWrite::Put(row) => row.args.len(),
            _ => 0,
        }
    }
}

impl Default for ScheduleRoom {
    fn default() -> Self {
        Self {
            pipe: Pipe::default(),
            counted: Mutex::default(),
            sources: Mutex::default(),
            pushed: AsyncMutex::default(),
            sync_queued: AtomicBool::new(false),
            task_told: AtomicBool::new(false),
            suspended: AtomicBool::new(true),
            rounds: Mutex::default(),
            running: Mutex::default(),
            not_before: AtomicI64::new(i64::MIN),
            busy: Busy::default(),
        }
    }
}

impl ScheduleRoom {
    fn not_before(&self) -> i64 {
        self.not_before.load(Ordering::SeqCst)
    }
}

/// An action to call.
#[derive(Clone, Debug, Default)]
pub struct ScheduledCall {
    pub action: String,
    /// CBOR array.
    pub args: Bytes,
    pub trace: Trace,
}

/// A schedule that fires once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledEvent {
    pub id: String,
    pub action: String,
    /// CBOR array.
    pub args: Bytes,
    /// Unix milliseconds.
    pub run_at: i64,
}

impl ActorContext {
    /// Calls an action after so many milliseconds; resolves with the schedule's id
    /// when it survives a crash.
    ///
    /// Errors: `schedule/max_schedules_exceeded`.
    pub async fn schedule_after(&self, duration_ms: u64, call: ScheduledCall) -> Result<String> {
        let duration = i64::try_from(duration_ms).unwrap_or(i64::MAX);
        let at = self.clock().now_ms().saturating_add(duration);
        self.schedule_at(at, call).await
    }

    /// Calls an action at a time (Unix milliseconds); the past means now.
    pub async fn schedule_at(&self, at_ms: i64, call: ScheduledCall) -> Result<String> {
        let id = Uuid::new_v4().to_string();
        let row = ScheduleRow {
            event_id: id.clone(),
            // The last millisecond of time means "never" in the table.
            trigger_at: at_ms.min(i64::MAX - 1),
            action: call.action,
            args: call.args,
            cadence: Cadence::Once,
            last_started_at: None,
            max_history: 0,
            trace: call.trace,
        };
        self.schedule_stored(ScheduleWrite::Add(row)).await?;
        Ok(id)
    }

    /// False if it has fired or never existed, and for a recurring job.
    pub async fn schedule_cancel(&self, id: String) -> Result<bool> {
        self.schedule_deleted(ScheduleWrite::Cancel { id }).await
    }

    pub async fn schedule_get(&self, id: String) -> Result<Option<ScheduledEvent>> {
        let row = self.in_turn(self.sql().schedule(id)).await?;
        Ok(row.and_then(to_event))
    }

    /// Those that fire once, by time and id.
    pub async fn schedule_list(&self) -> Result<Vec<ScheduledEvent>> {
        let rows = self.in_turn(self.sql().schedules()).await?;
        Ok(rows.into_iter().filter_map(to_event).collect())
    }

    async fn schedule_stored(&self, write: ScheduleWrite) -> Result<()> {
        match self.schedule_write(write).await? {
            ScheduleWritten::Stored => {
                // Durable means that it fires by itself, after a crash too.
                self.sync_alarm_logged().await;
                Ok(())
            }
            ScheduleWritten::Full => Err(Error::with(
                &code::SCHEDULE_MAX_SCHEDULES_EXCEEDED,
                json!({ "maximum": self.config().max_schedules }),
            )),
            other => Err(unexpected(&other)),
        }
    }

    async fn schedule_deleted(&self, write: ScheduleWrite) -> Result<bool> {
        match self.schedule_write(write).await? {
            ScheduleWritten::Deleted(deleted) => Ok(deleted),
            other => Err(unexpected(&other)),
        }
    }

    /// Carries out one operation; it is done even if the caller goes away.
    async fn schedule_write(&self, write: ScheduleWrite) -> Result<ScheduleWritten> {
        let (reply, written) = reply();
        if self.0.schedule.pipe.push(ScheduleOp { write, reply }) {
            let ctx = self.clone();
            let busy = self.0.schedule.busy.hold(self);
            let flush = async move {
                ctx.flush_schedules().await;
                drop(busy);
            };
            if !self.spawn_work(ActorWorkKind::InternalKeepAwake, flush) {
                for op in self.0.schedule.pipe.abandon() {
                    op.reply.send(Err(self.storage_closed()));
                }
            }
        }
        written.result().await
    }

    /// The same for callers that are tracked work themselves and never cut: works
    /// even while the actor is being torn down.
    async fn schedule_write_inline(&self, write: ScheduleWrite) -> Result<ScheduleWritten> {
        let (reply, written) = reply();
        if self.0.schedule.pipe.push(ScheduleOp { write, reply }) {
            self.flush_schedules().await;
        }
        written.result().await
    }

    async fn flush_schedules(&self) {
        let mut flusher = self.0.schedule.pipe.flusher();
        while let Some(ops) = flusher.next_batch() {
            let (writes, replies): (Vec<_>, Vec<_>) =
                ops.into_iter().map(|op| (op.write, op.reply)).unzip();
            match self.write_schedules(writes).await {
                Ok(written) => {
                    for (reply, written) in replies.into_iter().zip(written) {
                        reply.send(Ok(written));
                    }
                }
                Err(error) => {
                    for reply in replies {
                        reply.send(Err(error.duplicate()));
                    }
                }
            }
        }
    }

    async fn write_schedules(&self, writes: Vec<ScheduleWrite>) -> Result<Vec<ScheduleWritten>> {
        let (len, unpruned) = {
            let mut counted = self.0.schedule.counted.lock();
            (counted.schedules.take(), counted.unpruned)
        };
        let only_claims = writes
            .iter()
            .all(|write| matches!(write, ScheduleWrite::Claim(_)));
        let batch = ScheduleBatch {
            writes,
            len,
            max_len: u64::from(self.config().max_schedules),
            unpruned,
        };
        let outcome = self.sql().schedule_write(batch).await?;
        *self.0.schedule.counted.lock() = Counted {
            schedules: Some(outcome.len),
            unpruned: outcome.unpruned,
        };
        self.note_next_schedule(outcome.next, !only_claims);
        self.changed_for_inspectors(|revisions| &mut revisions.schedules);
        Ok(outcome.written)
    }

    pub(crate) fn alarms_suspended(&self) -> bool {
        self.0.schedule.suspended.load(Ordering::SeqCst)
    }

    /// Nothing may fire, whatever is due.
    fn fires_nothing(&self) -> bool {
        self.alarms_suspended() || self.destroy_requested()
    }

    /// From here on what is due fires. The start has finished.
    pub(crate) fn resume_alarms(&self) {
        self.0.schedule.suspended.store(false, Ordering::SeqCst);
        // What is overdue fires first, and then the host hears of what is left.
        let now = self.clock().now_ms();
        if self.local_alarm_at().is_none_or(|at| at > now) {
            let ctx = self.clone();
            let busy = self.0.schedule.busy.hold(self);
            tokio::spawn(async move {
                if let Err(error) = ctx.sync_alarm(true).await {
                    tracing::error!(actor_id = %ctx.actor_id(), %error, "the host could not be told of the next alarm");
                    ctx.sync_alarm_soon();
                }
                drop(busy);
            });
        }
    }

    /// The end has begun: nothing fires any more in this generation.
    pub(crate) fn suspend_alarms(&self) {
        self.0.schedule.suspended.store(true, Ordering::SeqCst);
    }

    /// Marks fires that an earlier generation left running.
    pub(crate) async fn recover_interrupted_fires(&self) {
        let now = self.clock().now_ms();
        if let Err(error) = self.sql().interrupt_schedules(now).await {
            tracing::error!(actor_id = %self.actor_id(), %error, "interrupted fires could not be marked");
        }
    }

    /// Resolves when no schedule fires, no change is on its way to disk or host,
    /// and the local timer is set. For tests that move a clock by hand.
    pub async fn alarms_settled(&self) {
        self.0.schedule.busy.settled().await;
    }
}

fn to_event(row: ScheduleRow) -> Option<ScheduledEvent> {
    (row.cadence == Cadence::Once).then_some(ScheduledEvent {
        id: row.event_id,
        action: row.action,
        args: row.args,
        run_at: row.trigger_at,
    })
}

fn job_name(id: &str) -> Option<&str> {
    id.strip_prefix(JOB_PREFIX)
}

/// The store answers each operation in kind.
fn unexpected(written: &ScheduleWritten) -> Error {
    Error::internal(format!(
        "a schedule operation was answered with {written:?}"
    ))
}
