//! Bodies: reading a bounded one, and the one that goes out.

use std::fmt::Display;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use greenroom_core::Clock;
use greenroom_core::actor::messages::BodyStream;
use greenroom_core::actor::work::ActorWorkRegion;
use greenroom_error::{Error, Result, code};
use greenroom_wire::client_protocol::Frame;
use http_body::{Body, SizeHint};
use http_body_util::BodyExt;
use serde_json::json;
use tokio_util::sync::DropGuard;

use crate::upload::Uploading;

/// Largest body of any request, in bytes.
pub(crate) const REQUEST_BYTES_MAX: u64 = 20 * 1024 * 1024;

/// What went wrong while a body was read, beside its size.
pub(crate) fn unreadable(reason: impl Display) -> Error {
    let reason = reason.to_string();
    Error::with(&code::REQUEST_INVALID, json!({ "reason": reason }))
}

pub(crate) fn too_large() -> Error {
    let reason = format!("the body is larger than {REQUEST_BYTES_MAX} bytes");
    Error::with(
        &code::GUARD_INVALID_REQUEST_BODY,
        json!({ "reason": reason }),
    )
}

/// Time for a whole body to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);

/// Reads a whole body of at most `limit` bytes, within 30 s.
///
/// A body that is too long is read to its end all the same, so that a client
/// that sends everything before it listens hears why.
///
/// # Errors
/// `message/incoming_too_long` above `limit`, `guard/invalid_request_body` above
/// 20 MiB, `guard/request_timeout`, `request/invalid` for a body
/// that breaks off.
pub async fn read_body<B>(body: B, limit: u32, clock: &Clock) -> Result<Bytes>
where
    B: Body<Data = Bytes>,
    B::Error: Display,
{
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    // Announced sizes save the reading.
    if body.size_hint().lower() > REQUEST_BYTES_MAX {
        return Err(too_large());
    }
    match clock
        .timeout(BODY_TIME, collect(body, u64::from(limit)))
        .await
    {
        Ok(body) => body,
        Err(_) => Err(Error::with(
            &code::GUARD_REQUEST_TIMEOUT,
            json!({ "timeout_seconds": BODY_TIME.as_secs() }),
        )),
    }
}

/// Time that is spent on a body nobody wants.
pub(crate) const DISCARD_TIME: Duration = Duration::from_secs(1);

/// Reads what is left of a body that nobody wants, for a moment and within 20 MiB.
///
/// A connection that is answered before its request has arrived has to be closed,
/// and a client that is still sending may then lose the answer.
pub async fn discard_body<B>(body: B, clock: &Clock)
where
    B: Body<Data = Bytes>,
    B::Error: Display,
{
    if body.is_end_stream() || body.size_hint().lower() > REQUEST_BYTES_MAX {
        return;
    }
    // Whatever becomes of it, there is an answer to send.
    let _ = clock.timeout(DISCARD_TIME, collect(body, 0)).await;
}

async fn collect<B>(body: B, limit: u64) -> Result<Bytes>
where
    B: Body<Data = Bytes>,
    B::Error: Display,
{
    let mut body = pin!(body);
    let mut whole = Collected::Nothing;
    let mut length = 0u64;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(unreadable)?.into_data() else {
            continue;
        };
        length += data.len() as u64;
        if length > REQUEST_BYTES_MAX {
            return Err(too_large());
        }
        if length <= limit {
            whole.push(data);
        } else {
            whole = Collected::Nothing;
        }
    }
    if length > limit {
        return Err(Error::new(&code::MESSAGE_INCOMING_TOO_LONG));
    }
    Ok(whole.into_bytes())
}

/// Chunks in a row; a body that came in one is not copied.
enum Collected {
    Nothing,
    One(Bytes),
    Many(BytesMut),
}

impl Collected {
    fn push(&mut self, data: Bytes) {
        *self = match std::mem::replace(self, Self::Nothing) {
            Self::Nothing => Self::One(data),
            Self::One(first) => {
                let mut many = BytesMut::with_capacity(2 * (first.len() + data.len()));
                many.put(first);
                many.put(data);
                Self::Many(many)
            }
            Self::Many(mut many) => {
                many.put(data);
                Self::Many(many)
            }
        };
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::Nothing => Bytes::new(),
            Self::One(data) => data,
            Self::Many(many) => many.freeze(),
        }
    }
}

/// The body of a response. Bytes are handed on, never copied.
#[derive(Default)]
pub struct ReplyBody(Kind);

enum Kind {
    /// Up to two pieces, known in full.
    Whole {
        head: Bytes,
        payload: Bytes,
    },
    Stream(Box<Stream>),
}

struct Stream {
    chunks: BodyStream,
    /// The request's body, if it is still arriving: it has nobody else to drive
    /// it.
    uploading: Option<Uploading>,
    /// Tells user code when the client goes before the end.
    abandoned: Option<DropGuard>,
    /// Keeps the actor awake as long as its answer goes on.
    _region: Option<ActorWorkRegion>,
}

impl Default for Kind {
    fn default() -> Self {
        Self::Whole {
            head: Bytes::new(),
            payload: Bytes::new(),
        }
    }
}

impl ReplyBody {
    pub fn empty() -> Self {
        Self::default()
    }

    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Kind::Whole {
            head: bytes.into(),
            payload: Bytes::new(),
        })
    }

    /// A body of somebody else's making, as its chunks come. The guard fires if it is
    /// not read to its end.
    pub fn channel(chunks: BodyStream, abandoned: DropGuard) -> Self {
        Self::stream(chunks, None, (abandoned, None))
    }

    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.0, Kind::Whole { .. })
    }

    pub(crate) fn frame(frame: Frame) -> Self {
        let (head, payload) = frame.into_parts();
        Self(Kind::Whole { head, payload })
    }

    pub(crate) fn stream(
        chunks: BodyStream,
        uploading: Option<Uploading>,
        (abandoned, region): (DropGuard, Option<ActorWorkRegion>),
    ) -> Self {
        Self(Kind::Stream(Box::new(Stream {
            chunks,
            uploading,
            abandoned: Some(abandoned),
            _region: region,
        })))
    }
}

/// User code ended its response with an error; the connection cannot say so in
/// any other way than by breaking off.
#[derive(Debug)]
pub struct BodyAborted(String);

impl Display for BodyAborted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the response body was aborted: {}", self.0)
    }
}

impl std::error::Error for BodyAborted {}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = BodyAborted;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, BodyAborted>>> {
        match &mut self.0 {
            Kind::Whole { head, payload } => {
                let next = if head.has_remaining() { head } else { payload };
                let data = std::mem::take(next);
                let frame = (!data.is_empty()).then(|| Ok(http_body::Frame::data(data)));
                Poll::Ready(frame)
            }
            Kind::Stream(stream) => stream.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole { head, payload } => head.is_empty() && payload.is_empty(),
            Kind::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole { head, payload } => {
                SizeHint::with_exact((head.len() + payload.len()) as u64)
            }
            Kind::Stream(_) => SizeHint::default(),
        }
    }
}

impl Stream {
    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, BodyAborted>>> {
        if let Some(uploading) = &mut self.uploading
            && uploading.as_mut().poll(cx).is_ready()
        {
            self.uploading = None;
        }
        loop {
            return match std::task::ready!(self.chunks.poll_recv(cx)) {
                Some(Ok(chunk)) if chunk.is_empty() => continue,
                Some(Ok(chunk)) => Poll::Ready(Some(Ok(http_body::Frame::data(chunk)))),
                Some(Err(reason)) => Poll::Ready(Some(Err(BodyAborted(reason)))),
                None => {
                    if let Some(guard) = self.abandoned.take() {
                        guard.disarm();
                    }
                    Poll::Ready(None)
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;

    use http_body_util::{Full, StreamBody};

    use super::*;

    fn chunked(chunks: Vec<&'static [u8]>) -> impl Body<Data = Bytes, Error = Infallible> {
        let frames: VecDeque<_> = chunks.into_iter().map(Bytes::from_static).collect();
        StreamBody::new(futures_util::stream::iter(
            frames
                .into_iter()
                .map(|data| Ok(http_body::Frame::data(data))),
        ))
    }

    #[tokio::test]
    async fn the_limit_is_inclusive_and_chunks_are_joined() {
        let clock = Clock::manual(0).0;
        let body = read_body(chunked(vec![b"ab", b"c", b"de"]), 5, &clock).await;
        assert_eq!(body.unwrap(), b"abcde".as_slice());
        let error = read_body(chunked(vec![b"abc", b"def"]), 5, &clock).await;
        assert!(error.unwrap_err().is(&code::MESSAGE_INCOMING_TOO_LONG));
    }

    #[tokio::test]
    async fn a_body_in_one_piece_keeps_its_buffer() {
        let clock = Clock::manual(0).0;
        let sent = Bytes::from(vec![7; 100]);
        let body = read_body(Full::new(sent.clone()), 100, &clock)
            .await
            .unwrap();
        assert_eq!(body.as_ptr(), sent.as_ptr());
    }

    #[tokio::test]
    async fn a_body_that_announces_too_much_is_not_read() {
        let clock = Clock::manual(0).0;
        let body = Full::new(Bytes::from(vec![0; REQUEST_BYTES_MAX as usize + 1]));
        let error = read_body(body, u32::MAX, &clock).await.unwrap_err();
        assert!(error.is(&code::GUARD_INVALID_REQUEST_BODY));
    }

    #[tokio::test]
    async fn a_body_that_stalls_times_out() {
        let (clock, hands) = Clock::manual(0);
        let (_never, receiver) = tokio::sync::mpsc::channel::<Result<Bytes, String>>(1);
        let (token, body) = stream_of(receiver);
        let reading = tokio::spawn({
            let clock = clock.clone();
            async move { read_body(body, 10, &clock).await }
        });
        while hands.armed() == 0 {
            tokio::task::yield_now().await;
        }
        hands.advance(BODY_TIME);
        let error = reading.await.unwrap().unwrap_err();
        assert!(error.is(&code::GUARD_REQUEST_TIMEOUT));
        assert!(token.is_cancelled(), "a dropped body is an abandoned one");
    }

    fn stream_of(chunks: BodyStream) -> (tokio_util::sync::CancellationToken, ReplyBody) {
        let token = tokio_util::sync::CancellationToken::new();
        let body = ReplyBody::stream(chunks, None, (token.clone().drop_guard(), None));
        (token, body)
    }

    #[tokio::test]
    async fn a_streamed_reply_that_ends_is_not_abandoned() {
        let (sender, receiver) = tokio::sync::mpsc::channel(4);
        let (token, mut body) = stream_of(receiver);
        for chunk in ["a", "", "b"] {
            sender.send(Ok(Bytes::from(chunk))).await.unwrap();
        }
        drop(sender);
        let collected = (&mut body).collect().await.unwrap().to_bytes();
        assert_eq!(collected, b"ab".as_slice());
        drop(body);
        assert!(!token.is_cancelled());
    }

    #[tokio::test]
    async fn a_streamed_reply_that_fails_breaks_off() {
        let (sender, receiver) = tokio::sync::mpsc::channel(4);
        let (token, mut body) = stream_of(receiver);
        sender.send(Err("boom".to_owned())).await.unwrap();
        let error = (&mut body).collect().await.unwrap_err();
        assert!(error.to_string().contains("boom"));
        drop(body);
        assert!(token.is_cancelled());
    }
}
