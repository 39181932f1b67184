//! `serve`: the run mode of the published TypeScript package.
//!
//! With a loopback endpoint where no engine answers, the registry hosts its
//! actors itself and opens the port at which clients expect the engine. Nothing
//! is spawned or downloaded. Joining an engine is the engine host's part, which
//! is not there yet.

use std::path::PathBuf;
use std::sync::Arc;

use greenroom_error::{Error, Result, code};
use greenroom_host_embedded::{EmbeddedOptions, ListenOptions, Occupant, probe};
use napi::bindgen_prelude::Env;
use napi_derive::napi;
use serde_json::json;

use super::embedded::{Config as EmbeddedConfig, Identity};
use super::endpoint::Endpoint;
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

fn data_dir() -> PathBuf {
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

/// Refuses what the embedded host cannot stand in for.
async fn check_endpoint(config: &JsServeConfig, endpoint: &Endpoint) -> Result<()> {
    if !endpoint.is_loopback() || variable(HOST_ENV).as_deref() == Some("engine") {
        return Err(Error::not_configured("engine host"));
    }
    let clock = greenroom_core::Clock::real();
    let runtime = match probe(&clock, &endpoint.authority()).await {
        Occupant::Nobody => return Ok(()),
        Occupant::Engine { .. } => "engine".to_owned(),
        Occupant::Other { runtime } => runtime,
    };
    let metadata = json!({ "endpoint": config.endpoint, "runtime": runtime });
    Err(Error::with(&code::ENGINE_PORT_OCCUPIED, metadata))
}

impl Registry {
    /// Opens the host and the port at which clients expect the engine.
    pub(super) async fn begin_serving(
        self: &Arc<Self>,
        config: &JsServeConfig,
        mode: Mode,
        bridge: Bridge,
    ) -> Result<()> {
        let endpoint = Endpoint::parse(&config.endpoint)?;
        let listen = config.listen(&endpoint)?;
        check_endpoint(config, &endpoint).await?;
        let embedded = self.prepare_embedded(config.embedded(mode)).await?;
        self.listening.claim()?;
        match embedded.host.listen(listen).await {
            Ok(listener) => self.listening.fill(Some((listener, bridge.clone()))),
            Err(error) => {
                self.listening.fill(None);
                embedded.shutdown().await;
                return Err(error);
            }
        }
        // Ready only now: clients come through the port.
        self.announce(embedded, bridge);
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
    /// Hosts the actors at a loopback endpoint; pending until shutdown.
    ///
    /// Rejects with `engine/port_occupied` where another program answers,
    /// `engine/invalid_endpoint`, `host/port_unavailable`, `host/data_dir_locked`,
    /// and `actor/not_configured` for an endpoint on another machine.
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
