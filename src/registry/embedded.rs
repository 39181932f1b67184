//! The embedded host of a registry: opening it, its listener, its end.

use std::sync::Arc;

use greenroom_core::{Clock, ManualClock};
use greenroom_error::{Error, Result};
use greenroom_host_embedded::{EmbeddedHost, EmbeddedOptions};
use greenroom_store::Disk;
use napi::bindgen_prelude::Env;
use napi_derive::napi;

use super::hosting::{Hosting, Identity, Place, actor_names};
use super::phase::Mode;
use super::{CoreRegistry, Registry};
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
                *limit = numbers::positive(name, given)?;
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

impl Registry {
    /// Opens the host; nobody sees it before [`Self::announce`].
    pub(super) async fn prepare_embedded(&self, config: Config) -> Result<Arc<Hosting>> {
        let factories = self.factories.lock().clone();
        let actor_names = actor_names(&factories);
        let host = EmbeddedHost::open(config.options, factories).await?;
        Ok(Arc::new(Hosting {
            place: Place::Embedded(host),
            manual_clock: config.manual_clock,
            actor_names,
            identity: config.identity,
        }))
    }

    pub(super) fn announce(self: &Arc<Self>, hosting: Arc<Hosting>, bridge: Bridge) {
        self.board.finish_start(Some(Arc::clone(&hosting)));
        runtime::spawn(Arc::clone(self).watch_environment(hosting, bridge));
    }

    async fn open_embedded(self: Arc<Self>, config: Config, bridge: Bridge) -> Result<()> {
        match self.prepare_embedded(config).await {
            Ok(hosting) => {
                self.announce(hosting, bridge);
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
    async fn watch_environment(self: Arc<Self>, hosting: Arc<Hosting>, bridge: Bridge) {
        tokio::select! {
            () = bridge.closed() => {
                hosting.crash().await;
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
