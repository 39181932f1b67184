//! Noticing half-open connections.

use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::FutureExt;
use greenroom_core::Clock;
use greenroom_core::clock::{Instant, Sleep};

use super::socket::SocketOptions;

/// Notices half-open connections: after silence a ping, after more silence the
/// end.
pub(super) struct Liveness {
    interval: Duration,
    timeout: Duration,
    heard_at: Instant,
    pinged: bool,
    timer: Sleep,
    clock: Clock,
}

pub(super) enum Due {
    Nothing,
    Ping,
    GiveUp,
}

impl Liveness {
    pub(super) fn new(options: &SocketOptions, clock: Clock) -> Self {
        Self {
            interval: options.ping_interval,
            timeout: options.ping_timeout,
            heard_at: clock.now(),
            pinged: false,
            timer: clock.sleep(options.ping_interval),
            clock,
        }
    }

    pub(super) fn heard(&mut self) {
        self.heard_at = self.clock.now();
        self.pinged = false;
    }

    /// The timer is moved when it rings, not at each message.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Due> {
        ready!(self.timer.poll_unpin(cx));
        let now = self.clock.now();
        let silent_until = self.heard_at + self.interval;
        let (due, next) = if self.pinged {
            (Due::GiveUp, now + self.timeout)
        } else if now >= silent_until {
            self.pinged = true;
            (Due::Ping, now + self.timeout)
        } else {
            (Due::Nothing, silent_until)
        };
        self.timer = self.clock.sleep_until(next);
        Poll::Ready(due)
    }
}
