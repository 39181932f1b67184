//! The engine's management API, as far as a host needs it.
//!
//! One short-lived connection per call: calls are rare, and a session is what the
//! work goes through.

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

use crate::net::Net;

/// The protocol of the session. An engine that speaks a newer one speaks ours, too.
const PROTOCOL: u64 = 8;
/// Time for one call. The engine gives up on a creation after 30 s, although the
/// actor may start.
const CALL_TIME: Duration = Duration::from_secs(40);

/// How old a process's last ping may be for an engine to place actors there.
const ENVOY_ELIGIBLE_MS: i64 = 10_000;

const CREATE: &str = "create an actor";
const FIND: &str = "find an actor";

/// What an engine says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineMetadata {
    pub runtime: String,
    pub version: String,
    /// Newest session protocol it speaks.
    pub protocol: u64,
    /// Who answers in an engine's place, if it is none: such a host takes nobody in.
    pub stands_in: Option<String>,
}

/// Calls to one engine, for one namespace. Cheap to clone.
#[derive(Clone)]
pub struct EngineApi {
    net: Net,
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
            net: Net::new(Address::parse(endpoint)?)?,
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
                stands_in: answer["implementation"]["name"].as_str().map(str::to_owned),
            }),
            _ => Err(refused("identify", "the answer is not that of an engine")),
        }
    }

    /// # Errors
    /// `engine/incompatible` if the engine is too old for our session;
    /// `engine/refused` if it is none.
    pub(crate) async fn check_protocol(&self) -> Result<()> {
        let found = self.metadata().await?;
        if let Some(host) = found.stands_in {
            let reason = format!("{host} hosts its own actors there, and no others");
            return Err(refused("the session", &reason));
        }
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

    /// Whether a process beside this one takes actors of the pool.
    ///
    /// # Errors
    /// `engine/refused`, `engine/unreachable`.
    pub(crate) async fn has_others(&self, pool: &str, me: &str) -> Result<bool> {
        let path = format!("{}&name={}", self.path("/envoys"), encoded(pool));
        let answer = self.ask("list processes", Method::GET, &path, None).await?;
        let listed = answer["envoys"].as_array().map_or(&[][..], Vec::as_slice);
        let is_me = |envoy: &&Value| envoy["envoy_key"] == me;
        let Some(mine) = listed.iter().find(is_me) else {
            return Err(refused("list processes", "this one is not listed"));
        };
        let ping = |envoy: &Value| envoy["last_ping_ts"].as_i64().unwrap_or(0);
        // By the engine's clock, which may not be ours.
        let alive = listed.iter().map(ping).max().unwrap_or(0) - ENVOY_ELIGIBLE_MS;
        // Actors stay in their datacenter.
        let takes = |envoy: &&Value| {
            envoy["stop_ts"].is_null()
                && ping(envoy) >= alive
                && envoy["datacenter"] == mine["datacenter"]
        };
        Ok(listed.iter().filter(takes).any(|envoy| !is_me(&envoy)))
    }

    /// The actor of this name and key, created if there is none. An answer that
    /// came too late is asked for again: the key stays the same, so that no second
    /// actor comes of it.
    ///
    /// # Errors
    /// `engine/refused`, `engine/unreachable`.
    pub(crate) async fn get_or_create(&self, actor: NewActor<'_>) -> Result<(ActorId, bool)> {
        let body = actor.body();
        let path = self.path("/actors");
        let mut answer = self.call(Method::PUT, &path, Some(&body)).await?;
        if answer.0.is_server_error() {
            answer = self.call(Method::PUT, &path, Some(&body)).await?;
        }
        let answer = accepted(CREATE, answer)?;
        let created = answer["created"].as_bool().unwrap_or(false);
        Ok((actor_in(CREATE, &answer["actor"])?, created))
    }

    /// A new actor.
    ///
    /// # Errors
    /// `actor/duplicate_key`; `engine/refused`, `engine/unreachable`.
    pub(crate) async fn create(&self, actor: NewActor<'_>) -> Result<ActorId> {
        let path = self.path("/actors");
        let answer = self.call(Method::POST, &path, Some(&actor.body())).await?;
        if answer.1["code"] == "duplicate_key" {
            let other = &answer.1["metadata"]["existing_actor_id"];
            let metadata = json!({ "key": actor.key.as_serialized(), "existing_actor_id": other });
            return Err(Error::with(&code::ACTOR_DUPLICATE_KEY, metadata));
        }
        actor_in(CREATE, &accepted(CREATE, answer)?["actor"])
    }

    /// The actor of this name and key, if there is one.
    ///
    /// # Errors
    /// `engine/refused`, `engine/unreachable`.
    pub(crate) async fn find(&self, name: &str, key: &ActorKey) -> Result<Option<ActorId>> {
        let (name, key) = (encoded(name), encoded(key.as_serialized()));
        let path = format!("{}&name={name}&key={key}", self.path("/actors"));
        let answer = self.ask(FIND, Method::GET, &path, None).await?;
        let first = answer["actors"].get(0);
        first.map(|actor| actor_in(FIND, actor)).transpose()
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

    /// Has the engine start an actor that sleeps, and waits until it has.
    ///
    /// # Errors
    /// `actor/not_found`; `engine/unreachable`.
    pub(crate) async fn wake(&self, id: &ActorId) -> Result<()> {
        let path = format!("/gateway/{id}/health");
        let (_, answer) = self.call(Method::GET, &path, None).await?;
        match answer["group"] == "actor" && answer["code"] == "not_found" {
            true => Err(Error::new(&code::ACTOR_NOT_FOUND)),
            false => Ok(()),
        }
    }

    pub(crate) fn net(&self) -> &Net {
        &self.net
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
        let call = call::exchange(&self.net, method, path, token, body);
        let answer = match self.clock.timeout(CALL_TIME, call).await {
            Ok(answer) => answer,
            Err(_) => Err("no answer in time".to_owned()),
        };
        answer.map_err(|reason| {
            Error::with(
                &code::ENGINE_UNREACHABLE,
                json!({ "endpoint": self.net.address().to_string(), "reason": reason }),
            )
        })
    }
}

impl NewActor<'_> {
    fn body(&self) -> Value {
        let mut body = json!({
            "name": self.name,
            "key": self.key.as_serialized(),
            "runner_name_selector": self.pool,
            "crash_policy": "sleep",
        });
        if let Some(input) = &self.input {
            body["input"] = STANDARD.encode(input).into();
        }
        body
    }
}

fn actor_in(doing: &str, actor: &Value) -> Result<ActorId> {
    let id = actor["actor_id"].as_str().and_then(ActorId::parse);
    id.ok_or_else(|| refused(doing, "the answer names no actor"))
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
