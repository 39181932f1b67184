//! The data of one actor as one file: out while it lives, in while it sleeps.

use std::path::PathBuf;
use std::sync::Arc;

use greenroom_error::{Error, Result, code};
use greenroom_store::Database;
use greenroom_wire::{ActorId, ActorKey};

use crate::embedded::EmbeddedHost;
use crate::resident::{Phase, Resident, Wish};
use crate::shared::Shared;
use crate::target::{Target, not_found};

impl EmbeddedHost {
    /// Copies an actor's data, as far as it is committed, into the new file
    /// `file`. The actor goes on meanwhile, but for its statements and saves,
    /// which wait.
    ///
    /// # Errors
    /// `actor/not_found`; `napi/invalid_argument` if the file exists; storage
    /// errors.
    pub async fn backup(&self, target: &Target, file: PathBuf) -> Result<()> {
        let shared = self.shared();
        shared.check_open()?;
        let resident = shared.find(target).await?;
        let backup = shared.database_of(&resident.id)?.backup(file.clone()).await;
        match backup {
            // It was made a moment ago and has no data before its first start.
            Err(error) if error.is(&code::SQLITE_CLOSED) && shared.is_open() => {
                self.wake(target).await?;
                shared.database_of(&resident.id)?.backup(file).await
            }
            outcome => outcome,
        }
    }

    /// Puts an actor to sleep, replaces its data by a copy of `file` and starts
    /// it again. On an error it keeps the data it had.
    ///
    /// # Errors
    /// `actor/not_found`; `napi/invalid_argument` if the file is no sound
    /// database; `protocol/invalid_persisted_data` if a newer version wrote it;
    /// storage errors.
    pub async fn restore(&self, target: &Target, file: PathBuf) -> Result<()> {
        let shared = Arc::clone(self.shared());
        shared.check_open()?;
        let resident = shared.find(target).await?;
        // A task of its own: a caller that goes away must not leave it half done.
        let replacing = self
            .shared()
            .runtime
            .spawn(async move { shared.replace(resident, file).await });
        replacing.await.unwrap_or_else(|_| Err(not_restored()))
    }

    /// Makes a new actor with a copy of `file` as its data, and starts it.
    ///
    /// # Errors
    /// `actor/duplicate_key`; `actor/not_found` for a type that is not
    /// registered; as [`restore`](Self::restore), and then there is no actor.
    pub async fn import(&self, name: &str, key: &ActorKey, file: PathBuf) -> Result<ActorId> {
        let record = self.shared().create_asleep(name, key).await?;
        let target = Target::Id(record);
        match self.restore(&target, file).await {
            Ok(()) => Ok(record),
            Err(error) => {
                if let Err(left) = self.destroy(&record).await {
                    tracing::warn!(actor_id = %record, error = %left, "an actor whose data could not be imported is left without");
                }
                Err(error)
            }
        }
    }
}

fn not_restored() -> Error {
    Error::internal("replacing an actor's data panicked")
}

impl Shared {
    /// The database of an actor; it gets no file before its creation is durable.
    pub(crate) fn database_of(&self, id: &ActorId) -> Result<Database> {
        let path = self.data_dir.look(|data| data.actor_path(id))?;
        let resident = self.residents.by_id(id);
        Ok(
            match resident.and_then(|resident| resident.pending_commit()) {
                Some(commit) => self.store.database_after(path, commit),
                None => self.store.database(path),
            },
        )
    }

    async fn replace(&self, resident: Arc<Resident>, file: PathBuf) -> Result<()> {
        let resident = self.hold_asleep(resident).await?;
        let outcome = match self.database_of(&resident.id) {
            Ok(database) => database.replace(file).await,
            Err(error) => Err(error),
        };
        resident.end_replacement();
        if outcome.is_ok() {
            // The start arms the alarm of the schedules that came with the data.
            self.begin_start(&resident);
        } else {
            self.forget_when_calm(&resident);
        }
        outcome
    }

    /// Puts the actor to sleep and takes the right to replace its data.
    async fn hold_asleep(&self, mut resident: Arc<Resident>) -> Result<Arc<Resident>> {
        let mut phases = resident.subscribe();
        loop {
            self.check_open()?;
            let phase = phases.borrow_and_update().clone();
            match phase {
                Phase::Asleep if resident.claim_replacement() => return Ok(resident),
                Phase::Live(handle) => self.begin_stop(handle.actor(), Wish::Sleep),
                Phase::Destroyed => return Err(not_found()),
                // Fell out of memory in this moment.
                Phase::Forgotten => {
                    resident = self.find(&Target::Id(resident.id)).await?;
                    phases = resident.subscribe();
                    continue;
                }
                _ => {}
            }
            if phases.changed().await.is_err() {
                return Err(not_found());
            }
        }
    }
}
