//! What waits to be sent to one client.
//!
//! Anybody may add a frame, from any thread, without waiting; the socket's task
//! takes them out. The outbox is bounded: a client that reads more slowly than
//! its actor sends is disconnected (`connection/slow_consumer`, close code 1013),
//! because every other answer to it costs somebody else: unbounded memory, an
//! actor that waits, or events that are missing without anybody knowing.
//!
//! Invariant X1: frames leave in the order they were added, and a close leaves
//! after all of them, unless the outbox overflowed.
//! Invariant X2: after a close nothing is added.
//! Invariant X3: while corked nothing leaves but a close.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use greenroom_error::{Error, Result, code};
use greenroom_wire::close_reason;
use parking_lot::Mutex;

use super::frame::WireFrame;

/// Bounds of one outbox. A frame that is larger than `bytes` still fits when it
/// waits alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboxLimits {
    /// Default 4 MiB. Frames of a broadcast are shared by all clients, but count
    /// in each outbox.
    pub bytes: usize,
    /// Default 16,384.
    pub frames: usize,
}

impl Default for OutboxLimits {
    fn default() -> Self {
        Self {
            bytes: 4 << 20,
            frames: 16_384,
        }
    }
}

/// Code and reason of a close frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Farewell {
    pub code: u16,
    /// At most [`close_reason::REASON_BYTES_MAX`] bytes.
    pub reason: String,
}

impl Farewell {
    pub fn new(code: u16, reason: &str) -> Self {
        Self {
            code,
            reason: close_reason::truncate(reason).to_owned(),
        }
    }

    /// The close that tells a client of an error inside its actor.
    pub fn of_error(error: &Error) -> Self {
        Self {
            code: error.close_code(),
            reason: close_reason::of_error(error, None),
        }
    }
}

/// The adding side. Clones share one outbox.
#[derive(Clone)]
pub struct Outbox(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    limits: OutboxLimits,
    reader: AtomicWaker,
}

#[derive(Default)]
struct State {
    frames: VecDeque<WireFrame>,
    bytes: usize,
    corked: bool,
    overflowed: bool,
    farewell: Option<Farewell>,
}

impl Outbox {
    pub fn new(limits: OutboxLimits) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::default(),
            limits,
            reader: AtomicWaker::new(),
        }))
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// `connection/not_configured` after a close; `connection/slow_consumer` if
    /// the outbox is full, which closes it.
    pub fn push(&self, frame: WireFrame) -> Result<()> {
        let mut state = self.0.state.lock();
        if state.farewell.is_some() {
            return Err(Error::with(
                &code::CONNECTION_NOT_CONFIGURED,
                serde_json::json!({ "component": "transport" }),
            ));
        }
        let limits = &self.0.limits;
        let full = state.frames.len() >= limits.frames
            || (state.bytes + frame.len() > limits.bytes && !state.frames.is_empty());
        let pushed = if full {
            let error = Error::new(&code::CONNECTION_SLOW_CONSUMER);
            // What waited will never be read in time; the reason should be.
            state.frames = VecDeque::new();
            state.bytes = 0;
            state.overflowed = true;
            state.farewell = Some(Farewell::of_error(&error));
            Err(error)
        } else {
            state.bytes += frame.len();
            state.frames.push_back(frame);
            Ok(())
        };
        drop(state);
        self.0.reader.wake();
        pushed
    }

    /// Closes after everything added so far. The first close counts.
    pub fn close(&self, farewell: Farewell) {
        let mut state = self.0.state.lock();
        if state.farewell.is_none() {
            state.farewell = Some(farewell);
            drop(state);
            self.0.reader.wake();
        }
    }

    /// Closes, unless that is done, and gives what counts.
    pub(super) fn closed(&self, farewell: Farewell) -> Farewell {
        let mut state = self.0.state.lock();
        state.farewell.get_or_insert(farewell).clone()
    }

    pub fn close_with(&self, error: &Error) {
        self.close(Farewell::of_error(error));
    }

    pub fn is_closed(&self) -> bool {
        self.0.state.lock().farewell.is_some()
    }

    /// Holds back what is added from now on (X3).
    pub(crate) fn cork(&self) {
        self.0.state.lock().corked = true;
    }

    /// Lets everything go, `first` before what was held back.
    pub(crate) fn uncork(&self, first: WireFrame) {
        let mut state = self.0.state.lock();
        state.corked = false;
        if !state.overflowed {
            state.bytes += first.len();
            state.frames.push_front(first);
        }
        drop(state);
        self.0.reader.wake();
    }

    /// Drops what was held back, sends `last` in its place and closes.
    pub(crate) fn reject(&self, last: WireFrame, farewell: Farewell) {
        let mut state = self.0.state.lock();
        state.corked = false;
        state.bytes = last.len();
        state.frames = VecDeque::from([last]);
        state.farewell = Some(farewell);
        drop(state);
        self.0.reader.wake();
    }

    /// Takes frames of about `batch` bytes: none if nothing waits.
    pub(super) fn take(&self, batch: usize, mut take: impl FnMut(WireFrame)) {
        let mut state = self.0.state.lock();
        if state.corked {
            return;
        }
        let mut taken = 0;
        while taken < batch
            && let Some(frame) = state.frames.pop_front()
        {
            taken += frame.len();
            state.bytes -= frame.len();
            take(frame);
        }
        if state.frames.is_empty() && state.frames.capacity() > KEPT_SLOTS {
            state.frames = VecDeque::new();
        }
    }

    /// Ready with the farewell once it is said and nothing stands before it.
    /// Otherwise the reader is woken at the next change.
    pub(super) fn poll_farewell(&self, cx: &mut Context<'_>) -> Poll<Farewell> {
        // Registered before the look, so no change is missed.
        self.0.reader.register(cx.waker());
        let state = self.0.state.lock();
        match &state.farewell {
            Some(farewell) if state.frames.is_empty() || state.corked => {
                Poll::Ready(farewell.clone())
            }
            _ => Poll::Pending,
        }
    }
}

/// Room that an empty outbox keeps for the next frames.
const KEPT_SLOTS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &'static str) -> WireFrame {
        WireFrame::new(bytes::Bytes::from_static(text.as_bytes()), false)
    }

    fn drain(outbox: &Outbox) -> Vec<WireFrame> {
        let mut out = Vec::new();
        outbox.take(usize::MAX, |frame| out.push(frame));
        out
    }

    fn farewell(outbox: &Outbox) -> Option<Farewell> {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        match outbox.poll_farewell(&mut cx) {
            Poll::Ready(farewell) => Some(farewell),
            Poll::Pending => None,
        }
    }

    #[test]
    fn x1_a_close_leaves_after_everything_added_before() {
        let outbox = Outbox::new(OutboxLimits::default());
        outbox.push(frame("a")).unwrap();
        outbox.close(Farewell::new(1000, "bye"));
        outbox.close(Farewell::new(1011, "late"));
        assert_eq!(farewell(&outbox), None);
        assert_eq!(drain(&outbox), [frame("a")]);
        assert_eq!(farewell(&outbox), Some(Farewell::new(1000, "bye")));
    }

    #[test]
    fn x2_nothing_is_added_after_a_close() {
        let outbox = Outbox::new(OutboxLimits::default());
        outbox.close(Farewell::new(1000, ""));
        let error = outbox.push(frame("a")).unwrap_err();
        assert!(error.is(&code::CONNECTION_NOT_CONFIGURED));
        assert!(drain(&outbox).is_empty());
    }

    #[test]
    fn a_slow_client_is_closed_and_what_waited_is_dropped() {
        let limits = OutboxLimits {
            bytes: 8,
            frames: 9,
        };
        let outbox = Outbox::new(limits);
        outbox
            .push(frame("a message longer than the bound"))
            .unwrap();
        let error = outbox.push(frame("b")).unwrap_err();
        assert!(error.is(&code::CONNECTION_SLOW_CONSUMER));
        assert!(drain(&outbox).is_empty());
        let farewell = farewell(&outbox).expect("closed");
        assert_eq!(farewell, Farewell::new(1013, "connection.slow_consumer"));
        let outbox = Outbox::new(OutboxLimits {
            bytes: 99,
            frames: 1,
        });
        outbox.push(frame("a")).unwrap();
        assert!(
            outbox.push(frame("b")).is_err(),
            "many small ones count too"
        );
    }

    #[test]
    fn x3_a_cork_holds_everything_back_and_the_first_frame_leaves_first() {
        let outbox = Outbox::new(OutboxLimits::default());
        outbox.cork();
        outbox.push(frame("event")).unwrap();
        assert!(drain(&outbox).is_empty());
        outbox.uncork(frame("init"));
        assert_eq!(drain(&outbox), [frame("init"), frame("event")]);
    }

    #[test]
    fn a_rejection_says_one_thing_and_closes() {
        let outbox = Outbox::new(OutboxLimits::default());
        outbox.cork();
        outbox.push(frame("event")).unwrap();
        outbox.reject(frame("error"), Farewell::new(1011, "user.no"));
        assert_eq!(drain(&outbox), [frame("error")]);
        assert_eq!(farewell(&outbox), Some(Farewell::new(1011, "user.no")));
    }

    #[test]
    fn batches_are_bounded() {
        let outbox = Outbox::new(OutboxLimits::default());
        for _ in 0..4 {
            outbox.push(frame("abcdefgh")).unwrap();
        }
        let mut taken = 0;
        outbox.take(11, |_| taken += 1);
        assert_eq!(taken, 2);
        assert_eq!(drain(&outbox).len(), 2);
    }
}
