//! The output gate: what must be on disk before an answer leaves.
//!
//! A new actor's first writes are held in memory and made durable as one commit
//! while its first requests already run; their answers wait here. Failure is
//! sticky: once the gate has failed, every later answer fails with it.

use greenroom_error::{Error, Result};
use tokio::sync::watch;

use crate::actor::context::ActorContext;
use crate::config::Durability;

/// State of the startup commit.
#[derive(Debug, Default)]
enum Startup {
    /// Nothing to wait for.
    #[default]
    Settled,
    InFlight,
    Failed(Error),
}

/// One per generation.
pub(crate) struct OutputGate {
    startup: watch::Sender<Startup>,
}

impl Default for OutputGate {
    fn default() -> Self {
        Self {
            startup: watch::Sender::new(Startup::Settled),
        }
    }
}

impl OutputGate {
    pub(crate) fn begin_startup_commit(&self) {
        self.startup.send_replace(Startup::InFlight);
    }

    pub(crate) fn finish_startup_commit(&self, result: Result<()>) {
        self.startup.send_replace(match result {
            Ok(()) => Startup::Settled,
            Err(error) => Startup::Failed(error),
        });
    }

    /// True when nothing holds answers back; the common case, without an await.
    fn is_open(&self) -> bool {
        matches!(*self.startup.borrow(), Startup::Settled)
    }

    async fn startup_settled(&self) -> Result<()> {
        let mut startup = self.startup.subscribe();
        let settled = startup
            .wait_for(|state| !matches!(state, Startup::InFlight))
            .await;
        match settled.as_deref() {
            Ok(Startup::Failed(error)) => Err(error.duplicate()),
            // The sender lives in the context this borrows.
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

impl ActorContext {
    /// Waits until everything that an answer given now relies on is durable.
    pub(crate) async fn wait_output(&self) -> Result<()> {
        if !self.0.output.is_open() {
            self.0.output.startup_settled().await?;
        }
        if self.config().durability == Durability::Reply {
            self.save_pending_changes().await?;
        }
        Ok(())
    }
}
