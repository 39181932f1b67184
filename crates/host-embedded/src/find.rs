//! From a target to the resident of its actor.
//!
//! Asks memory first, then the directory. Creates; starts nothing.
//!
//! Invariant F1: an actor that is found may not be on disk yet. Its answers wait
//! for that, because its database gets no file before its row is durable; whoever
//! tells of an actor without starting it goes through [`Shared::find_durable`].

use std::sync::Arc;

use bytes::Bytes;
use greenroom_error::Result;
use greenroom_wire::{ActorId, ActorKey};

use crate::directory::{ActorRecord, NewActor};
use crate::resident::Resident;
use crate::shared::Shared;
use crate::target::{Missing, Target, not_found};

impl Shared {
    /// # Errors
    /// `actor/not_found` for an actor that does not exist and is not to be
    /// created, was destroyed, or is of a type that is not registered.
    pub(crate) async fn find(&self, target: &Target) -> Result<Arc<Resident>> {
        match target {
            Target::Id(id) => match self.residents.by_id(id) {
                Some(resident) => Ok(resident),
                None => self.find_by_id(id).await,
            },
            Target::Key { name, key, missing } => match self.residents.by_key(name, key) {
                Some(resident) => Ok(resident),
                None => self.find_by_key(name, key, missing).await,
            },
        }
    }

    /// As [`find`](Self::find), for who tells others that the actor exists.
    pub(crate) async fn find_durable(&self, target: &Target) -> Result<Arc<Resident>> {
        let resident = self.find(target).await?;
        if let Some(commit) = resident.pending_commit() {
            // In line after the creation, so answered after its commit.
            let record = self.directory.by_id(&resident.id).await?;
            if let Some(Err(error)) = commit.outcome() {
                // Its key is free for the next who asks.
                self.residents.forget(&resident);
                return Err(error);
            }
            record.ok_or_else(not_found)?;
        }
        Ok(resident)
    }

    async fn find_by_id(&self, id: &ActorId) -> Result<Arc<Resident>> {
        let record = self.directory.by_id(id).await?;
        let record = record.filter(|record| !record.is_destroyed());
        Ok(self.residents.adopt(record.ok_or_else(not_found)?))
    }

    async fn find_by_key(
        &self,
        name: &str,
        key: &ActorKey,
        missing: &Missing,
    ) -> Result<Arc<Resident>> {
        // A type that nobody registered has no actors worth waking.
        self.check_registered(name)?;
        match missing {
            Missing::Fail => {
                let record = self.directory.by_key(name, key).await?;
                Ok(self.residents.adopt(record.ok_or_else(not_found)?))
            }
            Missing::Create { input } => {
                let new = self.new_actor(name, key, input.clone());
                let spare = new.id;
                let (record, birth) = self.directory.get_or_create_started(new).await?;
                if record.id != spare {
                    self.spare_ids.give_back(spare);
                }
                birth.commit.outcome().unwrap_or(Ok(()))?;
                Ok(self.residents.adopt_new(record, birth))
            }
        }
    }

    pub(crate) fn check_registered(&self, name: &str) -> Result<()> {
        match self.registry.factory(name) {
            Some(_) => Ok(()),
            None => Err(not_found()),
        }
    }

    fn new_actor(&self, name: &str, key: &ActorKey, input: Option<Bytes>) -> NewActor {
        NewActor {
            id: self.new_actor_id(),
            name: name.to_owned(),
            key: key.clone(),
            input,
            create_ts: self.clock().now_ms(),
        }
    }

    /// The actor of this name and key, made and started if there is none. The
    /// flag tells whether it was.
    pub(crate) async fn get_or_create(
        &self,
        name: &str,
        key: &ActorKey,
        input: Option<Bytes>,
    ) -> Result<(ActorRecord, bool)> {
        self.check_open()?;
        self.check_registered(name)?;
        let new = self.new_actor(name, key, input);
        let spare = new.id;
        let (record, created) = self.directory.get_or_create(new).await?;
        if created {
            self.start_soon(record.clone());
        } else {
            self.spare_ids.give_back(spare);
        }
        Ok((record, created))
    }

    /// A new actor, started at once.
    ///
    /// # Errors
    /// `actor/duplicate_key` if the key is taken.
    pub(crate) async fn create(
        &self,
        name: &str,
        key: &ActorKey,
        input: Option<Bytes>,
    ) -> Result<ActorRecord> {
        self.check_open()?;
        self.check_registered(name)?;
        let record = self
            .directory
            .create(self.new_actor(name, key, input))
            .await?;
        self.start_soon(record.clone());
        Ok(record)
    }

    /// A new actor that nothing starts yet.
    ///
    /// # Errors
    /// `actor/duplicate_key` if the key is taken.
    pub(crate) async fn create_asleep(&self, name: &str, key: &ActorKey) -> Result<ActorId> {
        self.check_open()?;
        self.check_registered(name)?;
        let new = self.new_actor(name, key, None);
        Ok(self.directory.create(new).await?.id)
    }

    fn start_soon(&self, record: ActorRecord) {
        let resident = self.residents.adopt(record);
        self.begin_start(&resident);
    }
}
