//! Turns at the actor's database for calls that come one by one.
//!
//! The database refuses more than a bounded number of waiting jobs. User code may
//! start any number of calls at once; they wait here, in order, instead of
//! failing. After the database is closed for good no call gets a turn, so that a
//! late one cannot reopen the file of an actor that sleeps.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use greenroom_error::{Error, Result, code};
use tokio::sync::{Mutex, Semaphore};

use crate::actor::context::ActorContext;

/// Calls of one actor that may be at its database at the same time.
const TURNS: usize = 32;

pub(crate) struct StorageTurns {
    turns: Semaphore,
    /// Held from the wait for a turn until the call is in the database's line.
    line: Mutex<()>,
}

impl Default for StorageTurns {
    fn default() -> Self {
        Self {
            turns: Semaphore::new(TURNS),
            line: Mutex::default(),
        }
    }
}

impl ActorContext {
    /// Runs a call whose first poll puts it in the database's line;
    /// `sqlite/transaction_closed` once there are no turns. Calls get there in the
    /// order in which they came here: turns alone are given out in order, and used by
    /// tasks that race each other.
    pub(crate) async fn in_turn<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        let mut call = pin!(call);
        let (first, _turn) = {
            let StorageTurns { turns, line } = &self.0.storage_turns;
            let _line = line.lock().await;
            let turn = turns.acquire().await.map_err(|_| self.storage_closed())?;
            let first = poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx))).await;
            (first, turn)
        };
        match first {
            Poll::Ready(result) => result,
            Poll::Pending => call.await,
        }
    }

    pub(crate) fn end_storage_turns(&self) {
        self.0.storage_turns.turns.close();
    }

    pub(crate) fn storage_closed(&self) -> Error {
        self.attach_actor(Error::new(&code::SQLITE_TRANSACTION_CLOSED))
    }
}
