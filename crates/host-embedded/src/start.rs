//! Starting generations: one at a time per actor, whoever asks.
//!
//! A start runs as a task of its own, so that a request that gives up does not
//! take the start of others with it.

use std::sync::Arc;

use bytes::Bytes;
use greenroom_core::{ActorHandle, ActorRef, Host, StartActor};
use greenroom_error::{Error, Result, code};

use crate::resident::{Resident, Wish};
use crate::shared::Shared;
use crate::trouble::{self, Trouble};

impl Shared {
    /// Starts the actor if it is asleep and nobody else does. Whoever waits sees
    /// the phase change.
    pub(crate) fn begin_start(&self, resident: &Arc<Resident>) {
        if !self.is_open() {
            return;
        }
        if let Some(me) = self.me()
            && resident.claim_start()
        {
            let resident = Arc::clone(resident);
            self.spawn(async move { me.start(resident).await });
        }
    }

    async fn start(&self, resident: Arc<Resident>) {
        match self.start_generation(&resident).await {
            Ok(handle) => self.on_started(&resident, handle).await,
            // The directory says so, and its word is final.
            Err(error) if error.is(&code::ACTOR_NOT_FOUND) => {
                self.residents.remove_destroyed(&resident);
                self.sockets.actor_destroyed(&resident.id);
            }
            Err(error) => self.on_failed_start(&resident, error).await,
        }
    }

    async fn start_generation(&self, resident: &Resident) -> Result<Arc<ActorHandle>> {
        let host: Arc<dyn Host> = self.me().ok_or_else(crate::shared::shut_down)?;
        if resident.is_stillborn() {
            // No directory has it, and no code of it runs.
            return Err(Error::new(&code::ACTOR_NOT_FOUND));
        }
        let generation = match resident.take_first_generation() {
            Some(first) if self.is_first_start(resident, first).await? => first,
            _ => self.directory.next_generation(&resident.id).await?,
        };
        resident.note_generation(generation);
        let start = StartActor {
            actor: ActorRef {
                actor_id: resident.id,
                generation,
            },
            name: resident.name.to_string(),
            key: resident.key.clone(),
            input: self.input_of(resident).await?,
        };
        let started = self.registry.start_actor(host, start).await;
        // A host may not be mistaken for a directory that has lost the actor.
        started.map_err(|error| match error.is(&code::ACTOR_NOT_FOUND) {
            true => Error::internal(error.to_string()).with_source(error),
            false => error,
        })
    }

    /// While the creation is under way nobody else can have found the actor. Once it
    /// is over, somebody may have started and destroyed it before it came to be here.
    async fn is_first_start(&self, resident: &Resident, first: u32) -> Result<bool> {
        let commit = resident.pending_commit();
        if commit.is_some_and(|commit| commit.outcome().is_none()) {
            return Ok(true);
        }
        self.directory.is_untouched(&resident.id, first).await
    }

    async fn input_of(&self, resident: &Resident) -> Result<Option<Bytes>> {
        if let Some(input) = resident.input() {
            return Ok(input);
        }
        let record = self.directory.by_id(&resident.id).await?;
        Ok(record.and_then(|record| record.input))
    }

    async fn on_started(&self, resident: &Arc<Resident>, handle: Arc<ActorHandle>) {
        let actor = handle.actor();
        let pending = resident.publish_live(Arc::clone(&handle), self.clock().now());
        self.sockets.generation_began(&handle);
        drop(handle);
        if let Some(wish) = pending {
            self.begin_stop(actor, wish);
        } else if !self.is_open() {
            self.begin_stop(actor, Wish::GoingAway);
        }
        let noted = self
            .directory
            .note_started(&resident.id, self.clock().now_ms());
        log_unnoted(resident, noted.await);
        // That was in line after the creation's commit.
        resident.end_birth();
        if resident.trouble(Trouble::take_noted) {
            log_unnoted(
                resident,
                self.directory.note_error(&resident.id, None).await,
            );
        }
    }

    async fn on_failed_start(&self, resident: &Arc<Resident>, error: Error) {
        // Where everything ends, starts that end with it are no news.
        if self.is_open() && !is_end_of_environment(&error) {
            tracing::warn!(actor_id = %resident.id, name = %resident.name, key = %resident.key, %error, "an actor did not start");
        }
        let text = error.to_string();
        let destroy = resident.note_failed_start(error, self.clock().now());
        log_unnoted(
            resident,
            self.directory.note_error(&resident.id, Some(text)).await,
        );
        resident.end_birth();
        if destroy {
            self.remove(resident).await;
            return;
        }
        self.settle(resident).await;
    }

    /// Drops a resident from memory: at once, or, with trouble behind it, once
    /// nobody has asked for it for a while.
    pub(crate) fn forget_when_calm(&self, resident: &Arc<Resident>) {
        if !resident.trouble(|trouble| trouble.is_worth_remembering()) {
            self.residents.forget(resident);
            return;
        }
        if let Some(me) = self.me()
            && resident.claim_calming()
        {
            let resident = Arc::clone(resident);
            self.spawn(async move {
                tokio::select! {
                    () = me.clock().sleep(trouble::MEMORY) => {}
                    () = me.ending.cancelled() => {}
                }
                resident.end_calming();
                // If it is awake, its next rest brings it back here.
                me.residents.forget(&resident);
            });
        }
    }
}

/// The thread that user code runs on is going away, and the actors with it.
fn is_end_of_environment(error: &Error) -> bool {
    error.is(&code::ACTOR_JS_CALLBACK_UNAVAILABLE)
}

/// Notes are for people who look; an actor does not depend on them.
pub(crate) fn log_unnoted(resident: &Resident, noted: Result<()>) {
    if let Err(error) = noted {
        tracing::warn!(actor_id = %resident.id, %error, "the directory of actors could not take a note");
    }
}
