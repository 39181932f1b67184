//! The actor's side of a raw socket: what it sends, and what it has taken.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use greenroom_core::{ConnTransport, OutboundEvent, WebSocketTransport};
use greenroom_error::{Error, Result, code};
use parking_lot::Mutex;
use serde_json::json;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::websocket::inbox::{Handled, Message};
use crate::websocket::{Farewell, MessageLog, Outbox, WireFrame};

/// Messages, and bytes of them, that the actor may have been given without having
/// taken them.
const MESSAGES_MAX: usize = 1_024;
const BYTES_MAX: usize = 1 << 20;

/// Delivered messages that were not taken yet. One per socket.
#[derive(Default)]
pub(super) struct Untaken {
    state: Mutex<State>,
    session: AtomicWaker,
    log: Option<Arc<dyn MessageLog>>,
    /// Messages of the socket that came before the session.
    before: u64,
}

#[derive(Default)]
struct State {
    /// The generation that messages are delivered to.
    generation: u32,
    messages: BTreeMap<u64, Message>,
    bytes: usize,
    handled: Handled,
}

impl Untaken {
    pub(super) fn new(log: Option<Arc<dyn MessageLog>>, before: u64) -> Self {
        Self {
            log,
            before,
            ..Self::default()
        }
    }

    /// True if the actor may be given another message. Otherwise the session is
    /// woken when that changes.
    pub(super) fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.session.register(cx.waker());
        let state = self.state.lock();
        match state.messages.len() < MESSAGES_MAX && state.bytes < BYTES_MAX {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    pub(super) fn has_room(&self) -> bool {
        let state = self.state.lock();
        state.messages.len() < MESSAGES_MAX && state.bytes < BYTES_MAX
    }

    pub(super) fn given(&self, message: Message) {
        let mut state = self.state.lock();
        state.bytes += message.data.len();
        state.handled.begin(message.number);
        state.messages.insert(message.number, message);
    }

    /// Begins anew for a generation, with everything that the last one left.
    pub(super) fn begin(&self, generation: u32) -> BTreeMap<u64, Message> {
        let mut state = self.state.lock();
        state.generation = generation;
        state.bytes = 0;
        std::mem::take(&mut state.messages)
    }

    fn settled(&self, generation: u32, number: u64, taken: bool) {
        let mut state = self.state.lock();
        // The last word of an earlier generation changes nothing any more, and
        // what was let go of unseen is kept for the next.
        if state.generation != generation || !taken {
            return;
        }
        if let Some(message) = state.messages.remove(&number) {
            state.bytes -= message.data.len();
            let handled = state.handled.end(number);
            drop(state);
            if let (Some(count), Some(log)) = (handled, &self.log) {
                log.handled(count - self.before);
            }
            self.session.wake();
        }
    }
}

/// One generation's way to the client.
pub(super) struct Side {
    pub(super) outbox: Outbox,
    pub(super) untaken: Arc<Untaken>,
    pub(super) generation: u32,
}

impl WebSocketTransport for Side {
    fn send(&self, data: Bytes, binary: bool) -> Result<()> {
        self.outbox.push(WireFrame::new(data, binary))
    }

    fn close(&self, code: Option<u16>, reason: Option<String>) {
        let code = code.unwrap_or(1000);
        let reason = reason.unwrap_or_default();
        self.outbox.close(Farewell::new(sendable(code), &reason));
    }

    fn settled(&self, number: u64, taken: bool) {
        self.untaken.settled(self.generation, number, taken);
    }
}

/// Some codes only describe what happened and must not be sent.
fn sendable(code: u16) -> u16 {
    match CloseCode::from(code).is_allowed() {
        true => code,
        false => 1000,
    }
}

/// The same way as the connection knows it. It carries no events.
pub(super) struct RawTransport(pub(super) Outbox);

impl ConnTransport for RawTransport {
    fn send_event(&self, _: &OutboundEvent) -> Result<()> {
        Err(Error::with(
            &code::CONNECTION_NOT_CONFIGURED,
            json!({ "component": "event sender" }),
        ))
    }

    fn close(&self, code: u16, reason: &str) {
        self.0.close(Farewell::new(sendable(code), reason));
    }

    fn actor_stopped(&self) {
        self.0.close_with(&Error::new(&code::ACTOR_STOPPED));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(number: u64, length: usize) -> Message {
        Message {
            number,
            data: vec![0; length].into(),
            binary: true,
            crashes: 0,
        }
    }

    #[test]
    fn what_was_not_taken_goes_to_the_next_generation() {
        let untaken = Untaken::default();
        untaken.begin(1);
        (0..3).for_each(|number| untaken.given(message(number, 1)));
        untaken.settled(1, 1, true);
        untaken.settled(1, 2, false);
        let left: Vec<u64> = untaken.begin(2).into_keys().collect();
        assert_eq!(left, [0, 2]);
        untaken.given(message(0, 1));
        untaken.settled(1, 0, true);
        assert_eq!(
            untaken.begin(3).len(),
            1,
            "a late word of the first counts for nothing"
        );
    }

    #[test]
    fn an_actor_that_takes_nothing_is_given_no_more() {
        let untaken = Untaken::default();
        untaken.begin(1);
        untaken.given(message(0, BYTES_MAX));
        assert!(!untaken.has_room());
        untaken.settled(1, 0, true);
        assert!(untaken.has_room());
    }

    #[test]
    fn a_code_that_must_not_be_sent_becomes_a_normal_close() {
        for (code, sent) in [
            (1000, 1000),
            (4001, 4001),
            (1005, 1000),
            (1006, 1000),
            (7, 1000),
        ] {
            assert_eq!(sendable(code), sent);
        }
    }
}
