//! A raw WebSocket as the actor side holds it.
//!
//! The transport (a gateway's socket task) implements [`WebSocketTransport`];
//! the adapter installs one event sink. Events that arrive before a sink is
//! installed are kept in order, so user code that installs its listener late
//! misses nothing. Every message carries a [`Receipt`]: what the actor has not
//! taken bounds what the transport delivers, and what a generation never took
//! can be delivered to the next.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use greenroom_error::Result;
use parking_lot::Mutex;

/// Towards the client. No method may block or deliver.
pub trait WebSocketTransport: Send + Sync + 'static {
    /// Queues one message; fails when the socket is gone or its outbox full.
    fn send(&self, data: Bytes, binary: bool) -> Result<()>;
    /// Queues the close frame after everything sent before. Idempotent.
    fn close(&self, code: Option<u16>, reason: Option<String>);
    /// The actor took a delivered message, or (`false`) let go of it unseen. Told
    /// once of each.
    fn settled(&self, number: u64, taken: bool);
}

/// Something the client did.
#[derive(Debug)]
pub enum WebSocketEvent {
    Message {
        data: Bytes,
        binary: bool,
        /// Index for acknowledgement, on hibernatable sockets.
        message_index: Option<u16>,
        receipt: Receipt,
    },
    Close {
        code: u16,
        reason: String,
        was_clean: bool,
    },
}

/// What stands for one delivered message until the actor has taken it.
#[must_use = "a dropped receipt says that the message was not taken"]
pub struct Receipt {
    socket: Weak<Inner>,
    number: u64,
    taken: bool,
}

impl Receipt {
    /// The message is in the hands of user code.
    pub fn taken(mut self) {
        self.taken = true;
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if let Some(socket) = self.socket.upgrade() {
            socket.transport.settled(self.number, self.taken);
        }
    }
}

impl std::fmt::Debug for Receipt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Receipt({})", self.number)
    }
}

type Sink = Box<dyn Fn(WebSocketEvent) + Send + Sync>;

/// A cheap handle to one raw socket in one generation.
#[derive(Clone)]
pub struct WebSocket(Arc<Inner>);

struct Inner {
    transport: Box<dyn WebSocketTransport>,
    receiver: Mutex<Receiver>,
}

enum Receiver {
    Early(VecDeque<WebSocketEvent>),
    Installed(Arc<Sink>),
    /// The last event was delivered, or the generation is over.
    Ended,
}

impl WebSocket {
    pub fn new(transport: impl WebSocketTransport) -> Self {
        Self(Arc::new(Inner {
            transport: Box::new(transport),
            receiver: Mutex::new(Receiver::Early(VecDeque::new())),
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
    /// neither block nor come back here.
    pub fn set_event_sink(&self, sink: Sink) {
        let sink = Arc::new(sink);
        let mut receiver = self.0.receiver.lock();
        match &mut *receiver {
            // Delivered under the lock, so a new event cannot overtake kept ones.
            Receiver::Early(events) => {
                let mut ended = false;
                for event in events.drain(..) {
                    ended = matches!(event, WebSocketEvent::Close { .. });
                    sink(event);
                }
                *receiver = match ended {
                    true => Receiver::Ended,
                    false => Receiver::Installed(sink),
                };
            }
            Receiver::Installed(installed) => *installed = sink,
            Receiver::Ended => {}
        }
    }

    /// Hands a message of the client to the actor, in order. The transport hears
    /// of `number` again when the message was taken.
    pub fn deliver(&self, number: u64, data: Bytes, binary: bool, message_index: Option<u16>) {
        self.event(WebSocketEvent::Message {
            data,
            binary,
            message_index,
            receipt: Receipt {
                socket: Arc::downgrade(&self.0),
                number,
                taken: false,
            },
        });
    }

    /// Tells the actor that the socket is closed. Nothing is delivered after that,
    /// and the sink is let go.
    pub fn deliver_close(&self, code: u16, reason: String) {
        self.event(WebSocketEvent::Close {
            code,
            reason,
            was_clean: code == NORMAL_CLOSE,
        });
    }

    /// Lets go of the sink and of undelivered events: the generation is over, the
    /// socket is not.
    pub fn detach(&self) {
        let before = std::mem::replace(&mut *self.0.receiver.lock(), Receiver::Ended);
        // Outside the lock: receipts that are dropped tell the transport.
        drop(before);
    }

    fn event(&self, event: WebSocketEvent) {
        let is_last = matches!(event, WebSocketEvent::Close { .. });
        let mut receiver = self.0.receiver.lock();
        match &mut *receiver {
            Receiver::Early(events) => events.push_back(event),
            Receiver::Installed(sink) => {
                let sink = Arc::clone(sink);
                sink(event);
                if is_last {
                    *receiver = Receiver::Ended;
                }
            }
            Receiver::Ended => {
                drop(receiver);
                drop(event);
            }
        }
    }
}

const NORMAL_CLOSE: u16 = 1000;

impl std::fmt::Debug for WebSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WebSocket")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Settled = Arc<Mutex<Vec<(u64, bool)>>>;
    struct Recording(Settled);

    impl WebSocketTransport for Recording {
        fn send(&self, _: Bytes, _: bool) -> Result<()> {
            Ok(())
        }
        fn close(&self, _: Option<u16>, _: Option<String>) {}
        fn settled(&self, number: u64, taken: bool) {
            self.0.lock().push((number, taken));
        }
    }

    fn socket() -> (WebSocket, Settled) {
        let settled = Settled::default();
        (WebSocket::new(Recording(Arc::clone(&settled))), settled)
    }

    /// A sink that takes what it gets and notes it.
    fn listen(socket: &WebSocket) -> Arc<Mutex<Vec<String>>> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        socket.set_event_sink(Box::new(move |event| match event {
            WebSocketEvent::Message { data, receipt, .. } => {
                noted
                    .lock()
                    .push(String::from_utf8_lossy(&data).into_owned());
                receipt.taken();
            }
            WebSocketEvent::Close { code, .. } => noted.lock().push(code.to_string()),
        }));
        seen
    }

    fn deliver(socket: &WebSocket, number: u64, text: &'static str) {
        socket.deliver(number, Bytes::from_static(text.as_bytes()), false, None);
    }

    #[test]
    fn a_late_listener_misses_nothing_and_everything_is_settled_once() {
        let (socket, settled) = socket();
        deliver(&socket, 0, "a");
        deliver(&socket, 1, "b");
        assert!(settled.lock().is_empty());
        let seen = listen(&socket);
        deliver(&socket, 2, "c");
        socket.deliver_close(1000, String::new());
        deliver(&socket, 3, "too late");
        assert_eq!(*seen.lock(), ["a", "b", "c", "1000"]);
        let expected = [(0, true), (1, true), (2, true), (3, false)];
        assert_eq!(*settled.lock(), expected);
    }

    #[test]
    fn a_close_that_came_early_is_the_last_event_too() {
        let (socket, _) = socket();
        deliver(&socket, 0, "a");
        socket.deliver_close(4000, "why".into());
        let seen = listen(&socket);
        deliver(&socket, 1, "b");
        assert_eq!(*seen.lock(), ["a", "4000"]);
    }

    #[test]
    fn what_nobody_took_comes_back_when_the_generation_ends() {
        let (socket, settled) = socket();
        deliver(&socket, 0, "a");
        socket.detach();
        assert_eq!(*settled.lock(), [(0, false)]);
        let seen = listen(&socket);
        assert!(seen.lock().is_empty());
    }

    #[test]
    fn text_has_to_be_utf_8() {
        let (socket, _) = socket();
        let bad = Bytes::from_static(b"\xff");
        assert!(socket.send(bad.clone(), false).is_err());
        assert!(socket.send(bad, true).is_ok());
    }
}
