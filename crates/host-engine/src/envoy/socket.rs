//! Sockets of clients, as the engine forwards them: message by message.
//!
//! The gateway speaks WebSocket over bytes, so each socket gets a pipe inside the
//! process with the protocol of a client at our end. What a client sends is handed
//! to a bounded queue and never waited for here.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use greenroom_core::HibernationId;
use greenroom_error::{Error, Result, code};
use greenroom_gateway::websocket::unreachable;
use greenroom_wire::{ActorId, RayId};
use rivet_envoy_client::callbacks::BoxFuture;
use rivet_envoy_client::websocket::{WebSocketHandler, WebSocketMessage, WebSocketSender};

use super::backlog::Backlog;
use super::link::Link;
use crate::shared::Shared;
use crate::sockets::{EngineSocket, Incoming, NewSocket};

/// The gateway does not pass on a close that comes with the word that the socket is
/// open again.
const AWAY_AFTER: Duration = Duration::from_secs(2);

/// A socket that the engine opens, or brings back after a sleep.
pub(super) struct Opening {
    pub(super) link: Link,
    pub(super) id: HibernationId,
    pub(super) path: String,
    pub(super) headers: HashMap<String, String>,
    pub(super) is_hibernatable: bool,
    pub(super) is_restoring: bool,
    pub(super) sender: WebSocketSender,
}

/// What the session takes of one socket. Whoever holds one may say as much as it
/// likes: none of this waits.
pub(crate) trait Line: Send + Sync {
    fn send(&self, data: Vec<u8>, binary: bool);
    fn acknowledge(&self, message_index: u16);
    fn close(&self, code: Option<u16>, reason: Option<String>);
}

struct SessionLine {
    sender: WebSocketSender,
    link: Link,
    id: HibernationId,
}

impl Line for SessionLine {
    fn send(&self, data: Vec<u8>, binary: bool) {
        self.sender.send(data, binary);
    }

    fn acknowledge(&self, message_index: u16) {
        self.link.acknowledge(self.id, message_index);
    }

    fn close(&self, code: Option<u16>, reason: Option<String>) {
        self.sender.close(code, reason);
    }
}

/// The way out of one socket, in one generation.
///
/// Invariant L2: somebody carries what it is given, so that what it counts leaves
/// the backlog again. Nothing is sent through one that has not opened, and nothing
/// after a close of either side.
#[derive(Clone)]
pub(crate) struct ToGateway {
    line: Arc<dyn Line>,
    backlog: Arc<Backlog>,
}

impl ToGateway {
    pub(crate) fn new(line: Arc<dyn Line>, backlog: Arc<Backlog>) -> Self {
        Self { line, backlog }
    }

    pub(crate) fn send(&self, data: &Bytes, binary: bool) {
        self.backlog.queued(data.len());
        self.line.send(data.to_vec(), binary);
    }

    /// The engine may forget the socket's messages up to this one.
    pub(crate) fn acknowledge(&self, message_index: u16) {
        self.line.acknowledge(message_index);
    }

    pub(crate) fn close(&self, code: u16, reason: String) {
        // These two stand for a frame without a code and for none at all; neither
        // may be sent.
        let code = (code != 1005 && code != 1006).then_some(code);
        let reason = (!reason.is_empty()).then_some(reason);
        self.line.close(code, reason);
    }
}

/// Begins to serve a socket, or goes on with one that is still held here.
pub(super) fn open(
    shared: &Arc<Shared>,
    actor_id: ActorId,
    opening: Opening,
) -> Result<WebSocketHandler> {
    let line = SessionLine {
        sender: opening.sender,
        link: opening.link,
        id: opening.id,
    };
    let way = ToGateway::new(Arc::new(line), Arc::clone(&shared.backlog));
    if opening.is_restoring {
        return Ok(restore(shared, &actor_id, opening.id, way, opening.headers));
    }
    let new = NewSocket {
        id: opening.id,
        path: opening.path,
        headers: opening.headers,
        is_hibernatable: opening.is_hibernatable,
        way: Some(way),
        resumed: None,
    };
    Ok(handler(shared.open_socket(actor_id, new)?))
}

/// Goes on with a socket, once it has opened: of one whose client has left meanwhile
/// the client of the session says that it closed, and carries nothing for it (L2).
fn restore(
    shared: &Arc<Shared>,
    actor_id: &ActorId,
    id: HibernationId,
    way: ToGateway,
    headers: HashMap<String, String>,
) -> WebSocketHandler {
    let socket = shared.sockets.find(actor_id, id);
    let serving = match &socket {
        Some(socket) => handler(Arc::clone(socket)),
        None => deaf(),
    };
    let shared = Arc::clone(shared);
    let on_open = move |_| -> BoxFuture<()> {
        opened(&shared, socket.as_deref(), way, &headers);
        Box::pin(async {})
    };
    WebSocketHandler {
        on_open: Some(Box::new(on_open)),
        ..serving
    }
}

/// The engine has handed the client of a socket over.
fn opened(
    shared: &Shared,
    socket: Option<&EngineSocket>,
    way: ToGateway,
    headers: &HashMap<String, String>,
) {
    // The session may have come to its end since it was found.
    if !socket.is_some_and(|socket| socket.set_way(way.clone())) {
        send_away(shared, way, headers);
    }
}

/// Hands over what the client does.
fn handler(socket: Arc<EngineSocket>) -> WebSocketHandler {
    let (messages, closes) = (Arc::clone(&socket), socket);
    let on_message = move |message: WebSocketMessage| -> BoxFuture<()> {
        messages.incoming(Incoming::Message {
            data: Bytes::from(message.data),
            binary: message.binary,
            index: message.message_index,
        });
        Box::pin(async {})
    };
    let on_close = move |code, reason| -> BoxFuture<()> {
        closes.incoming(Incoming::Close { code, reason });
        Box::pin(async {})
    };
    WebSocketHandler {
        on_message: Box::new(on_message),
        on_close: Box::new(on_close),
        on_open: None,
    }
}

/// For a socket that nobody serves.
fn deaf() -> WebSocketHandler {
    WebSocketHandler {
        on_message: Box::new(|_| Box::pin(async {})),
        on_close: Box::new(|_, _| Box::pin(async {})),
        on_open: None,
    }
}

/// Closes the socket of a client that no session here can go on with, so that it
/// connects anew.
fn send_away(shared: &Shared, way: ToGateway, headers: &HashMap<String, String>) {
    let ray_id = RayId::from_header(headers.get("x-rivet-ray-id").map(String::as_bytes));
    let farewell = unreachable(&Error::new(&code::WS_GOING_AWAY), &ray_id);
    let clock = shared.clock().clone();
    shared.spawn(async move {
        clock.sleep(AWAY_AFTER).await;
        way.close(farewell.code, farewell.reason);
    });
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use greenroom_core::{ActorRef, Clock};

    use super::*;
    use crate::rig::{Heard, ID, adopted, say, shared};

    async fn over(shared: &Shared) {
        shared.sockets.tasks.close();
        shared.sockets.tasks.wait().await;
    }

    #[tokio::test]
    async fn l2_a_client_that_has_left_before_its_connection_was_adopted_gets_nothing() {
        let (shared, actor_id) = (shared(Clock::real()), ActorId::generate());
        let _socket = adopted(&shared, actor_id, &["one", "two"]);
        let heard = Arc::new(Heard::default());
        let handler = restore(&shared, &actor_id, ID, heard.way(&shared), HashMap::new());
        // The session may be faster than the word that the client has left.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        (handler.on_close)(1000, "stale".to_owned()).await;
        over(&shared).await;
        assert_eq!(heard.all(), [""; 0]);
        assert_eq!(shared.backlog.bytes(), 0);
        assert_eq!(shared.sockets.open_count(), 0);
    }

    #[tokio::test]
    async fn l2_nothing_is_sent_to_a_client_that_has_closed() {
        let (shared, actor_id) = (shared(Clock::real()), ActorId::generate());
        let socket = adopted(&shared, actor_id, &["one", "two"]);
        let heard = Arc::new(Heard::default());
        let way = heard.way(&shared);
        let handler = restore(&shared, &actor_id, ID, way.clone(), HashMap::new());
        opened(&shared, Some(&socket), way, &HashMap::new());
        (handler.on_close)(1001, String::new()).now_or_never();
        over(&shared).await;
        assert_eq!(heard.all(), [""; 0]);
        assert_eq!(shared.backlog.bytes(), 0);
    }

    #[tokio::test]
    async fn what_a_generation_says_before_its_client_is_handed_over_waits_for_that() {
        let (shared, actor_id) = (shared(Clock::real()), ActorId::generate());
        let socket = adopted(&shared, actor_id, &["one"]);
        socket.lasts_in_tests();
        let [before, after] = [0, 1].map(|_| Arc::new(Heard::default()));
        let hand_over = |heard: &Arc<Heard>| {
            let way = heard.way(&shared);
            opened(&shared, Some(&socket), way, &HashMap::new());
        };
        let until = |heard: Arc<Heard>, said: [&'static str; 1]| async move {
            while heard.all() != said {
                tokio::task::yield_now().await;
            }
        };
        hand_over(&before);
        until(Arc::clone(&before), ["one"]).await;
        let generation = 1;
        shared.sockets.generation_begins(ActorRef {
            actor_id,
            generation,
        });
        say(&socket, "two");
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(before.all(), ["one"]);
        hand_over(&after);
        until(after, ["two"]).await;
    }

    #[tokio::test]
    async fn a_session_whose_client_is_never_handed_over_ends_and_says_so() {
        let (clock, time) = Clock::manual(0);
        let (shared, actor_id) = (shared(clock), ActorId::generate());
        let socket = adopted(&shared, actor_id, &[]);
        socket.lasts_in_tests();
        let heard = Arc::new(Heard::default());
        opened(&shared, Some(&socket), heard.way(&shared), &HashMap::new());
        let generation = 1;
        shared.sockets.generation_begins(ActorRef {
            actor_id,
            generation,
        });
        socket
            .outbox()
            .close_with(&Error::new(&code::ACTOR_STOPPED));
        shared.sockets.tasks.close();
        while shared.sockets.tasks.wait().now_or_never().is_none() {
            time.advance(Duration::from_secs(1));
            tokio::task::yield_now().await;
        }
        assert_eq!(heard.all(), ["closes with Some(1000)"]);
    }

    #[tokio::test]
    async fn a_session_for_a_client_that_no_engine_has_ends() {
        let shared = shared(Clock::real());
        let socket = adopted(&shared, ActorId::generate(), &[]);
        socket
            .outbox()
            .close_with(&Error::new(&code::ACTOR_STOPPED));
        over(&shared).await;
    }

    #[tokio::test]
    async fn a_client_of_a_session_that_is_over_is_sent_away() {
        let (clock, time) = Clock::manual(0);
        let (shared, actor_id) = (shared(clock), ActorId::generate());
        let socket = adopted(&shared, actor_id, &[]);
        socket.forget();
        assert!(shared.sockets.find(&actor_id, ID).is_none());
        let heard = Arc::new(Heard::default());
        opened(&shared, Some(&socket), heard.way(&shared), &HashMap::new());
        while !shared.tasks.is_empty() {
            time.advance(AWAY_AFTER);
            tokio::task::yield_now().await;
        }
        assert_eq!(heard.all(), ["closes with Some(1001)"]);
    }
}
