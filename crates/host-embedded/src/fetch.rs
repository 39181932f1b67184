//! HTTP inside the process: a request to an actor as over the port, without one.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use greenroom_core::actor::messages::BodyStream;
use greenroom_core::{Request, Response};
use greenroom_error::{Error, Result, code};
use greenroom_gateway::ReplyBody;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use serde_json::json;
use tokio::sync::mpsc;

use crate::embedded::EmbeddedHost;
use crate::http::{answer_here, ask};

/// Chunks of a response that may wait for their reader.
const CHUNKS_MAX: usize = 16;

/// How much of the port a request of this process sees.
enum Reach {
    Actors,
    Everything,
}

impl EmbeddedHost {
    /// Answers a request whose `uri` is a gateway path. What the port would answer
    /// with an error status comes as that response, too.
    ///
    /// Dropping the future or the response's stream, and firing the request's
    /// `cancelled`, tell user code that nobody listens any more.
    ///
    /// # Errors
    /// `protocol/invalid_http_request` for what HTTP cannot say;
    /// `registry/shut_down`.
    pub async fn fetch(&self, request: Request) -> Result<Response> {
        self.fetch_from(Reach::Actors, request).await
    }

    /// As [`fetch`](Self::fetch), for any path of the port: the endpoint API answers,
    /// too, and browsers are told who may call.
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch).
    pub async fn fetch_any(&self, request: Request) -> Result<Response> {
        self.fetch_from(Reach::Everything, request).await
    }

    async fn fetch_from(&self, reach: Reach, request: Request) -> Result<Response> {
        let shared = self.shared();
        shared.check_open()?;
        let cancelled = request.cancelled.clone();
        let request = http_request(request)?;
        let reply = match reach {
            Reach::Actors => ask(shared, request).await,
            Reach::Everything => answer_here(shared, request).await,
        };
        let (head, body) = reply.into_parts();
        let headers = head.headers.iter();
        let headers = headers.map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        });
        let response = Response {
            status: head.status.as_u16(),
            headers: headers.collect(),
            body: Bytes::new(),
            stream: None,
            // The gateway counts the request until its body has ended.
            region: None,
        };
        if body.is_end_stream() {
            return Ok(response);
        }
        let (chunks, stream) = mpsc::channel(CHUNKS_MAX);
        shared.spawn(async move {
            tokio::select! {
                () = forward(body, &chunks) => {}
                () = chunks.closed() => {}
                () = cancelled.cancelled() => {}
            }
        });
        Ok(Response {
            stream: Some(stream),
            ..response
        })
    }
}

async fn forward(mut body: ReplyBody, chunks: &mpsc::Sender<Result<Bytes, String>>) {
    while let Some(frame) = body.frame().await {
        let chunk = match frame {
            Ok(frame) => match frame.into_data() {
                Ok(data) => Ok(data),
                Err(_) => continue,
            },
            Err(error) => Err(error.to_string()),
        };
        let is_last = chunk.is_err();
        if chunks.send(chunk).await.is_err() || is_last {
            return;
        }
    }
}

fn http_request(request: Request) -> Result<http::Request<Incoming>> {
    let mut builder = http::Request::builder()
        .method(request.method.as_str())
        .uri(request.uri.as_str());
    for (name, value) in &request.headers {
        builder = builder.header(name.as_str(), value.as_str());
    }
    let body = match request.stream {
        Some(stream) => Incoming::Stream(stream),
        None => Incoming::Whole(request.body),
    };
    builder.body(body).map_err(|error| {
        Error::with(
            &code::PROTOCOL_INVALID_HTTP_REQUEST,
            json!({ "field": "head", "reason": error.to_string() }),
        )
    })
}

/// A request's body.
enum Incoming {
    Whole(Bytes),
    Stream(BodyStream),
}

impl Body for Incoming {
    type Data = Bytes;
    type Error = String;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, String>>> {
        match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Stream(stream) => stream
                .poll_recv(cx)
                .map(|chunk| chunk.map(|chunk| chunk.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}
