//! A request body on its way to user code while it is still arriving.
//!
//! No task: whoever waits for the response drives the upload along, first the
//! request's own future, then the body of a streamed response.
//!
//! Invariant U1: what was sent to a generation that refused the request is sent
//! again to the next. Refused means that nobody took anything out of the channel,
//! so no more than its capacity was ever put in, and that much is kept.

use std::collections::VecDeque;
use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use greenroom_core::actor::messages::BodyStream;
use http_body::Body;
use tokio::sync::mpsc;
use tokio_util::sync::PollSender;

use crate::body::REQUEST_BYTES_MAX;

/// Chunks between the socket and user code. A chunk is what one read of the
/// socket gave.
const CAPACITY: usize = 4;

/// An upload that has been handed to a response body.
pub(crate) type Uploading = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How an upload ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UploadEnd {
    /// Everything arrived, or broke off and user code was told.
    Done,
    /// The body passed the limit; user code was told.
    TooLarge,
}

type Chunk = Result<Bytes, String>;

enum Receiver {
    Listens(PollSender<Chunk>),
    /// Went away. Nothing moves until it is known whether the request was refused
    /// or user code just wanted no more.
    Gone,
    /// Got everything, or will never want the rest.
    Served,
}

pub(crate) struct Upload<B> {
    body: B,
    receiver: Receiver,
    /// A place in the channel for saying that the body is not complete: a stream
    /// that just ends would pass for a whole one.
    last_word: Option<mpsc::OwnedPermit<Chunk>>,
    /// What was put into the current channel; `None` once that is more than it
    /// holds, which proves that somebody takes it out.
    sent: Option<Vec<Chunk>>,
    /// What the next channel gets first.
    replay: VecDeque<Chunk>,
    body_bytes: u64,
    /// Set when the body itself has ended.
    end: Option<UploadEnd>,
}

impl<B> Upload<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Display,
{
    /// Starts with the channel of the first generation.
    pub(crate) fn new(body: B) -> (Self, BodyStream) {
        let mut upload = Self {
            body,
            receiver: Receiver::Gone,
            last_word: None,
            sent: Some(Vec::new()),
            replay: VecDeque::new(),
            body_bytes: 0,
            end: None,
        };
        let stream = upload.open();
        (upload, stream)
    }

    fn open(&mut self) -> BodyStream {
        let (sender, receiver) = mpsc::channel(CAPACITY + 1);
        self.last_word = sender.clone().try_reserve_owned().ok();
        self.receiver = Receiver::Listens(PollSender::new(sender));
        receiver
    }

    /// A channel for the next generation, with everything that the last one was
    /// sent (U1). `None` if that is gone, because it was taken.
    pub(crate) fn restart(&mut self) -> Option<BodyStream> {
        let sent = self.sent.replace(Vec::new())?;
        let unsent = std::mem::take(&mut self.replay);
        self.replay = sent.into_iter().chain(unsent).collect();
        Some(self.open())
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.end.is_some() && matches!(self.receiver, Receiver::Served)
    }

    /// Moves chunks until the body has ended.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<UploadEnd> {
        loop {
            match &mut self.receiver {
                Receiver::Listens(sender) => {
                    if ready!(sender.poll_reserve(cx)).is_err() {
                        self.receiver = Receiver::Gone;
                        return Poll::Pending;
                    }
                }
                Receiver::Gone => return Poll::Pending,
                Receiver::Served => self.replay.clear(),
            }
            let chunk = match (self.replay.pop_front(), self.end) {
                (Some(chunk), _) => chunk,
                (None, Some(end)) => {
                    self.receiver = Receiver::Served;
                    self.last_word = None;
                    return Poll::Ready(end);
                }
                (None, None) => match ready!(self.poll_body(cx)) {
                    Some(chunk) => chunk,
                    None => continue,
                },
            };
            self.send(chunk);
        }
    }

    /// The next chunk; `None` if the body gave none this time or has ended.
    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Option<Chunk>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        Poll::Ready(match frame {
            None => {
                self.end = Some(UploadEnd::Done);
                None
            }
            Some(Err(error)) => {
                self.end = Some(UploadEnd::Done);
                Some(Err(error.to_string()))
            }
            Some(Ok(frame)) => match frame.into_data() {
                Err(_trailers) => None,
                Ok(data) => {
                    self.body_bytes += data.len() as u64;
                    if self.body_bytes > REQUEST_BYTES_MAX {
                        self.end = Some(UploadEnd::TooLarge);
                        Some(Err("the request body is too large".to_owned()))
                    } else {
                        (!data.is_empty()).then_some(Ok(data))
                    }
                }
            },
        })
    }

    fn send(&mut self, chunk: Chunk) {
        let Receiver::Listens(sender) = &mut self.receiver else {
            return;
        };
        match &mut self.sent {
            Some(sent) if sent.len() < CAPACITY => sent.push(chunk.clone()),
            sent => *sent = None,
        }
        // The place was reserved; only a receiver that has gone can refuse.
        if sender.send_item(chunk).is_err() {
            self.receiver = Receiver::Gone;
        }
    }
}

impl<B> Drop for Upload<B> {
    fn drop(&mut self) {
        if let Some(last_word) = self.last_word.take() {
            last_word.send(Err("the request ended before its body".to_owned()));
        }
    }
}

impl<B> Upload<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Display,
{
    /// As [`Self::poll`], once the request is known to have been accepted.
    fn poll_to_end(&mut self, cx: &mut Context<'_>) -> Poll<UploadEnd> {
        loop {
            match self.poll(cx) {
                Poll::Pending if matches!(self.receiver, Receiver::Gone) => {
                    self.receiver = Receiver::Served;
                }
                polled => return polled,
            }
        }
    }
}

impl<B> Upload<B>
where
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: Display,
{
    /// Goes on in a response body; `None` if there is nothing left to do. What
    /// user code does not want is read and dropped, so that the client can finish
    /// sending and listen.
    pub(crate) fn into_uploading(mut self) -> Option<Uploading> {
        if self.is_finished() {
            return None;
        }
        self.sent = None;
        Some(Box::pin(async move {
            std::future::poll_fn(|cx| self.poll_to_end(cx)).await;
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::poll_fn;

    use http_body_util::StreamBody;

    use super::*;

    fn body_of(chunks: usize, size: usize) -> impl Body<Data = Bytes, Error = Infallible> + Unpin {
        let frames = (0..chunks).map(move |n| {
            let byte = u8::try_from(n % 251).expect("below 251");
            Ok(http_body::Frame::data(Bytes::from(vec![byte; size])))
        });
        StreamBody::new(futures_util::stream::iter(frames))
    }

    async fn drain(mut stream: BodyStream) -> Result<Vec<u8>, String> {
        let mut whole = Vec::new();
        while let Some(chunk) = stream.recv().await {
            whole.extend_from_slice(&chunk?);
        }
        Ok(whole)
    }

    #[tokio::test]
    async fn a_body_arrives_in_order_and_ends() {
        let (mut upload, stream) = Upload::new(body_of(40, 3));
        let pump = poll_fn(|cx| upload.poll(cx));
        let (end, seen) = tokio::join!(pump, drain(stream));
        assert_eq!(end, UploadEnd::Done);
        let expected: Vec<u8> = (0..40u8).flat_map(|n| [n; 3]).collect();
        assert_eq!(seen.unwrap(), expected);
        assert!(upload.is_finished() && upload.into_uploading().is_none());
    }

    #[tokio::test]
    async fn u1_a_refused_body_is_whole_for_the_next_generation() {
        for chunks in [0, 1, CAPACITY, CAPACITY + 3] {
            let (mut upload, refused) = Upload::new(body_of(chunks, 2));
            // Runs until the channel is full or the body has ended.
            poll_fn(|cx| {
                let _ = upload.poll(cx);
                Poll::Ready(())
            })
            .await;
            drop(refused);
            // Whoever waits may look at the upload before it hears of the refusal.
            poll_fn(|cx| {
                let _ = upload.poll(cx);
                Poll::Ready(())
            })
            .await;
            let again = upload.restart().expect("nothing was taken");
            drop(again);
            let stream = upload.restart().expect("nothing was taken twice");
            let (_, seen) = tokio::join!(poll_fn(|cx| upload.poll(cx)), drain(stream));
            assert_eq!(seen.unwrap().len(), chunks * 2);
        }
    }

    #[tokio::test]
    async fn a_body_that_was_taken_cannot_start_again() {
        let (mut upload, mut stream) = Upload::new(body_of(CAPACITY + 2, 2));
        let take = async {
            stream.recv().await;
            stream.recv().await;
        };
        tokio::pin!(take);
        poll_fn(|cx| {
            let _ = upload.poll(cx);
            take.as_mut().poll(cx)
        })
        .await;
        poll_fn(|cx| {
            let _ = upload.poll(cx);
            Poll::Ready(())
        })
        .await;
        assert!(upload.restart().is_none());
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_does_not_look_whole() {
        let (mut upload, stream) = Upload::new(body_of(CAPACITY + 10, 2));
        poll_fn(|cx| {
            let _ = upload.poll(cx);
            Poll::Ready(())
        })
        .await;
        drop(upload);
        assert!(drain(stream).await.is_err());
    }

    #[tokio::test]
    async fn what_nobody_wants_is_read_and_dropped() {
        let (mut upload, stream) = Upload::new(body_of(100, 10));
        drop(stream);
        assert_eq!(poll_fn(|cx| upload.poll_to_end(cx)).await, UploadEnd::Done);
        assert!(upload.is_finished());
    }

    #[tokio::test]
    async fn a_body_past_the_limit_is_cut_and_user_code_told() {
        let chunk = 1 << 20;
        let (mut upload, stream) = Upload::new(body_of(21, chunk));
        let (end, seen) = tokio::join!(poll_fn(|cx| upload.poll(cx)), drain(stream));
        assert_eq!(end, UploadEnd::TooLarge);
        assert!(seen.is_err());
    }
}
