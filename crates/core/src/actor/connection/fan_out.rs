//! Sending one event to a large audience without standing in everybody's way.
//!
//! Each client's socket is a task, and an event for two thousand clients makes as
//! many tasks ready at once: whatever comes a moment later, an answer to somebody
//! who waits for it, would stand behind them all. So only a few are woken, and
//! each of them, once it runs, wakes the next.
//!
//! This file owns turns. What is sent lies in the outboxes before anybody is
//! woken, so it decides nothing about what is sent, nor about its order.
//!
//! Invariant N1: every [`Turn`] passes exactly one wake on, or gives its place
//! back if nobody waits; so whoever waits is woken as long as turns are dropped.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use parking_lot::Mutex;

/// Sockets that are awake for one event at a time.
const AWAKE_MAX: usize = 32;

/// The wakes of one event.
#[derive(Default)]
pub struct FanOut(Mutex<Line>);

#[derive(Default)]
struct Line {
    awake: usize,
    waiting: VecDeque<Waker>,
}

/// A socket's place among the audience. Whoever drives the socket drops it as soon
/// as it runs.
#[must_use = "dropping it wakes the next socket"]
pub struct Turn(Arc<FanOut>);

impl FanOut {
    /// The fan-out of an event with this many recipients, if it takes one.
    pub(super) fn of_audience(recipients: usize) -> Option<Arc<Self>> {
        (recipients > AWAKE_MAX).then(Arc::default)
    }

    /// Takes a turn for the task behind `waker`, and wakes it when that comes.
    pub fn enlist(self: &Arc<Self>, waker: &Waker) -> Turn {
        let mut line = self.0.lock();
        if line.awake < AWAKE_MAX {
            line.awake += 1;
            drop(line);
            waker.wake_by_ref();
        } else {
            line.waiting.push_back(waker.clone());
        }
        Turn(Arc::clone(self))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut line = self.0.0.lock();
        let next = line.waiting.pop_front();
        if next.is_none() {
            line.awake -= 1;
        }
        drop(line);
        if let Some(next) = next {
            next.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn audience(count: usize) -> (Vec<Arc<Counter>>, Vec<Waker>) {
        let counters: Vec<Arc<Counter>> = (0..count).map(|_| Arc::default()).collect();
        let wakers = counters.iter().cloned().map(Waker::from).collect();
        (counters, wakers)
    }

    fn woken(counters: &[Arc<Counter>]) -> usize {
        let awake = |counter: &&Arc<Counter>| counter.0.load(Ordering::SeqCst) > 0;
        counters.iter().filter(awake).count()
    }

    #[test]
    fn a_small_audience_needs_no_turns() {
        assert!(FanOut::of_audience(AWAKE_MAX).is_none());
        assert!(FanOut::of_audience(AWAKE_MAX + 1).is_some());
    }

    #[test]
    fn n1_each_turn_wakes_the_next_until_everybody_was_awake() {
        let fan_out = FanOut::of_audience(100).unwrap();
        let (counters, wakers) = audience(100);
        let turns: VecDeque<Turn> = wakers.iter().map(|w| fan_out.enlist(w)).collect();
        assert_eq!(woken(&counters), AWAKE_MAX);
        for (at, turn) in turns.into_iter().enumerate() {
            drop(turn);
            assert_eq!(woken(&counters), (AWAKE_MAX + at + 1).min(100));
        }
        assert_eq!(fan_out.0.lock().awake, 0);
    }

    #[test]
    fn n1_turns_that_end_before_the_next_is_taken_leave_nobody_waiting() {
        let fan_out = FanOut::of_audience(1_000).unwrap();
        let (counters, wakers) = audience(1_000);
        for waker in &wakers {
            drop(fan_out.enlist(waker));
        }
        assert_eq!(woken(&counters), 1_000);
        assert_eq!(fan_out.0.lock().awake, 0);
    }

    #[test]
    fn n1_a_turn_that_is_dropped_while_it_waits_does_not_break_the_line() {
        let fan_out = FanOut::of_audience(100).unwrap();
        let (counters, wakers) = audience(100);
        let mut turns: Vec<Turn> = wakers.iter().map(|w| fan_out.enlist(w)).collect();
        // The last first: sockets that something else woke.
        while let Some(turn) = turns.pop() {
            drop(turn);
        }
        assert_eq!(woken(&counters), 100);
        assert_eq!(fan_out.0.lock().awake, 0);
    }
}
