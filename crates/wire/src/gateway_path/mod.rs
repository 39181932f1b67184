//! Finding the actor a request is for.
//!
//! A request names its actor in its path ([`parse`]), in headers
//! ([`from_headers`]) or, for a WebSocket, in subprotocols
//! ([`from_subprotocols`]); the path wins over the others. What is left of path
//! and query is what the actor sees, and stays byte for byte as it was sent.
//!
//! Everything here is syntax: whether the actor, the namespace or the pool
//! exists is decided by the host, and tokens are read but not checked.

mod direct;
mod header;
mod query;

pub use header::{TargetHeaders, from_headers, from_subprotocols, skip_ready_wait};

use bytes::Bytes;
use greenroom_error::Result;

use crate::{ActorId, ActorKey};

const PREFIX: &str = "/gateway/";

/// A request for an actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayRoute {
    pub target: Target,
    /// The token of the path or query; it wins over that of a header.
    pub token: Option<String>,
    /// True if the request must not wait until the actor is ready.
    pub skip_ready_wait: bool,
    /// Path and query as the actor sees them; starts with `/`.
    pub path_and_query: String,
}

/// Which actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The one with this id.
    Direct(ActorId),
    /// The one with this name and key.
    Query(QueryTarget),
}

/// An actor by name and key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryTarget {
    pub namespace: String,
    pub name: String,
    pub key: ActorKey,
    pub method: QueryMethod,
}

/// What to do if there is no such actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryMethod {
    /// Fail.
    Get,
    /// Create it.
    GetOrCreate(CreateOptions),
}

/// How a missing actor is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateOptions {
    /// The pool that runs the actor.
    pub pool: String,
    /// CBOR of the input; absent means `undefined`.
    pub input: Option<Bytes>,
    /// Datacenter to create it in.
    pub region: Option<String>,
    pub crash_policy: Option<CrashPolicy>,
}

/// What becomes of an actor that crashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPolicy {
    Restart,
    Sleep,
    Destroy,
}

impl CrashPolicy {
    pub const fn as_str(self) -> &'static str {
        match self {
            CrashPolicy::Restart => "restart",
            CrashPolicy::Sleep => "sleep",
            CrashPolicy::Destroy => "destroy",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        [
            CrashPolicy::Restart,
            CrashPolicy::Sleep,
            CrashPolicy::Destroy,
        ]
        .into_iter()
        .find(|policy| policy.as_str() == name)
    }
}

/// Reads the path and query of a request. `None` means that it is not a
/// gateway path and belongs to the endpoint API.
///
/// # Errors
/// `guard/query_*` for a query form that breaks a rule, `actor/key_too_large`,
/// `actor/not_found` for an id that is none, `datacenter/not_found` for the id
/// of another datacenter, `api/bad_request` for a token that is not UTF-8.
pub fn parse(path_and_query: &str) -> Result<Option<GatewayRoute>> {
    let Some(rest) = path_and_query.strip_prefix(PREFIX) else {
        return Ok(None);
    };
    let (path, query) = match rest.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (rest, None),
    };
    let (segment, actor_path) = match path.find('/') {
        Some(at) => path.split_at(at),
        None => (path, "/"),
    };
    if actor_path.starts_with("//") {
        return Ok(None);
    }
    let is_query_form = query.is_some_and(|query| query.split('&').any(query::is_parameter));
    match query {
        Some(query) if is_query_form => query::parse(segment, actor_path, query).map(Some),
        query => direct::parse(segment, actor_path, query),
    }
}

/// Joins what an actor sees.
fn join(path: &str, query: Option<&str>) -> String {
    match query {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests;
