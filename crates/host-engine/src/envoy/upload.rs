//! The body of a client's request, as the engine forwards it.
//!
//! When a response begins, the engine cancels what it has not forwarded of the
//! request's body, and even a small body comes in a message of its own behind the
//! head. A handler that answers with the stream it was given would lose it to that,
//! and with it the end of its answer. So a small body is waited for before the
//! request begins, though not for long: one that comes little by little is a stream.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{Stream, iter, unfold};
use greenroom_core::Clock;
use http_body::Frame;
use http_body_util::{Either, Full, StreamBody};
use rivet_envoy_client::http::{HTTP_BODY_MAX_CHUNK_SIZE, HttpRequestBodyStream};

/// Bytes from which on a body is large: what the engine puts into one message.
const LARGE: usize = HTTP_BODY_MAX_CHUNK_SIZE;
/// Longest time that a request waits for the end of a small one.
const WAIT_MAX: Duration = Duration::from_millis(200);

type Chunks = Pin<Box<dyn Stream<Item = Result<Frame<Bytes>, String>> + Send>>;
pub(super) type RequestBody = Either<Full<Bytes>, StreamBody<Chunks>>;

/// What came with the head, and what the stream brings: whole, if it is small and
/// comes at once.
pub(super) async fn body_of(
    first: Option<Vec<u8>>,
    stream: Option<HttpRequestBodyStream>,
    clock: &Clock,
) -> RequestBody {
    let mut first = first.unwrap_or_default();
    let Some(mut stream) = stream else {
        return Either::Left(Full::from(first));
    };
    let until = clock.now() + WAIT_MAX;
    while first.len() < LARGE {
        let next = tokio::select! {
            biased;
            next = stream.recv() => next,
            () = clock.sleep_until(until) => break,
        };
        match next {
            Ok(Some(chunk)) => first.extend_from_slice(&chunk),
            Ok(None) => return Either::Left(Full::from(first)),
            Err(error) => return streamed(iter([Ok(frame(first)), Err(error.to_string())])),
        }
    }
    streamed(unfold(
        (first, Some(stream)),
        |(first, stream)| async move {
            let mut stream = stream?;
            if !first.is_empty() {
                return Some((Ok(frame(first)), (Vec::new(), Some(stream))));
            }
            match stream.recv().await {
                Ok(Some(chunk)) => Some((Ok(frame(chunk)), (first, Some(stream)))),
                Ok(None) => None,
                Err(error) => Some((Err(error.to_string()), (first, None))),
            }
        },
    ))
}

fn frame(chunk: Vec<u8>) -> Frame<Bytes> {
    Frame::data(Bytes::from(chunk))
}

fn streamed(
    chunks: impl Stream<Item = Result<Frame<Bytes>, String>> + Send + 'static,
) -> RequestBody {
    Either::Right(StreamBody::new(Box::pin(chunks)))
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;

    use futures_util::{FutureExt, poll};
    use http_body_util::BodyExt;
    use rivet_envoy_client::http::{HttpRequestBodyError, HttpRequestBodyQueue};
    use rivet_envoy_client::protocol::{HttpStreamAbortReason, HttpStreamAbortReasonKind};

    use super::*;

    fn upload() -> (Arc<HttpRequestBodyQueue>, Option<HttpRequestBodyStream>) {
        let queue = HttpRequestBodyQueue::new();
        (Arc::clone(&queue), Some(HttpRequestBodyStream::new(queue)))
    }

    fn cancelled() -> HttpRequestBodyError {
        HttpRequestBodyError {
            reason: HttpStreamAbortReason {
                kind: HttpStreamAbortReasonKind::Cancelled,
                detail: None,
            },
        }
    }

    async fn collected(body: RequestBody) -> Bytes {
        body.collect().await.expect("all of it").to_bytes()
    }

    #[tokio::test]
    async fn a_small_body_that_comes_behind_its_head_outlives_a_response_that_begins() {
        let (clock, _time) = Clock::manual(0);
        let (queue, stream) = upload();
        let mut body = pin!(body_of(None, stream, &clock));
        assert!(poll!(&mut body).is_pending());
        queue.push("sm");
        assert!(poll!(&mut body).is_pending());
        queue.push("all");
        queue.finish();
        let body = body.await;
        // As the engine does when the response begins.
        queue.abort(cancelled());
        assert_eq!(collected(body).await, "small");
    }

    #[tokio::test]
    async fn a_body_that_takes_its_time_is_a_stream() {
        let (clock, time) = Clock::manual(0);
        let (queue, stream) = upload();
        let mut body = pin!(body_of(Some(b"one".to_vec()), stream, &clock));
        assert!(poll!(&mut body).is_pending());
        time.advance(WAIT_MAX);
        let mut body = body.await;
        let next = body.frame().await.expect("a frame").expect("no error");
        assert_eq!(next.into_data().expect("data"), "one");
        assert!(body.frame().now_or_never().is_none());
        queue.push("two");
        queue.finish();
        assert_eq!(collected(body).await, "two");
    }

    #[tokio::test]
    async fn a_large_body_is_not_waited_for() {
        let (clock, _time) = Clock::manual(0);
        let (queue, stream) = upload();
        queue.push(vec![7; LARGE]);
        let body = body_of(None, stream, &clock).now_or_never();
        queue.push("more");
        queue.finish();
        let whole = collected(body.expect("it does not wait")).await;
        assert_eq!(whole.len(), LARGE + 4);
    }

    #[tokio::test]
    async fn a_client_that_leaves_in_the_middle_is_an_error_of_the_body() {
        let (clock, _time) = Clock::manual(0);
        let (queue, stream) = upload();
        let mut body = pin!(body_of(None, stream, &clock));
        queue.push("half");
        assert!(poll!(&mut body).is_pending());
        queue.abort(cancelled());
        let error = body.await.collect().await.expect_err("it broke off");
        assert!(error.to_string().contains("Cancelled"), "{error}");
    }
}
