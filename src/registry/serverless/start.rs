//! `/start`: an engine asks this program to run an actor for it.
//!
//! Checks what the request says of the engine. Running actors for one is the engine
//! host's part, which is not there yet; an embedded host starts its own actors by
//! itself and is asked by nobody.

use greenroom_error::{Error, Result, code};
use greenroom_gateway::HttpReply;
use http::header::HeaderMap;
use serde_json::json;

use super::super::endpoint::Endpoint;
use super::super::serve::JsServeConfig;

/// What a start command says about who sends it.
struct Origin<'a> {
    endpoint: &'a str,
    namespace: &'a str,
}

/// # Errors
/// `message/incoming_too_long`, `request/invalid` for a header that is missing,
/// `config/endpoint_mismatch`, `config/namespace_mismatch`; for an engine that is
/// right, `actor/not_configured`.
pub(super) fn start(config: &JsServeConfig, headers: &HeaderMap, body: &[u8]) -> Result<HttpReply> {
    check_size(config, body.len())?;
    let origin = Origin::read(headers)?;
    if config.serverless_validate_endpoint {
        origin.check(config)?;
    }
    Err(Error::not_configured("engine host"))
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

impl<'a> Origin<'a> {
    fn read(headers: &'a HeaderMap) -> Result<Self> {
        // The second is the name that older engines send.
        required(headers, &["x-rivet-pool-name", "x-rivet-runner-name"])?;
        Ok(Self {
            endpoint: required(headers, &["x-rivet-endpoint"])?,
            namespace: required(headers, &["x-rivet-namespace-name"])?,
        })
    }

    fn check(&self, config: &JsServeConfig) -> Result<()> {
        let expected = Endpoint::parse(&config.endpoint)?;
        let given = Endpoint::parse(self.endpoint);
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
