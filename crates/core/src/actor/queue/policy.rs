//! Delivery of a queue's messages when receivers may fail: leases, pauses, limits.
//!
//! Opt-in per queue name; a queue without a policy is RivetKit's.

use std::time::Duration;

use greenroom_store::Delivery;

/// How messages of one queue are delivered. Only receives that ask for
/// completable messages lease them.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuePolicy {
    /// Deliveries before a message is given up, at least 1. Default 5.
    pub max_attempts: u32,
    /// Time to complete a message before it is delivered again. Default 30 s.
    pub visibility_timeout: Duration,
    pub backoff: Backoff,
    /// Keep what was given up as dead letters. Default true.
    pub dead_letters: bool,
}

/// Pause before a message that was given back is delivered again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// After the first attempt. Default 1 s.
    pub initial: Duration,
    /// Growth with each further one, at least 1. Default 2.
    pub factor: f64,
    /// Longest pause. Default 5 min.
    pub max: Duration,
}

impl Default for QueuePolicy {
    fn default() -> Self {
        Self {
            max_attempts: 5,
            visibility_timeout: Duration::from_secs(30),
            backoff: Backoff::default(),
            dead_letters: true,
        }
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            factor: 2.0,
            max: Duration::from_secs(300),
        }
    }
}

impl Backoff {
    /// The pause after the attempt with this number, from 1.
    pub fn pause(&self, attempt: u32) -> Duration {
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let seconds = self.initial.as_secs_f64() * self.factor.max(1.0).powi(exponent);
        // Infinite or beyond what a duration holds: the limit.
        Duration::try_from_secs_f64(seconds).map_or(self.max, |pause| pause.min(self.max))
    }
}

impl From<&QueuePolicy> for Delivery {
    fn from(policy: &QueuePolicy) -> Self {
        let visible_after = policy.visibility_timeout.as_millis();
        Self {
            visible_after_ms: i64::try_from(visible_after).unwrap_or(i64::MAX),
            max_attempts: policy.max_attempts.max(1),
            dead_letters: policy.dead_letters,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_their_limit_and_never_overflow() {
        let backoff = Backoff::default();
        let seconds = |attempt| backoff.pause(attempt).as_secs();
        assert_eq!([1, 2, 3, 9].map(seconds), [1, 2, 4, 256]);
        assert_eq!([10, 64, 5_000, u32::MAX].map(seconds), [300; 4]);
        let constant = Backoff {
            factor: 1.0,
            ..backoff
        };
        assert_eq!(constant.pause(99), Duration::from_secs(1));
        let shrinking = Backoff {
            factor: 0.5,
            ..backoff
        };
        assert_eq!(shrinking.pause(9), Duration::from_secs(1));
    }
}
