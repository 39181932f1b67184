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
//! Invariant X4: turns of a fan-out are over as soon as the reader looks, whether
//! or not the client takes what was sent: a slow one holds nobody up.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use greenroom_core::{FanOut, Turn};
use greenroom_error::{Error, Result, code};
use greenroom_wire::close_reason;
use parking_lot::{Mutex, MutexGuard};

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
}

#[derive(Default)]
struct State {
    frames: VecDeque<WireFrame>,
    bytes: usize,
    corked: bool,
    overflowed: bool,
    farewell: Option<Farewell>,
    /// The task that takes out, as long as it waits.
    reader: Option<Waker>,
    turns: Vec<Turn>,
}

impl Outbox {
    pub fn new(limits: OutboxLimits) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::default(),
            limits,
        }))
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// `connection/not_configured` after a close; `connection/slow_consumer` if
    /// the outbox is full, which closes it.
    pub fn push(&self, frame: WireFrame) -> Result<()> {
        self.push_as_one_of(None, frame)
    }

    /// As [`Self::push`], for a frame that many clients get: the reader is woken
    /// when its turn comes.
    pub(crate) fn push_as_one_of(
        &self,
        fan_out: Option<&Arc<FanOut>>,
        frame: WireFrame,
    ) -> Result<()> {
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
        match (fan_out, &state.reader) {
            (Some(fan_out), Some(reader)) if pushed.is_ok() => {
                let turn = fan_out.enlist(reader);
                state.turns.push(turn);
            }
            _ => wake(state),
        }
        pushed
    }

    /// Closes after everything added so far. The first close counts.
    pub fn close(&self, farewell: Farewell) {
        let mut state = self.0.state.lock();
        if state.farewell.is_none() {
            state.farewell = Some(farewell);
            // The reader may have looked for the last time.
            let turns = std::mem::take(&mut state.turns);
            wake(state);
            drop(turns);
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

    /// Whether something was added that the socket has not taken out.
    pub fn holds_frames(&self) -> bool {
        !self.0.state.lock().frames.is_empty()
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
        wake(state);
    }

    /// Drops what was held back, sends `last` in its place and closes.
    pub(crate) fn reject(&self, last: WireFrame, farewell: Farewell) {
        let mut state = self.0.state.lock();
        state.corked = false;
        state.bytes = last.len();
        state.frames = VecDeque::from([last]);
        state.farewell = Some(farewell);
        wake(state);
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
        let mut state = self.0.state.lock();
        let turns = std::mem::take(&mut state.turns);
        let farewell = match &state.farewell {
            Some(farewell) if state.frames.is_empty() || state.corked => Some(farewell.clone()),
            _ => None,
        };
        if farewell.is_none() {
            match &mut state.reader {
                Some(reader) => reader.clone_from(cx.waker()),
                reader => *reader = Some(cx.waker().clone()),
            }
        }
        drop(state);
        // They wake others, so not under the lock.
        drop(turns);
        farewell.map_or(Poll::Pending, Poll::Ready)
    }
}

/// Wakes the reader, without the lock.
fn wake(mut state: MutexGuard<'_, State>) {
    let reader = state.reader.take();
    drop(state);
    if let Some(reader) = reader {
        reader.wake();
    }
}

/// Room that an empty outbox keeps for the next frames.
const KEPT_SLOTS: usize = 16;

#[cfg(test)]
mod tests;
