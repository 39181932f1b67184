//! The session's byte stream with a little of the gateway's credit kept back.
//!
//! A response's sender may be 1 MiB ahead of what the gateway says was consumed,
//! and the gateway breaks a response off of which it holds more than the same
//! 1 MiB. It says so when a chunk is taken from it, though, and takes the chunk off
//! its account a moment later: a sender that uses all of its credit at once can be
//! one chunk over, and on a busy machine it is. The client of the session has no
//! setting for its window. So what the gateway says is made smaller on its way in:
//! by a reserve, which the window then never touches.
//!
//! Invariant C1: nothing but the counter of such a message is changed, and no byte
//! is kept longer than the head of a frame, or such a message, is incomplete.

use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::io::poll_read_buf;

/// Bytes that the gateway may lag behind its own words: four of the largest chunks.
const RESERVE: u64 = 256 * 1024;
/// Bytes of one read.
const READ: usize = 64 * 1024;
/// The head of the answer that opens the session is looked for within this.
const OPENING_MAX: usize = 64 * 1024;
const OPENING_END: &[u8] = b"\r\n\r\n";
/// A binary message in one frame.
pub(super) const BINARY: u8 = 0x82;
/// What a credit message is as a frame: kind of message, gateway, request, index,
/// kind of tunnel message, counter.
const CREDIT_LENGTH: u8 = 20;
const TUNNEL_AT: usize = 2;
const TUNNEL: u8 = 4;
const KIND_AT: usize = TUNNEL_AT + 11;
const KIND: u8 = 4;
const COUNTER: Range<usize> = KIND_AT + 1..KIND_AT + 9;

enum Place {
    /// In the answer that opens the session.
    Opening,
    /// In a frame of which so many bytes are still to come.
    Frame(u64),
    /// Not in anything that is understood: all goes through.
    Unknown,
}

/// A client's stream of WebSocket frames.
pub(super) struct Credit<S> {
    stream: S,
    read: BytesMut,
    /// So much at the front of `read` may leave.
    ready: usize,
    place: Place,
}

impl<S> Credit<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            read: BytesMut::new(),
            ready: 0,
            place: Place::Opening,
        }
    }

    /// Looks through what was read, up to something that is incomplete.
    fn look(&mut self) {
        while let Some(length) = self.next() {
            self.ready += length;
        }
    }

    /// How many of the bytes behind those that are ready may leave, too.
    fn next(&mut self) -> Option<usize> {
        let rest = &mut self.read[self.ready..];
        match self.place {
            _ if rest.is_empty() => None,
            Place::Unknown => Some(rest.len()),
            Place::Opening => {
                let found = rest.windows(OPENING_END.len());
                let found = found.into_iter().position(|here| here == OPENING_END);
                if let Some(at) = found {
                    self.place = Place::Frame(0);
                    Some(at + OPENING_END.len())
                } else {
                    if rest.len() > OPENING_MAX {
                        self.place = Place::Unknown;
                    }
                    (rest.len() > OPENING_MAX).then_some(rest.len())
                }
            }
            Place::Frame(0) if rest.starts_with(&[BINARY, CREDIT_LENGTH]) => {
                let length = 2 + usize::from(CREDIT_LENGTH);
                keep_back(rest.get_mut(..length)?);
                Some(length)
            }
            Place::Frame(0) => {
                let (head, payload) = frame(rest)?;
                self.place = Place::Frame(payload);
                Some(head)
            }
            Place::Frame(left) => {
                let length = usize::try_from(left).map_or(rest.len(), |left| left.min(rest.len()));
                self.place = Place::Frame(left - length as u64);
                Some(length)
            }
        }
    }
}

/// Lengths of a frame's head and payload; `None` if the head is incomplete.
pub(super) fn frame(bytes: &[u8]) -> Option<(usize, u64)> {
    let second = *bytes.get(1)?;
    let mask = if second & 0x80 == 0 { 0 } else { 4 };
    let (head, payload) = match second & 0x7F {
        126 => (
            4,
            u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?).into(),
        ),
        127 => (10, u64::from_be_bytes(*bytes.get(2..)?.first_chunk()?)),
        short => (2, short.into()),
    };
    Some((head, payload + mask))
}

/// Takes the reserve from a frame if it is a credit message.
fn keep_back(frame: &mut [u8]) {
    if frame[TUNNEL_AT] != TUNNEL || frame[KIND_AT] != KIND {
        return;
    }
    if let Some(counter) = frame[COUNTER].first_chunk_mut() {
        let consumed = u64::from_le_bytes(*counter);
        *counter = consumed.saturating_sub(RESERVE).to_le_bytes();
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Credit<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let me = &mut *self;
        while me.ready == 0 {
            me.read.reserve(READ);
            let read = ready!(poll_read_buf(Pin::new(&mut me.stream), cx, &mut me.read))?;
            if read == 0 {
                // What is incomplete stays so.
                me.ready = me.read.len();
                break;
            }
            me.look();
        }
        let length = me.ready.min(into.remaining());
        into.put_slice(&me.read[..length]);
        me.read.advance(length);
        me.ready -= length;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Credit<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use rivet_envoy_client::protocol;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use vbare::Encode;

    use super::*;

    const ANSWER: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";

    fn message(kind: protocol::ToEnvoyTunnelMessageKind) -> Vec<u8> {
        let message = protocol::ToEnvoy::ToEnvoyTunnelMessage(protocol::ToEnvoyTunnelMessage {
            message_id: protocol::MessageId {
                gateway_id: [4; 4],
                request_id: [5; 4],
                message_index: 6,
            },
            message_kind: kind,
        });
        message.encode_to_vec()
    }

    fn credit(consumed_bytes: u64) -> Vec<u8> {
        let update = protocol::ToEnvoyResponseBodyWindowUpdate { consumed_bytes };
        message(protocol::ToEnvoyTunnelMessageKind::ToEnvoyResponseBodyWindowUpdate(update))
    }

    fn framed(first: u8, payload: &[u8]) -> Vec<u8> {
        let length = payload.len();
        let mut frame = match length {
            0..126 => vec![first, length as u8],
            126..0x1_0000 => [&[first, 126][..], &(length as u16).to_be_bytes()].concat(),
            _ => [&[first, 127][..], &(length as u64).to_be_bytes()].concat(),
        };
        frame.extend_from_slice(payload);
        frame
    }

    /// What comes out of a stream of these bytes when they arrive in such pieces.
    async fn through(bytes: &[u8], piece: usize) -> Vec<u8> {
        let (mut engine, ours) = tokio::io::duplex(piece);
        let (mut stream, mut out) = (Credit::new(ours), Vec::new());
        let sending = async {
            engine.write_all(bytes).await.unwrap();
            engine.shutdown().await.unwrap();
        };
        let (read, ()) = tokio::join!(stream.read_to_end(&mut out), sending);
        assert_eq!(read.unwrap(), out.len());
        out
    }

    fn others() -> Vec<u8> {
        let cancel = message(protocol::ToEnvoyTunnelMessageKind::ToEnvoyRequestBodyCancel);
        let frames = [
            framed(BINARY, &cancel),
            framed(BINARY, &credit(9)[..19]),
            framed(0x81, &credit(1 << 30)),
            framed(0x89, b"ping"),
            framed(BINARY, &[0x82; 300]),
            framed(BINARY, &[0x14; 70_000]),
            framed(BINARY, &[3; 20]),
            framed(BINARY, b""),
        ];
        frames.concat()
    }

    #[tokio::test]
    async fn credit_arrives_without_the_reserve_and_everything_else_as_it_was() {
        let session = |consumed: [u64; 2]| {
            let [first, second] = consumed.map(|bytes| framed(BINARY, &credit(bytes)));
            [ANSWER, &first, &others(), &second, &others()].concat()
        };
        let sent = session([RESERVE - 1, 3_000_000]);
        let expected = session([0, 3_000_000 - RESERVE]);
        for piece in [1, 2, 3, 7, 1_000, sent.len()] {
            assert!(through(&sent, piece).await == expected, "pieces of {piece}");
        }
    }

    #[tokio::test]
    async fn what_ends_in_the_middle_arrives_up_to_there() {
        let sent = [ANSWER, &framed(BINARY, &credit(5))[..9]].concat();
        assert_eq!(through(&sent, 4).await, sent);
        assert_eq!(through(&ANSWER[..9], 4).await, &ANSWER[..9]);
    }

    #[tokio::test]
    async fn an_answer_without_an_end_is_let_through() {
        let sent = vec![b'x'; 3 * OPENING_MAX];
        assert!(through(&sent, 5_000).await == sent);
    }
}
