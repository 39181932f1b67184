//! What went wrong with one actor, and how long to wait because of it.
//!
//! Plain data: a resident keeps one of these under its lock. Pauses are decided
//! here and nowhere else.

use std::sync::Arc;
use std::time::Duration;

use greenroom_core::clock::Instant;
use greenroom_error::Error;

/// First pause after a failed start or a repeated crash; it doubles from there.
const PAUSE_MIN: Duration = Duration::from_millis(10);
/// Longest pause between quick retries of a start.
const START_PAUSE_MAX: Duration = Duration::from_millis(500);
/// Longest pause after a crash of an actor that keeps crashing.
const CRASH_PAUSE_MAX: Duration = Duration::from_secs(10);
/// A generation that lived this long ends a series of crashes; trouble is
/// remembered this long while nobody asks for the actor.
pub(crate) const MEMORY: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(crate) struct Trouble {
    failed_starts: u32,
    failed_starts_total: u64,
    /// Of the last failed start.
    last_error: Option<Arc<Error>>,
    crashes: u32,
    live_since: Option<Instant>,
    /// No start before this.
    not_before: Option<Instant>,
    /// The directory holds an error text of this actor.
    noted: bool,
    failed_removals: u64,
    removal_error: Option<Error>,
}

impl Trouble {
    pub(crate) fn new(noted: bool) -> Self {
        Self {
            noted,
            ..Self::default()
        }
    }

    pub(crate) fn started(&mut self, now: Instant) {
        self.failed_starts = 0;
        self.live_since = Some(now);
        self.not_before = None;
    }

    pub(crate) fn start_failed(&mut self, error: Error, now: Instant) {
        self.not_before = Some(now + pause(self.failed_starts, START_PAUSE_MAX));
        self.failed_starts = self.failed_starts.saturating_add(1);
        self.failed_starts_total += 1;
        self.last_error = Some(Arc::new(error));
        self.noted = true;
    }

    /// The first restart is immediate: most crashes do not repeat.
    pub(crate) fn crashed(&mut self, now: Instant) {
        let lived = self.live_since.take().map(|since| now.since(since));
        if lived.is_some_and(|lived| lived >= MEMORY) {
            self.crashes = 0;
        }
        let before = self.crashes.checked_sub(1);
        self.not_before = before.map(|before| now + pause(before, CRASH_PAUSE_MAX));
        self.crashes = self.crashes.saturating_add(1);
        self.noted = true;
    }

    pub(crate) fn removal_failed(&mut self, error: Error) {
        self.failed_removals += 1;
        self.removal_error = Some(error);
    }

    /// Failed starts in a row.
    pub(crate) fn failed_starts(&self) -> u32 {
        self.failed_starts
    }

    /// Failed starts ever; never goes back.
    pub(crate) fn failed_starts_total(&self) -> u64 {
        self.failed_starts_total
    }

    pub(crate) fn last_error(&self) -> Option<&Arc<Error>> {
        self.last_error.as_ref()
    }

    pub(crate) fn live_since(&self) -> Option<Instant> {
        self.live_since
    }

    /// Time until a start is allowed; `None` if it is now.
    pub(crate) fn pause_left(&self, now: Instant) -> Option<Duration> {
        let left = self.not_before?.since(now);
        (!left.is_zero()).then_some(left)
    }

    /// True once after something was noted in the directory.
    pub(crate) fn take_noted(&mut self) -> bool {
        std::mem::take(&mut self.noted)
    }

    pub(crate) fn failed_removals(&self) -> u64 {
        self.failed_removals
    }

    /// Why a removal failed, if one has since there were `before` failures.
    pub(crate) fn removal_failure_since(&self, before: u64) -> Option<Error> {
        let error = self.removal_error.as_ref()?;
        (self.failed_removals > before).then(|| error.duplicate())
    }

    /// True if a pause or a series would be forgotten with it.
    pub(crate) fn is_worth_remembering(&self) -> bool {
        self.failed_starts > 0 || self.crashes > 0
    }
}

fn pause(times_before: u32, longest: Duration) -> Duration {
    let doubled = PAUSE_MIN.saturating_mul(1 << times_before.min(20));
    doubled.min(longest)
}

#[cfg(test)]
mod tests {
    use greenroom_core::Clock;
    use greenroom_error::code;

    use super::*;

    #[test]
    fn pauses_double_up_to_their_limit() {
        let (clock, hands) = Clock::manual(0);
        let mut trouble = Trouble::default();
        let mut pauses = Vec::new();
        for _ in 0..8 {
            trouble.start_failed(Error::new(&code::ACTOR_STARTING), clock.now());
            let pause = trouble.pause_left(clock.now()).expect("a pause");
            pauses.push(pause.as_millis());
            hands.advance(pause);
            assert_eq!(trouble.pause_left(clock.now()), None);
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 500, 500]);
        trouble.started(clock.now());
        assert_eq!(trouble.failed_starts(), 0);
        assert_eq!(trouble.failed_starts_total(), 8);
    }

    #[test]
    fn the_first_crash_costs_no_pause_and_a_long_life_forgives() {
        let (clock, hands) = Clock::manual(0);
        let mut trouble = Trouble::default();
        trouble.crashed(clock.now());
        assert_eq!(trouble.pause_left(clock.now()), None);
        trouble.crashed(clock.now());
        assert!(trouble.pause_left(clock.now()).is_some());
        trouble.started(clock.now());
        hands.advance(MEMORY);
        trouble.crashed(clock.now());
        assert_eq!(trouble.pause_left(clock.now()), None);
    }

    #[test]
    fn only_a_removal_that_failed_after_the_question_answers_it() {
        let mut trouble = Trouble::default();
        trouble.removal_failed(Error::new(&code::HOST_STORAGE_FAILED));
        let before = trouble.failed_removals();
        assert!(trouble.removal_failure_since(before).is_none());
        trouble.removal_failed(Error::new(&code::HOST_STORAGE_FAILED));
        assert!(trouble.removal_failure_since(before).is_some());
    }
}
