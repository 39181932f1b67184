//! HTTP servers around the serverless routes, static files and user code.

use std::path::PathBuf;
use std::sync::Arc;

use greenroom_core::Clock;
use greenroom_error::{Error, Result, code};
use greenroom_gateway::{HttpReply, files, read_body};
use greenroom_host_embedded::{Answering, AppRequest, ListenOptions, Listener, WebApp};
use http::{Method, StatusCode};

use super::super::Registry;
use super::super::hosting::Hosting;
use super::super::serve::JsServeConfig;
use super::JsListenerConfig;
use super::application::Application;
use super::router::{Router, RouterRequest, below_base, text};

/// All addresses: such a server is there for others.
const HOST: &str = "0.0.0.0";

pub(super) struct PortConfig {
    options: ListenOptions,
    public_dir: Option<PathBuf>,
}

impl TryFrom<JsListenerConfig> for PortConfig {
    type Error = Error;

    fn try_from(config: JsListenerConfig) -> Result<Self> {
        let port = u16::try_from(config.port);
        Ok(Self {
            options: ListenOptions {
                host: Some(config.host.unwrap_or_else(|| HOST.to_owned())),
                port: port.map_err(|_| Error::internal("port out of range"))?,
                ..ListenOptions::default()
            },
            public_dir: config.public_dir.map(PathBuf::from),
        })
    }
}

/// What one such port answers with.
struct Web {
    registry: Arc<Registry>,
    host: Arc<Hosting>,
    config: JsServeConfig,
    /// Whether the serverless routes are among it.
    routed: bool,
    public_dir: Option<PathBuf>,
    application: Option<Application>,
    clock: Clock,
}

impl Web {
    async fn answer(&self, request: AppRequest) -> HttpReply {
        let (head, body) = request.into_parts();
        let limit = self.config.serverless_max_start_payload_bytes;
        let body = match read_body(body, limit, &self.clock).await {
            Ok(body) => body,
            Err(error) => return unreadable(&error),
        };
        let request = RouterRequest {
            method: head.method,
            uri: head.uri,
            headers: head.headers,
            body,
        };
        if self.routed && below_base(&self.config, request.uri.path()).is_some() {
            let router = Router::new(&self.registry, &self.host, &self.config);
            return router.answer(request).await;
        }
        if let Some(file) = self.file(&request).await {
            return file;
        }
        let Some(application) = &self.application else {
            return text(StatusCode::NOT_FOUND, "Not Found");
        };
        application.respond(request).await.unwrap_or_else(|error| {
            tracing::error!(%error, "the application's handler failed");
            text(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error")
        })
    }

    /// The static file that is asked for, if there is one.
    async fn file(&self, request: &RouterRequest) -> Option<HttpReply> {
        let folder = self.public_dir.as_deref()?;
        if !matches!(request.method, Method::GET | Method::HEAD) {
            return None;
        }
        let path = files::relative_path(request.uri.path()).ok()?;
        match files::serve_file(folder, path).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, "a static file could not be served");
                Some(text(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "Internal Server Error",
                ))
            }
        }
    }
}

fn unreadable(error: &Error) -> HttpReply {
    let too_large = [
        &code::MESSAGE_INCOMING_TOO_LONG,
        &code::GUARD_INVALID_REQUEST_BODY,
    ];
    if too_large.iter().any(|row| error.is(row)) {
        return text(StatusCode::PAYLOAD_TOO_LARGE, "Payload Too Large");
    }
    tracing::debug!(%error, "the body of a request was not readable");
    text(StatusCode::BAD_REQUEST, "Bad Request")
}

impl WebApp for Web {
    fn respond(&self, request: AppRequest) -> Answering<'_> {
        Box::pin(self.answer(request))
    }
}

impl Registry {
    /// Serves until the registry is shut down.
    pub(super) async fn serve_web(
        self: &Arc<Self>,
        host: &Arc<Hosting>,
        port: PortConfig,
        config: JsServeConfig,
        application: Option<Application>,
        routed: bool,
    ) -> Result<()> {
        let web = Web {
            registry: Arc::clone(self),
            host: Arc::clone(host),
            config,
            routed,
            public_dir: port.public_dir,
            application,
            clock: host.clock().clone(),
        };
        let web = Arc::new(web);
        match host.embedded() {
            Ok(embedded) => {
                embedded.listen_app(port.options, web).await?;
                self.board.until_shut_down().await;
            }
            Err(_) => {
                let clock = host.clock().clone();
                let listener = Listener::of_app(port.options, web, clock).await?;
                self.board.until_shut_down().await;
                listener.close().await;
            }
        }
        Ok(())
    }
}
