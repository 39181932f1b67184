//! The routes below the serverless base path.
//!
//! Owns what each path answers and what browsers are told. Says nothing about who
//! brought the request or how the answer leaves.

use bytes::Bytes;
use greenroom_core::same_secret;
use greenroom_error::{Error, Result, code};
use greenroom_gateway::{HttpReply, ReplyBody};
use greenroom_host_embedded::CorsRequest;
use greenroom_wire::Encoding;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use http::{Method, StatusCode, Uri};
use serde_json::json;

use super::super::Registry;
use super::super::hosting::Hosting;
use super::super::routes::{JSON_TYPE, METRICS_TYPE, health, metadata, metrics};
use super::super::serve::JsServeConfig;
use super::start;
use crate::variables::variable;

const BASE_PATH: &str = "/api/rivet";
const TEXT_TYPE: &str = "text/plain; charset=utf-8";
const BANNER: &str = "This is a RivetKit server.\n\nLearn more at https://rivet.dev";
/// Metrics are only shown to whoever was told to ask.
const METRICS_ENABLED_ENV: &str = "RIVETKIT_METRICS_ENABLED";
const METRICS_TOKEN_ENV: &str = "RIVETKIT_METRICS_TOKEN";

/// A request whose body has arrived.
pub(super) struct RouterRequest {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

pub(super) struct Router<'a> {
    registry: &'a Registry,
    host: &'a Hosting,
    config: &'a JsServeConfig,
}

/// The path below the base of this configuration; `None` if it is elsewhere.
pub(super) fn below_base<'p>(config: &JsServeConfig, path: &'p str) -> Option<&'p str> {
    let base = config.serverless_base_path.as_deref().unwrap_or(BASE_PATH);
    let rest = path.strip_prefix(base.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

fn reply(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> HttpReply {
    greenroom_gateway::reply_of(status, content_type, ReplyBody::whole(body))
}

/// A whole answer in plain text.
pub(super) fn text(status: StatusCode, text: &'static str) -> HttpReply {
    reply(status, TEXT_TYPE, text)
}

/// The answers of this router know three statuses beside success.
fn status_of(error: &Error) -> StatusCode {
    if error.is(&code::AUTH_FORBIDDEN) {
        StatusCode::FORBIDDEN
    } else if error.is(&code::MESSAGE_INCOMING_TOO_LONG) {
        StatusCode::PAYLOAD_TOO_LARGE
    } else {
        StatusCode::BAD_REQUEST
    }
}

/// Whoever calls here configured this program, so nothing is masked.
fn failed(error: &Error) -> HttpReply {
    let view = error.full_view();
    let body = json!({
        "group": view.group,
        "code": view.code,
        "message": view.message,
        "metadata": view.metadata,
    });
    reply(
        status_of(error),
        Encoding::Json.content_type(),
        body.to_string(),
    )
}

impl<'a> Router<'a> {
    pub(super) fn new(
        registry: &'a Registry,
        host: &'a Hosting,
        config: &'a JsServeConfig,
    ) -> Self {
        Self {
            registry,
            host,
            config,
        }
    }

    /// Answers one request. Never fails: errors are responses.
    pub(super) async fn answer(&self, request: RouterRequest) -> HttpReply {
        let cors = CorsRequest::read(&request.headers);
        if request.method == Method::OPTIONS {
            return cors.gateway_preflight();
        }
        let answered = self.route(&request).await;
        let mut reply = answered.unwrap_or_else(|error| failed(&error));
        cors.stamp_gateway(reply.headers_mut());
        reply
    }

    async fn route(&self, request: &RouterRequest) -> Result<HttpReply> {
        let path = below_base(self.config, request.uri.path());
        let get = request.method == Method::GET;
        Ok(match path {
            Some("" | "/") if get => text(StatusCode::OK, BANNER),
            Some("/health") if get => self.health(),
            Some("/metadata") if get => {
                reply(StatusCode::OK, JSON_TYPE, metadata(self.host).to_string())
            }
            Some("/metrics") if get => self.metrics(&request.headers),
            Some("/start") if get || request.method == Method::POST => {
                let RouterRequest { headers, body, .. } = request;
                return start::start(self.config, self.host, headers, body).await;
            }
            _ => text(StatusCode::NOT_FOUND, "Not Found (RivetKit)"),
        })
    }

    fn health(&self) -> HttpReply {
        let (status, body) = health(&self.registry.board.now(), self.registry.version());
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        reply(status, JSON_TYPE, body)
    }

    fn metrics(&self, headers: &HeaderMap) -> HttpReply {
        if variable(METRICS_ENABLED_ENV).as_deref() != Some("1") {
            return text(StatusCode::FORBIDDEN, "metrics not enabled");
        }
        let token = variable(METRICS_TOKEN_ENV);
        let given = headers.get(AUTHORIZATION).and_then(bearer);
        match (token, given) {
            (Some(token), Some(given)) if same_secret(given, token.as_bytes()) => reply(
                StatusCode::OK,
                METRICS_TYPE,
                metrics(&self.registry.board.now()),
            ),
            _ => text(StatusCode::UNAUTHORIZED, "unauthorized"),
        }
    }
}

fn bearer(value: &HeaderValue) -> Option<&[u8]> {
    let (scheme, token) = value.as_bytes().split_at_checked("bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(token)
}
