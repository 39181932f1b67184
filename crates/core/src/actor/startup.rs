//! The start sequence: storage, memory, adapter, ready.
//!
//! A new actor's writes (schema, user migrations, initial state) are held and
//! made durable as one commit; its first requests run meanwhile and their
//! answers wait at the output gate. A start that fails leaves nothing marked as
//! initialised, so the next one begins anew.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use futures_util::FutureExt;
use greenroom_error::{Error, Result, code};
use greenroom_store::ConnRow;
use serde_json::json;

use crate::actor::conn_rows;
use crate::actor::connection::ConnHandle;
use crate::actor::factory::ActorStart;
use crate::actor::lifecycle::LifecycleState;
use crate::actor::task::{self, ActorTask, LiveExit, PendingStart};
use crate::clock::Instant;
use crate::figures::{StartKind, StartPhase};
use crate::host::{HeldSocket, HibernationId};
use crate::reply::{Reply, reply};

impl ActorTask {
    /// First half: up to the running preamble. The loop then goes on, so that
    /// saves asked for by start hooks are served.
    pub(super) async fn begin_start(&mut self, reply: Reply<()>) -> Option<LiveExit> {
        let began = self.ctx.clock().now();
        let loaded = self.load_storage().await;
        let kind = StartKind {
            phase: StartPhase::LoadPersisted,
            is_new: None,
            succeeded: loaded.is_ok(),
        };
        self.count_start(kind, began);
        match loaded {
            Ok(loaded) => {
                self.spawn_adapter(loaded, began, reply);
                None
            }
            Err(error) => self.fail_start(error, reply).await,
        }
    }

    fn count_start(&self, kind: StartKind, since: Instant) {
        let took = self.ctx.clock().now().since(since);
        self.ctx.type_figures().start_took(kind, took);
    }

    async fn load_storage(&mut self) -> Result<Loaded> {
        let startup = self.ctx.sql().start().await?;
        let bootstrapped = startup.bootstrapped;
        let hibernated = self.restore_connections(startup.conns);
        if startup.interrupted_fires {
            self.ctx.recover_interrupted_fires().await;
        }
        self.ctx.load_run_wake(startup.run_wake_at);
        let now = self.ctx.clock().now_ms();
        let redelivery = match startup.has_leases {
            true => self.ctx.sql().next_redelivery(i64::MIN).await?,
            false => None,
        };
        self.ctx.begin_generation_at(now);
        self.ctx
            .load_alarm(startup.last_pushed_alarm, startup.next_schedule, redelivery)
            .await;
        let (is_new, snapshot) = match startup.snapshot {
            Some(snapshot) => {
                let state = Bytes::from(snapshot.state);
                let input = snapshot.input.map(Bytes::from);
                self.ctx
                    .load_state(snapshot.has_initialized, input, state.clone());
                (!snapshot.has_initialized, Some(state))
            }
            None => {
                let input = self.ctx.input();
                self.ctx.load_state(false, input, Bytes::new());
                (true, None)
            }
        };
        self.ctx
            .load_inspector_token(startup.inspector_token)
            .await?;
        Ok(Loaded {
            is_new,
            corked: bootstrapped,
            snapshot: snapshot.filter(|_| !is_new),
            hibernated,
        })
    }

    /// Connections whose socket the host still holds live on; the others' rows
    /// are deleted with the next save, without `onDisconnect`.
    fn restore_connections(&self, rows: Vec<ConnRow>) -> Vec<ConnHandle> {
        let held = self.ctx.host().held_sockets(self.ctx.actor()).into_iter();
        let mut held: HashMap<_, _> = held.map(|socket| (socket.id, socket)).collect();
        let stored: Vec<_> = rows
            .into_iter()
            .filter_map(|row| self.read_row(row))
            .collect();
        let mut restored = self.restore_held(&stored, &mut held);
        let others: Vec<_> = stored
            .into_iter()
            .filter(|conn| self.ctx.conn(conn.id()).is_none())
            .collect();
        if !others.is_empty() {
            let adopted = self.ctx.host().adopt_sockets(&self.ctx, &others);
            let mut adopted = adopted.into_iter().map(|s| (s.id, s)).collect();
            restored.extend(self.restore_held(&others, &mut adopted));
        }
        for conn in others {
            if self.ctx.conn(conn.id()).is_none() {
                self.ctx.queue_hibernation_removal(conn.id());
            }
        }
        // A crash came before their first save.
        for socket in held.into_values() {
            if let Some(conn) = &socket.conn {
                let conn = conn.for_next_generation();
                conn.attach_transport(socket.transport);
                self.ctx.restore_conn(conn.clone());
                self.ctx.queue_hibernation_update(conn.id());
                restored.push(conn);
            }
        }
        restored
    }

    fn read_row(&self, row: ConnRow) -> Option<ConnHandle> {
        let id = row.conn_id.clone();
        match conn_rows::from_row(row) {
            Ok(conn) => Some(conn),
            Err(error) => {
                tracing::warn!(actor_id = %self.ctx.actor_id(), %error, "a stored connection cannot be read and is dropped");
                self.ctx.queue_hibernation_removal(&id);
                None
            }
        }
    }

    /// Restores those of the stored connections that have a socket, and takes the
    /// sockets out.
    fn restore_held(
        &self,
        stored: &[ConnHandle],
        held: &mut HashMap<HibernationId, HeldSocket>,
    ) -> Vec<ConnHandle> {
        let mut restored = Vec::new();
        for conn in stored {
            let id = conn.hibernation().map(|meta| meta.id);
            let Some(socket) = id.and_then(|id| held.remove(&id)) else {
                continue;
            };
            // State goes with the actor's; of subscriptions the client knows better.
            if let Some(last) = &socket.conn {
                conn.replace_subscriptions(last.subscriptions());
            }
            conn.attach_transport(socket.transport);
            self.ctx.restore_conn(conn.clone());
            restored.push(conn.clone());
        }
        restored
    }

    fn spawn_adapter(&mut self, loaded: Loaded, began: Instant, start_reply: Reply<()>) {
        self.transition_to(LifecycleState::Started);
        let (startup_ready, ready) = reply();
        let waiting = task::StartPhase::Waiting(PendingStart {
            ready,
            reply: start_reply,
            is_new: loaded.is_new,
            corked: loaded.corked,
            began,
            loaded: self.ctx.clock().now(),
        });
        let task::StartPhase::Before(events) = std::mem::replace(&mut self.start, waiting) else {
            unreachable!("on_start admits one start, in Loading");
        };
        let start = ActorStart {
            ctx: self.ctx.clone(),
            input: self.ctx.input(),
            is_new: loaded.is_new,
            snapshot: loaded.snapshot,
            hibernated: loaded.hibernated,
            events,
            startup_ready,
        };
        let factory = self.factory.clone();
        self.adapter = Some(tokio::spawn(async move {
            // The entry itself may panic before it returns its future.
            let entry = AssertUnwindSafe(async { factory.start(start).await });
            entry.catch_unwind().await.unwrap_or_else(|_| {
                Err(Error::with(
                    &code::ACTOR_PANICKED,
                    json!({ "operation": "run handler" }),
                ))
            })
        }));
    }

    /// Second half, once the preamble has answered.
    pub(super) async fn finish_start(&mut self, ready: Result<()>) -> Option<LiveExit> {
        let task::StartPhase::Waiting(pending) =
            std::mem::replace(&mut self.start, task::StartPhase::Done)
        else {
            return None;
        };
        let kind = StartKind {
            phase: StartPhase::RuntimePreamble,
            is_new: Some(pending.is_new),
            succeeded: ready.is_ok(),
        };
        self.count_start(kind, pending.loaded);
        let finished = match ready {
            Ok(()) => self.settle_new_actor(&pending).await,
            Err(error) => Err(self.reason_of_failed_preamble(error).await),
        };
        let kind = StartKind {
            phase: StartPhase::Total,
            is_new: Some(pending.is_new),
            succeeded: finished.is_ok(),
        };
        self.count_start(kind, pending.began);
        match finished {
            Ok(()) => {
                self.has_started = true;
                self.ctx.type_figures().actor_started();
                // Idleness begins here: who woke the actor could not come before.
                self.ctx.0.work.poke();
                self.arm_sleep_timer();
                self.ctx.resume_alarms();
                self.arm_alarm();
                pending.reply.send(Ok(()));
                None
            }
            Err(error) => self.fail_start(error, pending.reply).await,
        }
    }

    /// An adapter that died took its reply with it: its own end says why.
    async fn reason_of_failed_preamble(&mut self, error: Error) -> Error {
        if !error.is(&code::ACTOR_DROPPED_REPLY) {
            return error;
        }
        let Some(adapter) = self.adapter.take() else {
            return error;
        };
        adapter.abort();
        match adapter.await {
            Ok(Err(reason)) => reason,
            Ok(Ok(())) | Err(_) => error,
        }
    }

    async fn settle_new_actor(&mut self, pending: &PendingStart) -> Result<()> {
        if pending.is_new {
            self.ctx.persist_initialized().await?;
        }
        if pending.corked {
            self.ctx.0.output.begin_startup_commit();
            let ctx = self.ctx.clone();
            // Not tracked work: teardown closes the database, which commits what
            // is held, and closing waits for this.
            tokio::spawn(async move {
                let committed = ctx.sql().commit_startup().await;
                if committed.is_ok() {
                    ctx.announce_inspector_token();
                }
                if let Err(error) = &committed {
                    tracing::error!(actor_id = %ctx.actor_id(), %error, "the first commit of a new actor failed");
                    ctx.end_unsaved(format!("startup commit failed: {error}"));
                }
                ctx.0.output.finish_startup_commit(committed);
            });
        } else {
            self.ctx.announce_inspector_token();
        }
        Ok(())
    }

    /// No grace: what was begun is undone, the reason goes to the host.
    async fn fail_start(&mut self, error: Error, reply: Reply<()>) -> Option<LiveExit> {
        let error = self.ctx.attach_actor(error);
        // The host logs it, with the actor's name.
        tracing::debug!(actor_id = %self.ctx.actor_id(), %error, "actor start failed");
        self.start = task::StartPhase::Done;
        self.ctx.abort_signal().cancel();
        self.ctx.shutdown_deadline().cancel();
        if let Some(adapter) = &self.adapter {
            adapter.abort();
        }
        self.ctx.close_actor_events();
        self.join_adapter().await;
        self.ctx.wind_down_user_sql().await;
        self.finish_pending_persistence().await;
        self.ctx.0.work.teardown(true).await;
        if let Err(error) = self.close_database().await {
            tracing::error!(actor_id = %self.ctx.actor_id(), %error, "database did not close after a failed start");
        }
        self.transition_to(LifecycleState::Terminated);
        self.refuse_leftovers();
        reply.send(Err(error));
        Some(LiveExit::Terminated)
    }
}

/// What storage knew.
struct Loaded {
    is_new: bool,
    corked: bool,
    snapshot: Option<Bytes>,
    hibernated: Vec<ConnHandle>,
}
