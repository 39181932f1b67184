//! How far a client's messages have come, as saves are to say it.
//!
//! Invariant G1: a save names no message of which it may lack an effect. What was
//! handled counts from the next request for a save on, and a save that was asked
//! for before names what had been handled then.

use std::collections::VecDeque;

/// Numbers that wait for their save. More are put together, under the newest
/// request, which any of them may wait for.
const STEPS_MAX: usize = 64;

/// Of one hibernatable connection.
#[derive(Debug, Default)]
pub(super) struct MessageProgress {
    /// The last message that was handled, if that is new.
    handled: Option<u16>,
    /// From which request on a save may name which message.
    steps: VecDeque<(u64, u16)>,
    /// Of messages up to this one some were let go of.
    given_up: Option<u16>,
}

impl MessageProgress {
    pub(super) fn handled(&mut self, message_index: u16) {
        self.handled = Some(message_index);
    }

    /// Of a connection of which this much was given up.
    pub(super) fn behind(given_up: Option<u16>) -> Self {
        Self {
            given_up,
            ..Self::default()
        }
    }

    pub(super) fn given_up(&self) -> Option<u16> {
        self.given_up
    }

    /// Of messages up to this one some were let go of, unless all of them were named
    /// already. True if that is to be stored.
    pub(super) fn give_up(&mut self, message_index: u16, named: u16) -> bool {
        let is_new = !has_come_to(named, message_index);
        if is_new {
            self.given_up = Some(message_index);
        }
        is_new
    }

    /// A save names this message. True if nothing is given up any more.
    pub(super) fn named(&mut self, message_index: u16) -> bool {
        if self
            .given_up
            .is_some_and(|last| has_come_to(message_index, last))
        {
            self.given_up = None;
        }
        self.given_up.is_none()
    }

    /// What was handled last may be named by saves from this request on. False if
    /// there is nothing new.
    pub(super) fn count_from(&mut self, revision: u64) -> bool {
        let Some(handled) = self.handled.take() else {
            return false;
        };
        if self.steps.len() >= STEPS_MAX {
            self.steps.pop_back();
        }
        self.steps.push_back((revision, handled));
        true
    }

    /// Whether a later save than those that were made up has something to name.
    pub(super) fn has_more(&self) -> bool {
        !self.steps.is_empty()
    }

    /// The message that a save of this revision names, if it is a new one.
    pub(super) fn at(&mut self, revision: u64) -> Option<u16> {
        let mut named = None;
        while let Some((from, index)) = self.steps.front().copied()
            && from <= revision
        {
            self.steps.pop_front();
            named = Some(index);
        }
        named
    }
}

fn has_come_to(index: u16, other: u16) -> bool {
    index == other || is_ahead(index, other)
}

/// Whether a message comes after another one of the same socket. Indexes begin anew
/// after the largest.
pub fn is_ahead(index: u16, of: u16) -> bool {
    (1..u16::MAX / 2).contains(&index.wrapping_sub(of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g1_a_save_names_what_was_handled_before_it_was_asked_for() {
        let mut progress = MessageProgress::default();
        assert!(!progress.count_from(1));
        progress.handled(5);
        assert!(progress.count_from(1));
        assert!(!progress.count_from(2), "nothing new");
        progress.handled(6);
        assert!(progress.count_from(3));
        progress.handled(7);
        assert_eq!(progress.at(2), Some(5));
        assert_eq!(progress.at(2), None);
        assert!(progress.has_more());
        assert_eq!(progress.at(3), Some(6));
        assert!(!progress.has_more());
        assert_eq!(
            progress.at(u64::MAX),
            None,
            "of the last nobody may tell yet"
        );
    }

    #[test]
    fn g1_what_is_put_together_waits_for_the_newest_request() {
        let mut progress = MessageProgress::default();
        let rounds = STEPS_MAX as u64 * 3;
        for round in 0..rounds {
            progress.handled(round as u16);
            assert!(progress.count_from(round));
        }
        assert_eq!(progress.steps.len(), STEPS_MAX);
        assert_eq!(progress.at(rounds - 2), Some(STEPS_MAX as u16 - 2));
        assert_eq!(progress.at(rounds - 1), Some(rounds as u16 - 1));
    }
}
