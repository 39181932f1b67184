//! Stopping generations, and what comes after: rest, a restart, or the end.

use std::sync::Arc;

use greenroom_core::{ActorHandle, ActorRef, StopReason};
use greenroom_error::{Error, Result, code};
use greenroom_wire::ActorId;

use crate::resident::{Phase, Resident, Wish};
use crate::shared::Shared;
use crate::start::log_unnoted;
use crate::target::Target;

impl Shared {
    /// Carries out a wish, if that generation still lives and nobody was first.
    pub(crate) fn begin_stop(&self, actor: ActorRef, wish: Wish) {
        let Some(resident) = self.residents.by_id(&actor.actor_id) else {
            return;
        };
        if let Some(me) = self.me()
            && let Some(handle) = resident.begin_stop(actor, &wish)
        {
            self.spawn(async move { me.stop(resident, handle, wish).await });
        }
    }

    async fn stop(&self, resident: Arc<Resident>, handle: Arc<ActorHandle>, wish: Wish) {
        let actor = handle.actor();
        let reason = match &wish {
            Wish::Evict => {
                self.registry.abandon_actor(actor).await;
                self.settle(&resident).await;
                return;
            }
            Wish::Sleep | Wish::Crash(_) => StopReason::SleepIntent,
            Wish::GoingAway => StopReason::GoingAway,
            Wish::Destroy { from_outside: true } => StopReason::Destroy,
            Wish::Destroy {
                from_outside: false,
            } => StopReason::StopIntent,
        };
        let report = match self.registry.stop_actor(actor, reason).await {
            Ok(report) => report,
            Err(error) => {
                tracing::error!(actor_id = %resident.id, %error, "an actor did not stop cleanly");
                Some(error.to_string())
            }
        };
        drop(handle);
        if matches!(wish, Wish::Destroy { .. }) {
            self.remove(&resident).await;
            return;
        }
        let crash = match wish {
            Wish::Crash(text) => Some(report.unwrap_or(text)),
            _ => report,
        };
        self.rest(&resident, crash).await;
    }

    /// An instance is gone and the actor goes on to exist.
    async fn rest(&self, resident: &Arc<Resident>, crash: Option<String>) {
        // One that crashed keeps its pause.
        let slept = crash.is_none();
        match crash {
            None => {
                let now = self.clock().now_ms();
                log_unnoted(resident, self.directory.note_slept(&resident.id, now).await);
                if resident.input_is_stored() {
                    let noted = self.directory.note_initialized(&resident.id).await;
                    log_unnoted(resident, noted);
                }
            }
            Some(text) => {
                tracing::error!(actor_id = %resident.id, name = %resident.name, key = %resident.key, error = %text, "an actor crashed");
                let now = self.clock().now();
                resident.trouble(|trouble| trouble.crashed(now));
                let noted = self.directory.note_error(&resident.id, Some(text));
                log_unnoted(resident, noted.await);
            }
        }
        self.settle(resident).await;
        if slept {
            self.bell.came_to_rest(resident.id, self.clock().now());
        }
    }

    /// Without an instance: asleep, or on to the end if a destroy was asked for.
    pub(crate) async fn settle(&self, resident: &Arc<Resident>) {
        self.sockets.generation_ended(ActorRef {
            actor_id: resident.id,
            generation: resident.generation(),
        });
        if resident.settle_after_stop() {
            self.remove(resident).await;
        } else {
            self.forget_when_calm(resident);
        }
    }

    /// A generation refuses work although nobody stopped it. If its task has
    /// ended by itself, the actor is put to rest, and whoever waits may start it.
    pub(crate) fn look_after(&self, resident: &Arc<Resident>, handle: &Arc<ActorHandle>) {
        let actor = handle.actor();
        let instance = self.registry.lookup(&actor.actor_id).instance();
        let is_here = instance.is_some_and(|here| here.actor() == actor);
        if is_here || !resident.claim_ended(actor, handle) {
            return;
        }
        if let Some(me) = self.me() {
            let resident = Arc::clone(resident);
            self.spawn(async move {
                me.rest(&resident, Some("the actor's task ended".to_owned()))
                    .await;
            });
        }
    }

    /// The end of an actor without an instance: first the directory, durably, so
    /// that no crash can bring it back; then its files; then the key is free.
    pub(crate) async fn remove(&self, resident: &Arc<Resident>) {
        let now = self.clock().now_ms();
        if let Err(error) = self.directory.mark_destroyed(&resident.id, now).await {
            tracing::error!(actor_id = %resident.id, %error, "an actor could not be marked as destroyed; it lives on");
            resident.note_failed_removal(error);
            self.forget_when_calm(resident);
            return;
        }
        let path = self.data_dir.look(|data| data.actor_path(&resident.id));
        let removed = match path {
            Ok(path) => self.store.database(path).remove().await,
            Err(error) => Err(error),
        };
        if let Err(error) = removed {
            tracing::warn!(actor_id = %resident.id, %error, "files of a destroyed actor are left for the next sweep");
        }
        self.residents.remove_destroyed(resident);
        self.sockets.actor_destroyed(&resident.id);
    }

    /// Destroys an actor from outside and waits for its end. Destroying what is
    /// destroyed already is fine.
    ///
    /// # Errors
    /// `actor/not_found` for an id that no actor ever had; storage errors.
    pub(crate) async fn destroy(&self, id: &ActorId) -> Result<()> {
        self.check_open()?;
        let resident = match self.find(&Target::Id(*id)).await {
            Ok(resident) => resident,
            Err(error) if error.is(&code::ACTOR_NOT_FOUND) => {
                let record = self.directory.by_id(id).await?;
                return record.map(drop).ok_or(error);
            }
            Err(error) => return Err(error),
        };
        let mut phases = resident.subscribe();
        let failures = resident.trouble(|trouble| trouble.failed_removals());
        loop {
            let phase = phases.borrow_and_update().clone();
            match phase {
                Phase::Destroyed => return Ok(()),
                // Fell asleep and out of memory in this moment.
                Phase::Forgotten => return Box::pin(self.destroy(id)).await,
                Phase::Asleep => {
                    if let Some(error) = resident.trouble(|t| t.removal_failure_since(failures)) {
                        return Err(error);
                    }
                    self.begin_removal(&resident);
                }
                Phase::Live(handle) | Phase::Stopping(handle, _) => {
                    let wish = Wish::Destroy { from_outside: true };
                    self.begin_stop(handle.actor(), wish);
                }
                Phase::Starting | Phase::Removing | Phase::Replacing => {}
            }
            if phases.changed().await.is_err() {
                return Err(Error::new(&code::ACTOR_DESTROYING));
            }
        }
    }

    fn begin_removal(&self, resident: &Arc<Resident>) {
        if let Some(me) = self.me()
            && resident.claim_removal()
        {
            let resident = Arc::clone(resident);
            self.spawn(async move { me.remove(&resident).await });
        }
    }
}
