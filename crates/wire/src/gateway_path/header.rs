//! Targets named outside the path: by headers, or by subprotocols.

use greenroom_error::{Error, Result, code};
use serde_json::json;

use super::direct::actor_id;
use super::query::boolean;
use super::{GatewayRoute, Target};
use crate::Subprotocols;

const ACTOR_HEADER: &str = "x-rivet-actor";
const ACTOR_PROTOCOL: &str = "rivet_actor";
const SKIP_READY_WAIT_HEADER: &str = "x-rivet-skip-ready-wait";

/// The headers that can name a target, and what an error says about the rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct TargetHeaders<'a> {
    /// `x-rivet-target`
    pub target: Option<&'a [u8]>,
    /// `x-rivet-actor`
    pub actor: Option<&'a [u8]>,
    /// `x-rivet-token`
    pub token: Option<&'a [u8]>,
    /// `x-rivet-skip-ready-wait`
    pub skip_ready_wait: Option<&'a [u8]>,
    /// `host`, for the text of errors.
    pub host: Option<&'a [u8]>,
}

/// Reads the target headers of an HTTP request with this path and query.
/// `None` means that it has no such target and is for the endpoint API.
///
/// # Errors
/// `guard/no_route` for an actor target with a path outside `/request`,
/// `guard/missing_header` without an id, `guard/invalid_header` for a boolean
/// that is none, `actor/not_found` and `datacenter/not_found` for the id.
pub fn from_headers(
    headers: &TargetHeaders<'_>,
    path_and_query: &str,
) -> Result<Option<GatewayRoute>> {
    if headers.target != Some(b"actor") {
        return Ok(None);
    }
    if !is_request_path(path_and_query) {
        let host = String::from_utf8_lossy(headers.host.unwrap_or_default());
        let path = path_and_query.split('?').next();
        return Err(Error::with(
            &code::GUARD_NO_ROUTE,
            json!({ "host": host, "path": path }),
        ));
    }
    let id = headers.actor.ok_or_else(|| missing(ACTOR_HEADER))?;
    let token = headers.token.map(String::from_utf8_lossy);
    Ok(Some(GatewayRoute {
        target: Target::Direct(actor_id(&String::from_utf8_lossy(id))?),
        token: token.map(|token| token.into_owned()),
        skip_ready_wait: skip_ready_wait(headers.skip_ready_wait)?,
        path_and_query: path_and_query.to_owned(),
    }))
}

/// Reads the target of a WebSocket from its subprotocols; any path will do.
///
/// # Errors
/// As [`from_headers`], without those about paths and booleans.
pub fn from_subprotocols(
    offer: &Subprotocols<'_>,
    path_and_query: &str,
) -> Result<Option<GatewayRoute>> {
    if offer.target != Some("actor") {
        return Ok(None);
    }
    let id = offer.actor.ok_or_else(|| missing(ACTOR_PROTOCOL))?;
    Ok(Some(GatewayRoute {
        target: Target::Direct(actor_id(id)?),
        token: offer.token.map(str::to_owned),
        skip_ready_wait: offer.skip_ready_wait,
        path_and_query: path_and_query.to_owned(),
    }))
}

/// Reads the `x-rivet-skip-ready-wait` header, which any form of addressing
/// may come with. Absent means no.
///
/// # Errors
/// `guard/invalid_header` if it is not a boolean.
pub fn skip_ready_wait(value: Option<&[u8]>) -> Result<bool> {
    let Some(value) = value else {
        return Ok(false);
    };
    std::str::from_utf8(value)
        .ok()
        .and_then(boolean)
        .ok_or_else(|| {
            Error::with(
                &code::GUARD_INVALID_HEADER,
                json!({
                    "header": SKIP_READY_WAIT_HEADER,
                    "detail": "expected true, false, 1 or 0",
                }),
            )
        })
}

/// True for `/request` and everything below it.
fn is_request_path(path_and_query: &str) -> bool {
    path_and_query
        .strip_prefix("/request")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
}

fn missing(header: &str) -> Error {
    Error::with(&code::GUARD_MISSING_HEADER, json!({ "header": header }))
}
