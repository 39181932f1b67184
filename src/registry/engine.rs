//! Running behind somebody else's server, which is not there yet: every call
//! answers `actor/not_configured`.

use std::collections::HashMap;

use napi::bindgen_prelude::{Env, Unknown};
use napi_derive::napi;

use super::CoreRegistry;
use super::serve::JsServeConfig;
use crate::bridge::{Buffer, Promise};
use crate::cancellation_token::CancellationToken;
use crate::missing::missing;

const SERVERLESS: &str = "serverless";

#[napi(object)]
pub struct JsListenerConfig {
    pub host: Option<String>,
    pub port: u32,
    /// Folder of static files.
    pub public_dir: Option<String>,
}

#[napi(object)]
pub struct JsServerlessRequest {
    pub method: String,
    pub url: String,
    pub headers: HashMap<String, String>,
    pub body: Buffer,
}

#[napi(object)]
pub struct JsServerlessResponseHead {
    pub status: u32,
    pub headers: HashMap<String, String>,
}

#[napi]
impl CoreRegistry {
    /// Serves the program's own HTTP handler; pending until shutdown.
    #[napi(
        catch_unwind,
        ts_args_type = "listener: JsListenerConfig, application: (...args: any[]) => any, config: JsServeConfig",
        ts_return_type = "Promise<void>"
    )]
    pub fn serve_application_listener(
        &self,
        env: Env,
        _listener: JsListenerConfig,
        _application: Unknown<'_>,
        _config: JsServeConfig,
    ) -> napi::Result<Promise<()>> {
        missing(&env, SERVERLESS)
    }

    /// Serves serverless requests over HTTP; pending until shutdown.
    #[napi(
        catch_unwind,
        ts_args_type = "listener: JsListenerConfig, config: JsServeConfig, application?: ((...args: any[]) => any) | undefined | null",
        ts_return_type = "Promise<void>"
    )]
    pub fn serve_listener(
        &self,
        env: Env,
        _listener: JsListenerConfig,
        _config: JsServeConfig,
        _application: Option<Unknown<'_>>,
    ) -> napi::Result<Promise<()>> {
        missing(&env, SERVERLESS)
    }

    /// Handles one serverless request; the body of the answer comes as events.
    #[napi(
        catch_unwind,
        ts_args_type = "req: JsServerlessRequest, onStreamEvent: (...args: any[]) => any, cancelToken: CancellationToken, config: JsServeConfig"
    )]
    pub fn handle_serverless_request(
        &self,
        env: Env,
        _req: JsServerlessRequest,
        _on_stream_event: Unknown<'_>,
        _cancel_token: &CancellationToken,
        _config: JsServeConfig,
    ) -> napi::Result<Promise<JsServerlessResponseHead>> {
        missing(&env, SERVERLESS)
    }
}
