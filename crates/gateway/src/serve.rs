//! From a request to the route that answers it.

use std::fmt::Display;

use bytes::Bytes;
use greenroom_core::registry::RequestHead;
use greenroom_core::{ActionCall, Clock};
use greenroom_error::{Error, Result};
use greenroom_wire::{Encoding, RayId, conn_params};
use http::header::{HeaderValue, REFERRER_POLICY};
use http::{StatusCode, request::Parts};
use http_body::Body;
use tokio_util::sync::CancellationToken;

use crate::body::{ReplyBody, discard_body, read_body};
use crate::head::{self, CONN_PARAMS_HEADER};
use crate::live::{ActorSource, LiveActor};
use crate::reply::{self, HttpReply};
use crate::route::{self, Route};
use crate::{COMPATIBLE_VERSION, action, queue, raw};

/// The routes of actors. Holds nothing of any actor.
#[derive(Clone)]
pub struct Gateway {
    pub clock: Clock,
    /// Whether `/metadata` calls this a deployment or a local process.
    pub deployed: bool,
    /// Whether `onRequest` answers `/inspector/…`; without, nobody does.
    pub inspector_in_runtime: bool,
}

/// A request for one actor.
pub struct ActorRequest<B> {
    pub parts: Parts,
    /// Path and query inside the actor; starts with `/`.
    pub path_and_query: String,
    pub body: B,
    pub ray_id: RayId,
}

impl Gateway {
    /// Answers one request. Never fails: errors are responses. Dropping the
    /// future, or the body it returned, tells user code that the client is gone.
    pub async fn serve<B, S>(&self, request: ActorRequest<B>, source: S) -> HttpReply
    where
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Display,
        S: ActorSource,
    {
        let mut actor = match LiveActor::acquire(source).await {
            Ok(actor) => actor,
            Err(error) => {
                discard_body(request.body, &self.clock).await;
                return reply::host_error_reply(&error);
            }
        };
        let encoding = head::encoding(&request.parts.headers);
        let answer = self.route(request, &mut actor, encoding).await;
        let mut reply =
            answer.unwrap_or_else(|error| reply::error_reply(&actor.attach(error), encoding));
        reply::stamp(reply.headers_mut(), actor.handle().ctx());
        reply
    }

    async fn route<B, S>(
        &self,
        request: ActorRequest<B>,
        actor: &mut LiveActor<S>,
        encoding: Encoding,
    ) -> Result<HttpReply>
    where
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Display,
        S: ActorSource,
    {
        let ActorRequest {
            parts,
            path_and_query,
            body,
            ray_id,
        } = request;
        let text = "text/plain; charset=utf-8";
        let route = match Route::find(&parts.method, &path_and_query) {
            Ok(route) => route,
            Err(error) => {
                discard_body(body, &self.clock).await;
                return Err(error);
            }
        };
        match route {
            Route::Banner => Ok(reply::of(StatusCode::OK, text, ReplyBody::whole(BANNER))),
            Route::Health => Ok(reply::of(StatusCode::OK, text, ReplyBody::whole("ok"))),
            Route::Metadata => Ok(self.metadata()),
            Route::Action(name) => {
                let body = self.read(body, actor).await?;
                let call = Call::new(&parts, &path_and_query, name.into_owned(), &ray_id)?;
                action::run(call, body, encoding, actor).await
            }
            Route::Queue(name) => {
                let body = self.read(body, actor).await?;
                let call = Call::new(&parts, &path_and_query, name.into_owned(), &ray_id)?;
                queue::send(call, body, encoding, actor).await
            }
            Route::Raw(uri) => {
                let uri = head::original_url(&parts.headers).unwrap_or(&uri);
                self.raw(&parts, uri, &ray_id, body, actor).await
            }
            Route::InspectorAsset(asset) => {
                discard_body(body, &self.clock).await;
                asset.serve(actor.handle().ctx().config()).await
            }
            Route::Inspector(uri) if self.inspector_in_runtime => {
                self.raw(&parts, uri, &ray_id, body, actor).await
            }
            Route::Inspector(uri) => {
                discard_body(body, &self.clock).await;
                Err(route::unknown(uri.split('?').next().unwrap_or(uri)))
            }
        }
    }

    async fn raw<B, S>(
        &self,
        parts: &Parts,
        uri: &str,
        ray_id: &RayId,
        body: B,
        actor: &mut LiveActor<S>,
    ) -> Result<HttpReply>
    where
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Display,
        S: ActorSource,
    {
        raw::RawCall {
            method: &parts.method,
            uri,
            headers: head::for_user_code(&parts.headers, ray_id),
        }
        .run(body, actor, self)
        .await
    }

    fn metadata(&self) -> HttpReply {
        let kind = if self.deployed { "deployed" } else { "local" };
        let text =
            format!(r#"{{"runtime":"rivetkit","type":"{kind}","version":"{COMPATIBLE_VERSION}"}}"#);
        let mut reply = reply::of(StatusCode::OK, "application/json", ReplyBody::whole(text));
        let policy = HeaderValue::from_static("no-referrer");
        reply.headers_mut().insert(REFERRER_POLICY, policy);
        reply
    }

    /// Reads the body of a framework request.
    async fn read<B, S>(&self, body: B, actor: &LiveActor<S>) -> Result<Bytes>
    where
        B: Body<Data = Bytes>,
        B::Error: Display,
        S: ActorSource,
    {
        let limit = actor.handle().ctx().config().max_incoming_message_size;
        read_body(body, limit, &self.clock).await
    }
}

const BANNER: &str = "This is an RivetKit actor.\n\nLearn more at https://rivetkit.org";

/// An action or a queue message before its body was read.
pub(crate) struct Call<'a> {
    parts: &'a Parts,
    uri: &'a str,
    name: String,
    params: Bytes,
    ray_id: &'a RayId,
}

impl<'a> Call<'a> {
    fn new(parts: &'a Parts, uri: &'a str, name: String, ray_id: &'a RayId) -> Result<Self> {
        let params = conn_params::from_header(head::bytes(&parts.headers, CONN_PARAMS_HEADER))?;
        Ok(Self {
            parts,
            uri,
            name,
            params,
            ray_id,
        })
    }

    /// The call with its arguments. `body` is what user code may look at in the
    /// hooks of its connection; `None` saves building a request nobody sees.
    pub(crate) fn with(self, args: Bytes, body: Option<Bytes>) -> ActionCall {
        ActionCall {
            name: self.name,
            args,
            params: self.params,
            head: body.map(|body| RequestHead {
                method: self.parts.method.as_str().to_owned(),
                uri: self.uri.to_owned(),
                headers: head::for_user_code(&self.parts.headers, self.ray_id),
                body,
            }),
            incoming: head::incoming(&self.parts.headers, self.ray_id),
            cancelled: CancellationToken::new(),
        }
    }
}

/// Checks the size of an encoded reply.
pub(crate) fn within_outgoing_limit<S: ActorSource>(
    length: usize,
    actor: &LiveActor<S>,
) -> Result<()> {
    let limit = actor.handle().ctx().config().max_outgoing_message_size;
    if length > limit as usize {
        return Err(Error::new(
            &greenroom_error::code::MESSAGE_OUTGOING_TOO_LONG,
        ));
    }
    Ok(())
}
