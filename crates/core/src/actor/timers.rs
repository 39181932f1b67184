//! The deadlines of one actor task behind a single armed timer.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::clock::{Clock, Instant, Sleep, WallSleep};

/// Deadlines below client work in priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimerKind {
    /// A throttled save is due. Held while another write is in flight.
    Save,
    /// The actor has been idle for its sleep timeout.
    Sleep,
}

/// All deadlines of a task. An idle actor with no deadline holds no timer.
pub(crate) struct Timers {
    clock: Clock,
    save: Option<Instant>,
    sleep: Option<Instant>,
    grace: Option<Instant>,
    /// Boxed: most actors have none.
    alarm: Option<Box<WallSleep>>,
    armed: Option<(Instant, Sleep)>,
}

impl Timers {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            save: None,
            sleep: None,
            grace: None,
            alarm: None,
            armed: None,
        }
    }

    fn slot(&mut self, kind: TimerKind) -> &mut Option<Instant> {
        match kind {
            TimerKind::Save => &mut self.save,
            TimerKind::Sleep => &mut self.sleep,
        }
    }

    pub(crate) fn arm(&mut self, kind: TimerKind, at: Instant) {
        *self.slot(kind) = Some(at);
    }

    /// Arms the alarm for a wall time (Unix milliseconds), or disarms it. It has a
    /// timer of its own, because wall time may jump.
    pub(crate) fn set_alarm(&mut self, at_ms: Option<i64>) {
        self.alarm = at_ms.map(|at| Box::new(self.clock.sleep_until_wall(at)));
    }

    /// Arms, or moves an armed deadline earlier; never later.
    pub(crate) fn arm_earlier(&mut self, kind: TimerKind, at: Instant) {
        let slot = self.slot(kind);
        *slot = Some(slot.map_or(at, |old| old.min(at)));
    }

    pub(crate) fn disarm(&mut self, kind: TimerKind) {
        *self.slot(kind) = None;
    }

    pub(crate) fn arm_grace(&mut self, at: Instant) {
        self.grace = Some(at);
    }

    /// Forgets every deadline and lets go of the timer.
    pub(crate) fn clear(&mut self) {
        self.save = None;
        self.sleep = None;
        self.grace = None;
        self.alarm = None;
        self.armed = None;
    }

    /// Ready once when the alarm's time has come.
    pub(crate) fn poll_alarm(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(alarm) = &mut self.alarm else {
            return Poll::Pending;
        };
        std::task::ready!(Pin::new(&mut **alarm).poll(cx));
        self.alarm = None;
        Poll::Ready(())
    }

    /// Ready once when the grace deadline has passed.
    pub(crate) fn poll_grace(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(at) = self.grace else {
            return Poll::Pending;
        };
        if !self.poll_reached(at, cx) {
            return Poll::Pending;
        }
        self.grace = None;
        Poll::Ready(())
    }

    /// Ready with the due deadline of the highest priority and disarms it. The
    /// save deadline is skipped, and kept, while `saving`.
    pub(crate) fn poll_other(&mut self, cx: &mut Context<'_>, saving: bool) -> Poll<TimerKind> {
        for kind in [TimerKind::Save, TimerKind::Sleep] {
            if kind == TimerKind::Save && saving {
                continue;
            }
            if let Some(at) = *self.slot(kind)
                && self.poll_reached(at, cx)
            {
                self.disarm(kind);
                return Poll::Ready(kind);
            }
        }
        Poll::Pending
    }

    /// True when `at` has passed. Otherwise the one timer is armed no later than
    /// `at`, and the task is woken then; a wake that is early for this deadline
    /// comes back here and arms again.
    fn poll_reached(&mut self, at: Instant, cx: &mut Context<'_>) -> bool {
        loop {
            if at <= self.clock.now() {
                return true;
            }
            let rearm = self.armed.as_ref().is_none_or(|(armed, _)| *armed > at);
            if rearm {
                self.armed = Some((at, self.clock.sleep_until(at)));
            }
            let Some((_, sleep)) = &mut self.armed else {
                return false;
            };
            if Pin::new(sleep).poll(cx).is_pending() {
                return false;
            }
            // Fired: it was armed for this or an earlier deadline.
            self.armed = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn the_earliest_deadline_fires_first_and_the_rest_stay() {
        let (clock, manual) = Clock::manual(0);
        let mut timers = Timers::new(clock.clone());
        let at = |ms| clock.now() + Duration::from_millis(ms);
        timers.arm(TimerKind::Sleep, at(20));
        timers.arm(TimerKind::Save, at(50));
        timers.arm_earlier(TimerKind::Save, at(10));
        timers.arm_earlier(TimerKind::Save, at(90));
        let mut fired = Vec::new();
        let drive = async {
            for _ in 0..2 {
                fired.push(poll_fn(|cx| timers.poll_other(cx, false)).await);
            }
        };
        let advance = async {
            for _ in 0..4 {
                tokio::task::yield_now().await;
                manual.advance(Duration::from_millis(10));
            }
        };
        tokio::join!(drive, advance);
        assert_eq!(fired, [TimerKind::Save, TimerKind::Sleep]);
    }

    #[tokio::test]
    async fn a_save_deadline_is_kept_while_a_write_is_in_flight() {
        let (clock, manual) = Clock::manual(0);
        let mut timers = Timers::new(clock.clone());
        timers.arm(TimerKind::Save, clock.now() + Duration::from_millis(5));
        manual.advance(Duration::from_millis(10));
        let blocked = poll_fn(|cx| Poll::Ready(timers.poll_other(cx, true))).await;
        assert!(blocked.is_pending());
        let free = poll_fn(|cx| Poll::Ready(timers.poll_other(cx, false))).await;
        assert_eq!(free, Poll::Ready(TimerKind::Save));
    }
}
