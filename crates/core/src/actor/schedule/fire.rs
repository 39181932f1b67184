//! Firing: what is due is claimed on disk first, then handed to user code.
//!
//! Invariant F1: at most one claimed schedule waits to be called. A crash takes
//! nothing with it but the actions that had begun and the one that was about to;
//! an end that begins in between leaves the rest to the next generation. This
//! costs a commit for each fire.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::FuturesUnordered;
use greenroom_error::{Error, Result, code};
use greenroom_store::{
    Cadence, Claim, ClaimedFire, FireError, ScheduleRow, ScheduleWrite, ScheduleWritten,
};
use tokio_util::sync::CancellationToken;

use crate::actor::context::ActorContext;
use crate::actor::cron::CronSpec;
use crate::actor::messages::{ActionDispatch, ActorEvent, Incoming, ScheduleKind, ScheduledFire};
use crate::actor::schedule::begun::{NotBegun, begun};
use crate::actor::schedule::job_name;
use crate::actor::work::ActorWorkKind;
use crate::reply::{ReplyReceiver, reply};

/// Schedules claimed in one transaction (F1).
const CLAIM_ROWS: usize = 1;

/// Fires whose outcome is not noted yet.
pub(super) type Running = FuturesUnordered<Pin<Box<dyn Future<Output = ()> + Send>>>;

impl ActorContext {
    pub(super) async fn claim_due(&self, now: i64, running: &mut Running) -> Result<()> {
        loop {
            let next = self.0.schedule.sources.lock().schedule;
            if self.fires_nothing() || next.is_none_or(|at| at > now) {
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
                self.begin_fire(fire, now, running).await?;
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Hands a claimed fire to user code, and waits until that has begun. If nobody
    /// takes it any more, it is as if it had not been claimed.
    async fn begin_fire(&self, fire: ClaimedFire, now: i64, running: &mut Running) -> Result<()> {
        let (not_begun, begun) = begun();
        let is_recurring = fire.row.cadence.is_recurring();
        let answered = match self.start_action(&fire.row, now, not_begun) {
            Ok(answered) => answered,
            Err(refused) if is_recurring => {
                // Its next time is set, and its history tells of this one.
                let noted = Err(refused.duplicate());
                self.note_fire(&fire.row, fire.history_id, noted).await?;
                return Err(refused);
            }
            Err(refused) => {
                let restore = ScheduleWrite::Restore(fire.row);
                self.schedule_write_inline(restore).await?;
                return Err(refused);
            }
        };
        if is_recurring {
            let mut overlapping = self.0.schedule.running.lock();
            overlapping.insert(fire.row.event_id.clone());
        }
        running.push(Box::pin(self.clone().end_fire(fire, answered)));
        let cut = self.shutdown_deadline();
        tokio::select! {
            () = begun.wait() => {}
            () = cut.cancelled() => {}
        }
        Ok(())
    }

    /// Waits for an action to end and notes how it went.
    async fn end_fire(self, fire: ClaimedFire, answered: ReplyReceiver<Bytes>) {
        let ClaimedFire { row, history_id } = fire;
        let outcome = answered.result().await.map(|_| ());
        if let Err(error) = &outcome {
            tracing::error!(actor_id = %self.actor_id(), schedule_id = row.event_id, action = row.action, %error, "a scheduled action failed");
        }
        self.0.schedule.running.lock().remove(&row.event_id);
        if let Err(error) = self.note_fire(&row, history_id, outcome).await {
            tracing::error!(actor_id = %self.actor_id(), schedule_id = row.event_id, %error, "the outcome of a scheduled action was not noted");
        }
    }

    fn start_action(
        &self,
        row: &ScheduleRow,
        now: i64,
        not_begun: NotBegun,
    ) -> Result<ReplyReceiver<Bytes>> {
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
            scheduled_fire: Some(Box::new(fire_info(row, now, not_begun))),
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

fn fire_info(row: &ScheduleRow, now: i64, not_begun: NotBegun) -> ScheduledFire {
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
        not_begun,
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
