//! Firing: what is due is claimed on disk first, then handed to user code.
//!
//! One round claims at a time; the actions it started run on beside the next
//! round. A fire is part of the actor's work, so the actor neither sleeps nor
//! closes its database before its outcome is noted.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use greenroom_error::{Error, Result, code};
use greenroom_store::{
    Cadence, Claim, ClaimedFire, FireError, ScheduleRow, ScheduleWrite, ScheduleWritten,
};
use tokio_util::sync::CancellationToken;

use crate::actor::context::ActorContext;
use crate::actor::cron::CronSpec;
use crate::actor::messages::{ActionDispatch, ActorEvent, Incoming, ScheduleKind, ScheduledFire};
use crate::actor::run_wake::DueRunWake;
use crate::actor::schedule::job_name;
use crate::actor::work::ActorWorkKind;
use crate::reply::{Reply, ReplyReceiver, reply};

/// Schedules claimed in one transaction.
const CLAIM_ROWS: usize = 128;
/// Pause after a round that failed; doubles.
const AGAIN_MIN: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(60);

/// Fires whose outcome is not noted yet.
type Running = FuturesUnordered<Pin<Box<dyn Future<Output = ()> + Send>>>;

/// Rounds of one generation.
#[derive(Default)]
pub(super) struct Rounds {
    active: bool,
    /// Something may have become due while the round was on.
    again: bool,
    replies: Vec<Reply<()>>,
    /// Rounds that failed since the last that did not.
    failures: u32,
}

impl ActorContext {
    /// Claims and starts everything that is due. The reply comes when it is
    /// claimed, not when it has run.
    pub(crate) fn fire_alarms(&self, reply: Option<Reply<()>>) {
        {
            let mut rounds = self.0.schedule.rounds.lock();
            rounds.replies.extend(reply);
            rounds.again = true;
            if std::mem::replace(&mut rounds.active, true) {
                return;
            }
        }
        let ctx = self.clone();
        let busy = self.0.schedule.busy.hold(self);
        let fire = async move {
            let mut running = Running::new();
            ctx.run_rounds(&mut running).await;
            while running.next().await.is_some() {}
            drop(busy);
        };
        if !self.spawn_work(ActorWorkKind::InternalKeepAwake, fire) {
            let replies = self.0.schedule.rounds.lock().end();
            // What is due fires in the next generation.
            replies.into_iter().for_each(|reply| reply.send(Ok(())));
        }
    }

    async fn run_rounds(&self, running: &mut Running) {
        let mut right = RoundsRight {
            ctx: self,
            ended: false,
        };
        while let Some(replies) = right.next_round() {
            let fired = self.fire_round(running).await;
            self.note_round(&fired);
            for reply in replies {
                reply.send(fired.as_ref().copied().map_err(Error::duplicate));
            }
        }
        self.alarm_changed();
    }

    fn note_round(&self, fired: &Result<()>) {
        let mut rounds = self.0.schedule.rounds.lock();
        match fired {
            Ok(()) => rounds.failures = 0,
            Err(error) => {
                tracing::error!(actor_id = %self.actor_id(), %error, "due schedules could not be fired; trying again");
                let pause = AGAIN_MIN * 2_u32.saturating_pow(rounds.failures.min(16));
                rounds.failures += 1;
                let pause = pause.min(AGAIN_MAX).as_millis() as i64;
                let not_before = self.clock().now_ms() + pause;
                self.0
                    .schedule
                    .not_before
                    .store(not_before, Ordering::SeqCst);
                return;
            }
        }
        self.0.schedule.not_before.store(i64::MIN, Ordering::SeqCst);
    }

    async fn fire_round(&self, running: &mut Running) -> Result<()> {
        if self.alarms_suspended() {
            return Ok(());
        }
        let now = self.clock().now_ms();
        let run_wake = self.take_due_run_wake(now).await?;
        let claimed = self.claim_due(now, running).await;
        self.drop_passed_wakes(now);
        self.sync_alarm_soon();
        if let Some(wake) = run_wake {
            let carried_out = match claimed {
                Ok(()) => self.carry_out_run_wake(wake).await,
                Err(error) => Err(error),
            };
            if carried_out.is_err() && !self.destroy_requested() {
                self.restore_run_wake_at_if_unchanged(wake.at, wake.revision)
                    .await?;
            }
            return carried_out;
        }
        claimed
    }

    async fn carry_out_run_wake(&self, wake: DueRunWake) -> Result<()> {
        let (answer, answered) = reply();
        self.send_actor_event(ActorEvent::RunWake {
            wake_at_ms: wake.at,
            wake_revision: wake.revision,
            reply: answer,
        })?;
        answered.result().await
    }

    /// In the grace of a destroy: forgets a due run wake, fires nothing.
    pub(crate) fn forget_due_run_wake(&self, reply: Reply<()>) {
        let ctx = self.clone();
        let forget = async move {
            let taken = ctx.take_due_run_wake(ctx.clock().now_ms()).await;
            reply.send(taken.map(|_| ()));
        };
        // A refused task drops the reply, which is an answer.
        self.spawn_work(ActorWorkKind::InternalKeepAwake, forget);
    }

    async fn claim_due(&self, now: i64, running: &mut Running) -> Result<()> {
        loop {
            let next = self.0.schedule.sources.lock().schedule;
            if self.alarms_suspended() || next.is_none_or(|at| at > now) {
                return Ok(());
            }
            let claim = Claim {
                now,
                limit: CLAIM_ROWS,
                running: self.0.schedule.running.lock().clone(),
                next: Arc::new(next_trigger),
            };
            let written = self
                .schedule_write_inline(ScheduleWrite::Claim(claim))
                .await?;
            let ScheduleWritten::Claimed { fires, more } = written else {
                return Err(super::unexpected(&written));
            };
            for fire in fires {
                running.push(Box::pin(self.clone().run_fire(fire, now)));
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Hands a claimed fire to user code at once; the future waits for it to end
    /// and notes how it went.
    fn run_fire(self, fire: ClaimedFire, now: i64) -> impl Future<Output = ()> + Send {
        let ClaimedFire { row, history_id } = fire;
        if row.cadence.is_recurring() {
            self.0.schedule.running.lock().insert(row.event_id.clone());
        }
        let started = self.start_action(&row, now);
        async move {
            let outcome = match started {
                Ok(answered) => answered.result().await.map(|_| ()),
                Err(error) => Err(error),
            };
            if let Err(error) = &outcome {
                tracing::error!(actor_id = %self.actor_id(), schedule_id = row.event_id, action = row.action, %error, "a scheduled action failed");
            }
            self.0.schedule.running.lock().remove(&row.event_id);
            if let Err(error) = self.note_fire(&row, history_id, outcome).await {
                tracing::error!(actor_id = %self.actor_id(), schedule_id = row.event_id, %error, "the outcome of a scheduled action was not noted");
            }
        }
    }

    fn start_action(&self, row: &ScheduleRow, now: i64) -> Result<ReplyReceiver<Bytes>> {
        let (answer, answered) = reply();
        let call = ActionDispatch {
            name: row.action.clone(),
            args: row.args.clone(),
            conn: None,
            incoming: Incoming {
                ray_id: row.trace.ray_id.clone(),
                traceparent: row.trace.traceparent.clone(),
                tracestate: row.trace.tracestate.clone(),
                caller: None,
            },
            cancelled: CancellationToken::new(),
            region: Some(self.begin_work(ActorWorkKind::InternalKeepAwake)),
            reply: answer,
        };
        self.send_actor_event(ActorEvent::Action {
            call: Box::new(call),
            scheduled_fire: Some(Box::new(fire_info(row, now))),
        })?;
        Ok(answered)
    }

    async fn note_fire(
        &self,
        row: &ScheduleRow,
        history_id: Option<i64>,
        outcome: Result<()>,
    ) -> Result<()> {
        let missing = matches!(&outcome, Err(error) if error.is(&code::ACTOR_ACTION_NOT_FOUND));
        if let Some(history_id) = history_id {
            let finish = ScheduleWrite::Finish {
                history_id,
                finished_at: self.clock().now_ms(),
                error: outcome.err().map(|error| fire_error(&error)),
            };
            self.schedule_write_inline(finish).await?;
        }
        if missing && row.cadence.is_recurring() {
            let delete = ScheduleWrite::DeleteIfAction {
                id: row.event_id.clone(),
                action: row.action.clone(),
            };
            self.schedule_write_inline(delete).await?;
        }
        Ok(())
    }
}

/// The right to hold rounds, which must not be lost when its holder dies.
struct RoundsRight<'a> {
    ctx: &'a ActorContext,
    ended: bool,
}

impl RoundsRight<'_> {
    /// Who waits for the next round; `None` if there is none to hold.
    fn next_round(&mut self) -> Option<Vec<Reply<()>>> {
        let mut rounds = self.ctx.0.schedule.rounds.lock();
        self.ended = !std::mem::take(&mut rounds.again);
        rounds.active = !self.ended;
        rounds.active.then(|| std::mem::take(&mut rounds.replies))
    }
}

impl Drop for RoundsRight<'_> {
    fn drop(&mut self) {
        if !self.ended {
            drop(self.ctx.0.schedule.rounds.lock().end());
        }
    }
}

impl Rounds {
    fn end(&mut self) -> Vec<Reply<()>> {
        self.active = false;
        self.again = false;
        std::mem::take(&mut self.replies)
    }
}

/// When a schedule that fires now fires next. Missed times collapse into the one
/// that fires; the phase of an interval is kept.
fn next_trigger(row: &ScheduleRow, now: i64) -> Option<i64> {
    match &row.cadence {
        Cadence::Once => None,
        Cadence::Every { interval_ms } => {
            let passed = now.saturating_sub(row.trigger_at).div_euclid(*interval_ms);
            let periods = passed.saturating_add(1);
            Some(
                row.trigger_at
                    .saturating_add(interval_ms.saturating_mul(periods)),
            )
        }
        Cadence::Cron {
            expression,
            timezone,
        } => CronSpec::parse(expression, timezone).ok()?.next_after(now),
    }
}

fn fire_info(row: &ScheduleRow, now: i64) -> ScheduledFire {
    let name = job_name(&row.event_id).map(str::to_owned);
    let kind = match row.cadence {
        Cadence::Once => ScheduleKind::At,
        Cadence::Cron { .. } => ScheduleKind::Cron,
        Cadence::Every { .. } => ScheduleKind::Every,
    };
    let name = name.filter(|_| row.cadence.is_recurring());
    ScheduledFire {
        kind,
        id: name.clone().unwrap_or_else(|| row.event_id.clone()),
        name,
        scheduled_at_ms: row.trigger_at,
        fired_at_ms: now,
    }
}

/// The failure as clients may see it.
fn fire_error(error: &Error) -> FireError {
    let view = error.client_view();
    let metadata = view.metadata.and_then(|value| {
        let mut bytes = Vec::new();
        ciborium::into_writer(&value, &mut bytes).ok()?;
        Some(bytes)
    });
    FireError {
        group: view.group,
        code: view.code,
        message: view.message,
        metadata,
    }
}
