//! Running behind somebody else's server: requests that it hands over, and
//! servers of the program's own handler.
//!
//! Owns the JavaScript side of both. Which request means what is the router's
//! business, connections are the host's.

mod application;
mod listener;
mod router;
mod start;
mod stream;

use std::collections::HashMap;
use std::sync::Arc;

use greenroom_error::{Error, Result};
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, Uri};
use napi::bindgen_prelude::{Env, Unknown};
use napi_derive::napi;
use serde_json::json;

use super::hosting::Hosting;
use super::phase::Mode;
use super::serve::JsServeConfig;
use super::{CoreRegistry, Registry};
use crate::bridge::{
    Bridge, Buffer, JsRef, JsResult, Promise, Scope, enter, promise, require_function,
};
use crate::cancellation_token::CancellationToken;

use application::Application;
use listener::PortConfig;
use router::{Router, RouterRequest};
use stream::EventSink;

#[napi(object)]
pub struct JsListenerConfig {
    /// Address or name to listen on. Default all addresses of this machine.
    pub host: Option<String>,
    pub port: u32,
    /// Folder of static files.
    pub public_dir: Option<String>,
}

#[napi(object)]
pub struct JsServerlessRequest {
    pub method: String,
    /// Absolute, or path and query alone.
    pub url: String,
    pub headers: HashMap<String, String>,
    pub body: Buffer,
}

#[napi(object)]
pub struct JsServerlessResponseHead {
    pub status: u32,
    pub headers: HashMap<String, String>,
}

fn invalid(field: &str, reason: impl ToString) -> Error {
    let metadata = json!({ "field": field, "reason": reason.to_string() });
    Error::with(
        &greenroom_error::code::PROTOCOL_INVALID_HTTP_REQUEST,
        metadata,
    )
}

impl TryFrom<JsServerlessRequest> for RouterRequest {
    type Error = Error;

    fn try_from(request: JsServerlessRequest) -> Result<Self> {
        let method = Method::from_bytes(request.method.as_bytes());
        let uri: Uri = request.url.parse().map_err(|error| invalid("url", error))?;
        let mut headers = HeaderMap::new();
        for (name, value) in request.headers {
            let name = HeaderName::try_from(name).map_err(|error| invalid("headers", error))?;
            // As the web reads header bytes: each is the character of its number.
            let value = value
                .chars()
                .map(u8::try_from)
                .collect::<Result<Vec<u8>, _>>();
            let value = value.map_err(|error| invalid("headers", error))?;
            let value = HeaderValue::try_from(value).map_err(|error| invalid("headers", error))?;
            headers.append(name, value);
        }
        Ok(Self {
            method: method.map_err(|error| invalid("method", error))?,
            uri,
            headers,
            body: request.body.0,
        })
    }
}

impl Registry {
    /// The host behind serverless requests; the call that `begun` says was first
    /// opens it. One that could not open never does.
    async fn serverless_host(
        self: &Arc<Self>,
        begun: bool,
        config: &JsServeConfig,
        bridge: Bridge,
    ) -> Result<Arc<Hosting>> {
        if begun {
            let opened = self.begin_serving(config, Mode::Serverless, bridge).await;
            if let Err(error) = opened {
                self.board.finish_shutdown();
                return Err(error);
            }
            // Whoever hands the requests over keeps the process alive.
            self.listening.reference(false);
        }
        self.board.until_serverless().await
    }

    /// Takes the only start, in the tick of the call: true for whoever has to make it.
    fn begin_serverless(&self, config: &JsServeConfig) -> bool {
        let begun = self.board.begin_start(Mode::Serverless).is_ok();
        if begun {
            self.remember(config.identity(Mode::Serverless));
        }
        begun
    }
}

fn application(scope: &Scope<'_>, given: &Unknown<'_>) -> JsResult<Application> {
    let handler = callback(scope, given, "application")?;
    Ok(Application::new(scope, handler))
}

fn callback<'s>(scope: &Scope<'s>, given: &Unknown<'_>, argument: &str) -> JsResult<JsRef> {
    let function = scope.value(napi::JsValue::raw(given));
    require_function(scope, function, argument)?;
    JsRef::new(scope, function)
}

#[napi]
impl CoreRegistry {
    /// Handles one request below the serverless base path. The head is the result;
    /// the body comes as events, each awaited before the next: `{kind: "chunk",
    /// chunk}`, at last `{kind: "end", error?}`. Cancelling the token ends them.
    ///
    /// The first call opens the host, as `serve` does; if that fails the registry is
    /// over. Rejects with `napi/invalid_state` on one that serves otherwise, and with
    /// `registry/shut_down`.
    #[napi(
        catch_unwind,
        ts_args_type = "req: JsServerlessRequest, onStreamEvent: (...args: any[]) => any, cancelToken: CancellationToken, config: JsServeConfig"
    )]
    pub fn handle_serverless_request(
        &self,
        env: Env,
        req: JsServerlessRequest,
        on_stream_event: Unknown<'_>,
        cancel_token: &CancellationToken,
        config: JsServeConfig,
    ) -> napi::Result<Promise<JsServerlessResponseHead>> {
        let registry = Arc::clone(&self.0);
        let cancelled = cancel_token.token();
        enter(&env, |scope| {
            let callback = callback(scope, &on_stream_event, "onStreamEvent")?;
            let events = EventSink::new(scope.bridge().clone(), callback, cancelled);
            let request = RouterRequest::try_from(req)?;
            let (begun, bridge) = (registry.begin_serverless(&config), scope.bridge().clone());
            promise(scope, async move {
                let host = registry.serverless_host(begun, &config, bridge).await?;
                let reply = Router::new(&registry, &host, &config).answer(request).await;
                Ok::<_, Error>(stream::hand_over(reply, events))
            })
        })
    }

    /// Serves serverless requests, static files and the program's own handler over
    /// HTTP; pending until shutdown. Rejects with `host/port_unavailable`, and as
    /// `handleServerlessRequest` does.
    #[napi(
        catch_unwind,
        ts_args_type = "listener: JsListenerConfig, config: JsServeConfig, application?: ((...args: any[]) => any) | undefined | null",
        ts_return_type = "Promise<void>"
    )]
    pub fn serve_listener(
        &self,
        env: Env,
        listener: JsListenerConfig,
        config: JsServeConfig,
        application: Option<Unknown<'_>>,
    ) -> napi::Result<Promise<()>> {
        let registry = Arc::clone(&self.0);
        enter(&env, |scope| {
            let bridge = scope.bridge().clone();
            let given = application.as_ref();
            let application = given
                .map(|given| self::application(scope, given))
                .transpose()?;
            let port = PortConfig::try_from(listener)?;
            let begun = registry.begin_serverless(&config);
            promise(scope, async move {
                let host = registry.serverless_host(begun, &config, bridge).await?;
                registry
                    .serve_web(&host, port, config, application, true)
                    .await
            })
        })
    }

    /// Serves static files and the program's own handler over HTTP, beside a
    /// registry that serves by itself; pending until shutdown. Waits for that one to
    /// be ready. Rejects with `host/port_unavailable`.
    #[napi(
        catch_unwind,
        ts_args_type = "listener: JsListenerConfig, application: (...args: any[]) => any, config: JsServeConfig",
        ts_return_type = "Promise<void>"
    )]
    pub fn serve_application_listener(
        &self,
        env: Env,
        listener: JsListenerConfig,
        application: Unknown<'_>,
        config: JsServeConfig,
    ) -> napi::Result<Promise<()>> {
        let registry = Arc::clone(&self.0);
        enter(&env, |scope| {
            let application = self::application(scope, &application)?;
            let port = PortConfig::try_from(listener)?;
            promise(scope, async move {
                registry.board.until_serving().await?;
                let host = registry.serving()?;
                registry
                    .serve_web(&host, port, config, Some(application), false)
                    .await
            })
        })
    }
}
