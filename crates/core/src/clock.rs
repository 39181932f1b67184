//! All time of the runtime: wall clock, monotonic clock and timers.
//!
//! A [`Clock`] is real or manual. Nothing else in the crate may ask the system
//! for the time or arm a tokio timer, so a test that owns a manual clock owns
//! every sleep timer, save throttle, deadline and schedule.
//!
//! The manual clock does not decide when work that a timer woke has finished;
//! [`ManualClock::advance_to_next`] moves by one deadline, and its caller settles
//! in between.

#![expect(
    clippy::disallowed_methods,
    reason = "the one place that asks the system for the time"
)]

mod wall;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::ops::Add;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use pin_project_lite::pin_project;
use tokio::sync::oneshot;

pub use wall::WallSleep;

/// A point on a clock's monotonic time line, counted from the clock's origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(Duration);

impl Instant {
    pub(crate) fn from_micros(micros: u64) -> Self {
        Self(Duration::from_micros(micros))
    }

    pub(crate) fn as_micros(self) -> u64 {
        self.0.as_micros() as u64
    }

    /// Time from `earlier` to `self`; zero if `earlier` is later.
    pub fn since(self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, span: Duration) -> Instant {
        Instant(self.0.saturating_add(span))
    }
}

/// A cheap handle to one time line.
#[derive(Clone)]
pub struct Clock(Arc<Inner>);

struct Inner {
    source: Source,
    jumps: wall::Jumps,
}

enum Source {
    Real { origin: tokio::time::Instant },
    Manual(Mutex<ManualState>),
}

struct ManualState {
    wall_at_origin_ms: i64,
    now: Duration,
    /// Order of registration breaks ties, so equal deadlines fire first come,
    /// first served.
    next_ticket: u64,
    waiting: BinaryHeap<Reverse<Waiter>>,
}

struct Waiter {
    at: Duration,
    ticket: u64,
    wake: oneshot::Sender<()>,
}

impl PartialEq for Waiter {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Waiter {}
impl PartialOrd for Waiter {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Waiter {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.ticket).cmp(&(other.at, other.ticket))
    }
}

/// A deadline passed before the guarded future finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed;

impl Clock {
    /// The system's clocks.
    pub fn real() -> Self {
        Self::from_source(Source::Real {
            origin: tokio::time::Instant::now(),
        })
    }

    /// A clock that stands still at `start_ms` (Unix milliseconds) until its
    /// [`ManualClock`] moves it.
    pub fn manual(start_ms: i64) -> (Self, ManualClock) {
        let clock = Self::from_source(Source::Manual(Mutex::new(ManualState {
            wall_at_origin_ms: start_ms,
            now: Duration::ZERO,
            next_ticket: 0,
            waiting: BinaryHeap::new(),
        })));
        (clock.clone(), ManualClock(clock))
    }

    fn from_source(source: Source) -> Self {
        Self(Arc::new(Inner {
            source,
            jumps: wall::Jumps::default(),
        }))
    }

    /// True for a clock that only its [`ManualClock`] moves.
    pub fn is_manual(&self) -> bool {
        matches!(&self.0.source, Source::Manual(_))
    }

    /// Wall time in Unix milliseconds.
    pub fn now_ms(&self) -> i64 {
        match &self.0.source {
            Source::Real { .. } => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |span| span.as_millis() as i64),
            Source::Manual(state) => {
                let state = state.lock();
                state.wall_at_origin_ms + state.now.as_millis() as i64
            }
        }
    }

    /// Monotonic time.
    pub fn now(&self) -> Instant {
        Instant(match &self.0.source {
            Source::Real { origin } => origin.elapsed(),
            Source::Manual(state) => state.lock().now,
        })
    }

    /// Completes at `deadline`, at once if it has passed.
    pub fn sleep_until(&self, deadline: Instant) -> Sleep {
        Sleep(match &self.0.source {
            Source::Real { origin } => SleepKind::Real(Box::pin(tokio::time::sleep_until(
                // Far deadlines saturate: tokio's timer ends after about two years.
                *origin + deadline.0.min(Duration::from_secs(60 * 60 * 24 * 365)),
            ))),
            Source::Manual(state) => SleepKind::Manual(state.lock().register(deadline.0)),
        })
    }

    /// Completes after `span`.
    pub fn sleep(&self, span: Duration) -> Sleep {
        self.sleep_until(self.now() + span)
    }

    /// Runs `future` for at most `span`; a future that is ready wins over the
    /// deadline.
    pub fn timeout<F: Future>(&self, span: Duration, future: F) -> Timeout<F> {
        Timeout {
            future,
            deadline: Deadline::In(self.clone(), span),
        }
    }
}

impl ManualState {
    fn register(&mut self, at: Duration) -> Option<oneshot::Receiver<()>> {
        if at <= self.now {
            return None;
        }
        let (wake, woken) = oneshot::channel();
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.waiting.push(Reverse(Waiter { at, ticket, wake }));
        Some(woken)
    }

    /// Drops timers whose futures are gone, so that they do not count as steps.
    fn forget_abandoned(&mut self) {
        while let Some(Reverse(next)) = self.waiting.peek() {
            if !next.wake.is_closed() {
                return;
            }
            self.waiting.pop();
        }
    }

    fn fire_due(&mut self) -> usize {
        let mut fired = 0;
        while let Some(Reverse(next)) = self.waiting.peek() {
            if next.at > self.now {
                break;
            }
            let Some(Reverse(waiter)) = self.waiting.pop() else {
                break;
            };
            fired += usize::from(waiter.wake.send(()).is_ok());
        }
        fired
    }
}

/// Moves a manual clock.
#[derive(Clone)]
pub struct ManualClock(Clock);

impl ManualClock {
    fn state(&self) -> parking_lot::MutexGuard<'_, ManualState> {
        match &self.0.0.source {
            Source::Manual(state) => state.lock(),
            Source::Real { .. } => unreachable!("built by Clock::manual only"),
        }
    }

    pub fn now_ms(&self) -> i64 {
        self.0.now_ms()
    }

    /// Moves to the next deadline no later than `limit` and fires it; returns
    /// false, having moved to `limit`, when there is none.
    pub fn advance_to_next(&self, limit: Instant) -> bool {
        let mut state = self.state();
        state.forget_abandoned();
        match state.waiting.peek() {
            Some(Reverse(next)) if next.at <= limit.0 => {
                state.now = state.now.max(next.at);
                state.fire_due();
                true
            }
            _ => {
                state.now = state.now.max(limit.0);
                false
            }
        }
    }

    /// Moves by `span` at once and fires everything due; returns how many timers
    /// fired.
    pub fn advance(&self, span: Duration) -> usize {
        let mut state = self.state();
        state.now += span;
        state.fire_due()
    }

    /// Sets wall time without moving monotonic time: a clock jump.
    pub fn set_wall_ms(&self, now_ms: i64) {
        {
            let mut state = self.state();
            state.wall_at_origin_ms = now_ms - state.now.as_millis() as i64;
        }
        self.0.0.jumps.report();
    }

    /// Timers that are armed and still awaited.
    pub fn armed(&self) -> usize {
        let state = self.state();
        state
            .waiting
            .iter()
            .filter(|w| !w.0.wake.is_closed())
            .count()
    }
}

/// Future of [`Clock::sleep_until`].
pub struct Sleep(SleepKind);

enum SleepKind {
    Real(Pin<Box<tokio::time::Sleep>>),
    /// `None`: the deadline had passed when the timer was armed.
    Manual(Option<oneshot::Receiver<()>>),
}

impl Future for Sleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            SleepKind::Real(sleep) => sleep.as_mut().poll(cx),
            SleepKind::Manual(None) => Poll::Ready(()),
            // A clock that is gone never fires: its owner has ended the test.
            SleepKind::Manual(Some(woken)) => match Pin::new(woken).poll(cx) {
                Poll::Ready(Ok(())) => Poll::Ready(()),
                Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
            },
        }
    }
}

pin_project! {
    /// Future of [`Clock::timeout`]. Written out, because an `async fn` would keep
    /// what it awaits twice, and there is one for each call of an actor.
    pub struct Timeout<F> {
        #[pin]
        future: F,
        deadline: Deadline,
    }
}

enum Deadline {
    /// Not looked at yet: what is ready at once needs no timer. The span counts
    /// from the first look.
    In(Clock, Duration),
    Armed(Sleep),
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(output) = this.future.poll(cx) {
            return Poll::Ready(Ok(output));
        }
        if let Deadline::In(clock, span) = this.deadline {
            *this.deadline = Deadline::Armed(clock.sleep(*span));
        }
        match this.deadline {
            Deadline::Armed(sleep) => Pin::new(sleep).poll(cx).map(|()| Err(Elapsed)),
            Deadline::In(..) => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn equal_deadlines_fire_in_order_of_arming() {
        let (clock, manual) = Clock::manual(0);
        let order = Arc::new(Mutex::new(Vec::new()));
        let at = clock.now() + Duration::from_secs(1);
        let tasks: Vec<_> = (0..3)
            .map(|n| {
                let (sleep, order) = (clock.sleep_until(at), order.clone());
                tokio::spawn(async move {
                    sleep.await;
                    order.lock().push(n);
                })
            })
            .collect();
        assert_eq!(manual.advance(Duration::from_millis(999)), 0);
        assert_eq!(manual.advance(Duration::from_millis(1)), 3);
        for task in tasks {
            task.await.expect("timer task");
        }
        assert_eq!(*order.lock(), [0, 1, 2]);
    }

    #[tokio::test]
    async fn a_wall_clock_jump_moves_no_timer() {
        let (clock, manual) = Clock::manual(1_000);
        let _sleep = clock.sleep(Duration::from_secs(5));
        manual.set_wall_ms(9_999_999);
        assert_eq!(clock.now_ms(), 9_999_999);
        assert_eq!(manual.armed(), 1);
        assert!(manual.advance_to_next(clock.now() + Duration::from_secs(5)));
        assert_eq!(manual.armed(), 0);
    }

    #[tokio::test]
    async fn a_ready_future_wins_over_its_deadline() {
        let (clock, _manual) = Clock::manual(0);
        assert_eq!(clock.timeout(Duration::ZERO, async { 7 }).await, Ok(7));
    }

    #[test]
    fn abandoned_timers_are_no_steps() {
        let (clock, manual) = Clock::manual(0);
        drop(clock.sleep(Duration::from_secs(1)));
        assert!(!manual.advance_to_next(clock.now() + Duration::from_secs(2)));
    }
}
