//! [`EmbeddedHost`]: opening, the calls of the same process, and the end.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use greenroom_core::{
    ActionCall, ActorFactory, ActorHandle, ClientEndpoint, Clock, QueueSendResult,
    RegistryDispatcher,
};
use greenroom_error::{Error, Result};
use greenroom_gateway::{Gateway, LiveActor};
use greenroom_store::Store;
use greenroom_wire::{ActorId, ActorKey, LOCAL_DATACENTER};
use parking_lot::{Mutex, RwLock};
use tokio::runtime;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::alarm::AlarmBell;
use crate::data_dir::DataDir;
use crate::directory::Directory;
use crate::options::{DEFAULT_NAMESPACE, EmbeddedOptions};
use crate::ready::Seeker;
use crate::residents::Residents;
use crate::shared::{DataDirSlot, Shared, Stage};
use crate::sockets::Sockets;
use crate::spare_ids::SpareIds;
use crate::target::Target;

/// Namespaces have ids in the API. There is one, so its id can be any that stays.
const NAMESPACE_UUID: Uuid = Uuid::from_u128(0x677265656e726f6f_6d2d6e616d657370);

/// Actors of one data directory, living in this process.
///
/// Clones are the same host. Dropping the last one without
/// [`shutdown`](Self::shutdown) ends it as [`crash`](Self::crash) would.
#[derive(Clone)]
pub struct EmbeddedHost(Arc<Owner>);

struct Owner(Arc<Shared>);

impl Drop for Owner {
    fn drop(&mut self) {
        let shared = Arc::clone(&self.0);
        if *shared.stage.borrow() != Stage::Closed {
            let runtime = shared.runtime.clone();
            runtime.spawn(async move { shared.crash().await });
        }
    }
}

impl EmbeddedHost {
    /// Opens a data directory for these actor types. Wakes actors whose alarm is
    /// due in the background.
    ///
    /// # Errors
    /// `host/data_dir_locked` while another process has it open,
    /// `host/data_dir_unusable`, and the storage errors of the directory.
    pub async fn open(
        options: EmbeddedOptions,
        factories: HashMap<String, Arc<ActorFactory>>,
    ) -> Result<Self> {
        let root = options.data_dir.clone();
        let data_dir = tokio::task::spawn_blocking(move || DataDir::open(&root));
        let data_dir = data_dir.await.map_err(|error| {
            Error::internal("opening the data directory panicked").with_source(error)
        })??;
        let directory =
            Directory::open(options.store.disk.clone(), data_dir.directory_path()).await?;
        let registry =
            RegistryDispatcher::new(factories, options.clock.clone(), options.region.clone());
        let endpoint = ClientEndpoint {
            url: options.client_url.clone(),
            namespace: options.namespace.clone(),
            token: options.token.clone(),
            pool_name: options.pool_name.clone(),
        };
        let shared = Arc::new_cyclic(|me| Shared {
            me: me.clone(),
            registry,
            store: Store::new(options.store.clone()),
            directory,
            residents: Residents::default(),
            spare_ids: SpareIds::default(),
            bell: AlarmBell::default(),
            gateway: Gateway {
                clock: options.clock.clone(),
                deployed: options.deployed,
                inspector_in_runtime: options.inspector_in_runtime,
            },
            ports: Mutex::default(),
            sockets: Sockets::new(options.sockets),
            namespace_id: ActorId::from_parts(NAMESPACE_UUID, LOCAL_DATACENTER),
            namespace_made: AtomicBool::new(options.namespace == DEFAULT_NAMESPACE),
            envoy_key: Uuid::new_v4(),
            opened_ms: options.clock.now_ms(),
            endpoint: RwLock::new(endpoint),
            stage: watch::Sender::new(Stage::Open),
            ending: CancellationToken::new(),
            tasks: TaskTracker::new(),
            runtime: runtime::Handle::current(),
            data_dir: DataDirSlot::new(data_dir),
            options,
        });
        shared.spawn(Arc::clone(&shared).ring_alarms());
        shared.spawn(Arc::clone(&shared).sweep());
        shared.refill_spare_ids();
        Ok(Self(Arc::new(Owner(shared))))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0.0
    }

    pub fn clock(&self) -> &Clock {
        self.shared().clock()
    }

    /// Runs an action: finds, creates or wakes its actor first. Work that a
    /// generation refuses goes to the next one.
    ///
    /// # Errors
    /// Those of the action; `actor/not_found`; `guard/actor_ready_timeout` and
    /// `guard/actor_wake_retries_exceeded` if the actor does not come up;
    /// `registry/shut_down`.
    pub async fn action(&self, target: &Target, call: &ActionCall) -> Result<Bytes> {
        let mut actor = LiveActor::acquire(Seeker::new(&**self.shared(), target)).await?;
        loop {
            let answer = actor.handle().action(call).await;
            if let Some(result) = actor.settle(answer).await {
                return result;
            }
        }
    }

    /// Sends a queue message, whose name is the call's and whose body its `args`;
    /// with `wait`, until it is completed.
    ///
    /// # Errors
    /// As [`action`](Self::action), and those of the queue.
    pub async fn queue_send(
        &self,
        target: &Target,
        call: &ActionCall,
        wait: bool,
        timeout_ms: Option<u64>,
    ) -> Result<QueueSendResult> {
        let mut actor = LiveActor::acquire(Seeker::new(&**self.shared(), target)).await?;
        loop {
            let answer = actor.handle().queue_send(call, wait, timeout_ms).await;
            if let Some(result) = actor.settle(answer).await {
                return result;
            }
        }
    }

    /// Wakes the actor and waits until it takes work.
    ///
    /// # Errors
    /// As [`action`](Self::action).
    pub async fn wake(&self, target: &Target) -> Result<Arc<ActorHandle>> {
        use greenroom_gateway::ActorSource;
        Seeker::new(&**self.shared(), target).acquire(None).await
    }

    /// The id behind a target; creates the actor if the target says so, and wakes
    /// nobody.
    ///
    /// # Errors
    /// `actor/not_found`.
    pub async fn resolve(&self, target: &Target) -> Result<ActorId> {
        self.shared().check_open()?;
        Ok(self.shared().find_durable(target).await?.id)
    }

    /// Creates an actor and starts it, without waiting for the start.
    ///
    /// # Errors
    /// `actor/duplicate_key`; `actor/not_found` for a type that is not registered.
    pub async fn create(
        &self,
        name: &str,
        key: &ActorKey,
        input: Option<Bytes>,
    ) -> Result<ActorId> {
        Ok(self.shared().create(name, key, input).await?.id)
    }

    /// The actor of this name and key, created and started if there is none. The
    /// flag tells whether it was.
    ///
    /// # Errors
    /// `actor/not_found` for a type that is not registered; storage errors.
    pub async fn get_or_create(
        &self,
        name: &str,
        key: &ActorKey,
        input: Option<Bytes>,
    ) -> Result<(ActorId, bool)> {
        let (record, created) = self.shared().get_or_create(name, key, input).await?;
        Ok((record.id, created))
    }

    /// Destroys an actor and waits until it is gone.
    ///
    /// # Errors
    /// `actor/not_found` for an id that never was; storage errors.
    pub async fn destroy(&self, id: &ActorId) -> Result<()> {
        self.shared().destroy(id).await
    }

    /// Drops an actor from memory as a crash of it alone would: no hooks, no final
    /// save. Its storage and alarm stay; the next call wakes it.
    ///
    /// # Errors
    /// `actor/not_found`.
    pub async fn evict(&self, id: &ActorId) -> Result<()> {
        self.shared().evict(id).await
    }

    /// Puts every actor to sleep, closes everything and lets go of the data
    /// directory. Repeated calls wait for the first.
    pub async fn shutdown(&self) {
        self.shared().shutdown().await;
    }

    /// Ends as a crash of the process would: no hooks, no final saves. The data
    /// directory can be opened again when this returns.
    pub async fn crash(&self) {
        self.shared().crash().await;
    }

    /// True while something is on its way to or from disk. For tests that move a
    /// clock by hand.
    pub fn is_writing(&self) -> bool {
        self.shared().store.is_busy() || self.shared().directory.is_busy()
    }

    /// Actors that are awake, or on their way up or down.
    pub fn awake_count(&self) -> usize {
        self.shared().registry.instance_count()
    }

    /// Sockets of clients that are open, those of sleeping actors included.
    pub fn open_sockets(&self) -> usize {
        self.shared().sockets.open_count()
    }

    /// Databases that hold their files open now.
    pub fn open_databases(&self) -> usize {
        self.shared().store.open_count()
    }
}
