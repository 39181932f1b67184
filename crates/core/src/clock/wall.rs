//! Waiting for a wall time, wherever the wall clock is set meanwhile.
//!
//! Timers run on monotonic time, which neither follows a clock that is set nor
//! counts the time a machine is suspended. A [`WallSleep`] is told of such jumps
//! and measures again. On a real clock one task per [`Clock`] notices them by
//! comparing the two time lines once a second; it runs only while somebody waits.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

use super::{Clock, Sleep};

/// How soon a jump of a real clock is noticed.
const TICK: Duration = Duration::from_secs(1);
/// Smaller differences are the slow adjustment of a clock, which timers follow.
const TOLERANCE_MS: i64 = 100;

/// Where jumps of the wall clock are announced.
#[derive(Default)]
pub(super) struct Jumps {
    rung: Arc<Notify>,
    sleepers: AtomicUsize,
    watched: AtomicBool,
}

impl Jumps {
    pub(super) fn report(&self) {
        self.rung.notify_waiters();
    }
}

impl Clock {
    /// Completes once wall time has reached `at_ms` (Unix milliseconds), at once
    /// if it has passed.
    pub fn sleep_until_wall(&self, at_ms: i64) -> WallSleep {
        self.0.jumps.sleepers.fetch_add(1, Ordering::SeqCst);
        self.watch_wall();
        // Listening begins before the time is read: no jump is missed.
        let jumped = self.next_jump();
        WallSleep {
            at_ms,
            sleep: self.sleep_towards(at_ms),
            jumped,
            clock: self.clone(),
        }
    }

    fn next_jump(&self) -> Pin<Box<OwnedNotified>> {
        Box::pin(Arc::clone(&self.0.jumps.rung).notified_owned())
    }

    fn sleep_towards(&self, at_ms: i64) -> Sleep {
        let left = at_ms.saturating_sub(self.now_ms()).max(0);
        self.sleep(Duration::from_millis(left.unsigned_abs()))
    }

    /// Wall time minus monotonic time; constant between jumps.
    fn wall_offset_ms(&self) -> i64 {
        self.now_ms() - (self.now().as_micros() / 1_000) as i64
    }

    fn watch_wall(&self) {
        let jumps = &self.0.jumps;
        if self.is_manual() || jumps.watched.swap(true, Ordering::SeqCst) {
            return;
        }
        let watch = Watch(self.clone());
        tokio::spawn(async move {
            let clock = watch.0.clone();
            let jumps = &clock.0.jumps;
            let mut offset = clock.wall_offset_ms();
            while jumps.sleepers.load(Ordering::SeqCst) > 0 {
                clock.sleep(TICK).await;
                let now = clock.wall_offset_ms();
                if (now - offset).abs() > TOLERANCE_MS {
                    tracing::info!(by_ms = now - offset, "the wall clock jumped");
                    jumps.report();
                }
                offset = now;
            }
            drop(watch);
            // Whoever came after the last look found the watch still on.
            if jumps.sleepers.load(Ordering::SeqCst) > 0 {
                clock.watch_wall();
            }
        });
    }
}

/// Ends the watch however its task ends.
struct Watch(Clock);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.0.jumps.watched.store(false, Ordering::SeqCst);
    }
}

/// Future of [`Clock::sleep_until_wall`].
pub struct WallSleep {
    clock: Clock,
    at_ms: i64,
    sleep: Sleep,
    jumped: Pin<Box<OwnedNotified>>,
}

impl Future for WallSleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        while self.clock.now_ms() < self.at_ms {
            if self.jumped.as_mut().poll(cx).is_ready() {
                self.jumped = self.clock.next_jump();
            } else {
                ready!(Pin::new(&mut self.sleep).poll(cx));
            }
            // A jump, or a timer that wall time did not keep up with.
            self.sleep = self.clock.sleep_towards(self.at_ms);
        }
        Poll::Ready(())
    }
}

impl Drop for WallSleep {
    fn drop(&mut self) {
        self.clock.0.jumps.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const HOUR_MS: i64 = 3_600_000;

    #[tokio::test]
    async fn a_clock_set_forward_ends_the_wait_and_one_set_back_prolongs_it() {
        let (clock, manual) = Clock::manual(HOUR_MS);
        let mut wait = Box::pin(clock.sleep_until_wall(2 * HOUR_MS));
        assert!(wait.as_mut().now_or_never().is_none());
        manual.set_wall_ms(0);
        manual.advance(Duration::from_secs(3_600));
        assert!(wait.as_mut().now_or_never().is_none(), "it is one o'clock");
        manual.set_wall_ms(365 * 24 * HOUR_MS);
        assert!(wait.as_mut().now_or_never().is_some());
        assert!(clock.sleep_until_wall(7).now_or_never().is_some());
    }

    #[tokio::test]
    async fn waiting_fires_at_its_time_and_leaves_nothing_armed() {
        let (clock, manual) = Clock::manual(0);
        let wait = tokio::spawn(clock.sleep_until_wall(60 * 24 * HOUR_MS));
        tokio::task::yield_now().await;
        let limit = clock.now() + Duration::from_millis(60 * 24 * HOUR_MS as u64);
        assert!(manual.advance_to_next(limit));
        wait.await.expect("the wait ends");
        assert_eq!(manual.armed(), 0);
        assert_eq!(manual.now_ms(), 60 * 24 * HOUR_MS);
    }

    #[tokio::test]
    async fn the_watch_of_a_real_clock_ends_with_its_last_sleeper() {
        let clock = Clock::real();
        let wait = clock.sleep_until_wall(clock.now_ms() + HOUR_MS);
        assert!(clock.0.jumps.watched.load(Ordering::SeqCst));
        drop(wait);
        assert_eq!(clock.0.jumps.sleepers.load(Ordering::SeqCst), 0);
        let at = clock.now_ms() + 5;
        clock.sleep_until_wall(at).await;
        assert!(clock.now_ms() >= at);
    }
}
