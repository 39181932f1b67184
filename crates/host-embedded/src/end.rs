//! The end of the host: orderly, or as if the process had died.
//!
//! Order of an orderly end: no new connections and no new work; sockets answer what
//! runs and close; actors sleep, which lets running work finish; connections and
//! background tasks end; the directory and the store close; the data directory is
//! let go.

use std::sync::Arc;
use std::time::Duration;

use greenroom_error::Result;
use greenroom_wire::ActorId;

use crate::http::Port;
use crate::resident::{Phase, Resident, Wish};
use crate::shared::{Shared, Stage};
use crate::target::Target;

/// Time for sockets to finish where no port says how much.
const GOODBYE_TIME: Duration = Duration::from_secs(5);

impl Shared {
    pub(crate) async fn shutdown(self: &Arc<Self>) {
        if self.advance(Stage::Closing) {
            let me = Arc::clone(self);
            // A task of its own: a caller that goes away must not leave the host
            // half closed.
            self.runtime.spawn(async move { me.close_down().await });
        }
        self.closed().await;
    }

    async fn closed(&self) {
        let mut stage = self.stage.subscribe();
        // The sender lives in the host this borrows.
        let _ = stage.wait_for(|stage| *stage == Stage::Closed).await;
    }

    /// Moves the stage forward; true for the caller that did.
    fn advance(&self, next: Stage) -> bool {
        self.stage.send_if_modified(|stage| {
            let forward = next > *stage;
            if forward {
                *stage = next;
            }
            forward
        })
    }

    async fn close_down(&self) {
        let ports = std::mem::take(&mut *self.ports.lock());
        ports.iter().for_each(|port| port.stop_accepting());
        self.await_goodbyes(&ports).await;
        let resting = self.residents.all();
        let resting = resting.iter().map(|resident| self.put_to_rest(resident));
        futures_util::future::join_all(resting).await;
        self.ending.cancel();
        let finishing = ports.iter().map(|port| port.finish());
        futures_util::future::join_all(finishing).await;
        self.tasks.close();
        self.tasks.wait().await;
        self.let_go().await;
    }

    /// Connections end before their actors sleep: they do not outlive the process,
    /// and `onDisconnect` says so.
    async fn await_goodbyes(&self, ports: &[Arc<Port>]) {
        let sockets = &self.sockets;
        sockets.leaving.cancel();
        sockets.tasks.close();
        let longest = ports.iter().map(|port| port.close_timeout).max();
        let waiting = sockets.tasks.wait();
        let time = longest.unwrap_or(GOODBYE_TIME);
        if sockets.clock().timeout(time, waiting).await.is_err() {
            tracing::warn!(
                sockets = sockets.open_count(),
                "clients did not say goodbye in time"
            );
        }
    }

    async fn put_to_rest(&self, resident: &Arc<Resident>) {
        let mut phases = resident.subscribe();
        loop {
            let phase = phases.borrow_and_update().clone();
            match phase {
                phase if phase.is_at_rest() => return,
                Phase::Live(handle) => self.begin_stop(handle.actor(), Wish::GoingAway),
                _ => {}
            }
            if phases.changed().await.is_err() {
                return;
            }
        }
    }

    async fn let_go(&self) {
        if let Err(error) = self.directory.close().await {
            tracing::error!(%error, "the directory of actors did not close cleanly");
        }
        self.store.close().await;
        self.residents.clear();
        self.data_dir.release();
        self.advance(Stage::Closed);
    }

    pub(crate) async fn crash(self: &Arc<Self>) {
        let first = self.advance(Stage::Closing);
        if !first {
            return self.closed().await;
        }
        self.ending.cancel();
        let ports = std::mem::take(&mut *self.ports.lock());
        ports.iter().for_each(|port| port.cut());
        // Storage first: from here on nothing can be written any more, as if the
        // process were gone.
        self.store.close().await;
        if let Err(error) = self.directory.close().await {
            tracing::error!(%error, "the directory of actors did not close cleanly");
        }
        for actor in self.registry.instance_refs() {
            let registry = Arc::clone(&self.registry);
            self.runtime
                .spawn(async move { registry.abandon_actor(actor).await });
        }
        self.residents.clear();
        self.data_dir.release();
        self.advance(Stage::Closed);
    }

    /// Drops one actor from memory, without hooks and without a final save.
    pub(crate) async fn evict(&self, id: &ActorId) -> Result<()> {
        self.check_open()?;
        let resident = self.find(&Target::Id(*id)).await?;
        let mut phases = resident.subscribe();
        loop {
            let phase = phases.borrow_and_update().clone();
            match phase {
                phase if phase.is_at_rest() => return Ok(()),
                Phase::Live(handle) => self.begin_stop(handle.actor(), Wish::Evict),
                _ => {}
            }
            if phases.changed().await.is_err() {
                return Ok(());
            }
        }
    }
}
