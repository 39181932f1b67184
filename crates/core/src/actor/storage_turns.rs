//! Turns at the actor's database for calls that come one by one.
//!
//! The database refuses more than a bounded number of waiting jobs. User code may
//! start any number of calls at once; they wait here, in order, instead of
//! failing. After the database is closed for good no call gets a turn, so that a
//! late one cannot reopen the file of an actor that sleeps.

use greenroom_error::{Error, Result, code};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::actor::context::ActorContext;

/// Calls of one actor that may be at its database at the same time.
const TURNS: usize = 32;

pub(crate) struct StorageTurns(Semaphore);

impl Default for StorageTurns {
    fn default() -> Self {
        Self(Semaphore::new(TURNS))
    }
}

impl ActorContext {
    /// Waits for a turn; `sqlite/transaction_closed` once there are none.
    pub(crate) async fn storage_turn(&self) -> Result<SemaphorePermit<'_>> {
        let turn = self.0.storage_turns.0.acquire().await;
        turn.map_err(|_| self.storage_closed())
    }

    pub(crate) fn end_storage_turns(&self) {
        self.0.storage_turns.0.close();
    }

    pub(crate) fn storage_closed(&self) -> Error {
        self.attach_actor(Error::new(&code::SQLITE_TRANSACTION_CLOSED))
    }
}
