//! `/start`: an engine asks this program to run an actor for it.
//!
//! Checks what the request says of the engine, joins it, and says with a stream of
//! events how long the actor lives. An embedded host starts its own actors by
//! itself and is asked by nobody.

use std::time::Duration;

use bytes::Bytes;
use greenroom_core::Clock;
use greenroom_error::{Error, Result, code};
use greenroom_gateway::{HttpReply, ReplyBody};
use greenroom_host_engine::ServerlessActor;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONNECTION, HeaderMap, HeaderValue};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::super::endpoint::Endpoint;
use super::super::engine::Origin;
use super::super::hosting::{Hosting, Place};
use super::super::serve::JsServeConfig;
use crate::runtime;

const EVENTS_TYPE: &str = "text/event-stream";
const PING: &[u8] = b"event: ping\ndata:\n\n";
const STOPPING: &[u8] = b"event: stopping\ndata:\n\n";
/// An engine that hears nothing takes the program for dead.
const PING_EVERY: Duration = Duration::from_secs(1);

/// Starts the actor; the answer ends when that is over.
///
/// # Errors
/// `message/incoming_too_long`, `request/invalid` for a header that is missing or a
/// body that is no start, `config/endpoint_mismatch`, `config/namespace_mismatch`,
/// what joining an engine can end in; `actor/not_configured` where the actors are
/// hosted here.
pub(super) async fn start(
    config: &JsServeConfig,
    hosting: &Hosting,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<HttpReply> {
    check_size(config, body.len())?;
    let origin = Origin::read(headers)?;
    if config.serverless_validate_endpoint {
        origin.check(config)?;
    }
    let Place::Serverless(serverless) = &hosting.place else {
        return Err(Error::not_configured("engine host"));
    };
    let host = serverless.session(origin).await?;
    let actor = host.start_serverless(body).await?;
    Ok(events(actor, hosting.clock().clone()))
}

/// A ping at once and every second, and a last word when the actor has stopped.
fn events(actor: ServerlessActor, clock: Clock) -> HttpReply {
    let (sender, chunks) = mpsc::channel(1);
    let gone = CancellationToken::new();
    let abandoned = gone.clone().drop_guard();
    runtime::spawn(async move {
        let telling = async {
            let pinging = async {
                while sender.send(Ok(Bytes::from_static(PING))).await.is_ok() {
                    clock.sleep(PING_EVERY).await;
                }
            };
            tokio::select! {
                () = pinging => {}
                () = actor.stopped() => {
                    // Nobody may be there any more to hear it.
                    let _ = sender.send(Ok(Bytes::from_static(STOPPING))).await;
                }
            }
        };
        tokio::select! {
            () = telling => {}
            () = gone.cancelled() => {}
        }
    });
    let body = ReplyBody::channel(chunks, abandoned);
    let mut reply = greenroom_gateway::reply_of(StatusCode::OK, EVENTS_TYPE, body);
    let headers = reply.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(CONNECTION, HeaderValue::from_static("keep-alive"));
    reply
}

fn check_size(config: &JsServeConfig, length: usize) -> Result<()> {
    let limit = config.serverless_max_start_payload_bytes;
    if length <= limit as usize {
        return Ok(());
    }
    let text = format!("Incoming message too long. Exceeded limit of {limit} bytes.");
    let error = Error::new(&code::MESSAGE_INCOMING_TOO_LONG).with_message(text);
    Err(error.with_metadata(json!({ "limit": limit })))
}

/// The first of these headers that says something.
fn required<'h>(headers: &'h HeaderMap, names: &[&str]) -> Result<&'h str> {
    let values = names
        .iter()
        .filter_map(|name| headers.get(*name)?.to_str().ok());
    let said = values.into_iter().find(|value| !value.is_empty());
    said.ok_or_else(|| {
        let reason = format!("{} header is required", names[0]);
        Error::with(&code::REQUEST_INVALID, json!({ "reason": reason }))
    })
}

impl Origin {
    fn read(headers: &HeaderMap) -> Result<Self> {
        let owned = |text: &str| text.to_owned();
        // The second is the name that older engines send.
        let pool_name = required(headers, &["x-rivet-pool-name", "x-rivet-runner-name"])?;
        let token = headers.get("x-rivet-token");
        let token = token.and_then(|token| token.to_str().ok());
        Ok(Self {
            endpoint: required(headers, &["x-rivet-endpoint"]).map(owned)?,
            namespace: required(headers, &["x-rivet-namespace-name"]).map(owned)?,
            pool_name: owned(pool_name),
            token: token.filter(|token| !token.is_empty()).map(owned),
        })
    }

    fn check(&self, config: &JsServeConfig) -> Result<()> {
        let expected = Endpoint::parse(&config.endpoint)?;
        let given = Endpoint::parse(&self.endpoint);
        if !given.is_ok_and(|given| given.is_same_place(&expected)) {
            let metadata = json!({ "expected": config.endpoint, "received": self.endpoint });
            return Err(Error::with(&code::CONFIG_ENDPOINT_MISMATCH, metadata));
        }
        if self.namespace != config.namespace {
            let metadata = json!({ "expected": config.namespace, "received": self.namespace });
            return Err(Error::with(&code::CONFIG_NAMESPACE_MISMATCH, metadata));
        }
        Ok(())
    }
}
