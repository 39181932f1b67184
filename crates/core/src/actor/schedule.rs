//! The actor's one alarm at the host.
//!
//! Owns what was last asked of the host. Stored schedules and cron jobs are not
//! here yet: their calls answer `actor/not_configured` at the edge.

use greenroom_error::Result;
use parking_lot::Mutex;

use crate::actor::context::ActorContext;

/// Alarm bookkeeping of one generation.
#[derive(Default)]
pub(crate) struct ScheduleRoom {
    /// What the host was last told and has acknowledged.
    last_pushed: Mutex<Option<i64>>,
}

impl ActorContext {
    pub(crate) fn load_last_pushed_alarm(&self, at_ms: Option<i64>) {
        *self.0.schedule.last_pushed.lock() = at_ms;
    }

    /// Arms or clears the actor's wake-up directly (Unix milliseconds); resolves
    /// when the host has stored it.
    pub async fn set_alarm(&self, at_ms: Option<i64>) -> Result<()> {
        if *self.0.schedule.last_pushed.lock() == at_ms {
            return Ok(());
        }
        self.0.host.set_alarm(self.actor(), at_ms).await?;
        *self.0.schedule.last_pushed.lock() = at_ms;
        Ok(())
    }
}
