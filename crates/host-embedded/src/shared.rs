//! What every part of the host works on.
//!
//! Owns nothing that runs by itself; the files beside this one add behaviour in
//! `impl Shared` blocks, one subject each.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};

use greenroom_core::{ClientEndpoint, Clock, RegistryDispatcher};
use greenroom_error::{Error, Result, code};
use greenroom_gateway::Gateway;
use greenroom_store::Store;
use greenroom_wire::ActorId;
use parking_lot::{Mutex, RwLock};
use tokio::runtime;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::alarm::AlarmBell;
use crate::data_dir::DataDir;
use crate::directory::Directory;
use crate::http::Port;
use crate::options::EmbeddedOptions;
use crate::residents::Residents;
use crate::sockets::Sockets;
use crate::spare_ids::SpareIds;

/// How far the host is from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Open,
    /// No new work; what runs is being finished.
    Closing,
    /// Nothing runs and nothing is open.
    Closed,
}

pub(crate) struct Shared {
    /// For work that outlives the call that began it.
    pub(crate) me: Weak<Shared>,
    pub(crate) options: EmbeddedOptions,
    pub(crate) registry: Arc<RegistryDispatcher>,
    pub(crate) store: Store,
    pub(crate) directory: Directory,
    pub(crate) residents: Residents,
    pub(crate) spare_ids: SpareIds,
    pub(crate) bell: AlarmBell,
    pub(crate) gateway: Gateway,
    pub(crate) ports: Mutex<Vec<Arc<Port>>>,
    pub(crate) sockets: Arc<Sockets>,
    /// Names the namespace; the same every time.
    pub(crate) namespace_id: ActorId,
    /// Whether somebody asked for the namespace to be made: it takes one answer.
    pub(crate) namespace_made: AtomicBool,
    /// Names this run of the process to whoever looks at clusters.
    pub(crate) envoy_key: Uuid,
    pub(crate) opened_ms: i64,
    pub(crate) endpoint: RwLock<ClientEndpoint>,
    pub(crate) stage: watch::Sender<Stage>,
    /// Fires when the background tasks have to end.
    pub(crate) ending: CancellationToken,
    /// Starts, stops and background tasks.
    pub(crate) tasks: TaskTracker,
    /// Actors call from threads that know no runtime.
    pub(crate) runtime: runtime::Handle,
    /// Taken at the end, which lets the next process in.
    pub(crate) data_dir: DataDirSlot,
}

/// The data directory while it is ours.
pub(crate) struct DataDirSlot(Mutex<Option<DataDir>>);

impl DataDirSlot {
    pub(crate) fn new(data_dir: DataDir) -> Self {
        Self(Mutex::new(Some(data_dir)))
    }

    /// # Errors
    /// `registry/shut_down` once it was let go.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&DataDir) -> T) -> Result<T> {
        self.0.lock().as_ref().map(look).ok_or_else(shut_down)
    }

    pub(crate) fn release(&self) {
        self.0.lock().take();
    }
}

pub(crate) fn shut_down() -> Error {
    Error::new(&code::REGISTRY_SHUT_DOWN)
}

impl Shared {
    pub(crate) fn clock(&self) -> &Clock {
        &self.options.clock
    }

    /// # Errors
    /// `registry/shut_down` once the host is closing.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_open() {
            Ok(())
        } else {
            Err(shut_down())
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        *self.stage.borrow() == Stage::Open
    }

    /// The shared handle. `None` only while the last one is being dropped.
    pub(crate) fn me(&self) -> Option<Arc<Self>> {
        self.me.upgrade()
    }

    /// Runs work that nobody waits for and that closing waits for.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn_on(work, &self.runtime);
    }
}
