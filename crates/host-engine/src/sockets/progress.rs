//! How far the messages of one socket have come.
//!
//! The engine numbers a socket's messages and keeps each until it is told that it
//! may forget it, for 30 s at most. It is told when a message was handled, so that
//! another process gets what this one did not come to; and a moment later, so that
//! the answer has left before. A message that is worked on for long is given up on
//! in time: should this process end over it, the engine finds that the next
//! process knows less than it does, and has the client connect anew.
//!
//! Invariant P1: what is acknowledged was handled, or has been here for long.

use std::time::Duration;

/// Time in which an answer is well on its way.
const SOON: Duration = Duration::from_millis(20);
/// Time after which a message is acknowledged whatever becomes of it.
const LATE: Duration = Duration::from_secs(10);

/// Indexes of the last message that arrived, that was handled and that was
/// acknowledged. They follow one another and begin anew after the largest.
#[derive(Debug)]
pub(crate) struct Progress {
    arrived: u16,
    handled: u16,
    acknowledged: u16,
    /// Whether they are acknowledged when they arrive: nobody says when they were
    /// handled.
    at_once: bool,
    /// What the session's first message counts from.
    first: Option<u16>,
}

/// A word that the engine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Soon,
    Late,
}

impl Word {
    pub(super) fn delay(self) -> Duration {
        match self {
            Self::Soon => SOON,
            Self::Late => LATE,
        }
    }
}

impl Progress {
    /// Messages that are acknowledged when they were handled. A connection that
    /// began elsewhere goes on behind its last message.
    pub(crate) fn when_handled(last: Option<u16>) -> Self {
        let at = last.unwrap_or_default();
        Self {
            arrived: at,
            handled: at,
            acknowledged: at,
            at_once: false,
            first: last,
        }
    }

    pub(crate) fn when_arrived() -> Self {
        Self {
            at_once: true,
            ..Self::when_handled(None)
        }
    }

    pub(super) fn last(&self) -> u16 {
        self.arrived
    }

    pub(super) fn arrived(&mut self, index: u16) {
        if self.first.is_none() {
            let before = index.wrapping_sub(1);
            self.first = Some(before);
            (self.handled, self.acknowledged) = (before, before);
        }
        self.arrived = index;
        if self.at_once {
            self.handled = index;
        }
    }

    /// So many messages of the session were handled; gives the last one's index.
    pub(super) fn handled(&mut self, messages: u64) -> u16 {
        // Indexes begin anew, and so does what is left of the count here.
        let handled = self.first.unwrap_or_default().wrapping_add(messages as u16);
        if !self.at_once {
            self.handled = handled;
        }
        handled
    }

    /// What the engine waits for.
    pub(super) fn word(&self) -> Option<Word> {
        if self.handled != self.acknowledged && self.is_ahead(self.handled) {
            Some(Word::Soon)
        } else if self.arrived != self.acknowledged {
            Some(Word::Late)
        } else {
            None
        }
    }

    fn is_ahead(&self, index: u16) -> bool {
        index.wrapping_sub(self.acknowledged) < u16::MAX / 2
    }

    /// What may be acknowledged now: what was handled, or, if that was, what has
    /// been here for long.
    pub(super) fn acknowledge(&mut self) -> Option<u16> {
        self.acknowledged = match self.word()? {
            Word::Soon => self.handled,
            Word::Late => self.arrived,
        };
        Some(self.acknowledged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_handled_is_acknowledged_soon_and_the_rest_late() {
        let mut progress = Progress::when_handled(None);
        assert_eq!(progress.word(), None);
        for index in 1..=3 {
            progress.arrived(index);
        }
        assert_eq!(progress.word(), Some(Word::Late));
        assert_eq!(progress.handled(2), 2);
        assert_eq!(progress.word(), Some(Word::Soon));
        assert_eq!(progress.acknowledge(), Some(2));
        assert_eq!(progress.word(), Some(Word::Late));
        assert_eq!(progress.acknowledge(), Some(3));
        // Given up on: its end changes nothing any more.
        assert_eq!(progress.handled(3), 3);
        assert_eq!(progress.word(), None);
    }

    #[test]
    fn a_connection_goes_on_behind_its_last_message_and_around_the_largest_index() {
        let mut progress = Progress::when_handled(Some(u16::MAX - 1));
        assert_eq!(progress.last(), u16::MAX - 1);
        for index in [u16::MAX, 0, 1] {
            progress.arrived(index);
        }
        assert_eq!(progress.handled(3), 1);
        assert_eq!(progress.acknowledge(), Some(1));
        assert_eq!(progress.word(), None);
    }

    #[test]
    fn without_a_word_on_handling_arriving_counts() {
        let mut progress = Progress::when_arrived();
        progress.arrived(1);
        assert_eq!(progress.word(), Some(Word::Soon));
        assert_eq!(progress.acknowledge(), Some(1));
    }
}
