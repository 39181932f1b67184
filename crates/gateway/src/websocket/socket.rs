//! One client's WebSocket, driven by one task.
//!
//! The socket reads messages, sends what is in its [`Outbox`], answers and sends
//! pings, and notices when the client has gone. It knows nothing of actors.
//!
//! Its active life ends once, with [`SocketEvent::Over`]; [`ClientSocket::finish`]
//! then says goodbye in bounded time.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Sink, Stream};
use greenroom_core::Clock;
use greenroom_error::{Error, code};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::{Error as WsError, ProtocolError};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role, WebSocketConfig};

use super::frame_io::FrameIo;
use super::liveness::{Due, Liveness};
use super::outbox::{Farewell, Outbox};

/// Bytes taken from the outbox at a time. Beyond this a slow client's frames stay
/// where they are counted.
const BATCH_BYTES: usize = 64 * 1024;
/// Read buffer of a socket; most sockets are idle most of the time.
const READ_BUFFER_BYTES: usize = 4 * 1024;
/// Code of a socket that ended without a close frame; never sent.
const ABNORMAL_CLOSE: u16 = 1006;
/// Code for a close frame without a code; never sent.
const NO_STATUS: u16 = 1005;

/// Bounds of one socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketOptions {
    /// Longest message read, in bytes. Default 32 MiB.
    pub max_message_bytes: usize,
    /// Silence after which a ping is sent. Default 30 s.
    pub ping_interval: Duration,
    /// Time for the answer to a ping, after which the client counts as gone.
    /// Default 20 s.
    pub ping_timeout: Duration,
    /// Time for the goodbye. Default 5 s.
    pub close_timeout: Duration,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self {
            max_message_bytes: 32 << 20,
            ping_interval: Duration::from_secs(30),
            ping_timeout: Duration::from_secs(20),
            close_timeout: Duration::from_secs(5),
        }
    }
}

/// What happens on a socket.
#[derive(Debug, PartialEq, Eq)]
pub enum SocketEvent {
    Message {
        data: Bytes,
        binary: bool,
    },
    /// No more messages: the client or we closed, or it is gone.
    Over,
}

/// How a socket ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    pub code: u16,
    pub reason: String,
}

impl Closed {
    pub(super) fn abnormal() -> Self {
        Self {
            code: ABNORMAL_CLOSE,
            reason: String::new(),
        }
    }
}

/// Why the active life ended.
pub(super) enum End {
    /// We said so.
    Ours(Farewell),
    /// The client broke the rules; what it sends from here on cannot be read.
    Failed(Farewell),
    /// The client said so.
    Peer(Closed),
    /// The connection is gone.
    Lost,
}

/// A client's socket.
pub struct ClientSocket<S> {
    pub(super) stream: WebSocketStream<FrameIo<S>>,
    outbox: Outbox,
    pub(super) options: SocketOptions,
    pub(super) clock: Clock,
    liveness: Liveness,
    pub(super) end: Option<End>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> ClientSocket<S> {
    /// A socket on a stream whose HTTP upgrade is done. `read_ahead` are bytes
    /// that arrived with it. `clock` is the network's: a peer does not wait for a
    /// manual clock that actors live by.
    pub async fn new(
        stream: S,
        read_ahead: &[u8],
        outbox: Outbox,
        options: SocketOptions,
        clock: Clock,
    ) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER_BYTES)
            // Each control frame goes down at once and whole; see FrameIo.
            .write_buffer_size(0)
            .max_message_size(Some(options.max_message_bytes))
            .max_frame_size(Some(options.max_message_bytes));
        let io = FrameIo::new(stream, Bytes::copy_from_slice(read_ahead));
        let stream = WebSocketStream::from_raw_socket(io, Role::Server, Some(config));
        Self {
            stream: stream.await,
            outbox,
            liveness: Liveness::new(&options, clock.clone()),
            options,
            clock,
            end: None,
        }
    }

    pub fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// True once [`SocketEvent::Over`] was given.
    pub fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Sends, answers pings and, if `read` is set, reads the next message.
    /// Unread messages stay with the client: that is the back-pressure.
    pub fn poll_event(&mut self, cx: &mut Context<'_>, read: bool) -> Poll<SocketEvent> {
        if self.end.is_some() {
            return Poll::Ready(SocketEvent::Over);
        }
        // Asked first to be woken for what is added from here on, and again
        // because the frames before a farewell may just have left.
        let mut farewell = self.outbox.poll_farewell(cx);
        if farewell.is_pending() {
            if let Poll::Ready(Err(error)) = self.poll_send(cx) {
                tracing::debug!(%error, "a client's socket cannot be written");
                return self.over(End::Lost);
            }
            farewell = self.outbox.poll_farewell(cx);
        }
        if let Poll::Ready(farewell) = farewell {
            return self.over(End::Ours(farewell));
        }
        if read {
            while let Poll::Ready(next) = Pin::new(&mut self.stream).poll_next(cx) {
                self.liveness.heard();
                match next {
                    Some(Ok(Message::Text(text))) => {
                        let data = Bytes::from(text);
                        return Poll::Ready(SocketEvent::Message {
                            data,
                            binary: false,
                        });
                    }
                    Some(Ok(Message::Binary(data))) => {
                        return Poll::Ready(SocketEvent::Message { data, binary: true });
                    }
                    Some(Ok(Message::Close(frame))) => return self.over(End::Peer(closed(frame))),
                    // The protocol queued the pong; the next round sends it.
                    Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                    Some(Err(error)) => return self.over(failure(&error)),
                    None => return self.over(End::Lost),
                }
            }
        } else {
            // Silence that we ordered says nothing.
            self.liveness.heard();
        }
        self.poll_liveness(cx)
    }

    /// The next event; see [`Self::poll_event`]. Dropping the future loses
    /// nothing.
    pub async fn event(&mut self, read: bool) -> SocketEvent {
        std::future::poll_fn(|cx| self.poll_event(cx, read)).await
    }

    fn over(&mut self, end: End) -> Poll<SocketEvent> {
        self.end = Some(end);
        Poll::Ready(SocketEvent::Over)
    }

    /// Ready when nothing is left to send.
    pub(super) fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let io = self.stream.get_mut();
            if io.is_drained() {
                self.outbox.take(BATCH_BYTES, |frame| io.push(frame));
            }
            if io.is_drained() {
                return Poll::Ready(Ok(()));
            }
            ready!(io.poll_drain(cx))?;
        }
    }

    fn poll_liveness(&mut self, cx: &mut Context<'_>) -> Poll<SocketEvent> {
        loop {
            match ready!(self.liveness.poll(cx)) {
                Due::Nothing => {}
                Due::Ping => {
                    let ping = Message::Ping(Bytes::new());
                    if Pin::new(&mut self.stream).start_send(ping).is_err() {
                        return self.over(End::Lost);
                    }
                    if let Poll::Ready(Err(_)) = self.poll_send(cx) {
                        return self.over(End::Lost);
                    }
                }
                Due::GiveUp => {
                    tracing::debug!("a client does not answer; its socket is dropped");
                    return self.over(End::Lost);
                }
            }
        }
    }
}

pub(super) fn closed(frame: Option<CloseFrame>) -> Closed {
    match frame {
        Some(frame) => Closed {
            code: frame.code.into(),
            reason: frame.reason.to_string(),
        },
        None => Closed {
            code: NO_STATUS,
            reason: String::new(),
        },
    }
}

fn failure(error: &WsError) -> End {
    let row = match error {
        WsError::Capacity(_) => &code::MESSAGE_INCOMING_TOO_LONG,
        WsError::Utf8(_) => &code::MESSAGE_INVALID_UTF8,
        WsError::Protocol(
            ProtocolError::ResetWithoutClosingHandshake | ProtocolError::SendAfterClosing,
        ) => return End::Lost,
        WsError::Protocol(_) => &code::WS_PROTOCOL_ERROR,
        _ => return End::Lost,
    };
    End::Failed(Farewell::of_error(&Error::new(row)))
}

#[cfg(test)]
mod tests;
