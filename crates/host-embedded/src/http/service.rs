//! Which part of the host a request is for.
//!
//! A gateway path wins over target headers, those over the endpoint API, which
//! also owns everything that is nobody's.

use std::fmt::Display;
use std::sync::Arc;

use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use greenroom_gateway::{
    ActorRequest, HttpReply, METRICS_TYPE, ReplyBody, discard_body, host_error_reply,
};
use greenroom_wire::RayId;
use greenroom_wire::gateway_path::{self, GatewayRoute, QueryMethod, TargetHeaders};
use http::header::{AsHeaderName, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Uri};
use http_body::Body;

use super::cors::CorsRequest;
use super::listener::Door;
use super::upgrade;
use crate::api;
use crate::ready::Seeker;
use crate::shared::Shared;
use crate::target::{Missing, Target};

const RAY_ID: HeaderName = HeaderName::from_static("x-rivet-ray-id");
const TARGET: HeaderName = HeaderName::from_static("x-rivet-target");

/// Answers one request. Never fails: errors are responses.
pub(super) async fn respond<B>(
    door: &Door,
    shared: &Arc<Shared>,
    mut request: Request<B>,
) -> HttpReply
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Display,
{
    let ray_id = RayId::from_header(bytes(request.headers(), &RAY_ID));
    let cors = CorsRequest::read(request.headers());
    let mut reply = match upgrade::accept(door, shared, &mut request, &ray_id) {
        Some(mut reply) => {
            cors.stamp_gateway(reply.headers_mut());
            reply
        }
        None => answer(shared, request, &cors, &ray_id).await,
    };
    name_ray(&mut reply, &ray_id);
    reply
}

/// Answers a request of this process as the port would, but for WebSockets.
pub(crate) async fn answer_here<B>(shared: &Shared, request: Request<B>) -> HttpReply
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Display,
{
    let ray_id = RayId::from_header(bytes(request.headers(), &RAY_ID));
    let cors = CorsRequest::read(request.headers());
    let mut reply = answer(shared, request, &cors, &ray_id).await;
    name_ray(&mut reply, &ray_id);
    reply
}

fn name_ray(reply: &mut HttpReply, ray_id: &RayId) {
    if let Ok(ray_id) = HeaderValue::from_str(ray_id.as_str()) {
        reply.headers_mut().insert(RAY_ID, ray_id);
    }
}

async fn answer<B>(
    shared: &Shared,
    request: Request<B>,
    cors: &CorsRequest,
    ray_id: &RayId,
) -> HttpReply
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Display,
{
    let path_and_query = path_and_query(request.uri()).to_owned();
    if is_preflight_of_an_actor(&request, &path_and_query) {
        return cors.gateway_preflight();
    }
    let mut reply = match actor_route(request.headers(), &path_and_query) {
        Ok(Some(route)) => ask_actor(shared, request, route, ray_id).await,
        Ok(None) => {
            let is_preflight = request.method() == Method::OPTIONS;
            let mut reply = api::respond(shared, request).await;
            match is_preflight {
                true => cors.stamp_api_preflight(reply.headers_mut()),
                false => cors.stamp_api(reply.headers_mut()),
            }
            return reply;
        }
        Err(error) => refuse(shared, request, &error).await,
    };
    cors.stamp_gateway(reply.headers_mut());
    reply
}

/// Answers a request of this process: as [`respond`], for actors alone.
pub(crate) async fn ask<B>(shared: &Shared, request: Request<B>) -> HttpReply
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Display,
{
    let ray_id = RayId::from_header(bytes(request.headers(), &RAY_ID));
    let route = actor_route(request.headers(), path_and_query(request.uri()));
    match route.and_then(|route| route.ok_or_else(|| Error::new(&code::GUARD_NO_ROUTE))) {
        Ok(route) => ask_actor(shared, request, route, &ray_id).await,
        Err(error) => refuse(shared, request, &error).await,
    }
}

pub(super) fn path_and_query(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", |path| path.as_str())
}

fn bytes(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&[u8]> {
    headers.get(name).map(HeaderValue::as_bytes)
}

/// Preflights of actors are answered here: no actor is looked for, let alone
/// woken.
fn is_preflight_of_an_actor<B>(request: &Request<B>, path_and_query: &str) -> bool {
    request.method() == Method::OPTIONS
        && (path_and_query.starts_with("/gateway/")
            || bytes(request.headers(), &TARGET) == Some(b"actor"))
}

fn actor_route(headers: &HeaderMap, path_and_query: &str) -> Result<Option<GatewayRoute>> {
    if let Some(route) = gateway_path::parse(path_and_query)? {
        // Its value changes nothing in one process, but has to make sense.
        gateway_path::skip_ready_wait(bytes(headers, "x-rivet-skip-ready-wait"))?;
        return Ok(Some(route));
    }
    let named = TargetHeaders {
        target: bytes(headers, &TARGET),
        actor: bytes(headers, "x-rivet-actor"),
        token: bytes(headers, "x-rivet-token"),
        skip_ready_wait: bytes(headers, "x-rivet-skip-ready-wait"),
        host: bytes(headers, HOST),
    };
    gateway_path::from_headers(&named, path_and_query)
}

async fn refuse<B>(shared: &Shared, request: Request<B>, error: &Error) -> HttpReply
where
    B: Body<Data = Bytes>,
    B::Error: Display,
{
    discard_body(request.into_body(), shared.clock()).await;
    host_error_reply(error)
}

async fn ask_actor<B>(
    shared: &Shared,
    request: Request<B>,
    route: GatewayRoute,
    ray_id: &RayId,
) -> HttpReply
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Display,
{
    if request.method() == Method::GET && is_metrics(&route.path_and_query) {
        return metrics(shared, request).await;
    }
    let target = match target_of(shared, route.target) {
        Ok(target) => target,
        Err(error) => return refuse(shared, request, &error).await,
    };
    let (parts, body) = request.into_parts();
    let request = ActorRequest {
        parts,
        path_and_query: route.path_and_query,
        body,
        ray_id: *ray_id,
    };
    let seeker = Seeker::new(shared, &target);
    shared.gateway.serve(request, seeker).await
}

fn is_metrics(path_and_query: &str) -> bool {
    path_and_query.split('?').next() == Some("/metrics")
}

/// Figures of the process, whichever actor was asked: none is woken for it.
async fn metrics<B>(shared: &Shared, request: Request<B>) -> HttpReply
where
    B: Body<Data = Bytes>,
    B::Error: Display,
{
    discard_body(request.into_body(), shared.clock()).await;
    let mut reply = HttpReply::new(ReplyBody::whole(shared.metrics()));
    let text = HeaderValue::from_static(METRICS_TYPE);
    reply.headers_mut().insert(CONTENT_TYPE, text);
    reply
}

/// Tokens, pools, regions and crash policies are read and mean nothing here.
pub(crate) fn target_of(shared: &Shared, target: gateway_path::Target) -> Result<Target> {
    let query = match target {
        gateway_path::Target::Direct(id) => return Ok(Target::Id(id)),
        gateway_path::Target::Query(query) => query,
    };
    if !shared.knows_namespace(&query.namespace) {
        return Err(Error::new(&code::NAMESPACE_NOT_FOUND));
    }
    Ok(Target::Key {
        name: query.name,
        key: query.key,
        missing: match query.method {
            QueryMethod::Get => Missing::Fail,
            QueryMethod::GetOrCreate(options) => Missing::Create {
                input: options.input,
            },
        },
    })
}
