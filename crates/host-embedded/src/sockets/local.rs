//! Sockets of this process: the same protocol, without a network in between.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use greenroom_wire::RayId;
use http::HeaderMap;
use http::header::{HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role};

use super::plan::{Origin, Plan, serve};
use crate::embedded::EmbeddedHost;

/// Bytes on their way in one direction.
const PIPE_BYTES: usize = 64 * 1024;
/// Messages that the owner of a socket may be ahead of it.
const AHEAD_MAX: usize = 4_096;

/// What a local socket tells its owner.
#[derive(Debug, PartialEq, Eq)]
pub enum LocalSocketEvent {
    Message {
        data: Bytes,
        binary: bool,
    },
    /// The last one.
    Close {
        code: u16,
        reason: String,
    },
}

/// The client's end of a socket inside the process. Dropping it closes it.
pub struct LocalSocket(mpsc::Sender<Message>);

impl LocalSocket {
    /// Sends a message; text has to be UTF-8. False if the socket is closed, or so
    /// far behind that it is closed for that.
    pub fn send(&self, data: Bytes, binary: bool) -> bool {
        let message = if binary {
            Message::Binary(data)
        } else {
            match data.try_into() {
                Ok(text) => Message::Text(text),
                Err(_) => return false,
            }
        };
        self.0.try_send(message).is_ok()
    }

    pub fn close(&self, code: u16, reason: &str) {
        let frame = CloseFrame {
            code: code.into(),
            reason: reason.into(),
        };
        // A full queue is closed by dropping the socket.
        let _ = self.0.try_send(Message::Close(Some(frame)));
    }
}

impl EmbeddedHost {
    /// Opens a WebSocket to an actor, as a client of the port would with this path
    /// and these subprotocols. It is open at once; what is wrong is told by its
    /// close.
    pub fn open_socket(
        &self,
        path_and_query: &str,
        subprotocols: &str,
        on_event: impl Fn(LocalSocketEvent) + Send + 'static,
    ) -> LocalSocket {
        let shared = self.shared();
        let mut headers = HeaderMap::new();
        if let Ok(offer) = HeaderValue::from_str(subprotocols) {
            headers.insert(SEC_WEBSOCKET_PROTOCOL, offer);
        }
        let plan = Plan::read(shared, path_and_query, &headers, RayId::generate());
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        let origin = Origin {
            address: None,
            leaving: shared.sockets.leaving.clone(),
        };
        let (serving, ending) = (Arc::clone(shared), shared.ending.clone());
        let served = async move {
            let serving = Box::pin(serve(serving, origin, far, Bytes::new(), plan)).await;
            ending.run_until_cancelled(serving).await;
        };
        let served = shared.sockets.tasks.track_future(served);
        shared.runtime.spawn(served);
        let (sender, outgoing) = mpsc::channel(AHEAD_MAX);
        shared.runtime.spawn(drive(near, outgoing, on_event));
        LocalSocket(sender)
    }
}

/// The client's side, from its first message to the last.
async fn drive(
    stream: DuplexStream,
    mut outgoing: mpsc::Receiver<Message>,
    on_event: impl Fn(LocalSocketEvent) + Send,
) {
    let mut socket = WebSocketStream::from_raw_socket(stream, Role::Client, None).await;
    let mut closed = (1006, String::new());
    let mut is_open = true;
    loop {
        let message = tokio::select! {
            biased;
            next = outgoing.recv(), if is_open => {
                let message = next.unwrap_or(Message::Close(None));
                is_open = !matches!(message, Message::Close(_));
                // A failure shows when reading.
                let _ = socket.send(message).await;
                continue;
            }
            message = socket.next() => message,
        };
        match message {
            Some(Ok(Message::Text(text))) => on_event(LocalSocketEvent::Message {
                data: text.into(),
                binary: false,
            }),
            Some(Ok(Message::Binary(data))) => {
                on_event(LocalSocketEvent::Message { data, binary: true });
            }
            Some(Ok(Message::Close(frame))) => {
                closed = frame.map_or((1005, String::new()), |frame| {
                    (frame.code.into(), frame.reason.to_string())
                });
            }
            Some(Ok(_)) => {}
            Some(Err(_)) | None => break,
        }
    }
    let (code, reason) = closed;
    on_event(LocalSocketEvent::Close { code, reason });
}
