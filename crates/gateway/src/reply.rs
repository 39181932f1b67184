//! Responses: whole ones, failed ones, and the headers that name the actor.

use greenroom_core::ActorContext;
use greenroom_error::Error;
use greenroom_wire::client_protocol::Frame;
use greenroom_wire::{Encoding, error_body};
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};

use crate::body::ReplyBody;

/// A response as a host sends it.
pub type HttpReply = Response<ReplyBody>;

pub const ACTOR_HEADER: HeaderName = HeaderName::from_static("x-rivet-actor");
pub const ACTOR_GENERATION_HEADER: HeaderName = HeaderName::from_static("x-rivet-actor-generation");
pub const ACTOR_KEY_HEADER: HeaderName = HeaderName::from_static("x-rivet-actor-key");
/// `group.code` of an error that arose before an actor answered.
pub const ERROR_HEADER: HeaderName = HeaderName::from_static("x-rivet-error");

/// A response with this body.
pub fn of(status: StatusCode, content_type: &'static str, body: ReplyBody) -> HttpReply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    let content_type = HeaderValue::from_static(content_type);
    reply.headers_mut().insert(CONTENT_TYPE, content_type);
    reply
}

pub(crate) fn framework(encoding: Encoding, frame: Frame) -> HttpReply {
    of(
        StatusCode::OK,
        encoding.content_type(),
        ReplyBody::frame(frame),
    )
}

/// A failed response in the client's encoding, with private text masked.
pub fn error_reply(error: &Error, encoding: Encoding) -> HttpReply {
    let status = StatusCode::from_u16(error.http_status());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if status.is_server_error() && !error.is_public() {
        tracing::warn!(%error, "a request failed for a reason that its client is not told");
    }
    let body = error_body::encode(&error.client_view(), encoding);
    of(status, encoding.content_type(), ReplyBody::whole(body))
}

/// A failed response of whatever stands before actors: always JSON, and with the
/// error's name in a header.
pub fn host_error_reply(error: &Error) -> HttpReply {
    let mut reply = error_reply(error, Encoding::Json);
    let name = format!("{}.{}", error.group(), error.code());
    if let Ok(name) = HeaderValue::try_from(name) {
        reply.headers_mut().insert(ERROR_HEADER, name);
    }
    reply
}

/// Says which generation answered. User code cannot overwrite it.
pub(crate) fn stamp(headers: &mut HeaderMap, ctx: &ActorContext) {
    if let Ok(id) = HeaderValue::from_str(ctx.actor_id().as_str()) {
        headers.insert(ACTOR_HEADER, id);
    }
    headers.insert(ACTOR_GENERATION_HEADER, HeaderValue::from(ctx.generation()));
    // Keys are free text; one that cannot stand in a header is left out.
    headers.remove(ACTOR_KEY_HEADER);
    if let Ok(key) = HeaderValue::from_bytes(ctx.key().as_serialized().as_bytes()) {
        headers.insert(ACTOR_KEY_HEADER, key);
    }
}
