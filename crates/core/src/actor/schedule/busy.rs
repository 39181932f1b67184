//! Counts what the schedules of an actor have under way, so that whoever moves a
//! clock by hand knows when it has come to rest.

use tokio::sync::watch;

use crate::actor::context::ActorContext;

#[derive(Default)]
pub(super) struct Busy(watch::Sender<usize>);

impl Busy {
    /// Counts until the guard is dropped, however that happens.
    pub(super) fn hold(&self, ctx: &ActorContext) -> BusyGuard {
        self.0.send_modify(|count| *count += 1);
        BusyGuard(ctx.clone())
    }

    pub(super) async fn settled(&self) {
        // The sender is borrowed for as long: waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// Counts one piece of work until dropped.
pub struct BusyGuard(ActorContext);

impl std::fmt::Debug for BusyGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BusyGuard")
    }
}

impl Drop for BusyGuard {
    fn drop(&mut self) {
        let count = &self.0.0.schedule.busy.0;
        count.send_modify(|count| *count -= 1);
    }
}
