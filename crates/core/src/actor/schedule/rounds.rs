//! Rounds: a time has come, and what is due then fires.
//!
//! One round claims at a time; the actions it started run on beside the next
//! round. A round is part of the actor's work, so the actor neither sleeps nor
//! closes its database before the outcomes are noted. What a round fires is
//! [`fire`](super::fire)'s.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt;
use greenroom_error::{Error, Result};

use super::fire::Running;
use crate::actor::context::ActorContext;
use crate::actor::messages::ActorEvent;
use crate::actor::run_wake::DueRunWake;
use crate::actor::work::ActorWorkKind;
use crate::reply::{Reply, reply};

/// Pause after a round that failed; doubles.
const AGAIN_MIN: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(60);

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
        if self.fires_nothing() {
            return Ok(());
        }
        let now = self.clock().now_ms();
        let run_wake = self.take_due_run_wake(now).await?;
        let claimed = self.claim_due(now, running).await;
        self.drop_passed_wake(now);
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
