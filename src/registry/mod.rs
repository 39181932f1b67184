//! `CoreRegistry`: the actor types of a program, and the host they live on.

mod embedded;
mod endpoint;
mod engine;
mod hosting;
mod listener;
mod local;
mod local_fetch;
mod local_socket;
mod manual_clock;
mod phase;
mod routes;
mod serve;
mod serverless;
mod transfer;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use greenroom_core::ActorFactory;
use greenroom_error::{Error, Result};
use greenroom_host_embedded::EmbeddedHost;
use napi::bindgen_prelude::Env;
use napi_derive::napi;
use parking_lot::Mutex;

use crate::bridge::{Promise, Rejection, enter, promise, to_napi};
use crate::factory::NapiActorFactory;
use crate::logging;

use hosting::{Hosting, Identity};
use phase::{Phase, PhaseBoard};

type Factories = HashMap<String, Arc<ActorFactory>>;

#[napi]
pub struct CoreRegistry(Arc<Registry>);

/// What outlives a single call on the registry.
struct Registry {
    board: PhaseBoard,
    /// Taken by the host that starts.
    factories: Mutex<Factories>,
    listening: listener::Listening,
    /// Known from the first attempt to serve on.
    identity: OnceLock<Identity>,
}

impl Registry {
    fn remember(&self, identity: Identity) {
        // The first attempt is the only one.
        let _ = self.identity.set(identity);
    }

    /// Version of the package that answers here.
    fn version(&self) -> &str {
        let known = self.identity.get();
        known.map_or(crate::VERSION, |identity| &identity.version)
    }

    /// The host, for calls that need one.
    fn serving(&self) -> Result<Arc<Hosting>> {
        self.board.serving()
    }

    /// The embedded host, for calls that only that one answers.
    fn embedded(&self) -> Result<EmbeddedHost> {
        self.serving()?.embedded().cloned()
    }

    async fn shutdown(&self) {
        let Some(hosting) = self.board.begin_shutdown().await else {
            return;
        };
        hosting.shutdown().await;
        drop(self.listening.take());
        self.board.finish_shutdown();
    }
}

#[napi]
impl CoreRegistry {
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        logging::install();
        Self(Arc::new(Registry {
            board: PhaseBoard::default(),
            factories: Mutex::default(),
            listening: listener::Listening::default(),
            identity: OnceLock::new(),
        }))
    }

    /// Names an actor type; the last one of a name wins. Only before the
    /// registry serves.
    #[napi(catch_unwind)]
    pub fn register(&self, name: String, factory: &NapiActorFactory) -> napi::Result<()> {
        let mut factories = self.0.factories.lock();
        if !matches!(self.0.board.now(), Phase::Registering) {
            return Err(to_napi(&phase::already_serving()));
        }
        factories.insert(name, factory.core());
        Ok(())
    }

    /// Resolves when the registry serves; rejects if it ends instead.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn wait_ready(&self, env: Env) -> napi::Result<Promise<()>> {
        let registry = Arc::clone(&self.0);
        enter(&env, |scope| {
            promise(scope, async move { registry.board.until_serving().await })
        })
    }

    /// Puts all actors to sleep, closes sockets and files, and resolves when
    /// everything is on disk. Repeating it waits for the same end.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn shutdown(&self, env: Env) -> napi::Result<Promise<()>> {
        let registry = Arc::clone(&self.0);
        enter(&env, |scope| {
            promise(scope, async move {
                registry.shutdown().await;
                Ok::<_, Rejection>(())
            })
        })
    }

    /// Bound of an actor's stop that a cluster imposes; null without one.
    #[napi(catch_unwind, ts_return_type = "Promise<number | null>")]
    pub fn actor_stop_threshold_ms(&self, env: Env) -> napi::Result<Promise<Option<f64>>> {
        enter(&env, |scope| promise(scope, async { Ok::<_, Error>(None) }))
    }
}
