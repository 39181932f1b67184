//! A raw WebSocket as the actor side holds it.
//!
//! The transport (a gateway's socket task) implements [`WebSocketTransport`];
//! the adapter installs one event sink. Events that arrive before a sink is
//! installed are kept in order, up to a bound, so user code that installs its
//! listener late misses nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use greenroom_error::{Result, code};
use parking_lot::Mutex;

/// Bytes of undelivered messages one socket may hold before its sink exists.
const EARLY_BYTES_MAX: usize = 1 << 20;

/// Sends towards the client.
pub trait WebSocketTransport: Send + Sync + 'static {
    /// Queues one message; fails when the socket is gone or its outbox full.
    fn send(&self, data: Bytes, binary: bool) -> Result<()>;
    /// Queues the close frame after everything sent before. Idempotent.
    fn close(&self, code: Option<u16>, reason: Option<String>);
}

/// Something the client did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebSocketEvent {
    Message {
        data: Bytes,
        binary: bool,
        /// Index for acknowledgement, on hibernatable sockets.
        message_index: Option<u16>,
    },
    Close {
        code: u16,
        reason: String,
        was_clean: bool,
    },
}

type Sink = Box<dyn Fn(WebSocketEvent) + Send + Sync>;

/// A cheap handle to one raw socket.
#[derive(Clone)]
pub struct WebSocket(Arc<Inner>);

struct Inner {
    transport: Box<dyn WebSocketTransport>,
    receiver: Mutex<Receiver>,
}

enum Receiver {
    Early {
        events: VecDeque<WebSocketEvent>,
        bytes: usize,
    },
    Installed(Arc<Sink>),
}

impl WebSocket {
    pub fn new(transport: impl WebSocketTransport) -> Self {
        Self(Arc::new(Inner {
            transport: Box::new(transport),
            receiver: Mutex::new(Receiver::Early {
                events: VecDeque::new(),
                bytes: 0,
            }),
        }))
    }

    /// Sends a message. Text must be UTF-8 (`napi/invalid_argument`).
    pub fn send(&self, data: Bytes, binary: bool) -> Result<()> {
        if !binary && std::str::from_utf8(&data).is_err() {
            return Err(greenroom_error::Error::invalid_argument(
                "data",
                "websocket text message must be valid utf-8",
            ));
        }
        self.0.transport.send(data, binary)
    }

    pub fn close(&self, code: Option<u16>, reason: Option<String>) {
        self.0.transport.close(code, reason);
    }

    /// Replaces the sink; kept events are delivered to it first. The sink must
    /// not block.
    pub fn set_event_sink(&self, sink: Sink) {
        let sink = Arc::new(sink);
        let mut receiver = self.0.receiver.lock();
        // Delivered under the lock, so a new event cannot overtake kept ones.
        if let Receiver::Early { events, .. } = &mut *receiver {
            for event in events.drain(..) {
                sink(event);
            }
        }
        *receiver = Receiver::Installed(sink);
    }

    /// Hands an event of the client to the actor, in order. Fails when too much
    /// arrived before anybody listened; the transport then closes the socket.
    pub fn deliver(&self, event: WebSocketEvent) -> Result<()> {
        let mut receiver = self.0.receiver.lock();
        match &mut *receiver {
            Receiver::Installed(sink) => {
                let sink = sink.clone();
                sink(event);
            }
            Receiver::Early { events, bytes } => {
                if let WebSocketEvent::Message { data, .. } = &event {
                    *bytes += data.len() + 64;
                    if *bytes > EARLY_BYTES_MAX {
                        return Err((&code::MESSAGE_INCOMING_TOO_LONG).into());
                    }
                }
                events.push_back(event);
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for WebSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WebSocket")
    }
}
