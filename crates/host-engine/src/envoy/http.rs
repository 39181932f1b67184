//! Requests of clients, as the engine forwards them.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use greenroom_core::Clock;
use greenroom_error::{Error, code};
use greenroom_gateway::{ActorRequest, HttpReply, METRICS_TYPE, ReplyBody, host_error_reply};
use greenroom_wire::{ActorId, RayId};
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request};
use http_body::Body;
use http_body_util::BodyExt;
use rivet_envoy_client::http::{
    HTTP_BODY_MAX_CHUNK_SIZE, HttpRequest, HttpResponse, ResponseChunk,
};
use serde_json::json;
use tokio::sync::mpsc;

use super::headers;
use super::pieces::Pieces;
use super::upload::{RequestBody, body_of};
use crate::shared::Shared;
use crate::source::Seeker;

/// Chunks of a response that wait for the session.
const CHUNKS_MAX: usize = 16;
/// Largest body that is sent in one piece with its head.
const WHOLE_MAX: u64 = HTTP_BODY_MAX_CHUNK_SIZE as u64;
/// Names the request to logs and to the client of an error.
const RAY_HEADER: &str = "x-rivet-ray-id";

/// Answers one request. Dropping the future, as the client does when the other end
/// has gone, tells user code.
pub(super) async fn answer(
    shared: Arc<Shared>,
    actor_id: ActorId,
    request: HttpRequest,
) -> HttpResponse {
    let reply = match request_of(request, shared.clock()).await {
        Ok(request) if is_for_metrics(&request) => metrics(&shared),
        Ok(request) => {
            let gateway = shared.gateway.clone();
            let source = Seeker::of_request(Arc::clone(&shared), actor_id);
            gateway.serve(request, source).await
        }
        Err(error) => host_error_reply(&error),
    };
    response_of(&shared, reply).await
}

fn is_for_metrics(request: &ActorRequest<RequestBody>) -> bool {
    let path = request.path_and_query.split('?').next();
    request.parts.method == Method::GET && path == Some("/metrics")
}

/// Figures of the process, whichever of its actors was asked.
fn metrics(shared: &Shared) -> HttpReply {
    let mut reply = HttpReply::new(ReplyBody::whole(shared.metrics()));
    let text = HeaderValue::from_static(METRICS_TYPE);
    reply.headers_mut().insert(CONTENT_TYPE, text);
    reply
}

async fn request_of(
    request: HttpRequest,
    clock: &Clock,
) -> Result<ActorRequest<RequestBody>, Error> {
    let malformed = |reason: String| {
        Error::with(
            &code::PROTOCOL_INVALID_HTTP_REQUEST,
            json!({ "field": "head", "reason": reason }),
        )
    };
    let path_and_query = match request.path.starts_with('/') {
        true => request.path,
        false => format!("/{}", request.path),
    };
    let mut builder = Request::builder()
        .method(request.method.as_str())
        .uri(path_and_query.as_str());
    for (name, value) in &request.headers {
        builder = builder.header(name.as_str(), value.as_str());
    }
    let (parts, ()) = builder
        .body(())
        .map_err(|error| malformed(error.to_string()))?
        .into_parts();
    let ray_id = RayId::from_header(parts.headers.get(RAY_HEADER).map(HeaderValue::as_bytes));
    let body = body_of(request.body, request.body_stream, clock).await;
    Ok(ActorRequest {
        parts,
        path_and_query,
        body,
        ray_id,
    })
}

async fn response_of(shared: &Arc<Shared>, reply: HttpReply) -> HttpResponse {
    let (head, mut body) = reply.into_parts();
    let mut response = HttpResponse {
        status: head.status.as_u16(),
        headers: headers::single(&head.headers),
        body: None,
        body_stream: None,
    };
    if body.is_end_stream() {
        return response;
    }
    if body
        .size_hint()
        .exact()
        .is_some_and(|size| size <= WHOLE_MAX)
    {
        match whole(&mut body).await {
            Ok(bytes) => response.body = Some(bytes.to_vec()),
            Err(reason) => {
                tracing::debug!(reason, "a response broke off before it began");
                response.status = 500;
                response.headers.clear();
            }
        }
        return response;
    }
    let (sender, receiver) = mpsc::channel(CHUNKS_MAX);
    let clock = shared.clock().clone();
    shared.spawn(async move {
        tokio::select! {
            () = forward(body, &sender, &clock) => {}
            // Dropping the body tells user code that nobody listens.
            () = sender.closed() => {}
        }
    });
    response.body_stream = Some(receiver.into());
    response
}

async fn whole(body: &mut ReplyBody) -> Result<Bytes, String> {
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(|error| error.to_string())?.into_data() {
            whole.extend_from_slice(&data);
        }
    }
    Ok(whole.freeze())
}

async fn forward(mut body: ReplyBody, chunks: &mpsc::Sender<ResponseChunk>, clock: &Clock) {
    let mut pieces = Pieces::new(clock.now());
    loop {
        while let Some(piece) = pieces.next(clock.now()) {
            if send(chunks, &piece, false).await.is_err() {
                return;
            }
        }
        let due = pieces.due();
        let frame = tokio::select! {
            frame = body.frame() => frame,
            () = clock.sleep_until(due.unwrap_or(clock.now())), if due.is_some() => continue,
        };
        match frame {
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    pieces.push(&data);
                }
            }
            Some(Err(error)) => {
                drop(chunks.send(ResponseChunk::Error(error.to_string())).await);
                return;
            }
            None => break,
        }
    }
    while let Some(piece) = pieces.take() {
        if send(chunks, &piece, false).await.is_err() {
            return;
        }
    }
    // Nobody may be there any more to hear of the end.
    drop(send(chunks, &[], true).await);
}

async fn send(
    chunks: &mpsc::Sender<ResponseChunk>,
    data: &[u8],
    finish: bool,
) -> Result<(), mpsc::error::SendError<ResponseChunk>> {
    let data = data.to_vec();
    chunks.send(ResponseChunk::Data { data, finish }).await
}
