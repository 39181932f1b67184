//! The run wake: a time at which the run handler is to be at work again.
//!
//! Persisted, so that it wakes an actor that sleeps or whose process died. The
//! host's alarm is the earlier of this and the next schedule. Each setting has a
//! revision: a wake that could not be carried out is put back only if nobody has
//! set another since.

use greenroom_error::Result;
use greenroom_store::SaveBatch;
use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;

use crate::actor::context::ActorContext;

#[derive(Default)]
pub(crate) struct RunWakeRoom {
    known: Mutex<Known>,
    /// One write at a time, so that the last setting is the one on disk.
    writing: AsyncMutex<()>,
}

#[derive(Clone, Copy, Default)]
struct Known {
    at: Option<i64>,
    revision: u64,
}

/// A run wake whose time came, taken to be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DueRunWake {
    pub at: i64,
    pub revision: u64,
}

impl ActorContext {
    pub(crate) fn load_run_wake(&self, at: Option<i64>) {
        self.0.run_wake.known.lock().at = at;
    }

    /// Unix milliseconds of the run wake that is set.
    pub fn run_wake_at(&self) -> Option<i64> {
        self.0.run_wake.known.lock().at
    }

    /// Sets or clears the run wake (Unix milliseconds); resolves when it survives
    /// a crash.
    pub async fn set_run_wake_at(&self, at: Option<i64>) -> Result<()> {
        let _writing = self.0.run_wake.writing.lock().await;
        self.write_run_wake(at).await?;
        self.0.run_wake.known.lock().revision += 1;
        self.alarm_changed();
        self.sync_alarm_logged().await;
        Ok(())
    }

    /// Takes a run wake that is due, on disk too.
    pub(crate) async fn take_due_run_wake(&self, now: i64) -> Result<Option<DueRunWake>> {
        if self.run_wake_at().is_none_or(|at| at > now) {
            return Ok(None);
        }
        let _writing = self.0.run_wake.writing.lock().await;
        let Known { at, revision } = *self.0.run_wake.known.lock();
        let Some(at) = at.filter(|at| *at <= now) else {
            return Ok(None);
        };
        self.write_run_wake(None).await?;
        Ok(Some(DueRunWake { at, revision }))
    }

    /// Puts back a run wake that was taken and could not be carried out, unless
    /// another was set or cleared meanwhile; whether it did.
    pub async fn restore_run_wake_at_if_unchanged(&self, at: i64, revision: u64) -> Result<bool> {
        let _writing = self.0.run_wake.writing.lock().await;
        let known = *self.0.run_wake.known.lock();
        if known.revision != revision || known.at.is_some() {
            return Ok(false);
        }
        self.write_run_wake(Some(at)).await?;
        self.alarm_changed();
        Ok(true)
    }

    async fn write_run_wake(&self, at: Option<i64>) -> Result<()> {
        let batch = SaveBatch {
            run_wake_at: Some(at),
            ..SaveBatch::default()
        };
        self.in_turn(self.sql().save(batch)).await?;
        self.0.run_wake.known.lock().at = at;
        Ok(())
    }
}
