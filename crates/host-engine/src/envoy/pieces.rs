//! How a response's body is cut into messages.
//!
//! The gateway keeps what a slow client has not read yet and bounds that twice: by
//! bytes, with a window that the client of the session obeys, and by messages,
//! 384 of them, of which it tells nobody. A response of many small chunks would be
//! broken off for the second. So small pieces are put together: a burst of them
//! leaves as it comes, and after that a few per second, each as large as what came
//! meanwhile.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use greenroom_core::Instant;
use rivet_envoy_client::http::HTTP_BODY_MAX_CHUNK_SIZE;

/// A piece of this size leaves at once: the window holds 128 of them.
const LARGE: usize = 8 * 1024;
/// Small pieces that may leave in a row.
const SMALL_MAX: u32 = 128;
/// Time after which another small piece may leave.
const SMALL_EVERY: Duration = Duration::from_millis(40);

/// What waits to be sent of one body.
pub(super) struct Pieces {
    waiting: BytesMut,
    /// Small pieces that may leave now.
    small: u32,
    /// When `small` was last made larger, or was at its most.
    counted: Instant,
}

impl Pieces {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            waiting: BytesMut::new(),
            small: SMALL_MAX,
            counted: now,
        }
    }

    pub(super) fn push(&mut self, data: &[u8]) {
        self.waiting.extend_from_slice(data);
    }

    /// The next piece that may leave now.
    pub(super) fn next(&mut self, now: Instant) -> Option<Bytes> {
        self.count(now);
        if self.waiting.is_empty() {
            return None;
        }
        if self.waiting.len() < LARGE {
            self.small = self.small.checked_sub(1)?;
        }
        self.take()
    }

    /// When what waits may leave; `None` if nothing waits.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then(|| self.counted + SMALL_EVERY)
    }

    /// A piece of what is left at the end of the body.
    pub(super) fn take(&mut self) -> Option<Bytes> {
        let length = self.waiting.len().min(HTTP_BODY_MAX_CHUNK_SIZE);
        (length > 0).then(|| self.waiting.split_to(length).freeze())
    }

    fn count(&mut self, now: Instant) {
        while self.small < SMALL_MAX && now.since(self.counted) >= SMALL_EVERY {
            self.small += 1;
            self.counted = self.counted + SMALL_EVERY;
        }
        if self.small == SMALL_MAX {
            self.counted = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use greenroom_core::Clock;

    use super::*;

    fn leaving(pieces: &mut Pieces, now: Instant) -> Vec<usize> {
        std::iter::from_fn(|| pieces.next(now).map(|piece| piece.len())).collect()
    }

    fn ms(span: u64) -> Duration {
        Duration::from_millis(span)
    }

    #[test]
    fn large_bodies_are_cut_and_nothing_of_them_waits() {
        let now = Clock::manual(0).0.now();
        let mut pieces = Pieces::new(now);
        pieces.push(&[0; 150_000]);
        assert_eq!(leaving(&mut pieces, now), [65_536, 65_536, 18_928]);
        assert_eq!(pieces.due(), None);
        assert_eq!(pieces.take(), None);
    }

    #[test]
    fn a_burst_of_small_chunks_leaves_as_it_comes_and_then_in_larger_pieces() {
        let now = Clock::manual(0).0.now();
        let mut pieces = Pieces::new(now);
        let burst = |pieces: &mut Pieces, now| {
            for _ in 0..SMALL_MAX {
                pieces.push(b"event");
                assert_eq!(leaving(pieces, now), [5]);
            }
            pieces.push(b"event");
            assert!(leaving(pieces, now).is_empty());
        };
        burst(&mut pieces, now);
        pieces.push(b"event");
        assert_eq!(pieces.due(), Some(now + SMALL_EVERY));
        assert!(leaving(&mut pieces, now + ms(39)).is_empty());
        assert_eq!(leaving(&mut pieces, now + ms(40)), [10]);
        pieces.push(b"event");
        assert!(leaving(&mut pieces, now + ms(79)).is_empty());
        assert_eq!(leaving(&mut pieces, now + ms(80)), [5]);
        // A pause allows for the same burst again, and for no larger one.
        burst(&mut pieces, now + SMALL_EVERY * SMALL_MAX * 3);
        assert_eq!(pieces.take().as_deref(), Some(&b"event"[..]));
    }

    #[test]
    fn fewer_messages_are_under_way_than_the_gateway_keeps() {
        let now = Clock::manual(0).0.now();
        let mut pieces = Pieces::new(now);
        let (mut messages, mut bytes) = (0, 0);
        // A window's worth in two seconds, of which a client reads nothing.
        for at in 0..2_000 {
            pieces.push(&[0; 524]);
            for piece in leaving(&mut pieces, now + ms(at)) {
                messages += 1;
                bytes += piece;
            }
        }
        assert!(bytes > 1_000_000 && messages < 384, "{messages} of {bytes}");
    }
}
