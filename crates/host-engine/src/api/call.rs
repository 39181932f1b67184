//! One HTTP exchange with JSON bodies.

use std::pin::pin;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;

use crate::net::Net;

/// Longest answer that is read.
const ANSWER_MAX: usize = 8 * 1024 * 1024;

/// Sends a request and reads the answer; what is not JSON is read as null.
pub(super) async fn exchange(
    net: &Net,
    method: Method,
    path: &str,
    token: Option<&str>,
    body: Option<&Value>,
) -> Result<(StatusCode, Value), String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    let address = net.address();
    let stream = net.connect().await.map_err(|error| text(&error))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| text(&error))?;
    let host = format!("{}:{}", address.host(), address.port());
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, host)
        .header(CONTENT_TYPE, "application/json");
    if let Some(token) = token {
        let mut bearer =
            HeaderValue::try_from(format!("Bearer {token}")).map_err(|error| text(&error))?;
        bearer.set_sensitive(true);
        request = request.header(AUTHORIZATION, bearer);
    }
    let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
    let request = request
        .body(Full::new(body))
        .map_err(|error| text(&error))?;
    let exchange = async {
        let answer = sender
            .send_request(request)
            .await
            .map_err(|error| text(&error))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await;
        let body = body.map_err(|error| error.to_string())?.to_bytes();
        let answer = serde_json::from_slice(&body).unwrap_or(Value::Null);
        Ok::<_, String>((status, answer))
    };
    let mut exchange = pin!(exchange);
    tokio::select! {
        biased;
        answer = &mut exchange => answer,
        // Polled to move the bytes. It may end before the answer was looked at.
        outcome = connection => match outcome {
            Ok(()) => exchange.await,
            Err(error) => Err(text(&error)),
        },
    }
}
