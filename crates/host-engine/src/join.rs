//! [`EngineHost`]: joining an engine, and what the process asks of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use greenroom_core::{ActorFactory, Clock, RegistryDispatcher};
use greenroom_error::Result;
use greenroom_wire::{ActorId, ActorKey};
use tokio::sync::watch;

use crate::api::{EngineApi, NewActor};
use crate::envoy::{self, Session};
use crate::options::EngineOptions;
use crate::shared::{Shared, Stage};

/// One envoy of an engine: the actors that the engine places in this process.
///
/// Clones are the same host. Dropping the last one without
/// [`shutdown`](Self::shutdown) closes the session at once; the engine then takes
/// the actors for lost, until its lost threshold moves them.
#[derive(Clone)]
pub struct EngineHost(pub(crate) Arc<Owner>);

pub(crate) struct Owner {
    pub(crate) shared: Arc<Shared>,
    pub(crate) session: Session,
    pub(crate) has_left: AtomicBool,
}

impl Drop for Owner {
    fn drop(&mut self) {
        if !self.has_left.load(Ordering::SeqCst) {
            self.shared.stage.send_replace(Stage::Closed);
            self.shared.sockets.leaving.cancel();
            self.session.close();
        }
    }
}

impl EngineHost {
    /// Joins the engine with these actor types and resolves when it may place
    /// actors here. Has to be called inside a runtime, where everything then runs.
    ///
    /// # Errors
    /// `engine/invalid_endpoint`; `engine/unreachable`; `engine/incompatible`;
    /// `engine/refused` for an unknown namespace or a wrong token.
    pub async fn join(
        options: EngineOptions,
        factories: HashMap<String, Arc<ActorFactory>>,
    ) -> Result<Self> {
        let api = EngineApi::new(
            &options.endpoint,
            &options.namespace,
            options.token.clone(),
            options.clock.clone(),
        )?;
        api.check_protocol().await?;
        if !options.is_serverless {
            api.ensure_pool(&options.pool_name).await?;
        }
        let names = factories.keys().cloned().collect();
        let shared = Shared::new(api, options, factories);
        let session = envoy::join(&shared, names).await?;
        tracing::info!(endpoint = %shared.options.endpoint, pool = %shared.options.pool_name, envoy = session.key(), "joined the engine");
        Ok(Self(Arc::new(Owner {
            shared,
            session,
            has_left: AtomicBool::new(false),
        })))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }

    pub(crate) fn session(&self) -> &Session {
        &self.0.session
    }

    /// The actor of this name and key, created if there is none; the engine
    /// decides where it lives. The flag tells whether it was created.
    ///
    /// # Errors
    /// `engine/refused`, `engine/unreachable`, `registry/shut_down`.
    pub async fn get_or_create(
        &self,
        name: &str,
        key: &ActorKey,
        input: Option<Bytes>,
    ) -> Result<(ActorId, bool)> {
        let shared = self.shared();
        shared.check_open()?;
        let new = NewActor {
            name,
            key,
            pool: &shared.options.pool_name,
            input,
        };
        shared.api.get_or_create(new).await
    }

    /// Destroys an actor, wherever it lives. Its generation is stopped after this
    /// returns.
    ///
    /// # Errors
    /// `engine/refused`, `engine/unreachable`.
    pub async fn destroy(&self, id: &ActorId) -> Result<()> {
        self.shared().api.destroy(id).await
    }

    /// Has the engine start an actor that sleeps.
    ///
    /// # Errors
    /// `engine/unreachable`.
    pub async fn wake(&self, id: &ActorId) -> Result<()> {
        self.shared().api.wake(id).await
    }

    /// Whether the session with the engine stands; follows every loss and return.
    pub fn subscribe_link(&self) -> watch::Receiver<bool> {
        self.shared().link_up.subscribe()
    }

    /// Whether the engine's pings arrive. False at first, and for a session that
    /// has been silent for 20 s.
    pub fn is_healthy(&self) -> bool {
        self.0.session.is_healthy()
    }

    pub fn clock(&self) -> &Clock {
        self.shared().clock()
    }

    /// The engine's base URL.
    pub fn endpoint(&self) -> &str {
        &self.shared().options.endpoint
    }

    /// Names this process to the engine and to who looks at it.
    pub fn envoy_key(&self) -> &str {
        self.0.session.key()
    }

    /// Generations of this process, on their way up or down included.
    pub fn awake_count(&self) -> usize {
        self.shared().generations.count()
    }

    /// Instances of actors in this process.
    pub fn registry(&self) -> &Arc<RegistryDispatcher> {
        &self.shared().registry
    }

    /// Sockets of clients that have a session here, those of sleeping actors
    /// included.
    pub fn open_sockets(&self) -> usize {
        self.shared().sockets.open_count()
    }

    /// Figures of this host, as a scraper reads them.
    pub fn metrics(&self) -> String {
        self.shared().metrics()
    }

    /// Databases that are open now.
    pub fn open_databases(&self) -> usize {
        self.shared().store.open_count()
    }
}
