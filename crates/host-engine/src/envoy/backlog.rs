//! What sockets have said and the session has not sent yet.
//!
//! The client of the session has one queue for everything but the bodies of
//! responses, and that queue has no end. Storage, alarms and the life of actors are
//! few and wait for answers; what sockets say is not, and while the engine takes
//! nothing it would grow for as long as actors speak. So it is counted: in when it is
//! queued, out when its frame is written to the stream. Beyond a bound sockets wait,
//! each with a bounded outbox of its own, and they do while there is no session,
//! because the queue drops what it gets then.
//!
//! Invariant L1: what is counted is never less than what waits, but for messages of a
//! session that was lost, which the next one may send.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

use super::credit::{BINARY, frame};

/// Bytes of all sockets that may wait in the session's queue.
const BYTES_MAX: usize = 4 << 20;
const OPENING_END: [u8; 4] = *b"\r\n\r\n";
const MASK: usize = 4;
/// Kind of message, gateway, request, index, kind of tunnel message, and a length of
/// at most five bytes.
const PEEK: usize = LENGTH_AT + 5;
const KIND_AT: usize = 11;
const LENGTH_AT: usize = KIND_AT + 1;
const TUNNEL: u8 = 6;
const SOCKET_MESSAGE: u8 = 6;

/// Of one session after another.
#[derive(Default)]
pub(crate) struct Backlog {
    state: Mutex<State>,
    room: Notify,
}

#[derive(Default)]
struct State {
    bytes: usize,
    is_connected: bool,
}

impl Backlog {
    /// Whether a socket may say more.
    pub(crate) fn has_room(&self) -> bool {
        let state = self.state.lock();
        state.is_connected && state.bytes < BYTES_MAX
    }

    /// Resolves when one may.
    pub(crate) async fn room(&self) {
        loop {
            let changed = self.room.notified();
            if self.has_room() {
                return;
            }
            changed.await;
        }
    }

    pub(super) fn queued(&self, bytes: usize) {
        self.state.lock().bytes += bytes;
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.state.lock().bytes
    }

    /// A session begins or ends, and takes what waited with it.
    pub(crate) fn connected(&self, is_connected: bool) {
        *self.state.lock() = State {
            bytes: 0,
            is_connected,
        };
        self.room.notify_waiters();
    }

    fn left(&self, bytes: usize) {
        let mut state = self.state.lock();
        let was_full = state.bytes >= BYTES_MAX;
        state.bytes = state.bytes.saturating_sub(bytes);
        let has_room = state.bytes < BYTES_MAX;
        drop(state);
        if was_full && has_room {
            self.room.notify_waiters();
        }
    }
}

/// A session's stream that counts what leaves.
pub(super) struct Counted<S> {
    stream: S,
    frames: Frames,
    backlog: Arc<Backlog>,
}

impl<S> Counted<S> {
    pub(super) fn new(stream: S, backlog: Arc<Backlog>) -> Self {
        Self {
            stream,
            frames: Frames::default(),
            backlog,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        let left = self.frames.passed(&bytes[..written]);
        if left > 0 {
            self.backlog.left(left);
        }
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// What a client writes: the request that opens the session, and then frames.
struct Frames {
    place: Place,
    /// Of the frame that begins: its head, the mask, and of the payload what it takes
    /// to know it.
    head: Vec<u8>,
}

enum Place {
    /// In the request; so much of its end has been seen.
    Opening(usize),
    Head,
    /// In a payload of which so many bytes are still to come.
    Payload(u64),
}

impl Default for Frames {
    fn default() -> Self {
        Self {
            place: Place::Opening(0),
            head: Vec::new(),
        }
    }
}

impl Frames {
    /// Bytes of sockets' messages whose frames began in these.
    fn passed(&mut self, mut bytes: &[u8]) -> usize {
        let mut sum = 0;
        while let Some((first, rest)) = bytes.split_first() {
            match &mut self.place {
                Place::Opening(seen) => {
                    bytes = rest;
                    *seen = match *first == OPENING_END[*seen] {
                        true => *seen + 1,
                        false => usize::from(*first == OPENING_END[0]),
                    };
                    if *seen == OPENING_END.len() {
                        self.place = Place::Head;
                    }
                }
                Place::Payload(left) => {
                    let length = usize::try_from(*left).map_or(bytes.len(), |l| l.min(bytes.len()));
                    bytes = &bytes[length..];
                    *left -= length as u64;
                    if *left == 0 {
                        self.place = Place::Head;
                    }
                }
                Place::Head => {
                    bytes = rest;
                    self.head.push(*first);
                    sum += self.look();
                }
            }
        }
        sum
    }

    /// Looks at a frame once enough of it is there.
    fn look(&mut self) -> usize {
        // The mask counts as payload.
        let Some((head, length)) = frame(&self.head) else {
            return 0;
        };
        let known = self.head.len() - head;
        let wanted = length.min((MASK + PEEK) as u64);
        if (known as u64) < wanted {
            return 0;
        }
        let rest = length - known as u64;
        self.place = match rest {
            0 => Place::Head,
            rest => Place::Payload(rest),
        };
        let bytes = match self.head[0] == BINARY {
            true => socket_message(&self.head[head..]),
            false => None,
        };
        self.head.clear();
        bytes.unwrap_or(0)
    }
}

/// Length of the socket's message that begins behind this mask, if it is one.
fn socket_message(masked: &[u8]) -> Option<usize> {
    let (mask, payload) = masked.split_at_checked(MASK)?;
    let byte = |at: usize| Some(payload.get(at)? ^ mask[at % MASK]);
    if byte(0)? != TUNNEL || byte(KIND_AT)? != SOCKET_MESSAGE {
        return None;
    }
    let mut length = 0_usize;
    for (place, at) in (LENGTH_AT..PEEK).enumerate() {
        let byte = byte(at)?;
        length |= usize::from(byte & 0x7F) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(length);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, SinkExt};
    use rivet_envoy_client::protocol;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio_tungstenite::WebSocketStream;
    use tokio_tungstenite::tungstenite::protocol::{Message, Role};
    use vbare::Encode;

    use super::*;

    fn message(kind: protocol::ToRivetTunnelMessageKind) -> Message {
        let message = protocol::ToRivet::ToRivetTunnelMessage(protocol::ToRivetTunnelMessage {
            message_id: protocol::MessageId {
                gateway_id: [6; 4],
                request_id: [5; 4],
                message_index: 6,
            },
            message_kind: kind,
        });
        Message::Binary(message.encode_to_vec().into())
    }

    fn said(length: usize) -> Message {
        let said = protocol::ToRivetWebSocketMessage {
            data: vec![6; length].into(),
            binary: true,
        };
        message(protocol::ToRivetTunnelMessageKind::ToRivetWebSocketMessage(
            said,
        ))
    }

    fn others() -> Vec<Message> {
        let close = protocol::ToRivetWebSocketClose {
            code: None,
            reason: Some("5".repeat(300).into()),
            hibernate: false,
        };
        vec![
            message(protocol::ToRivetTunnelMessageKind::ToRivetWebSocketClose(
                close,
            )),
            Message::Ping(vec![TUNNEL; 20].into()),
            Message::Binary(vec![TUNNEL].into()),
            Message::Binary(vec![0; 70_000].into()),
        ]
    }

    /// What a client writes that sends all this.
    async fn written(messages: Vec<Message>) -> Vec<u8> {
        let (mut near, mut far) = tokio::io::duplex(4 * BYTES_MAX);
        near.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .await
            .unwrap();
        let mut client = WebSocketStream::from_raw_socket(near, Role::Client, None).await;
        for message in messages {
            client.send(message).await.unwrap();
        }
        drop(client);
        let mut bytes = Vec::new();
        far.read_to_end(&mut bytes).await.unwrap();
        bytes
    }

    #[tokio::test]
    async fn messages_of_sockets_are_counted_and_nothing_else() {
        let lengths = [0, 1, 127, 128, 20_000, 100_000];
        let messages = lengths
            .into_iter()
            .flat_map(|length| [vec![said(length)], others()].concat());
        let bytes = written(messages.collect()).await;
        for piece in [1, 3, 1_000, bytes.len()] {
            let mut frames = Frames::default();
            let counted: usize = bytes.chunks(piece).map(|piece| frames.passed(piece)).sum();
            assert_eq!(counted, lengths.iter().sum::<usize>(), "pieces of {piece}");
        }
    }

    #[tokio::test]
    async fn sockets_wait_while_too_much_waits_and_while_there_is_no_session() {
        let backlog = Arc::new(Backlog::default());
        assert!(!backlog.has_room());
        backlog.connected(true);
        assert!(backlog.room().now_or_never().is_some());
        let length = BYTES_MAX / 2;
        (0..3).for_each(|_| backlog.queued(length));
        assert!(!backlog.has_room());
        let (near, mut far) = tokio::io::duplex(64);
        let mut stream = Counted::new(near, Arc::clone(&backlog));
        let bytes = written(vec![said(length), said(length)]).await;
        let sending = async {
            stream.write_all(&bytes).await.unwrap();
        };
        let mut read = vec![0; bytes.len()];
        let (_, _, ()) = tokio::join!(sending, far.read_exact(&mut read), backlog.room());
        assert!(backlog.has_room());
        backlog.queued(BYTES_MAX);
        let lost = backlog.room();
        assert!(!backlog.has_room());
        backlog.connected(false);
        assert!(!backlog.has_room());
        backlog.connected(true);
        lost.await;
    }
}
