//! `onRequest`: raw HTTP.

use std::sync::Arc;

use bytes::Bytes;
use greenroom_core::{Incoming, Request, Response};
use greenroom_error::{Error, Result, code};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Hook;
use crate::actor::ActorShared;
use crate::actor_context::Invocation;
use crate::bridge::{JsResult, Kind, Scope, Value};
use crate::cancellation_token::CancellationToken as JsToken;
use crate::http::{HttpResponseBodyStream, request_object, response_body};
use crate::runtime;

/// What the callback said, without the stream that may go with it.
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    pub(crate) streams: bool,
}

impl ActorShared {
    pub(crate) async fn on_request(self: &Arc<Self>, mut request: Request) -> Result<Response> {
        let incoming = Incoming {
            ray_id: request.header("x-rivet-ray-id").map(str::to_owned),
            traceparent: request.header("traceparent").map(str::to_owned),
            tracestate: request.header("tracestate").map(str::to_owned),
            ..Incoming::default()
        };
        let invocation = Invocation::new(&incoming);
        let token = request.cancelled.clone();
        let region = request.region.take();
        let (writer, reader) = response_body();
        let body = HttpResponseBodyStream::new(writer);
        // Whoever listens to the token is let go of when the response is over.
        let over = CancellationToken::new();
        let (sent, ended) = (body.ended(), over.clone());
        let called = self.call_hook(
            Hook::OnRequest,
            move |scope, shared| {
                let token = JsToken::of_request(token, over);
                scope.object(&[
                    (c"ctx", shared.invocation_handle(scope, invocation)?),
                    (c"request", request_object(scope, request)?),
                    (c"responseBodyStream", scope.native(body)?),
                    (c"cancelToken", scope.native(token)?),
                ])
            },
            read_head,
        );
        let span = self.ctx.config().on_request_timeout;
        let timed = self.ctx.clock().timeout(span, called).await;
        let head = timed.unwrap_or_else(|_| Err(Error::new(&code::ACTOR_ACTION_TIMED_OUT)))?;
        // Where this fails, or its client leaves, whoever asked cancels the token.
        if head.streams {
            runtime::spawn(async move {
                sent.cancelled().await;
                ended.cancel();
            });
        } else {
            ended.cancel();
        }
        Ok(Response {
            status: head.status,
            headers: head.headers,
            body: head.body,
            stream: head.streams.then_some(reader),
            region,
        })
    }
}

pub(crate) fn read_head<'s>(scope: &Scope<'s>, value: Value<'s>) -> JsResult<Head> {
    if scope.kind(value)? != Kind::Object {
        return Err(invalid("value", "the handler must return an object").into());
    }
    let stream = scope.named(value, c"stream")?;
    let streams = scope.truthy(stream)?;
    Ok(Head {
        status: read_status(scope, scope.named(value, c"status")?)?,
        headers: read_headers(scope, scope.named(value, c"headers")?)?,
        body: if streams {
            Bytes::new()
        } else {
            read_body(scope, scope.named(value, c"body")?)?
        },
        streams,
    })
}

fn read_status<'s>(scope: &Scope<'s>, value: Value<'s>) -> JsResult<u16> {
    if scope.kind(value)?.is_nothing() {
        return Ok(200);
    }
    let status = scope.f64(value)?;
    if status.fract() == 0.0 && (200.0..=599.0).contains(&status) {
        Ok(status as u16)
    } else {
        Err(invalid("status", "must be a number from 200 to 599").into())
    }
}

fn read_headers<'s>(scope: &Scope<'s>, value: Value<'s>) -> JsResult<Vec<(String, String)>> {
    if scope.kind(value)?.is_nothing() {
        return Ok(Vec::new());
    }
    let names = scope.own_keys(value)?;
    let mut headers = Vec::new();
    for at in 0..scope.length(names)? {
        let name = scope.element(names, at)?;
        let text = scope.to_text(scope.get(value, name)?)?;
        headers.push((scope.string(name)?, text));
    }
    Ok(headers)
}

fn read_body<'s>(scope: &Scope<'s>, value: Value<'s>) -> JsResult<Bytes> {
    if scope.kind(value)?.is_nothing() {
        return Ok(Bytes::new());
    }
    let body = scope.bytes(value)?;
    Ok(body.ok_or_else(|| invalid("body", "must be a Buffer or Uint8Array"))?)
}

fn invalid(field: &str, reason: &str) -> Error {
    Error::with(
        &code::PROTOCOL_INVALID_HTTP_RESPONSE,
        json!({ "field": field, "reason": reason }),
    )
}
