//! The engine host of a registry: joining, at once or with the first request that
//! brings an actor, and the engine's process if it is ours.

use std::path::PathBuf;
use std::sync::Arc;

use greenroom_core::Clock;
use greenroom_error::{Error, Result, code};
use greenroom_gateway::HostFigures;
use greenroom_host_engine::{EngineHost, EngineOptions, EngineProcess, ProcessOptions};
use napi::bindgen_prelude::Env;
use napi_derive::napi;
use parking_lot::Mutex;
use serde_json::json;

use super::endpoint::Endpoint;
use super::hosting::{Hosting, Identity, Place, actor_names};
use super::phase::Mode;
use super::{CoreRegistry, Factories, Registry};
use crate::bridge::{Bridge, Promise, enter, promise};
use crate::numbers;

#[napi(object)]
pub struct JsEngineConfig {
    /// Base URL of the engine.
    pub endpoint: String,
    pub token: Option<String>,
    /// Default `default`.
    pub namespace: Option<String>,
    /// Default `default`.
    pub pool_name: Option<String>,
    /// A process of a higher version takes the actors of lower ones over. Default 1.
    pub version: Option<f64>,
    pub region: Option<String>,
    /// Open WebSockets of the process at most.
    pub max_sockets: Option<f64>,
    /// Bytes that may wait for one client.
    pub max_socket_buffer: Option<f64>,
    /// Program of an engine that is started at a loopback endpoint where none
    /// answers.
    pub engine_binary: Option<String>,
    /// Where that engine stores everything.
    pub engine_storage: Option<String>,
}

/// A session with an engine.
pub(super) struct Joined {
    pub(super) host: EngineHost,
    process: OwnEngine,
}

/// The engine itself, where it was started or found at a loopback endpoint.
struct OwnEngine(Mutex<Option<EngineProcess>>);

impl OwnEngine {
    async fn ensure(options: Option<ProcessOptions>) -> Result<Self> {
        let process = match options {
            Some(options) => Some(EngineProcess::ensure(options).await?),
            None => None,
        };
        Ok(Self(Mutex::new(process)))
    }

    /// Ends what was started here: its actors are on its disk.
    async fn stop(&self) {
        let process = self.0.lock().take();
        if let Some(process) = process {
            process.stop().await;
        }
    }
}

/// How to join.
pub(super) struct Joining {
    pub(super) options: EngineOptions,
    /// Where an engine is to be started if none answers.
    pub(super) process: Option<ProcessOptions>,
    pub(super) identity: Identity,
}

impl Joined {
    async fn open(joining: Joining, factories: Factories) -> Result<Self> {
        let process = OwnEngine::ensure(joining.process).await?;
        match EngineHost::join(joining.options, factories).await {
            Ok(host) => Ok(Self { host, process }),
            Err(error) => {
                process.stop().await;
                Err(error)
            }
        }
    }

    pub(super) async fn shutdown(&self) {
        self.host.shutdown().await;
        self.process.stop().await;
    }

    pub(super) async fn crash(&self) {
        self.host.crash().await;
        self.process.stop().await;
    }
}

/// Who asks for an actor to be started.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) endpoint: String,
    pub(super) namespace: String,
    pub(super) pool_name: String,
    pub(super) token: Option<String>,
}

/// A registry whose actors come with requests. The first one says where from; the
/// session that it begins serves all others.
pub(super) struct Serverless {
    options: EngineOptions,
    factories: Factories,
    /// Held while joining, so that one request does and the others wait.
    session: tokio::sync::Mutex<Session>,
    process: OwnEngine,
    /// Whoever asks after the engine's state finds it here without waiting.
    joined: Mutex<Option<EngineHost>>,
}

enum Session {
    None,
    Joined(Origin, EngineHost),
    Over,
}

impl Serverless {
    async fn open(joining: Joining, factories: Factories) -> Result<Self> {
        Ok(Self {
            options: joining.options,
            factories,
            session: tokio::sync::Mutex::new(Session::None),
            process: OwnEngine::ensure(joining.process).await?,
            joined: Mutex::default(),
        })
    }

    /// The session with the engine that asks.
    ///
    /// # Errors
    /// What joining can end in; `config/endpoint_mismatch` if another engine, or
    /// another pool of it, was first.
    pub(super) async fn session(&self, origin: Origin) -> Result<EngineHost> {
        let mut session = self.session.lock().await;
        match &*session {
            Session::Over => return Err(Error::new(&code::REGISTRY_SHUT_DOWN)),
            Session::Joined(first, host) if first.is_same_place(&origin) => return Ok(host.clone()),
            Session::Joined(first, _) => {
                let metadata = json!({ "expected": first.place(), "received": origin.place() });
                return Err(Error::with(&code::CONFIG_ENDPOINT_MISMATCH, metadata));
            }
            Session::None => {}
        }
        let options = EngineOptions {
            endpoint: origin.endpoint.clone(),
            namespace: origin.namespace.clone(),
            pool_name: origin.pool_name.clone(),
            token: origin.token.clone(),
            ..self.options.clone()
        };
        let host = EngineHost::join(options, self.factories.clone()).await?;
        *self.joined.lock() = Some(host.clone());
        *session = Session::Joined(origin, host.clone());
        Ok(host)
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.options.clock
    }

    pub(super) fn metrics(&self) -> String {
        let joined = self.joined.lock();
        match &*joined {
            Some(host) => host.metrics(),
            None => HostFigures::default().text(),
        }
    }

    pub(super) async fn shutdown(&self) {
        let ended = std::mem::replace(&mut *self.session.lock().await, Session::Over);
        if let Session::Joined(_, host) = ended {
            host.shutdown().await;
        }
        self.process.stop().await;
    }

    pub(super) async fn crash(&self) {
        let host = self.joined.lock().take();
        if let Some(host) = host {
            host.crash().await;
        }
        self.process.stop().await;
    }
}

impl Origin {
    /// True for requests of one engine, whichever of its names each of them gives.
    fn is_same_place(&self, other: &Self) -> bool {
        let endpoints = (
            Endpoint::parse(&self.endpoint),
            Endpoint::parse(&other.endpoint),
        );
        matches!(endpoints, (Ok(one), Ok(another)) if one.is_same_place(&another))
            && self.namespace == other.namespace
            && self.pool_name == other.pool_name
            && self.token == other.token
    }

    fn place(&self) -> String {
        format!("{} {} {}", self.endpoint, self.namespace, self.pool_name)
    }
}

impl TryFrom<JsEngineConfig> for Joining {
    type Error = Error;

    fn try_from(config: JsEngineConfig) -> Result<Self> {
        let endpoint = Endpoint::parse(&config.endpoint)?;
        let mut options = EngineOptions::new(&config.endpoint);
        options.token = config.token;
        options.region = config.region.unwrap_or_else(super::embedded::region);
        if let Some(namespace) = config.namespace {
            options.namespace = namespace;
        }
        if let Some(pool) = config.pool_name {
            options.pool_name = pool;
        }
        if let Some(version) = config.version {
            options.version = numbers::count("version", version)?;
        }
        if let Some(most) = config.max_sockets {
            options.max_sockets = numbers::positive("maxSockets", most)?;
        }
        if let Some(bytes) = config.max_socket_buffer {
            options.outbox.bytes = numbers::positive("maxSocketBuffer", bytes)?;
        }
        let process = config.engine_binary.filter(|_| endpoint.is_loopback());
        let process = process.map(|binary| {
            let storage = config.engine_storage.map_or_else(storage, PathBuf::from);
            ProcessOptions::new(&config.endpoint, binary, storage)
        });
        Ok(Self {
            options,
            process,
            identity: Identity::default(),
        })
    }
}

/// Where an engine that is started here stores everything, unless it is told.
pub(super) fn storage() -> PathBuf {
    super::serve::data_dir().join("engine")
}

impl Registry {
    /// Joins, or gets ready for whoever asks for actors.
    pub(super) async fn join_engine(
        self: &Arc<Self>,
        joining: Joining,
        bridge: Bridge,
    ) -> Result<()> {
        let factories = self.factories.lock().clone();
        let actor_names = actor_names(&factories);
        let identity = joining.identity.clone();
        self.listening.claim()?;
        let opened = match identity.mode {
            Mode::Standing => Joined::open(joining, factories)
                .await
                .map(|joined| Place::Engine(joined.into())),
            Mode::Serverless => Serverless::open(joining, factories)
                .await
                .map(|serverless| Place::Serverless(serverless.into())),
        };
        match opened {
            Ok(place) => {
                // There is no port, but as with one the process is there to serve.
                self.listening.fill(Some((None, bridge.clone())));
                let hosting = Hosting {
                    place,
                    manual_clock: None,
                    actor_names,
                    identity,
                };
                self.announce(hosting.into(), bridge);
                Ok(())
            }
            Err(error) => {
                self.listening.fill(None);
                Err(error)
            }
        }
    }
}

#[napi]
impl CoreRegistry {
    /// Joins an engine, which then places actors in this process. At a loopback
    /// endpoint where nobody answers, the engine is started first, if its program
    /// is given. Keeps the process alive until it is told not to, or shut down.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn open_engine(&self, env: Env, config: JsEngineConfig) -> napi::Result<Promise<()>> {
        let registry = Arc::clone(&self.0);
        enter(&env, |scope| {
            let bridge = scope.bridge().clone();
            // Taken now, so that a second call in the same tick is refused.
            let begun = Joining::try_from(config).and_then(|joining| {
                registry.board.begin_start(Mode::Standing)?;
                Ok(joining)
            });
            promise(scope, async move {
                let joined = registry.join_engine(begun?, bridge).await;
                if joined.is_err() {
                    registry.board.finish_start(None);
                }
                joined
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Origin;

    fn origin(endpoint: &str, pool_name: &str, token: Option<&str>) -> Origin {
        Origin {
            endpoint: endpoint.to_owned(),
            namespace: "default".to_owned(),
            pool_name: pool_name.to_owned(),
            token: token.map(str::to_owned),
        }
    }

    #[test]
    fn requests_of_one_engine_share_a_session_whatever_it_calls_itself() {
        let first = origin("https://api.rivet.dev", "web", Some("t"));
        for (same, other) in [
            (true, origin("https://api.rivet.dev/", "web", Some("t"))),
            (true, origin("https://api-eu.rivet.dev", "web", Some("t"))),
            (false, origin("https://api.rivet.dev:1", "web", Some("t"))),
            (false, origin("https://api.rivet.dev", "other", Some("t"))),
            (false, origin("https://api.rivet.dev", "web", None)),
        ] {
            assert_eq!(first.is_same_place(&other), same, "{other:?}");
        }
    }
}
