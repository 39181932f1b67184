//! How far the messages of one socket have come.
//!
//! The engine numbers a socket's messages and keeps each until it is told that it
//! may forget it. It is told when the message was handled and what is stored of its
//! connection says so; so a process that is killed leaves to the next one what it
//! did not come to, and what it did is not done again.
//!
//! Invariant P1: what is acknowledged was handled, and stored as handled, or was
//! given up on.

use std::collections::VecDeque;
use std::time::Duration;

use greenroom_core::{Instant, is_ahead};

/// Messages that arrive within this share the time of the first.
const GRAIN: Duration = Duration::from_millis(200);

/// Indexes of messages. They follow one another and begin anew after the largest.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Arrived last.
    arrived: u16,
    /// Handled, and all before it.
    handled: u16,
    /// Handed on to be stored.
    named: u16,
    acknowledged: u16,
    /// First messages, and when they arrived: as old as these, or younger by a grain,
    /// are those up to the next. Of what is acknowledged at most the first is kept.
    times: VecDeque<(u16, Instant)>,
    /// What the session's first message counts from.
    first: Option<u16>,
    /// The engine may not have heard the last word.
    repeats: bool,
}

impl Progress {
    /// Of a new socket, or of one that goes on behind the last message that another
    /// process handled.
    pub(crate) fn new(last: Option<u16>) -> Self {
        let at = last.unwrap_or_default();
        Self {
            arrived: at,
            handled: at,
            named: at,
            acknowledged: at,
            times: VecDeque::new(),
            first: last,
            repeats: false,
        }
    }

    pub(super) fn last(&self) -> u16 {
        self.arrived
    }

    pub(super) fn arrived(&mut self, index: u16, now: Instant) {
        if self.first.is_none() {
            let before = index.wrapping_sub(1);
            self.first = Some(before);
            (self.handled, self.named, self.acknowledged) = (before, before, before);
        }
        self.arrived = index;
        if self.times.back().is_none_or(|(_, at)| *at + GRAIN <= now) {
            self.times.push_back((index, now));
        }
    }

    /// So many messages of the session were handled.
    pub(super) fn handled(&mut self, messages: u64) {
        // Indexes begin anew, and so does what is left of the count here.
        self.handled = self.first.unwrap_or_default().wrapping_add(messages as u16);
    }

    /// The last message that was handled, as it may be stored: `None` before any
    /// arrived, and while some that the engine has forgotten are not over.
    pub(super) fn storable(&self) -> Option<u16> {
        let is_behind = is_ahead(self.acknowledged, self.handled);
        self.first.map(|_| self.handled).filter(|_| !is_behind)
    }

    /// Whether something is to be stored, or said once more. Of what was given up on
    /// nothing is stored before all of it is over: the engine has forgotten the rest.
    pub(super) fn is_due(&self) -> bool {
        self.repeats || self.handled != self.named && !is_ahead(self.acknowledged, self.handled)
    }

    /// What is due is taken care of; gives what the engine has to hear once more.
    pub(super) fn take_due(&mut self) -> Option<u16> {
        if !is_ahead(self.acknowledged, self.handled) {
            self.named = self.handled;
        }
        std::mem::take(&mut self.repeats).then_some(self.acknowledged)
    }

    /// It is stored that everything up to this message was handled. Gives what the
    /// engine may forget, if that is new.
    pub(super) fn stored(&mut self, index: u16) -> Option<u16> {
        // Rows of a connection that said nothing yet name a message, too.
        let is_ours = is_ahead(index, self.acknowledged) && !is_ahead(index, self.handled);
        is_ours.then(|| {
            self.acknowledge(index);
            if is_ahead(index, self.named) {
                self.named = index;
            }
            index
        })
    }

    /// Another generation begins, which may know of less than the last one was told.
    pub(super) fn renew(&mut self) {
        if !is_ahead(self.acknowledged, self.handled) {
            self.named = self.acknowledged;
        }
    }

    /// The engine has the socket with another generation now.
    pub(super) fn repeat(&mut self) {
        self.repeats = self.first.is_some();
    }

    /// When the oldest message that is not acknowledged arrived.
    pub(super) fn waits_since(&self) -> Option<Instant> {
        self.times.front().map(|(_, at)| *at)
    }

    /// The last message that is not acknowledged and arrived by then.
    pub(super) fn arrived_by(&self, then: impl Fn(Instant) -> bool) -> Option<u16> {
        let late = self.times.partition_point(|(_, at)| then(*at));
        let next = self.times.get(late);
        let last = next.map_or(self.arrived, |(next, _)| next.wrapping_sub(1));
        (late > 0).then_some(last)
    }

    /// Acknowledges what arrived up to this message, whatever becomes of it. Gives
    /// what the engine may forget, if that is new.
    pub(super) fn give_up(&mut self, index: u16) -> Option<u16> {
        let is_new = is_ahead(index, self.acknowledged);
        is_new.then(|| {
            self.acknowledge(index);
            index
        })
    }

    fn acknowledge(&mut self, index: u16) {
        self.acknowledged = index;
        if index == self.arrived {
            self.times.clear();
        }
        while let Some((next, _)) = self.times.get(1)
            && !is_ahead(*next, index.wrapping_add(1))
        {
            self.times.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use greenroom_core::Clock;

    use super::*;

    fn now() -> Instant {
        Clock::manual(0).0.now()
    }

    #[test]
    fn p1_what_was_handled_is_acknowledged_when_it_is_stored() {
        let mut progress = Progress::new(None);
        assert_eq!(progress.stored(0), None, "its first rows");
        (1..=3).for_each(|index| progress.arrived(index, now()));
        assert!(!progress.is_due());
        progress.handled(2);
        assert_eq!(progress.storable(), Some(2));
        assert!(progress.is_due());
        assert_eq!(progress.take_due(), None);
        assert!(!progress.is_due());
        assert!(progress.waits_since().is_some());
        assert_eq!(progress.stored(3), None, "not handled");
        assert_eq!(progress.stored(2), Some(2));
        assert_eq!(progress.stored(2), None, "said already");
        progress.handled(3);
        // By the last save of a generation, which is not asked for here.
        assert_eq!(progress.stored(3), Some(3));
        assert!(!progress.is_due());
        progress.renew();
        assert!(!progress.is_due());
        assert_eq!(progress.waits_since(), None);
    }

    #[test]
    fn of_what_was_given_up_on_nothing_is_stored_before_it_is_over() {
        let mut progress = Progress::new(None);
        (1..=4).for_each(|index| progress.arrived(index, now()));
        assert_eq!(progress.give_up(4), Some(4));
        assert_eq!(progress.waits_since(), None);
        progress.handled(2);
        assert!(!progress.is_due() && progress.storable().is_none());
        progress.arrived(5, now());
        progress.handled(4);
        assert_eq!(progress.storable(), Some(4));
        assert!(progress.is_due());
        progress.take_due();
        assert_eq!(progress.stored(4), None);
        progress.handled(5);
        assert!(progress.is_due());
        progress.take_due();
        assert!(!progress.is_due());
        progress.renew();
        assert!(progress.is_due(), "its save was lost with its generation");
        progress.take_due();
        assert_eq!(progress.stored(5), Some(5));
    }

    #[test]
    fn a_connection_goes_on_behind_its_last_message_and_around_the_largest_index() {
        let mut progress = Progress::new(Some(u16::MAX - 1));
        assert_eq!(progress.last(), u16::MAX - 1);
        for index in [u16::MAX, 0, 1] {
            progress.arrived(index, now());
        }
        progress.handled(3);
        assert_eq!(progress.storable(), Some(1));
        progress.take_due();
        assert_eq!(progress.stored(1), Some(1));
        assert_eq!(progress.waits_since(), None);
    }

    #[test]
    fn the_last_word_is_said_again_to_a_socket_that_comes_back() {
        let mut progress = Progress::new(None);
        progress.repeat();
        assert!(!progress.is_due(), "nothing was said");
        progress.arrived(7, now());
        progress.handled(1);
        progress.take_due();
        progress.stored(7);
        progress.repeat();
        assert!(progress.is_due());
        assert_eq!(progress.take_due(), Some(7));
        assert!(!progress.is_due());
    }

    #[test]
    fn how_long_a_message_waits_does_not_depend_on_those_before_it() {
        let start = now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut progress = Progress::new(None);
        (1..=3).for_each(|index| progress.arrived(index, after(0)));
        progress.arrived(4, after(7));
        for handled in 1..=2 {
            progress.handled(handled);
            progress.stored(handled as u16);
            assert_eq!(progress.waits_since(), Some(start));
        }
        let by = |seconds| move |at| at <= after(seconds);
        assert_eq!(progress.arrived_by(by(6)), Some(3), "and not the fourth");
        assert_eq!(progress.arrived_by(by(7)), Some(4));
        assert_eq!(progress.give_up(3), Some(3));
        assert_eq!(progress.give_up(3), None);
        assert_eq!(progress.waits_since(), Some(after(7)));
        assert_eq!(progress.arrived_by(by(6)), None);
        progress.handled(4);
        progress.stored(4);
        assert_eq!(progress.waits_since(), None);
    }
}
