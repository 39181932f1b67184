//! The embedded host of a registry: opening it, its listener, its end.

use std::sync::Arc;

use greenroom_core::{ActorFactory, Clock, ManualClock};
use greenroom_error::{Error, Result};
use greenroom_host_embedded::{EmbeddedHost, EmbeddedOptions};
use greenroom_store::Disk;
use napi::bindgen_prelude::Env;
use napi_derive::napi;
use serde_json::{Value as Json, json};

use super::phase::Mode;
use super::{CoreRegistry, Factories, Registry};
use crate::bridge::{Bridge, Promise, enter, promise};
use crate::variables::variable;
use crate::{numbers, runtime};

/// Label of where actors run, unless the options name one.
const REGION_ENV: &str = "RIVET_REGION";

#[napi(object)]
pub struct JsEmbeddedConfig {
    /// Folder of everything durable; created if missing.
    pub data_dir: String,
    /// Databases kept open at most.
    pub max_open_databases: Option<f64>,
    pub region: Option<String>,
    /// Open WebSockets of the process at most.
    pub max_sockets: Option<f64>,
    pub max_sockets_per_actor: Option<f64>,
    pub max_sockets_per_address: Option<f64>,
    /// Bytes that may wait for one client.
    pub max_socket_buffer: Option<f64>,
    /// `manual` makes a clock that only `advanceClock` moves.
    #[napi(ts_type = "'real' | 'manual'")]
    pub clock: Option<String>,
    /// Where a manual clock starts (milliseconds since 1970). Default: now.
    pub clock_start_ms: Option<f64>,
}

/// An open host and what the registry adds to it.
pub(super) struct Embedded {
    pub(super) host: EmbeddedHost,
    pub(super) manual_clock: Option<ManualClock>,
    /// Names and display data, for metadata.
    pub(super) actor_names: Json,
    pub(super) identity: Identity,
}

/// What a registry tells others about itself.
#[derive(Clone)]
pub(super) struct Identity {
    /// Of the package that answers.
    pub(super) version: String,
    pub(super) mode: Mode,
    pub(super) envoy_version: u32,
    /// Where clients should go instead, if elsewhere.
    pub(super) client_endpoint: Option<String>,
    pub(super) client_namespace: Option<String>,
    pub(super) client_token: Option<String>,
}

impl Default for Identity {
    fn default() -> Self {
        Self {
            version: crate::VERSION.to_owned(),
            mode: Mode::Standing,
            envoy_version: 1,
            client_endpoint: None,
            client_namespace: None,
            client_token: None,
        }
    }
}

impl Embedded {
    async fn open(config: Config, factories: Factories) -> Result<Self> {
        let actor_names = actor_names(&factories);
        let host = EmbeddedHost::open(config.options, factories).await?;
        Ok(Self {
            host,
            manual_clock: config.manual_clock,
            actor_names,
            identity: config.identity,
        })
    }

    pub(super) async fn shutdown(&self) {
        self.host.shutdown().await;
    }
}

fn actor_names(factories: &Factories) -> Json {
    let entry = |(name, factory): (&String, &Arc<ActorFactory>)| {
        let config = factory.config();
        let mut metadata = serde_json::Map::new();
        if let Some(icon) = &config.icon {
            metadata.insert("icon".into(), json!(icon));
        }
        if let Some(name) = &config.name {
            metadata.insert("name".into(), json!(name));
        }
        (name.clone(), json!({ "metadata": metadata }))
    };
    Json::Object(factories.iter().map(entry).collect())
}

pub(super) struct Config {
    pub(super) options: EmbeddedOptions,
    pub(super) manual_clock: Option<ManualClock>,
    pub(super) identity: Identity,
}

/// The label of where actors run that the environment gives.
pub(super) fn region() -> String {
    variable(REGION_ENV).unwrap_or_default()
}

impl TryFrom<JsEmbeddedConfig> for Config {
    type Error = Error;

    fn try_from(config: JsEmbeddedConfig) -> Result<Self> {
        if config.data_dir.is_empty() {
            return Err(Error::invalid_argument("dataDir", "must not be empty"));
        }
        let mut options = EmbeddedOptions::new(config.data_dir);
        let mut manual_clock = None;
        match config.clock.as_deref() {
            None | Some("real") => {}
            Some("manual") => {
                let start = match config.clock_start_ms {
                    Some(ms) => numbers::milliseconds("clockStartMs", ms)?,
                    None => options.clock.now_ms(),
                };
                let (clock, manual) = Clock::manual(start);
                options.clock = clock;
                // Its crashes are those of a process, which need no sync.
                options.store.disk = Disk::unsynced()?;
                manual_clock = Some(manual);
            }
            Some(other) => {
                let reason = format!("must be 'real' or 'manual', not '{other}'");
                return Err(Error::invalid_argument("clock", reason));
            }
        }
        let sockets = &mut options.sockets;
        for (name, given, limit) in [
            (
                "maxOpenDatabases",
                config.max_open_databases,
                &mut options.store.max_open,
            ),
            ("maxSockets", config.max_sockets, &mut sockets.max_sockets),
            (
                "maxSocketsPerActor",
                config.max_sockets_per_actor,
                &mut sockets.max_sockets_per_actor,
            ),
            (
                "maxSocketsPerAddress",
                config.max_sockets_per_address,
                &mut sockets.max_sockets_per_address,
            ),
            (
                "maxSocketBuffer",
                config.max_socket_buffer,
                &mut sockets.outbox.bytes,
            ),
        ] {
            if let Some(given) = given {
                *limit = positive(name, given)?;
            }
        }
        options.region = config.region.unwrap_or_else(region);
        Ok(Self {
            options,
            manual_clock,
            identity: Identity::default(),
        })
    }
}

fn positive(name: &str, given: f64) -> Result<usize> {
    match numbers::count(name, given)? {
        0 => Err(Error::invalid_argument(name, "must be at least 1")),
        count => Ok(count as usize),
    }
}

impl Registry {
    /// Opens the host; nobody sees it before [`Self::announce`].
    pub(super) async fn prepare_embedded(&self, config: Config) -> Result<Arc<Embedded>> {
        let factories = self.factories.lock().clone();
        Embedded::open(config, factories).await.map(Arc::new)
    }

    pub(super) fn announce(self: &Arc<Self>, embedded: Arc<Embedded>, bridge: Bridge) {
        self.board.finish_start(Some(Arc::clone(&embedded)));
        runtime::spawn(Arc::clone(self).watch_environment(embedded, bridge));
    }

    async fn open_embedded(self: Arc<Self>, config: Config, bridge: Bridge) -> Result<()> {
        match self.prepare_embedded(config).await {
            Ok(embedded) => {
                self.announce(embedded, bridge);
                Ok(())
            }
            Err(error) => {
                self.board.finish_start(None);
                Err(error)
            }
        }
    }

    /// An environment that closes takes the callbacks of all actors with it:
    /// what is left is to let go of the data directory.
    async fn watch_environment(self: Arc<Self>, embedded: Arc<Embedded>, bridge: Bridge) {
        tokio::select! {
            () = bridge.closed() => {
                embedded.host.crash().await;
                drop(self.listening.take());
                self.board.finish_shutdown();
            }
            () = self.board.until_shut_down() => {}
        }
    }
}

#[napi]
impl CoreRegistry {
    /// Opens the data directory and the host, without any socket.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn open_embedded(&self, env: Env, config: JsEmbeddedConfig) -> napi::Result<Promise<()>> {
        let registry = Arc::clone(&self.0);
        enter(&env, |scope| {
            let bridge = scope.bridge().clone();
            // Taken now, so that a second call in the same tick is refused.
            let begun = Config::try_from(config).and_then(|config| {
                registry.board.begin_start(Mode::Standing)?;
                Ok(config)
            });
            promise(scope, async move {
                registry.open_embedded(begun?, bridge).await
            })
        })
    }
}
