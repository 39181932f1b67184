//! What every part of the host works on.
//!
//! Owns nothing that runs by itself; the files beside this one add behaviour in
//! `impl Shared` blocks, one subject each.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use greenroom_core::{ActorFactory, Clock, Instant, RegistryDispatcher};
use greenroom_error::{Error, Result, code};
use greenroom_gateway::{Gateway, HostFigures};
use greenroom_store::Store;
use parking_lot::Mutex;
use tokio::runtime;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::EngineApi;
use crate::envoy::Backlog;
use crate::generations::Generations;
use crate::options::EngineOptions;
use crate::sockets::Sockets;
use crate::transfer::Imports;

/// How far the host is from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Open,
    /// Its actors are put to sleep; what the engine still starts here begins.
    Emptying,
    /// No new actors; those that live are being stopped.
    Leaving,
    /// Nothing runs.
    Closed,
}

pub(crate) struct Shared {
    /// For work that outlives the call that began it.
    pub(crate) me: Weak<Shared>,
    pub(crate) options: EngineOptions,
    pub(crate) api: EngineApi,
    pub(crate) registry: Arc<RegistryDispatcher>,
    pub(crate) store: Store,
    pub(crate) gateway: Gateway,
    pub(crate) generations: Generations,
    pub(crate) imports: Imports,
    pub(crate) sockets: Arc<Sockets>,
    /// What sockets have said and the session has not sent.
    pub(crate) backlog: Arc<Backlog>,
    /// Whether the session with the engine stands.
    pub(crate) link_up: watch::Sender<bool>,
    /// Since when it does not, if it did.
    down_since: Mutex<Option<Instant>>,
    /// Fires when the session is closed, after which nobody answers.
    pub(crate) session_over: CancellationToken,
    pub(crate) stage: watch::Sender<Stage>,
    /// Stops, sockets and whatever else nobody waits for.
    pub(crate) tasks: TaskTracker,
    /// Actors and lanes call from threads that know no runtime.
    pub(crate) runtime: runtime::Handle,
}

pub(crate) fn shut_down() -> Error {
    Error::new(&code::REGISTRY_SHUT_DOWN)
}

impl Shared {
    /// Of a host that has not joined yet. Has to be called inside a runtime.
    pub(crate) fn new(
        api: EngineApi,
        options: EngineOptions,
        factories: HashMap<String, Arc<ActorFactory>>,
    ) -> Arc<Self> {
        let registry =
            RegistryDispatcher::new(factories, options.clock.clone(), options.region.clone());
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            api,
            registry,
            store: Store::new(options.store.clone()),
            gateway: Gateway {
                clock: options.clock.clone(),
                deployed: options.deployed,
                inspector_in_runtime: options.inspector_in_runtime,
            },
            generations: Generations::default(),
            imports: Imports::default(),
            sockets: Arc::new(Sockets::default()),
            backlog: Arc::default(),
            link_up: watch::Sender::new(false),
            down_since: Mutex::default(),
            session_over: CancellationToken::new(),
            stage: watch::Sender::new(Stage::Open),
            tasks: TaskTracker::new(),
            runtime: runtime::Handle::current(),
            options,
        })
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.options.clock
    }

    /// The session came or went.
    pub(crate) fn link_is(&self, up: bool) {
        let mut since = self.down_since.lock();
        *since = match up {
            true => None,
            false => since.or_else(|| Some(self.clock().now())),
        };
        drop(since);
        self.link_up.send_replace(up);
        self.backlog.connected(up);
    }

    /// Whether there was no session for so long.
    pub(crate) fn is_cut_off_for(&self, span: Duration) -> bool {
        let since = *self.down_since.lock();
        since.is_some_and(|since| self.clock().now() >= since + span)
    }

    /// Resolves when there is no session.
    pub(crate) async fn cut_off(&self) {
        let mut link_up = self.link_up.subscribe();
        // The sender lives in what this holds.
        let _ = link_up.wait_for(|up| !*up).await;
    }

    pub(crate) fn is_open(&self) -> bool {
        *self.stage.borrow() == Stage::Open
    }

    /// # Errors
    /// `registry/shut_down` once the host is leaving.
    pub(crate) fn check_open(&self) -> Result<()> {
        self.check_stage(Stage::Open)
    }

    /// # Errors
    /// `registry/shut_down` once the engine has been told to place actors elsewhere.
    pub(crate) fn check_takes_actors(&self) -> Result<()> {
        self.check_stage(Stage::Emptying)
    }

    fn check_stage(&self, latest: Stage) -> Result<()> {
        match *self.stage.borrow() <= latest {
            true => Ok(()),
            false => Err(shut_down()),
        }
    }

    /// Figures of the host, as a scraper reads them.
    pub(crate) fn metrics(&self) -> String {
        let figures = HostFigures {
            actors_awake: self.generations.count(),
            databases_open: self.store.open_count(),
            sockets_open: self.sockets.open_count(),
            types: self.registry.type_reports(),
        };
        figures.text()
    }

    /// Runs work that nobody waits for and that leaving waits for.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn_on(work, &self.runtime);
    }
}
