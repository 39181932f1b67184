//! Answers of the registry for HTTP servers that the program runs itself.

use std::collections::HashMap;

use bytes::Bytes;
use greenroom_error::Error;
pub(super) use greenroom_gateway::METRICS_TYPE;
use napi::bindgen_prelude::Env;
use napi_derive::napi;
use serde_json::{Value as Json, json};

use super::CoreRegistry;
use super::hosting::Hosting;
use super::phase::{Mode, Phase};
use crate::bridge::{Buffer, Promise, enter, promise, to_napi};

pub(super) const JSON_TYPE: &str = "application/json";
/// What published clients and tools look for.
const RUNTIME: &str = "rivetkit";
const ENVOY_PROTOCOL_VERSION: u32 = 8;

#[napi(object)]
pub struct JsRegistryRouteResponse {
    pub status: u32,
    pub headers: HashMap<String, String>,
    pub body: Buffer,
}

fn response(status: u32, content_type: &str, body: String) -> JsRegistryRouteResponse {
    JsRegistryRouteResponse {
        status,
        headers: HashMap::from([("content-type".to_owned(), content_type.to_owned())]),
        body: Bytes::from(body).into(),
    }
}

/// Status and body.
pub(super) fn health(phase: &Phase, version: &str) -> (u16, String) {
    let (code, status) = match phase {
        Phase::Registering => (503, "not_started"),
        Phase::Starting(_) => (503, "starting"),
        Phase::Serving(_) => (200, "ok"),
        Phase::ShuttingDown(_) => (503, "shutting_down"),
        Phase::ShutDown => (503, "shut_down"),
    };
    let body = json!({ "runtime": RUNTIME, "status": status, "version": version });
    (code, body.to_string())
}

pub(super) fn metadata(hosting: &Hosting) -> Json {
    let identity = &hosting.identity;
    let kind = match identity.mode {
        Mode::Standing => json!({ "normal": {} }),
        Mode::Serverless => json!({ "serverless": {} }),
    };
    let mut metadata = json!({
        "runtime": RUNTIME,
        "version": identity.version,
        "envoyProtocolVersion": ENVOY_PROTOCOL_VERSION,
        "actorNames": hosting.actor_names,
        "envoy": { "kind": kind, "version": identity.envoy_version },
    });
    let hints = [
        ("clientEndpoint", &identity.client_endpoint),
        ("clientNamespace", &identity.client_namespace),
        ("clientToken", &identity.client_token),
    ];
    for (name, hint) in hints {
        if let Some(hint) = hint {
            metadata[name] = json!(hint);
        }
    }
    metadata
}

/// Of a registry that serves; of any other there is nothing to tell.
pub(super) fn metrics(phase: &Phase) -> String {
    match phase {
        Phase::Serving(hosting) => hosting.metrics(),
        _ => String::new(),
    }
}

#[napi]
impl CoreRegistry {
    /// Whether the registry serves: 200 or 503.
    #[napi(catch_unwind)]
    pub fn health(&self, env: Env) -> napi::Result<Promise<JsRegistryRouteResponse>> {
        let (status, body) = health(&self.0.board.now(), self.0.version());
        let answer = response(status.into(), JSON_TYPE, body);
        enter(&env, |scope| {
            promise(scope, async { Ok::<_, Error>(answer) })
        })
    }

    /// Who answers here and which actors there are.
    #[napi(catch_unwind)]
    pub fn metadata(&self) -> napi::Result<JsRegistryRouteResponse> {
        match self.0.board.now() {
            Phase::Serving(hosting) => Ok(response(200, JSON_TYPE, metadata(&hosting).to_string())),
            _ => Err(to_napi(&Error::invalid_state(
                "metadata_unavailable",
                "registry metadata is not available until the registry has started",
            ))),
        }
    }

    /// Figures of this registry in Prometheus text form.
    #[napi(catch_unwind)]
    pub fn metrics(&self) -> JsRegistryRouteResponse {
        response(200, METRICS_TYPE, metrics(&self.0.board.now()))
    }
}
