//! The actor's one alarm: the host's, which wakes it, and the local timer.
//!
//! The alarm is the earliest of everything the actor waits for. The host is told
//! when that changes, one call at a time; calls that wait find it told already.
//! The local timer is the task's, which is only told that something changed.
//!
//! What the host has acknowledged is kept in the database so that a start need
//! not repeat it. Invariant A1: what is stored is what the host acknowledged last,
//! or [`UNKNOWN`]; it is set to that before the host is told anything else.

use std::sync::atomic::Ordering;
use std::time::Duration;

use greenroom_error::Result;
use greenroom_store::SaveBatch;

use crate::actor::context::ActorContext;
use crate::actor::messages::LifecycleEvent;

/// Stored in place of an alarm that may or may not have reached the host.
/// RivetKit reads it as an alarm that differs from any it wants.
const UNKNOWN: i64 = i64::MIN;

/// Longest wait for a host's acknowledgement.
const PUSH_TIME: Duration = Duration::from_secs(10);
/// Pause before a failed push is repeated; doubles.
const AGAIN_MIN: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(60);

/// What an actor waits for, in Unix milliseconds. The run wake is kept by
/// [`crate::actor::run_wake`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AlarmSources {
    /// The earliest schedule.
    pub schedule: Option<i64>,
    /// Asked for directly; only wakes.
    pub direct: Option<i64>,
    /// The first redelivery of a leased message that nobody has taken, which may
    /// have passed: it only wakes, and this generation may end at any time.
    pub redelivery: Option<i64>,
}

/// What the host and the database know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pushed {
    /// Acknowledged by the host; `None` if not known.
    acknowledged: Option<Option<i64>>,
    /// In the database; `None` stands for [`UNKNOWN`].
    stored: Option<Option<i64>>,
    /// The generation has settled its alarm for good.
    closed: bool,
}

impl Default for Pushed {
    fn default() -> Self {
        Self {
            acknowledged: Some(None),
            stored: Some(None),
            closed: false,
        }
    }
}

impl ActorContext {
    /// Takes over what the database knows, before the generation starts.
    pub(crate) async fn load_alarm(
        &self,
        stored: Option<i64>,
        next_schedule: Option<i64>,
        redelivery: Option<i64>,
    ) {
        let known = (stored != Some(UNKNOWN)).then_some(stored);
        *self.0.schedule.pushed.lock().await = Pushed {
            acknowledged: known,
            stored: known,
            closed: false,
        };
        let mut sources = self.0.schedule.sources.lock();
        sources.schedule = next_schedule;
        sources.redelivery = redelivery;
    }

    /// Asks for a wake-up at a time (Unix milliseconds), or takes that back; the
    /// schedules and the run wake keep theirs. Resolves when the host has stored
    /// it.
    pub async fn set_alarm(&self, at_ms: Option<i64>) -> Result<()> {
        self.0.schedule.sources.lock().direct = at_ms;
        self.sync_alarm(true).await
    }

    /// When it wants to be woken next, in Unix milliseconds; the host may not have heard
    /// of it yet, or from an earlier generation.
    pub fn wanted_alarm(&self) -> Option<i64> {
        let sources = *self.0.schedule.sources.lock();
        [
            sources.schedule,
            sources.direct,
            sources.redelivery,
            self.run_wake_at(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// When there is something to do in this generation; `None` while nothing may
    /// fire.
    pub(crate) fn local_alarm_at(&self) -> Option<i64> {
        if self.fires_nothing() {
            return None;
        }
        let schedule = self.0.schedule.sources.lock().schedule;
        let next = schedule.into_iter().chain(self.run_wake_at()).min()?;
        Some(next.max(self.0.schedule.not_before()))
    }

    /// Tells the task to look at its local timer, once until it does.
    pub(crate) fn alarm_changed(&self) {
        let room = &self.0.schedule;
        if room.task_told.swap(true, Ordering::SeqCst) {
            return;
        }
        let busy = room.busy.hold(self);
        // A task that has ended has no timer to set; the event frees the guard.
        self.send_lifecycle_event(LifecycleEvent::AlarmChanged(busy));
    }

    /// The task is about to look: a change from here on is another event.
    pub(crate) fn alarm_noticed(&self) {
        self.0.schedule.task_told.store(false, Ordering::SeqCst);
    }

    /// The earliest schedule is another one now. The round that claims tells task
    /// and host itself, once it is through.
    pub(super) fn note_next_schedule(&self, next: Option<i64>, tell: bool) {
        let old = std::mem::replace(&mut self.0.schedule.sources.lock().schedule, next);
        if tell && old != next {
            self.alarm_changed();
            self.sync_alarm_soon();
        }
    }

    /// A message will be delivered again; resolves when the host will ring by then,
    /// because whoever took the message may die with it. The host is told of
    /// earlier times only: these move with every message, and ringing early harms
    /// nobody.
    pub(crate) async fn redelivery_changed(&self, at: Option<i64>) {
        let before = std::mem::replace(&mut self.0.schedule.sources.lock().redelivery, at);
        if before == at {
            return;
        }
        let Some(wanted) = self.wanted_alarm() else {
            return;
        };
        let rings = self.0.schedule.pushed.lock().await.acknowledged;
        // One that has passed may have rung already.
        let now = self.clock().now_ms();
        let in_time = rings.flatten().is_some_and(|at| now < at && at <= wanted);
        if !in_time {
            self.sync_alarm_logged().await;
        }
    }

    /// Wakes the next generation as soon as this one has ended.
    pub(crate) fn wake_again_now(&self) {
        self.0.schedule.sources.lock().direct = Some(self.clock().now_ms());
    }

    /// Forgets the wish to be woken by now.
    pub(super) fn drop_passed_wake(&self, now: i64) {
        let mut sources = self.0.schedule.sources.lock();
        sources.direct = sources.direct.filter(|at| *at > now);
    }

    /// Tells the host in the background, again until it has heard.
    pub(super) fn sync_alarm_soon(&self) {
        let queued = |ctx: &Self| ctx.0.schedule.sync_queued.swap(true, Ordering::SeqCst);
        if queued(self) {
            return;
        }
        let ctx = self.clone();
        let busy = self.0.schedule.busy.hold(self);
        tokio::spawn(async move {
            let mut pause = AGAIN_MIN;
            loop {
                // Before the wanted alarm is read: a later change queues anew.
                ctx.0.schedule.sync_queued.store(false, Ordering::SeqCst);
                let Err(error) = ctx.sync_alarm(false).await else {
                    break;
                };
                tracing::error!(actor_id = %ctx.actor_id(), %error, "the host could not be told of the next alarm; trying again");
                if queued(&ctx) {
                    break;
                }
                ctx.clock().sleep(pause).await;
                pause = (pause * 2).min(AGAIN_MAX);
            }
            drop(busy);
        });
    }

    /// As [`Self::sync_alarm`] for callers whose own work is done: a failure is
    /// repeated in the background, which has been started by the change.
    pub(crate) async fn sync_alarm_logged(&self) {
        if let Err(error) = self.sync_alarm(false).await {
            tracing::warn!(actor_id = %self.actor_id(), %error, "the next alarm has not reached the host yet");
            self.sync_alarm_soon();
        }
    }

    /// Makes the host's alarm the wanted one; free if it is. With `keep`, what it
    /// acknowledged is stored for the next start.
    pub(crate) async fn sync_alarm(&self, keep: bool) -> Result<()> {
        let mut pushed = self.0.schedule.pushed.lock().await;
        if pushed.closed {
            return Ok(());
        }
        let wanted = self.wanted_alarm();
        if pushed.acknowledged != Some(wanted) {
            self.push_alarm(&mut pushed, wanted).await?;
        }
        if keep && pushed.stored != pushed.acknowledged {
            self.store_alarm(wanted).await?;
            pushed.stored = pushed.acknowledged;
        }
        Ok(())
    }

    async fn push_alarm(&self, pushed: &mut Pushed, wanted: Option<i64>) -> Result<()> {
        if pushed.stored.is_some() {
            // A1: a crash after the push must not leave the old value behind.
            self.store_alarm(Some(UNKNOWN)).await?;
            pushed.stored = None;
        }
        pushed.acknowledged = None;
        let push = self.0.host.set_alarm(self.actor(), wanted);
        self.bounded(PUSH_TIME, "setAlarm", push).await?;
        pushed.acknowledged = Some(wanted);
        Ok(())
    }

    async fn store_alarm(&self, value: Option<i64>) -> Result<()> {
        let batch = SaveBatch {
            last_pushed_alarm: Some(value),
            ..SaveBatch::default()
        };
        self.in_turn(self.sql().save(batch)).await
    }

    /// At the end of a generation that sleeps: the host's alarm is right and
    /// stays.
    ///
    /// What was visible before this generation has had its wake: without this, an
    /// actor that takes no messages would never rest. A crash forgets nothing.
    pub(crate) async fn settle_alarm(&self) -> Result<()> {
        let began = self.generation_began_at();
        let redelivery = self.0.schedule.sources.lock().redelivery;
        if redelivery.is_some_and(|at| at <= began) {
            let next = self.sql().next_redelivery(began).await?;
            self.0.schedule.sources.lock().redelivery = next;
        }
        let settled = self.sync_alarm(true).await;
        self.close_alarm().await;
        settled
    }

    /// At the end of an actor: its alarm goes, if it has one.
    pub(crate) async fn clear_alarm(&self) -> Result<()> {
        let mut pushed = self.0.schedule.pushed.lock().await;
        pushed.closed = true;
        if pushed.acknowledged == Some(None) {
            return Ok(());
        }
        self.push_alarm(&mut pushed, None).await
    }

    /// Nothing of this generation reaches the host's alarm from now on.
    pub(crate) async fn close_alarm(&self) {
        self.0.schedule.pushed.lock().await.closed = true;
    }
}
