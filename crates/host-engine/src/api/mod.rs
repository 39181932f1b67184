//! The engine's management API, as far as a host needs it.
//!
//! One short-lived connection per call: calls are rare, and a session is what the
//! work goes through. TLS is not spoken here yet, so endpoints are `http://`.

mod address;
mod call;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use greenroom_core::Clock;
use greenroom_error::{Error, Result, code};
use greenroom_wire::{ActorId, ActorKey};
use http::{Method, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

pub(crate) use address::Address;

/// The protocol of the session. An engine that speaks a newer one speaks ours, too.
const PROTOCOL: u64 = 8;
/// Time for one call. The engine gives up on a creation after 30 s, although the
/// actor may start.
const CALL_TIME: Duration = Duration::from_secs(40);

/// What an engine says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineMetadata {
    pub runtime: String,
    pub version: String,
    /// Newest session protocol it speaks.
    pub protocol: u64,
}

/// Calls to one engine, for one namespace. Cheap to clone.
#[derive(Clone)]
pub struct EngineApi {
    address: Address,
    namespace: String,
    token: Option<String>,
    clock: Clock,
}

/// What is wanted when an actor is created.
pub(crate) struct NewActor<'a> {
    pub(crate) name: &'a str,
    pub(crate) key: &'a ActorKey,
    pub(crate) pool: &'a str,
    pub(crate) input: Option<Bytes>,
}

impl EngineApi {
    /// # Errors
    /// `engine/invalid_endpoint`.
    pub fn new(
        endpoint: &str,
        namespace: &str,
        token: Option<String>,
        clock: Clock,
    ) -> Result<Self> {
        Ok(Self {
            address: Address::parse(endpoint)?,
            namespace: namespace.to_owned(),
            token,
            clock,
        })
    }

    /// Asks who is there; needs no token.
    ///
    /// # Errors
    /// `engine/unreachable`; `engine/refused` if it is no engine.
    pub async fn metadata(&self) -> Result<EngineMetadata> {
        let answer = self.ask("identify", Method::GET, "/metadata", None).await?;
        let text = |name| answer[name].as_str().map(str::to_owned);
        let protocol = answer["envoy_protocol_version"].as_u64();
        match (text("runtime"), text("version"), protocol) {
            (runtime, Some(version), Some(protocol)) => Ok(EngineMetadata {
                runtime: runtime.unwrap_or_default(),
                version,
                protocol,
            }),
            _ => Err(refused("identify", "the answer is not that of an engine")),
        }
    }

    /// # Errors
    /// `engine/incompatible` if the engine is too old for our session.
    pub(crate) async fn check_protocol(&self) -> Result<()> {
        let found = self.metadata().await?;
        if found.protocol >= PROTOCOL {
            return Ok(());
        }
        Err(Error::with(
            &code::ENGINE_INCOMPATIBLE,
            json!({ "version": found.version, "found": found.protocol, "needed": PROTOCOL }),
        ))
    }

    /// Makes sure that the pool exists, in every datacenter. The session is refused
    /// without.
    ///
    /// # Errors
    /// `engine/refused`, for an unknown namespace or a wrong token, too.
    pub(crate) async fn ensure_pool(&self, pool: &str) -> Result<()> {
        let path = self.path("/datacenters");
        let found = self
            .ask("list datacenters", Method::GET, &path, None)
            .await?;
        let names = found["datacenters"].as_array().into_iter().flatten();
        let names = names.filter_map(|datacenter| datacenter["name"].as_str());
        let settings = names.map(|name| (name.to_owned(), json!({ "normal": {} })));
        let body = json!({ "datacenters": settings.collect::<serde_json::Map<_, _>>() });
        let path = self.path(&format!("/runner-configs/{}", encoded(pool)));
        self.ask("make the pool", Method::PUT, &path, Some(body))
            .await
            .map(drop)
    }

    /// The actor of this name and key, created if there is none. An answer that
    /// came too late is asked for again: the key stays the same, so that no second
    /// actor comes of it.
    ///
    /// # Errors
    /// `engine/refused`, `engine/unreachable`.
    pub(crate) async fn get_or_create(&self, actor: NewActor<'_>) -> Result<(ActorId, bool)> {
        let mut body = json!({
            "name": actor.name,
            "key": actor.key.as_serialized(),
            "runner_name_selector": actor.pool,
            "crash_policy": "sleep",
        });
        if let Some(input) = &actor.input {
            body["input"] = STANDARD.encode(input).into();
        }
        let doing = "create an actor";
        let path = self.path("/actors");
        let mut answer = self.call(Method::PUT, &path, Some(&body)).await?;
        if answer.0.is_server_error() {
            answer = self.call(Method::PUT, &path, Some(&body)).await?;
        }
        let answer = accepted(doing, answer)?;
        let id = answer["actor"]["actor_id"].as_str();
        let id = id.and_then(ActorId::parse);
        let id = id.ok_or_else(|| refused(doing, "the answer names no actor"))?;
        Ok((id, answer["created"].as_bool().unwrap_or(false)))
    }

    /// Destroys an actor; one that is gone already is fine.
    ///
    /// # Errors
    /// `engine/refused`, `engine/unreachable`.
    pub(crate) async fn destroy(&self, id: &ActorId) -> Result<()> {
        let path = self.path(&format!("/actors/{id}"));
        let answer = self.call(Method::DELETE, &path, None).await?;
        match answer.0 {
            StatusCode::NOT_FOUND => Ok(()),
            _ => accepted("destroy an actor", answer).map(drop),
        }
    }

    /// Has the engine start an actor that sleeps.
    ///
    /// # Errors
    /// `engine/refused`, `engine/unreachable`.
    pub(crate) async fn wake(&self, id: &ActorId) -> Result<()> {
        let path = format!("/gateway/{id}/health");
        self.call(Method::GET, &path, None).await.map(drop)
    }

    fn path(&self, path: &str) -> String {
        format!("{path}?namespace={}", encoded(&self.namespace))
    }

    async fn ask(
        &self,
        doing: &str,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value> {
        accepted(doing, self.call(method, path, body.as_ref()).await?)
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value)> {
        let token = self.token.as_deref();
        let call = call::exchange(&self.address, method, path, token, body);
        let answer = match self.clock.timeout(CALL_TIME, call).await {
            Ok(answer) => answer,
            Err(_) => Err("no answer in time".to_owned()),
        };
        answer.map_err(|reason| {
            Error::with(
                &code::ENGINE_UNREACHABLE,
                json!({ "endpoint": self.address.to_string(), "reason": reason }),
            )
        })
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

fn accepted(doing: &str, (status, answer): (StatusCode, Value)) -> Result<Value> {
    if status.is_success() {
        return Ok(answer);
    }
    let named = match (answer["group"].as_str(), answer["code"].as_str()) {
        (Some(group), Some(code)) => format!("{group}.{code}: "),
        _ => String::new(),
    };
    let message = answer["message"].as_str().unwrap_or_default();
    Err(refused(doing, &format!("{named}{message} ({status})")))
}

fn refused(operation: &str, reason: &str) -> Error {
    Error::with(
        &code::ENGINE_REFUSED,
        json!({ "operation": operation, "reason": reason }),
    )
}
