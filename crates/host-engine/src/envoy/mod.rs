//! The session with the engine, through its published client: the only place that
//! knows the client's types.
//!
//! [`join`] opens a session; what the engine says comes in through `callbacks`,
//! what we say goes out through [`Link`], and an actor's pages are read and
//! written by [`EnginePages`]. The client's actor loop is never made to wait: what
//! takes time is handed to tasks of ours, or is the answer of a request that the
//! client runs as a task of its own.

mod backlog;
mod callbacks;
mod connector;
mod credit;
mod headers;
mod http;
mod link;
mod pages;
mod pieces;
mod socket;
mod upload;

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use greenroom_error::{Error, Result, code};
use rivet_envoy_client::config::{
    ActorName, DEFAULT_MAX_QUEUED_REQUESTS_PER_ACTOR, DEFAULT_STOPPED_GENERATION_FLOOR_CAPACITY,
    DEFAULT_STOPPED_GENERATION_FLOOR_TTL, EnvoyConfig,
};
use rivet_envoy_client::envoy::start_envoy_sync;
use serde_json::json;

pub(crate) use backlog::Backlog;
use connector::Connector;
pub(crate) use link::{Link, Session, StopDone};
pub(crate) use pages::EnginePages;
#[cfg(test)]
pub(crate) use socket::Line;
pub(crate) use socket::ToGateway;

use crate::shared::Shared;

/// Opens the session and waits until the engine has taken us in.
///
/// # Errors
/// `engine/refused` with the engine's reason; `engine/unreachable` when time is
/// over. The session is closed then.
pub(crate) async fn join(shared: &Arc<Shared>, names: Vec<String>) -> Result<Session> {
    let options = &shared.options;
    let config = EnvoyConfig {
        version: options.version,
        endpoint: options.endpoint.clone(),
        token: options.token.clone(),
        namespace: options.namespace.clone(),
        pool_name: options.pool_name.clone(),
        prepopulate_actor_names: announced(names),
        metadata: Some(json!({ "runtime": "greenroom", "version": env!("CARGO_PKG_VERSION") })),
        // A shared session would hand our actors to another registry.
        not_global: true,
        debug_latency_ms: None,
        stopped_generation_floor_ttl: DEFAULT_STOPPED_GENERATION_FLOOR_TTL,
        stopped_generation_floor_capacity: DEFAULT_STOPPED_GENERATION_FLOOR_CAPACITY,
        max_queued_requests_per_actor: DEFAULT_MAX_QUEUED_REQUESTS_PER_ACTOR,
        callbacks: Arc::new(callbacks::Callbacks(Weak::clone(&shared.me))),
        connector: Some(Arc::new(Connector {
            net: shared.api.net().clone(),
            backlog: Arc::clone(&shared.backlog),
        })),
    };
    let session = Session::new(start_envoy_sync(config), shared.session_over.clone());
    let started = options
        .clock
        .timeout(options.join_timeout, session.started());
    let started = started.await;
    let outcome = match started {
        Ok(Ok(())) => return Ok(session),
        Ok(Err(reason)) => Error::with(
            &code::ENGINE_REFUSED,
            json!({ "operation": "the session", "reason": reason }),
        ),
        Err(_) => Error::with(
            &code::ENGINE_UNREACHABLE,
            json!({ "endpoint": options.endpoint, "reason": "no session within the time given" }),
        ),
    };
    session.close();
    Err(outcome)
}

fn announced(names: Vec<String>) -> HashMap<String, ActorName> {
    let name = |name| {
        let metadata = json!({});
        (name, ActorName { metadata })
    };
    names.into_iter().map(name).collect()
}
