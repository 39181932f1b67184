//! Who answers at an address before a host takes it.
//!
//! Owns one request: `GET /health`. What to do about the answer is the caller's.

use std::time::Duration;

use bytes::Bytes;
use greenroom_core::Clock;
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// A program that answers takes milliseconds; one that accepts and says nothing
/// must not hold up a start.
const PATIENCE: Duration = Duration::from_secs(2);
const BODY_BYTES_MAX: usize = 64 * 1024;
/// What an engine calls itself, and so does a host that stands in for one.
const ENGINE: &str = "engine";

/// What a probe found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// Nothing listens there.
    Nobody,
    /// A live engine, or another process that hosts actors as one does.
    Engine { version: String },
    /// Some other program, with what it calls its runtime.
    Other { runtime: String },
}

/// Asks whoever listens at `authority` (`host:port`) what it is.
pub async fn probe(clock: &Clock, authority: &str) -> Occupant {
    let asked = clock.timeout(PATIENCE, ask(authority)).await;
    asked.unwrap_or_else(|_| other("unknown"))
}

async fn ask(authority: &str) -> Occupant {
    let Ok(stream) = TcpStream::connect(authority).await else {
        return Occupant::Nobody;
    };
    match health(stream, authority).await {
        Some(health) if health["runtime"] == ENGINE => Occupant::Engine {
            version: health["version"].as_str().unwrap_or_default().to_owned(),
        },
        Some(health) => other(health["runtime"].as_str().unwrap_or("unknown")),
        None => other("unknown"),
    }
}

fn other(runtime: &str) -> Occupant {
    Occupant::Other {
        runtime: runtime.to_owned(),
    }
}

async fn health(stream: TcpStream, authority: &str) -> Option<Value> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .ok()?;
    let request = http::Request::get("/health")
        .header(http::header::HOST, authority)
        .body(Empty::<Bytes>::new())
        .ok()?;
    // Owns the sender, whose end lets the connection end.
    let asking = async move {
        let response = sender.send_request(request).await.ok()?;
        let body = Limited::new(response.into_body(), BODY_BYTES_MAX);
        let body = body.collect().await.ok()?.to_bytes();
        serde_json::from_slice(&body).ok()
    };
    tokio::join!(asking, connection).0
}
