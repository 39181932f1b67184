//! What this process says to one client, and when the engine will have passed it on.
//!
//! Its gateway tells nobody. What it has not passed on it drops when it notices that
//! the actor sleeps, and a socket that it gave to a new generation it serves only a
//! while later. So the end of a generation is reported a moment after its last word,
//! and that of one that began just now not before the gateway listens.

use std::time::Duration;

use bytes::Bytes;
use greenroom_core::{Clock, Instant};
use parking_lot::Mutex;

use crate::envoy::ToGateway;

/// Time in which the gateway passes on what it was sent.
const PASSED_ON: Duration = Duration::from_millis(50);
/// Time after which the gateway serves a socket again that it handed over.
const TAKEN_UP: Duration = Duration::from_secs(1);
/// Longest time that a new generation waits for its client to be handed over. The
/// engine says nothing of a client that it leaves out, nor of a start that failed.
const HAND_OVER_MAX: Duration = Duration::from_secs(3);

pub(super) struct Voice {
    inner: Mutex<Inner>,
    clock: Clock,
}

#[derive(Default)]
struct Inner {
    /// `None` until the engine hands over the socket of another process.
    way: Option<ToGateway>,
    /// Until when a generation that began waits for the client to be handed to it.
    awaits_until: Option<Instant>,
    /// When the gateway serves the socket, if it was handed over.
    taken_up: Option<Instant>,
    /// When something was said last since then.
    said: Option<Instant>,
}

impl Voice {
    pub(super) fn new(way: Option<ToGateway>, clock: Clock) -> Self {
        let inner = Inner {
            way,
            ..Inner::default()
        };
        Self {
            inner: Mutex::new(inner),
            clock,
        }
    }

    /// The engine has handed the client to a new generation.
    pub(super) fn set_way(&self, way: ToGateway) {
        *self.inner.lock() = Inner {
            way: Some(way),
            taken_up: Some(self.clock.now() + TAKEN_UP),
            ..Inner::default()
        };
    }

    /// A generation begins that the client has not been handed to.
    pub(super) fn await_hand_over(&self) {
        let mut inner = self.inner.lock();
        *inner = Inner {
            way: inner.way.take(),
            awaits_until: Some(self.clock.now() + HAND_OVER_MAX),
            ..Inner::default()
        };
    }

    /// Until when nothing is to be said; `None` if it may be.
    pub(super) fn awaits_until(&self) -> Option<Instant> {
        let until = self.inner.lock().awaits_until;
        until.filter(|until| *until > self.clock.now())
    }

    pub(super) fn send(&self, data: &Bytes, binary: bool) {
        let mut inner = self.inner.lock();
        if let Some(way) = &inner.way {
            way.send(data, binary);
            inner.said = Some(self.clock.now());
        }
    }

    pub(super) fn close(&self, code: u16, reason: String) {
        let mut inner = self.inner.lock();
        if let Some(way) = &inner.way {
            way.close(code, reason);
            inner.said = Some(self.clock.now());
        }
    }

    pub(super) fn acknowledge(&self, index: u16) {
        if let Some(way) = &self.inner.lock().way {
            way.acknowledge(index);
        }
    }

    /// When what was said will have been passed on; `None` if nothing was.
    pub(super) fn heard_by(&self) -> Option<Instant> {
        let inner = self.inner.lock();
        let passed_on = inner.said? + PASSED_ON;
        Some(inner.taken_up.map_or(passed_on, |at| at.max(passed_on)))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;

    use futures_util::poll;
    use greenroom_core::{ActorRef, StopReason};
    use greenroom_wire::ActorId;

    use super::*;
    use crate::rig::{Heard, adopted, shared};

    #[tokio::test]
    async fn what_is_said_to_a_gateway_that_does_not_listen_yet_is_heard_later() {
        let (clock, time) = Clock::manual(0);
        let shared = shared(clock.clone());
        let heard = Arc::new(Heard::default());
        let word = Bytes::from_static(b"word");
        let voice = Voice::new(Some(heard.way(&shared)), clock.clone());
        assert_eq!(voice.heard_by(), None, "nothing was said");
        voice.send(&word, false);
        assert_eq!(voice.heard_by(), Some(clock.now() + PASSED_ON));
        voice.await_hand_over();
        assert_eq!(voice.awaits_until(), Some(clock.now() + HAND_OVER_MAX));
        voice.set_way(heard.way(&shared));
        assert_eq!(voice.awaits_until(), None);
        assert_eq!(voice.heard_by(), None, "nothing since");
        let taken_up = clock.now() + TAKEN_UP;
        voice.send(&word, false);
        assert_eq!(voice.heard_by(), Some(taken_up));
        time.advance(TAKEN_UP);
        voice.send(&word, false);
        assert_eq!(voice.heard_by(), Some(taken_up + PASSED_ON));
        voice.await_hand_over();
        time.advance(HAND_OVER_MAX);
        assert_eq!(voice.awaits_until(), None, "and not for ever");
    }

    #[tokio::test]
    async fn k3_a_sleep_is_reported_when_what_was_said_was_heard() {
        let (clock, time) = Clock::manual(0);
        let shared = shared(clock);
        let actor = ActorRef {
            actor_id: ActorId::generate(),
            generation: 1,
        };
        let socket = adopted(&shared, actor.actor_id, &[]);
        socket.lasts_in_tests();
        assert!(socket.set_way(Arc::new(Heard::default()).way(&shared)));
        // Nothing was said, and nobody turns the clock.
        shared.sockets_after(actor, StopReason::SleepIntent).await;
        socket.send(&Bytes::from_static(b"word"), false);
        let mut sleep = pin!(shared.sockets_after(actor, StopReason::SleepIntent));
        for _ in 0..8 {
            assert!(poll!(&mut sleep).is_pending());
            tokio::task::yield_now().await;
        }
        time.advance(TAKEN_UP);
        sleep.await;
        socket.forget();
    }
}
