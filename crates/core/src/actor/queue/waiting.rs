//! Receivers that wait for a message, in order of arrival.
//!
//! A message wakes one receiver that wants it, and everybody who only watches.
//! Waking is a hint: the woken one looks at the queue again.
//!
//! Invariant W1: a receiver joins, and clears its signal, before it looks. A
//! message stored after its look therefore finds it here.
//! Invariant W2: one that leaves with its signal set passes it on, so a wake-up
//! is never lost in a receiver that timed out or got something else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct ReceiverLine(Mutex<Line>);

#[derive(Default)]
struct Line {
    next_place: u64,
    waiting: BTreeMap<u64, Arc<Receiver>>,
}

struct Receiver {
    /// Sorted; empty means any.
    names: Arc<[String]>,
    /// Does not take what it finds.
    watches: bool,
    signalled: AtomicBool,
    notify: Notify,
}

impl Receiver {
    fn wants(&self, name: &str) -> bool {
        self.names.is_empty()
            || self
                .names
                .binary_search_by(|n| n.as_str().cmp(name))
                .is_ok()
    }

    /// False if it was signalled already.
    fn signal(&self) -> bool {
        let fresh = !self.signalled.swap(true, Ordering::SeqCst);
        if fresh {
            self.notify.notify_one();
        }
        fresh
    }
}

impl ReceiverLine {
    /// Takes a place in the line. `names` must be sorted.
    pub(crate) fn join(&self, names: Arc<[String]>, watches: bool) -> Place<'_> {
        let receiver = Arc::new(Receiver {
            names,
            watches,
            signalled: AtomicBool::new(false),
            notify: Notify::new(),
        });
        let mut line = self.0.lock();
        let place = line.next_place;
        line.next_place += 1;
        line.waiting.insert(place, Arc::clone(&receiver));
        Place {
            line: self,
            place,
            receiver,
        }
    }

    /// A message of this name is in the queue.
    pub(crate) fn message_arrived(&self, name: &str) {
        let line = self.0.lock();
        let mut taken = false;
        for receiver in line.waiting.values().filter(|r| r.wants(name)) {
            if receiver.watches {
                receiver.signal();
            } else if !taken {
                taken = receiver.signal();
            }
        }
    }

    /// Everybody looks again.
    pub(crate) fn wake_all(&self) {
        for receiver in self.0.lock().waiting.values() {
            receiver.signal();
        }
    }
}

/// What receivers wanted that the end of the generation cut off. A message for
/// one of them must not wait for the next wake by chance.
#[derive(Default)]
pub(crate) struct CutOff(Mutex<Vec<Arc<[String]>>>);

/// Different wishes that are told apart; more of them count as "any message".
const WISHES_MAX: usize = 16;

impl CutOff {
    pub(crate) fn note(&self, names: &Arc<[String]>) {
        let mut wishes = self.0.lock();
        if wishes.iter().any(|wish| wish.is_empty() || wish == names) {
            return;
        }
        if names.is_empty() || wishes.len() >= WISHES_MAX {
            wishes.clear();
            wishes.push(Arc::default());
        } else {
            wishes.push(Arc::clone(names));
        }
    }

    pub(crate) fn take(&self) -> Vec<Arc<[String]>> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// A place in the line, given up when dropped.
pub(crate) struct Place<'a> {
    line: &'a ReceiverLine,
    place: u64,
    receiver: Arc<Receiver>,
}

impl Place<'_> {
    /// To be called before each look (W1).
    pub(crate) fn clear_signal(&self) {
        self.receiver.signalled.store(false, Ordering::SeqCst);
    }

    /// Resolves when it is worth looking again.
    pub(crate) async fn signalled(&self) {
        // A permit left from a signal that was cleared costs one more turn.
        while !self.receiver.signalled.load(Ordering::SeqCst) {
            self.receiver.notify.notified().await;
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.line.0.lock().waiting.remove(&self.place);
        // For which message the signal was is not known: all may look (W2).
        if self.receiver.signalled.load(Ordering::SeqCst) && !self.receiver.watches {
            self.line.wake_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn names(names: &[&str]) -> Arc<[String]> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn is_signalled(place: &Place<'_>) -> bool {
        place.signalled().now_or_never().is_some()
    }

    #[test]
    fn a_message_wakes_the_first_who_wants_it_and_all_who_watch() {
        let line = ReceiverLine::default();
        let other = line.join(names(&["y"]), false);
        let first = line.join(names(&["x", "y"]), false);
        let second = line.join(names(&[]), false);
        let watcher = line.join(names(&["x"]), true);
        line.message_arrived("x");
        let woken = [&other, &first, &second, &watcher].map(is_signalled);
        assert_eq!(woken, [false, true, false, true]);
        line.message_arrived("x");
        assert!(is_signalled(&second), "the first is on its way already");
    }

    #[test]
    fn w2_a_wake_up_passes_on_from_one_who_leaves() {
        let line = ReceiverLine::default();
        let first = line.join(names(&["x"]), false);
        let second = line.join(names(&["x"]), false);
        line.message_arrived("x");
        drop(first);
        assert!(is_signalled(&second));
    }

    #[test]
    fn w1_a_message_that_arrives_after_the_look_is_noticed() {
        let line = ReceiverLine::default();
        let place = line.join(names(&[]), false);
        line.message_arrived("x");
        place.clear_signal();
        assert!(!is_signalled(&place));
        line.message_arrived("x");
        assert!(is_signalled(&place));
    }

    #[test]
    fn wishes_that_were_cut_off_are_kept_once_and_in_bounds() {
        let cut_off = CutOff::default();
        for _ in 0..2 {
            cut_off.note(&names(&["a"]));
            cut_off.note(&names(&["a", "b"]));
        }
        assert_eq!(cut_off.take(), [names(&["a"]), names(&["a", "b"])]);
        for number in 0..100 {
            cut_off.note(&names(&[&number.to_string()]));
        }
        assert_eq!(cut_off.take(), [names(&[])]);
        assert!(cut_off.take().is_empty());
    }

    #[test]
    fn nobody_is_left_behind_in_the_line() {
        let line = ReceiverLine::default();
        drop([line.join(names(&[]), false), line.join(names(&["a"]), true)]);
        assert!(line.0.lock().waiting.is_empty());
    }
}
