//! `serve`: the run mode of the published TypeScript package.
//!
//! With a loopback endpoint where no engine answers, the registry hosts its
//! actors itself and opens the port at which clients expect the engine. Nothing
//! is spawned or downloaded. With any other endpoint it joins the engine there, and
//! so it does where one runs on this machine, or is asked for.

use std::path::PathBuf;
use std::sync::Arc;

use greenroom_error::{Error, Result, code};
use greenroom_host_embedded::{EmbeddedOptions, ListenOptions, Occupant, probe};
use greenroom_host_engine::{EngineApi, EngineOptions, ProcessOptions};
use napi::bindgen_prelude::Env;
use napi_derive::napi;
use serde_json::json;

use super::embedded::Config as EmbeddedConfig;
use super::endpoint::Endpoint;
use super::engine::{Joining, storage};
use super::hosting::Identity;
use super::phase::Mode;
use super::{CoreRegistry, Registry};
use crate::bridge::{Bridge, Promise, enter, promise};
use crate::variables::variable;

/// Folder of everything durable.
const DATA_DIR_ENV: &str = "GREENROOM_DATA_DIR";
/// Where the published package keeps local data; ours is a folder in it.
const STORAGE_PATH_ENV: &str = "RIVETKIT_STORAGE_PATH";
const DATA_DIR: &str = ".greenroom";
/// `engine` asks for an engine where a loopback endpoint would be hosted here.
const HOST_ENV: &str = "GREENROOM_HOST";
/// The program of an engine that is started here.
const BINARY_ENV: &str = "RIVET_ENGINE_BINARY";

#[napi(object)]
pub struct JsServeConfig {
    pub version: u32,
    pub endpoint: String,
    pub token: Option<String>,
    pub namespace: String,
    pub pool_name: String,
    pub engine_binary_path: Option<String>,
    pub start_services: Option<bool>,
    pub services_binary_path: Option<String>,
    pub engine_host: Option<String>,
    pub engine_port: Option<u32>,
    pub handle_inspector_http_in_runtime: Option<bool>,
    pub serverless_base_path: Option<String>,
    pub serverless_package_version: String,
    pub serverless_client_endpoint: Option<String>,
    pub serverless_client_namespace: Option<String>,
    pub serverless_client_token: Option<String>,
    pub serverless_validate_endpoint: bool,
    pub serverless_max_start_payload_bytes: u32,
}

pub(super) fn data_dir() -> PathBuf {
    if let Some(given) = variable(DATA_DIR_ENV) {
        return given.into();
    }
    let root = variable(STORAGE_PATH_ENV).map_or_else(PathBuf::new, PathBuf::from);
    root.join(DATA_DIR)
}

impl JsServeConfig {
    pub(super) fn identity(&self, mode: Mode) -> Identity {
        Identity {
            mode,
            version: self.serverless_package_version.clone(),
            envoy_version: self.version,
            client_endpoint: self.serverless_client_endpoint.clone(),
            client_namespace: self.serverless_client_namespace.clone(),
            client_token: self.serverless_client_token.clone(),
        }
    }

    fn embedded(&self, mode: Mode) -> EmbeddedConfig {
        let mut options = EmbeddedOptions::new(data_dir());
        options.namespace.clone_from(&self.namespace);
        options.pool_name.clone_from(&self.pool_name);
        options.token.clone_from(&self.token);
        options.region = super::embedded::region();
        let in_runtime = self.handle_inspector_http_in_runtime;
        options.inspector_in_runtime = in_runtime.unwrap_or(mode == Mode::Serverless);
        EmbeddedConfig {
            options,
            manual_clock: None,
            identity: self.identity(mode),
        }
    }

    fn joining(&self, mode: Mode, may_start: bool) -> Joining {
        let mut options = EngineOptions::new(&self.endpoint);
        options.namespace.clone_from(&self.namespace);
        options.pool_name.clone_from(&self.pool_name);
        options.token.clone_from(&self.token);
        options.version = self.version;
        options.region = super::embedded::region();
        options.is_serverless = mode == Mode::Serverless;
        let in_runtime = self.handle_inspector_http_in_runtime;
        options.inspector_in_runtime = in_runtime.unwrap_or(mode == Mode::Serverless);
        let binary = variable(BINARY_ENV).or_else(|| self.engine_binary_path.clone());
        let process = binary
            .filter(|_| may_start)
            .map(|binary| ProcessOptions::new(&self.endpoint, binary, storage()));
        Joining {
            options,
            process,
            identity: self.identity(mode),
        }
    }

    fn listen(&self, endpoint: &Endpoint) -> Result<ListenOptions> {
        let port = match self.engine_port {
            Some(port) => u16::try_from(port)
                .map_err(|_| Error::invalid_argument("enginePort", "must be at most 65535"))?,
            None => endpoint.port,
        };
        Ok(ListenOptions {
            // The usual address of this machine stands for both families.
            host: self.engine_host.clone().filter(|host| host != "127.0.0.1"),
            port,
            ..ListenOptions::default()
        })
    }
}

/// Who is to host the actors.
enum Choice {
    Embedded,
    /// An engine, which is started here if need be.
    Engine {
        may_start: bool,
    },
}

/// # Errors
/// `engine/port_occupied` where something else answers.
async fn choose(config: &JsServeConfig, endpoint: &Endpoint) -> Result<Choice> {
    if !endpoint.is_loopback() {
        return Ok(Choice::Engine { may_start: false });
    }
    if variable(HOST_ENV).as_deref() == Some("engine") {
        return Ok(Choice::Engine { may_start: true });
    }
    let clock = greenroom_core::Clock::real();
    let runtime = match probe(&clock, &endpoint.authority()).await {
        Occupant::Nobody => return Ok(Choice::Embedded),
        Occupant::Engine { .. } => match EngineApi::new(&config.endpoint, "", None, clock)?
            .metadata()
            .await?
            .stands_in
        {
            None => return Ok(Choice::Engine { may_start: false }),
            Some(host) => host,
        },
        Occupant::Other { runtime } => runtime,
    };
    let metadata = json!({ "endpoint": config.endpoint, "runtime": runtime });
    Err(Error::with(&code::ENGINE_PORT_OCCUPIED, metadata))
}

impl Registry {
    /// Joins the engine, or opens the host and the port at which clients expect one.
    pub(super) async fn begin_serving(
        self: &Arc<Self>,
        config: &JsServeConfig,
        mode: Mode,
        bridge: Bridge,
    ) -> Result<()> {
        let endpoint = Endpoint::parse(&config.endpoint)?;
        match choose(config, &endpoint).await? {
            Choice::Embedded => self.host_here(config, &endpoint, mode, bridge).await,
            Choice::Engine { may_start } => {
                self.join_engine(config.joining(mode, may_start), bridge)
                    .await
            }
        }
    }

    async fn host_here(
        self: &Arc<Self>,
        config: &JsServeConfig,
        endpoint: &Endpoint,
        mode: Mode,
        bridge: Bridge,
    ) -> Result<()> {
        let listen = config.listen(endpoint)?;
        let hosting = self.prepare_embedded(config.embedded(mode)).await?;
        self.listening.claim()?;
        match hosting.embedded()?.listen(listen).await {
            Ok(listener) => self.listening.fill(Some((Some(listener), bridge.clone()))),
            Err(error) => {
                self.listening.fill(None);
                hosting.shutdown().await;
                return Err(error);
            }
        }
        // Ready only now: clients come through the port.
        self.announce(hosting, bridge);
        Ok(())
    }

    /// Pending until the registry is shut down. One that could not start never
    /// serves, and whoever waits for it hears so.
    async fn serve(self: Arc<Self>, config: JsServeConfig, bridge: Bridge) -> Result<()> {
        if let Err(error) = self.begin_serving(&config, Mode::Standing, bridge).await {
            self.board.finish_shutdown();
            return Err(error);
        }
        self.board.until_shut_down().await;
        Ok(())
    }
}

#[napi]
impl CoreRegistry {
    /// Hosts the actors at a loopback endpoint, or joins the engine that is there or
    /// elsewhere; pending until shutdown.
    ///
    /// Rejects with `engine/port_occupied` where another program answers,
    /// `engine/invalid_endpoint`, `host/port_unavailable`, `host/data_dir_locked`,
    /// and what joining an engine can end in: `engine/unreachable`,
    /// `engine/incompatible`, `engine/refused`, `engine/binary_unusable`.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn serve(&self, env: Env, config: JsServeConfig) -> napi::Result<Promise<()>> {
        let registry = Arc::clone(&self.0);
        enter(&env, |scope| {
            let bridge = scope.bridge().clone();
            // Taken now, so that a second call in the same tick is refused.
            let begun = registry.board.begin_start(Mode::Standing);
            if begun.is_ok() {
                registry.remember(config.identity(Mode::Standing));
            }
            promise(scope, async move {
                begun?;
                registry.serve(config, bridge).await
            })
        })
    }
}
