//! `/gateway/{actor_id}[@{token}][/{path}]`.

use greenroom_error::{Error, Result, code};
use serde_json::json;

use super::{GatewayRoute, Target, join};
use crate::ActorId;
use crate::id::LOCAL_DATACENTER;
use crate::percent;

pub(super) fn parse(
    segment: &str,
    actor_path: &str,
    query: Option<&str>,
) -> Result<Option<GatewayRoute>> {
    // Clients encode both parts, so a literal `@` separates them.
    let (id, token) = match segment.split_once('@') {
        Some((id, token)) => (id, Some(token)),
        None => (segment, None),
    };
    if id.is_empty() || token.is_some_and(str::is_empty) {
        return Ok(None);
    }
    Ok(Some(GatewayRoute {
        target: Target::Direct(actor_id(id)?),
        token: token.map(decode_token).transpose()?,
        skip_ready_wait: false,
        path_and_query: join(actor_path, query),
    }))
}

/// Reads a percent-encoded actor id and checks that it is of this datacenter.
pub(super) fn actor_id(text: &str) -> Result<ActorId> {
    // Text that is not UTF-8 fails as any other that is not an id.
    let id: ActorId = percent::decode(text).unwrap_or_default().parse()?;
    if id.datacenter() != LOCAL_DATACENTER {
        return Err(Error::new(&code::DATACENTER_NOT_FOUND));
    }
    Ok(id)
}

fn decode_token(token: &str) -> Result<String> {
    match percent::decode(token) {
        Ok(token) => Ok(token.into_owned()),
        Err(_) => Err(Error::with(
            &code::API_BAD_REQUEST,
            json!({ "reason": "token is not valid percent-encoded UTF-8" }),
        )),
    }
}
