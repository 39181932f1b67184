//! The connection timers of hyper on the host's clock.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use greenroom_core::{Clock, clock};
use hyper::rt::{Sleep, Timer};

#[derive(Clone)]
pub(super) struct ClockTimer(pub(super) Clock);

struct ClockSleep(clock::Sleep);

impl Future for ClockSleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl Sleep for ClockSleep {}

impl Timer for ClockTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(ClockSleep(self.0.sleep(duration)))
    }

    /// Deadlines are made of [`Timer::now`], so the distance to one is what
    /// counts.
    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        self.sleep(deadline.saturating_duration_since(self.now()))
    }
}
