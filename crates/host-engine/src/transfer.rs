//! The data of one actor as one file: out of an actor that lives here, and into
//! one that is made for it.
//!
//! The engine places actors, so neither works for one that lives in another
//! process of the pool.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use greenroom_core::{ActorRef, Host};
use greenroom_error::{Error, Result, code};
use greenroom_store::Database;
use greenroom_wire::{ActorId, ActorKey};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::api::NewActor;
use crate::join::EngineHost;
use crate::shared::Shared;

/// Time for the engine to start an actor here.
const START_TIME: Duration = Duration::from_secs(30);

/// Actors that begin with the data of a file, by name and key.
#[derive(Default)]
pub(crate) struct Imports(Mutex<HashMap<(String, ActorKey), Import>>);

struct Import {
    file: PathBuf,
    done: oneshot::Sender<Result<()>>,
}

impl Imports {
    fn take(&self, name: &str, key: &ActorKey) -> Option<Import> {
        let mut waiting = self.0.lock();
        // Nearly always, and a look costs no copy of the key.
        if waiting.is_empty() {
            return None;
        }
        waiting.remove(&(name.to_owned(), key.clone()))
    }
}

fn elsewhere() -> Error {
    Error::invalid_state("actor", "it lives in another process of its pool")
}

impl EngineHost {
    /// The actor of this name and key.
    ///
    /// # Errors
    /// `actor/not_found`; `engine/refused`, `engine/unreachable`.
    pub async fn find(&self, name: &str, key: &ActorKey) -> Result<ActorId> {
        let found = self.shared().api.find(name, key).await?;
        found.ok_or_else(|| Error::new(&code::ACTOR_NOT_FOUND))
    }

    /// Copies an actor's data, as far as it is committed, into the new file `file`.
    /// Wakes the actor, which has to live in this process.
    ///
    /// # Errors
    /// `actor/not_found`; `napi/invalid_state` if it lives elsewhere;
    /// `napi/invalid_argument` if the file exists; storage errors.
    pub async fn backup(&self, id: &ActorId, file: PathBuf) -> Result<()> {
        let shared = self.shared();
        shared.check_open()?;
        shared.api.wake(id).await?;
        let instance = shared.registry.lookup(id).instance();
        let handle = instance.ok_or_else(elsewhere)?;
        shared.open_storage(handle.actor())?.backup(file).await
    }

    /// Makes a new actor with a copy of `file` as its data. The engine has to place
    /// it in this process.
    ///
    /// # Errors
    /// `actor/duplicate_key`; `napi/invalid_argument` if the file is no sound
    /// database; `napi/invalid_state` if the actor was placed elsewhere; storage
    /// errors, and those of the engine. There is no actor then.
    pub async fn import(&self, name: &str, key: &ActorKey, file: PathBuf) -> Result<ActorId> {
        let shared = self.shared();
        shared.check_open()?;
        let entry = (name.to_owned(), key.clone());
        let (done, outcome) = oneshot::channel();
        let import = Import { file, done };
        if shared
            .imports
            .0
            .lock()
            .insert(entry.clone(), import)
            .is_some()
        {
            return Err(Error::invalid_state("import", "this key is being imported"));
        }
        let new = NewActor {
            name,
            key,
            pool: &shared.options.pool_name,
            input: None,
        };
        let created = shared.api.create(new).await;
        let id = match created {
            Ok(id) => id,
            Err(error) => {
                shared.imports.0.lock().remove(&entry);
                return Err(error);
            }
        };
        let outcome = shared.clock().timeout(START_TIME, outcome).await;
        let outcome = match outcome {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) | Err(_) => Err(elsewhere()),
        };
        shared.imports.0.lock().remove(&entry);
        let Err(error) = outcome else { return Ok(id) };
        if let Err(left) = shared.api.destroy(&id).await {
            tracing::warn!(actor_id = %id, error = %left, "an actor whose data could not be imported is left without");
        }
        Err(error)
    }
}

impl Shared {
    /// Gives a first generation the data that it is to begin with. What is returned
    /// has to be kept until the generation has opened its storage.
    pub(crate) async fn take_in(
        &self,
        actor: ActorRef,
        (name, key): (&str, &ActorKey),
    ) -> Result<Option<Database>> {
        let Some(import) = self.imports.take(name, key) else {
            return Ok(None);
        };
        let database = self.open_storage(actor)?;
        let outcome = database.replace(import.file).await;
        let failed = outcome.as_ref().err().map(ToString::to_string);
        // Who asked may have gone.
        drop(import.done.send(outcome));
        match failed {
            None => Ok(Some(database)),
            Some(reason) => Err(Error::internal(format!("no data to begin with: {reason}"))),
        }
    }
}
