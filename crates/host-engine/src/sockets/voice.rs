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

pub(super) struct Voice {
    inner: Mutex<Inner>,
    clock: Clock,
}

#[derive(Default)]
struct Inner {
    /// `None` while the engine has not handed the client over: to this process, or to
    /// the generation that begins.
    way: Option<ToGateway>,
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
            said: None,
        };
    }

    /// A generation begins that the client has not been handed to.
    pub(super) fn lose_way(&self) {
        *self.inner.lock() = Inner::default();
    }

    pub(super) fn has_way(&self) -> bool {
        self.inner.lock().way.is_some()
    }

    pub(super) fn send(&self, data: &Bytes, binary: bool) {
        let mut inner = self.inner.lock();
        if let Some(way) = &inner.way {
            way.send(data, binary);
            inner.said = Some(self.clock.now());
        }
    }

    pub(super) fn close(&self, code: u16, reason: String) {
        if let Some(way) = &self.inner.lock().way {
            way.close(code, reason);
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
        voice.lose_way();
        assert!(!voice.has_way());
        voice.set_way(heard.way(&shared));
        assert_eq!(voice.heard_by(), None, "nothing since");
        let taken_up = clock.now() + TAKEN_UP;
        voice.send(&word, false);
        assert_eq!(voice.heard_by(), Some(taken_up));
        time.advance(TAKEN_UP);
        voice.send(&word, false);
        assert_eq!(voice.heard_by(), Some(taken_up + PASSED_ON));
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
        let silent = pin!(shared.sockets_after(actor, StopReason::SleepIntent));
        assert!(poll!(silent).is_ready(), "nothing was said");
        socket.send(&Bytes::from_static(b"word"), false);
        let mut sleep = pin!(shared.sockets_after(actor, StopReason::SleepIntent));
        assert!(poll!(&mut sleep).is_pending());
        time.advance(TAKEN_UP);
        sleep.await;
        socket.forget();
    }
}
