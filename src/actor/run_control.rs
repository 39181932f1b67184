//! Whether the user's `run` handler is there, is running, and should run again.

use std::sync::atomic::{AtomicBool, Ordering};

use greenroom_error::{Error, Result};
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct RunControl {
    installed: AtomicBool,
    active: AtomicBool,
    restart: Notify,
}

impl RunControl {
    /// The generation has a handler and has come to the point of running it.
    pub(crate) fn install(&self) {
        self.installed.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_installed(&self) -> bool {
        self.installed.load(Ordering::SeqCst)
    }

    pub(crate) fn set_active(&self, active: bool) {
        self.active.store(active, Ordering::SeqCst);
    }

    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::SeqCst)
    }

    /// Gives the current run up and starts another.
    pub(crate) fn restart(&self) -> Result<()> {
        if !self.is_installed() {
            return Err(Error::invalid_state(
                "run handler restart",
                "not configured",
            ));
        }
        self.restart.notify_one();
        Ok(())
    }

    pub(crate) async fn restart_requested(&self) {
        self.restart.notified().await;
    }
}
