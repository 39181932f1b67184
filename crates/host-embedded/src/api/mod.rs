//! The endpoint API: JSON about actors and about this host as a cluster of one.
//!
//! Owns the routes, their methods and their bodies. Who may be asked from which
//! origin is decided a level up.

mod actors;
mod cluster;
mod input;
mod output;

use std::fmt::Display;

use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use greenroom_gateway::{HttpReply, ReplyBody, error_reply, read_body};
use greenroom_wire::Encoding;
use http::header::{ALLOW, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use serde_json::Value;

use crate::shared::Shared;
use input::{PathSegment, Query};

/// What a path of the API means.
enum Route<'a> {
    Banner,
    Metadata,
    Health,
    HealthFanout,
    Actors,
    ActorNames,
    Actor(&'a str),
    ActorSleep(&'a str),
    ActorReschedule(&'a str),
    ActorKvKey(&'a str, &'a str),
    Namespaces,
    Datacenters,
    RunnerConfigs,
    RunnerConfig,
    Envoys,
    Runners,
    RunnerNames,
}

impl<'a> Route<'a> {
    fn find(path: &'a str) -> Option<Self> {
        let mut segments = path.strip_prefix('/')?.split('/');
        let first = segments.next()?;
        let rest: Vec<&str> = segments.collect();
        if rest.iter().any(|segment| segment.is_empty()) {
            return None;
        }
        Some(match (first, &rest[..]) {
            ("", []) => Self::Banner,
            ("metadata", []) => Self::Metadata,
            ("health", []) => Self::Health,
            ("health", ["fanout"]) => Self::HealthFanout,
            ("actors", []) => Self::Actors,
            ("actors", ["names"]) => Self::ActorNames,
            ("actors", [id]) => Self::Actor(id),
            ("actors", [id, "sleep"]) => Self::ActorSleep(id),
            ("actors", [id, "reschedule"]) => Self::ActorReschedule(id),
            ("actors", [id, "kv", "keys", key]) => Self::ActorKvKey(id, key),
            ("namespaces", []) => Self::Namespaces,
            ("datacenters", []) => Self::Datacenters,
            ("runner-configs", []) => Self::RunnerConfigs,
            ("runner-configs", [_]) => Self::RunnerConfig,
            ("envoys", []) => Self::Envoys,
            ("runners", []) => Self::Runners,
            ("runners", ["names"]) => Self::RunnerNames,
            _ => return None,
        })
    }

    /// The methods it takes, as the `allow` header lists them.
    fn allowed(&self) -> &'static str {
        match self {
            Self::Actors => "GET,HEAD,PUT,POST",
            Self::Namespaces => "GET,HEAD,POST",
            Self::Actor(_) => "DELETE",
            Self::ActorSleep(_) | Self::ActorReschedule(_) => "POST",
            Self::RunnerConfig => "PUT,DELETE",
            _ => "GET,HEAD",
        }
    }

    fn allows(&self, method: &Method) -> bool {
        self.allowed()
            .split(',')
            .any(|name| name == method.as_str())
    }
}

/// Answers one request. Never fails: errors are responses.
pub(crate) async fn respond<B>(shared: &Shared, request: Request<B>) -> HttpReply
where
    B: Body<Data = Bytes>,
    B::Error: Display,
{
    let (head, body) = request.into_parts();
    // Read whatever is asked: an answer that overtakes its request may be lost.
    let body = read_body(body, input::BODY_BYTES_MAX, shared.clock()).await;
    let route = Route::find(head.uri.path());
    match route {
        Some(route) if head.method == Method::OPTIONS => with_allow(StatusCode::OK, &route),
        None if head.method == Method::OPTIONS => HttpReply::new(ReplyBody::empty()),
        Some(route) if !route.allows(&head.method) => {
            with_allow(StatusCode::METHOD_NOT_ALLOWED, &route)
        }
        Some(route) => {
            let answer = answer(shared, &route, &head, body).await;
            answer.unwrap_or_else(|error| error_reply(&error, Encoding::Json))
        }
        None => error_reply(&Error::new(&code::API_NOT_FOUND), Encoding::Json),
    }
}

async fn answer(
    shared: &Shared,
    route: &Route<'_>,
    head: &Parts,
    body: Result<Bytes>,
) -> Result<HttpReply> {
    let method = &head.method;
    let mut query = Query::parse(head.uri.query().unwrap_or_default())?;
    shared.check_namespace(query.one("namespace")?)?;
    if !matches!(*method, Method::GET | Method::HEAD) {
        // Before anything is changed.
        query.finish()?;
    }
    let json = match route {
        Route::Banner => return Ok(redirect("/metadata")),
        Route::Metadata => cluster::metadata(shared),
        Route::Health => cluster::health(),
        Route::HealthFanout => cluster::health_fanout(),
        Route::Actors if *method == Method::PUT => {
            actors::get_or_create(shared, input::parse(body)?).await?
        }
        Route::Actors if *method == Method::POST => {
            actors::create(shared, input::parse(body)?).await?
        }
        Route::Actors => actors::list(shared, &mut query).await?,
        Route::ActorNames => actors::names(shared, &mut query)?,
        Route::Actor(id) => actors::destroy(shared, PathSegment(id)).await?,
        Route::ActorSleep(id) => actors::sleep(shared, PathSegment(id)).await?,
        Route::ActorReschedule(id) => actors::reschedule(shared, PathSegment(id)).await?,
        Route::ActorKvKey(id, key) => {
            actors::kv_key(shared, PathSegment(id), PathSegment(key)).await?
        }
        Route::Namespaces if *method == Method::POST => {
            cluster::create_namespace(shared, input::parse(body)?)?
        }
        Route::Namespaces => cluster::namespaces(shared, &mut query)?,
        Route::Datacenters => cluster::datacenters(shared, &head.headers),
        Route::RunnerConfigs => cluster::runner_configs(shared, &mut query)?,
        Route::RunnerConfig => cluster::change_runner_config(method),
        Route::Envoys => cluster::envoys(shared, &mut query)?,
        Route::Runners => cluster::runners(&mut query)?,
        Route::RunnerNames => cluster::runner_names(&mut query)?,
    };
    query.finish()?;
    Ok(reply(&json))
}

fn reply(json: &Value) -> HttpReply {
    let mut reply = Response::new(ReplyBody::whole(json.to_string()));
    let json = HeaderValue::from_static("application/json");
    reply.headers_mut().insert(CONTENT_TYPE, json);
    reply
}

fn redirect(to: &'static str) -> HttpReply {
    let mut reply = HttpReply::new(ReplyBody::empty());
    *reply.status_mut() = StatusCode::TEMPORARY_REDIRECT;
    let to = HeaderValue::from_static(to);
    reply.headers_mut().insert(LOCATION, to);
    reply
}

fn with_allow(status: StatusCode, route: &Route<'_>) -> HttpReply {
    let mut reply = HttpReply::new(ReplyBody::empty());
    *reply.status_mut() = status;
    let allowed = HeaderValue::from_static(route.allowed());
    reply.headers_mut().insert(ALLOW, allowed);
    reply
}

/// The host that the client itself used, for URLs it can use again.
fn host_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(http::header::HOST)?.to_str().ok()
}

impl Shared {
    pub(crate) fn knows_namespace(&self, name: &str) -> bool {
        name == crate::DEFAULT_NAMESPACE || name == self.options.namespace
    }

    /// One that is left out means the only one there is.
    fn check_namespace(&self, name: Option<String>) -> Result<()> {
        match name {
            Some(name) if !self.knows_namespace(&name) => {
                Err(Error::new(&code::NAMESPACE_NOT_FOUND))
            }
            _ => Ok(()),
        }
    }
}
