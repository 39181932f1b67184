//! The program's own HTTP handler.

use std::sync::Arc;

use greenroom_error::{Error, Result};
use greenroom_gateway::{HttpReply, ReplyBody};
use http::header::{HOST, HeaderMap, HeaderName, HeaderValue};
use http::{HeaderName as Name, StatusCode};
use tokio_util::sync::CancellationToken;

use super::router::RouterRequest;
use crate::bridge::{Bridge, JsRef, JsResult, Scope, Value};
use crate::callbacks::{Head, read_head};
use crate::http::{HttpResponseBodyStream, headers_object, response_body};

/// A handler `(err, request) => response` of user code.
pub(super) struct Application {
    bridge: Bridge,
    handler: Arc<JsRef>,
}

impl Application {
    pub(super) fn new(scope: &Scope<'_>, handler: JsRef) -> Self {
        Self {
            bridge: scope.bridge().clone(),
            handler: handler.into(),
        }
    }

    /// Asks user code. Dropping the future, or the body it gave, cancels the
    /// request's token.
    pub(super) async fn respond(&self, request: RouterRequest) -> Result<HttpReply> {
        let cancelled = CancellationToken::new();
        let abandoned = cancelled.clone().drop_guard();
        let (writer, reader) = response_body();
        let handler = Arc::clone(&self.handler);
        let called = self.bridge.call(
            "application",
            move |scope, id| {
                let token = crate::cancellation_token::CancellationToken::of_runtime(cancelled);
                let writer = HttpResponseBodyStream::new(writer);
                let payload = payload(scope, &request, scope.native(token)?, scope.native(writer)?);
                scope.invoke(id, &handler, payload?)
            },
            read_head,
        );
        let head = called.await?;
        if head.streams {
            return reply(&head, ReplyBody::channel(reader, abandoned));
        }
        abandoned.disarm();
        reply(&head, ReplyBody::whole(head.body.clone()))
    }
}

fn payload<'s>(
    scope: &Scope<'s>,
    request: &RouterRequest,
    token: Value<'s>,
    writer: Value<'s>,
) -> JsResult<Value<'s>> {
    let headers = request.headers.iter().map(|(name, value)| {
        let value = value.as_bytes().iter().copied().map(char::from).collect();
        (name.as_str().to_owned(), value)
    });
    let headers: Vec<(String, String)> = headers.collect();
    scope.object(&[
        (c"method", scope.text(request.method.as_str())?),
        (c"url", scope.text(&absolute_url(request))?),
        (c"headers", headers_object(scope, &headers)?),
        (c"body", scope.buffer(&request.body)?),
        (c"cancelToken", token),
        (c"responseBodyStream", writer),
    ])
}

/// The URL that the client asked for, as proxies in between report it.
fn absolute_url(request: &RouterRequest) -> String {
    let said = |name: Name| first_of_list(&request.headers, name);
    let scheme = match said(Name::from_static("x-forwarded-proto")) {
        Some("https") => "https",
        _ => "http",
    };
    let host = said(Name::from_static("x-forwarded-host")).or_else(|| said(HOST));
    let path = request
        .uri
        .path_and_query()
        .map_or("/", |path| path.as_str());
    format!("{scheme}://{}{path}", host.unwrap_or("localhost"))
}

/// The first value of a list, which the outermost proxy wrote.
fn first_of_list(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let value = headers.get(name)?.to_str().ok()?;
    let first = value.split(',').next()?.trim();
    (!first.is_empty()).then_some(first)
}

fn reply(head: &Head, body: ReplyBody) -> Result<HttpReply> {
    let mut reply = HttpReply::new(body);
    *reply.status_mut() = StatusCode::from_u16(head.status)
        .map_err(|error| Error::internal("the handler gave no status").with_source(error))?;
    for (name, value) in &head.headers {
        let header = HeaderName::try_from(name.as_str())
            .ok()
            .zip(HeaderValue::try_from(value.as_str()).ok());
        let Some((name, value)) = header else {
            return Err(Error::internal(format!(
                "the handler gave a header that is none: {name}"
            )));
        };
        reply.headers_mut().append(name, value);
    }
    Ok(reply)
}
