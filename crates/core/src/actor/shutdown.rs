//! The end of a generation: grace, then finalize, then nothing is left.
//!
//! Grace gives user code its hooks and running work its time, under one deadline.
//! Finalize is an ordered list of steps; each is named, logged and timed by the
//! runner, and none is skipped because an earlier one failed.

use std::pin::Pin;

use greenroom_error::{Error, Result, code};

use crate::actor::context::ActorContext;
use crate::actor::lifecycle::LifecycleState;
use crate::actor::messages::{ActorEvent, ShutdownKind};
use crate::actor::sleep;
use crate::actor::task::{ActorTask, AdapterExit, LiveExit};
use crate::actor::work::Gauge;
use crate::reply::{Reply, reply};

/// Part of the grace period, at its end, in which nobody new is let in. Without
/// it, callers who never pause would keep an actor in grace up to the deadline,
/// and what ran then would be cut.
const LAST_CALL_SHARE: u32 = 20;

impl ActorTask {
    pub(super) fn begin_grace(&mut self, reason: ShutdownKind) {
        self.transition_to(LifecycleState::grace_of(reason));
        if reason == ShutdownKind::Destroy {
            self.ctx.mark_destroy_requested();
        }
        self.timers.disarm(crate::actor::timers::TimerKind::Sleep);
        self.ctx.suspend_alarms();
        self.timers.set_alarm(None);
        let (now, span) = (self.ctx.clock().now(), self.ctx.config().sleep_grace_period);
        self.timers.arm_grace(now + span);
        self.grace_until = Some(now + span);
        self.grace_began = Some(now);
        self.ctx
            .set_last_call(now + (span - span / LAST_CALL_SHARE));
        self.ctx.0.work.set_interested(true);
        self.ctx.abort_signal().cancel();
        self.emit_grace_events(reason);
    }

    fn emit_grace_events(&mut self, reason: ShutdownKind) {
        for conn in self.ctx.conns() {
            if reason == ShutdownKind::Sleep && conn.is_hibernatable() {
                self.ctx.queue_hibernation_update(conn.id());
                continue;
            }
            let conn_id = conn.id().to_owned();
            let reply = self.hook_reply("disconnect_conn");
            self.send_hook(ActorEvent::DisconnectConn { conn_id, reply });
        }
        let reply = self.hook_reply("run_graceful_cleanup");
        self.send_hook(ActorEvent::RunGracefulCleanup { reason, reply });
    }

    /// A closed adapter drops the event, and with it the reply: the hook counts
    /// as done, because nobody is left to run it.
    fn send_hook(&self, event: ActorEvent) {
        if let Err(error) = self.ctx.send_actor_event(event) {
            tracing::warn!(actor_id = %self.ctx.actor_id(), %error, "a shutdown hook had no adapter to run in");
        }
    }

    /// A reply that holds up grace until it is answered or dropped.
    fn hook_reply(&self, operation: &'static str) -> Reply<()> {
        let guard = self.ctx.0.work.count(Gauge::CoreHook);
        let (answer, answered) = reply();
        let actor_id = self.ctx.actor_id();
        tokio::spawn(async move {
            if let Err(error) = answered.result().await {
                tracing::error!(%actor_id, operation, %error, "shutdown hook failed");
            }
            drop(guard);
        });
        answer
    }

    pub(super) fn try_finish_grace(&mut self) -> Option<LiveExit> {
        let reason = self.stopping.as_ref()?.0;
        let idle = |ctx: &ActorContext| sleep::can_finalize(reason, &ctx.work_counts());
        if !idle(&self.ctx) {
            return None;
        }
        // A write in flight keeps grace, and its deadline, alive.
        if self.persistence.running.is_some() {
            self.let_go_of_leftovers();
            return None;
        }
        // What slipped in since the look at the counts is drained, too (I1).
        self.ctx.set_door_closed(true);
        if !idle(&self.ctx) {
            self.ctx.set_door_closed(false);
            return None;
        }
        Some(LiveExit::Shutdown(reason))
    }

    /// The write may wait for the end of a `BEGIN` that nobody is left to end.
    fn let_go_of_leftovers(&self) {
        let sql = self.ctx.user_sql();
        tokio::spawn(async move {
            if let Err(error) = sql.let_go().await {
                tracing::debug!(%error, "no transactions to end");
            }
        });
    }

    /// From draining to cutting: without the mark, teardown would wait on work
    /// that has used up its time.
    pub(super) fn on_grace_deadline(&mut self) -> LiveExit {
        let reason = self.stopping.as_ref().map_or(ShutdownKind::Sleep, |s| s.0);
        tracing::warn!(
            actor_id = %self.ctx.actor_id(),
            reason = reason.label(),
            still_running = ?self.ctx.work_counts(),
            connections = self.ctx.conn_count(),
            "shutdown reached its grace deadline; what is still running is cut"
        );
        self.ctx.shutdown_deadline().cancel();
        self.ctx.type_figures().grace_was_cut(reason);
        LiveExit::Shutdown(reason)
    }

    /// A run adapter that ends is a crash only if it failed: the host is told and
    /// its Stop drives the ordinary end.
    pub(super) async fn on_adapter_exit(&mut self, exit: AdapterExit) -> Option<LiveExit> {
        self.adapter = None;
        if matches!(self.start, crate::actor::task::StartPhase::Waiting(_)) {
            let error = match exit {
                AdapterExit::Returned(Err(error)) => error,
                _ => Error::new(&code::ACTOR_DROPPED_REPLY),
            };
            return Box::pin(self.finish_start(Err(error))).await;
        }
        let crash = match exit {
            AdapterExit::Returned(Ok(())) => return None,
            AdapterExit::Returned(Err(error)) => error.to_string(),
            AdapterExit::Panicked => "actor adapter panicked".to_owned(),
            AdapterExit::Cancelled => return None,
        };
        tracing::error!(actor_id = %self.ctx.actor_id(), %crash, "actor adapter failed");
        self.ctx.close_actor_events();
        if self.state == LifecycleState::Started
            && let Err(error) = self.ctx.stop_with_error(crash)
        {
            tracing::debug!(actor_id = %self.ctx.actor_id(), %error, "a stop is already on its way");
        }
        None
    }

    /// Everything after grace. Every step runs; the first failure is the result.
    pub(super) async fn run_shutdown(&mut self, reason: ShutdownKind) -> Result<()> {
        self.transition_to(LifecycleState::finalize_of(reason));
        if let Some(began) = self.grace_began.take() {
            let took = self.ctx.clock().now().since(began);
            self.ctx.type_figures().grace_took(reason, took);
        }
        self.ctx.set_door_closed(true);
        self.timers.clear();
        self.refuse_leftovers();
        let deadline_reached = self.ctx.shutdown_deadline().is_cancelled();
        let mut first_failure = Ok(());
        for step in Step::ORDER {
            let started_at = self.ctx.clock().now();
            let result = self.run_step(*step, reason, deadline_reached).await;
            tracing::debug!(actor_id = %self.ctx.actor_id(), reason = reason.label(), step = ?step, took = ?self.ctx.clock().now().since(started_at), ok = result.is_ok(), "shutdown step");
            if let Err(error) = result {
                tracing::error!(actor_id = %self.ctx.actor_id(), step = ?step, %error, "shutdown step failed");
                first_failure = first_failure.and(Err(error));
            }
        }
        if first_failure.is_ok() && reason == ShutdownKind::Destroy {
            self.ctx.mark_destroy_completed();
        }
        first_failure
    }

    fn run_step(
        &mut self,
        step: Step,
        reason: ShutdownKind,
        deadline_reached: bool,
    ) -> Pin<Box<dyn Future<Output = Result<()>> + Send + '_>> {
        Box::pin(async move {
            match step {
                Step::EndTransactions => {
                    self.ctx.wind_down_user_sql().await;
                    Ok(())
                }
                Step::JoinPersistence => {
                    self.finish_pending_persistence().await;
                    self.next_workflow_flush();
                    Ok(())
                }
                Step::FinalSave => {
                    let saved = self.save_final_state(reason).await;
                    self.ctx.with_book(|book| book.close());
                    saved
                }
                Step::CloseAdapter => {
                    self.ctx.close_actor_events();
                    let cut = deadline_reached || self.persistence.hangs;
                    if cut && let Some(adapter) = &self.adapter {
                        adapter.abort();
                    }
                    self.join_adapter().await;
                    Ok(())
                }
                Step::TeardownWork => {
                    self.ctx.0.work.teardown(deadline_reached).await;
                    Ok(())
                }
                Step::SettleAlarm => match reason {
                    ShutdownKind::Sleep => {
                        let looked = self.ctx.wake_for_cut_off_receivers().await;
                        self.ctx.settle_alarm().await.and(looked)
                    }
                    ShutdownKind::Destroy => self.ctx.clear_alarm().await,
                },
                Step::CloseDatabase => self.close_database().await,
            }
        })
    }

    /// Nothing of this generation reaches its storage or its alarm afterwards. A
    /// store that has ended has closed the database already.
    pub(super) async fn close_database(&mut self) -> Result<()> {
        self.ctx.close_alarm().await;
        self.ctx.seal_state();
        self.ctx.end_storage_turns();
        match self.ctx.close_database().await {
            Err(error) if !error.is(&code::SQLITE_CLOSED) => Err(error),
            _ => Ok(()),
        }
    }

    pub(super) async fn join_adapter(&mut self) {
        let Some(adapter) = self.adapter.take() else {
            return;
        };
        match adapter.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::error!(actor_id = %self.ctx.actor_id(), %error, "adapter failed during shutdown");
            }
            Err(error) if error.is_cancelled() => {}
            Err(error) => {
                tracing::error!(actor_id = %self.ctx.actor_id(), %error, "adapter panicked during shutdown");
            }
        }
    }

    /// The registry let go of the task: no grace, no final save, but a write in
    /// flight is joined and the database closed.
    pub(super) async fn run_terminated(&mut self) {
        if self.state == LifecycleState::Terminated {
            return;
        }
        self.ctx.abort_signal().cancel();
        self.ctx.shutdown_deadline().cancel();
        self.ctx.suspend_alarms();
        self.timers.clear();
        self.transition_to(LifecycleState::Terminated);
        self.ctx.set_door_closed(true);
        self.refuse_leftovers();
        if let Some(adapter) = &self.adapter {
            adapter.abort();
        }
        self.ctx.wind_down_user_sql().await;
        self.finish_pending_persistence().await;
        self.ctx.close_actor_events();
        self.join_adapter().await;
        self.ctx.0.work.teardown(true).await;
        if let Err(error) = self.close_database().await {
            tracing::error!(actor_id = %self.ctx.actor_id(), %error, "database did not close");
        }
    }
}

/// Steps of finalize, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// What user code left open would hold up the saves below.
    EndTransactions,
    /// A dispatched commit cannot be cancelled: its outcome is awaited.
    JoinPersistence,
    /// The last state goes to disk; remaining waiters hear of failure.
    FinalSave,
    /// The event stream ends, then the adapter.
    CloseAdapter,
    /// Tracked work is drained, or cut when time ran out.
    TeardownWork,
    /// Sleep leaves the alarm with the host: it wakes the next generation.
    SettleAlarm,
    /// Last: everything above may use it.
    CloseDatabase,
}

impl Step {
    const ORDER: &[Step] = &[
        Self::EndTransactions,
        Self::JoinPersistence,
        Self::FinalSave,
        Self::CloseAdapter,
        Self::TeardownWork,
        Self::SettleAlarm,
        Self::CloseDatabase,
    ];
}
