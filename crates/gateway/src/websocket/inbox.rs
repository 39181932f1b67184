//! Messages of a client that nobody has taken yet: while its actor wakes, and
//! while more of them are being worked on than one client may ask for at once.
//!
//! Bounded; a client that goes on is simply not read from.

use std::collections::{BTreeSet, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Poll, ready};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};

use super::socket::{ClientSocket, SocketEvent};

/// Messages and bytes beyond which no further message is read.
const MESSAGES_MAX: usize = 256;
const BYTES_MAX: usize = 1 << 20;

/// One message, in its place among all of the socket's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) number: u64,
    pub(crate) data: Bytes,
    pub(crate) binary: bool,
    /// Generations that died while they worked on it.
    pub(crate) crashes: u8,
}

/// How many messages from the first on were handled, in whatever order they were.
/// As large as what is being worked on, however many come after that.
#[derive(Default)]
pub(crate) struct Handled {
    /// Begun and not over.
    open: BTreeSet<u64>,
    /// Behind all that have begun.
    next: u64,
    /// The count that was given last.
    told: u64,
}

impl Handled {
    /// Work on this message begins, for the first time or anew.
    pub(crate) fn begin(&mut self, number: u64) {
        self.open.insert(number);
        self.next = self.next.max(number + 1);
    }

    /// Work on this message is over; gives the new count, if that changes it.
    pub(crate) fn end(&mut self, number: u64) -> Option<u64> {
        self.open.remove(&number);
        let count = self.open.first().map_or(self.next, |first| *first);
        let has_changed = count > self.told;
        self.told = self.told.max(count);
        has_changed.then_some(count)
    }
}

#[derive(Default)]
pub(crate) struct Inbox {
    waiting: VecDeque<Message>,
    bytes: usize,
    next_number: u64,
}

impl Inbox {
    /// The inbox of a socket of which other messages came before.
    pub(crate) fn behind(messages: u64) -> Self {
        Self {
            next_number: messages,
            ..Self::default()
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.waiting.len() < MESSAGES_MAX && self.bytes < BYTES_MAX
    }

    pub(crate) fn push(&mut self, data: Bytes, binary: bool) {
        self.bytes += data.len();
        self.waiting.push_back(Message {
            number: self.next_number,
            data,
            binary,
            crashes: 0,
        });
        self.next_number += 1;
    }

    pub(crate) fn pop(&mut self) -> Option<Message> {
        let message = self.waiting.pop_front()?;
        self.bytes -= message.data.len();
        if self.waiting.is_empty() && self.waiting.capacity() > 16 {
            self.waiting = VecDeque::new();
        }
        Some(message)
    }

    /// Puts messages back that were popped, in front and in their order.
    pub(crate) fn put_back(&mut self, messages: impl DoubleEndedIterator<Item = Message>) {
        for message in messages.rev() {
            self.bytes += message.data.len();
            self.waiting.push_front(message);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> ClientSocket<S> {
    /// Drives the socket until `work` is done; what the client says meanwhile goes
    /// to the inbox. `None` if the socket is over first.
    pub(crate) async fn during<F: Future>(
        &mut self,
        inbox: &mut Inbox,
        work: F,
    ) -> Option<F::Output> {
        let mut work = pin!(work);
        poll_fn(|cx| {
            if let Poll::Ready(output) = work.as_mut().poll(cx) {
                return Poll::Ready(Some(output));
            }
            loop {
                match ready!(self.poll_event(cx, inbox.has_room())) {
                    SocketEvent::Message { data, binary } => inbox.push(data, binary),
                    SocketEvent::Over => return Poll::Ready(None),
                }
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_put_back_keep_their_place() {
        let mut inbox = Inbox::default();
        for text in ["a", "b", "c"] {
            inbox.push(Bytes::from_static(text.as_bytes()), false);
        }
        let popped = [inbox.pop().unwrap(), inbox.pop().unwrap()];
        inbox.put_back(popped.into_iter());
        let order: Vec<_> = std::iter::from_fn(|| inbox.pop()).collect();
        assert_eq!(
            order.iter().map(|m| m.number).collect::<Vec<_>>(),
            [0, 1, 2]
        );
        assert!(inbox.is_empty() && inbox.bytes == 0);
    }

    #[test]
    fn messages_count_as_handled_when_all_before_them_were() {
        let mut handled = Handled::default();
        (0..4).for_each(|number| handled.begin(number));
        assert_eq!(handled.end(0), Some(1));
        assert_eq!(handled.end(3), None);
        assert_eq!(handled.end(2), None);
        // Refused, and given to the next generation.
        handled.begin(1);
        assert_eq!(handled.end(1), Some(4));
        handled.begin(4);
        assert_eq!(handled.end(4), Some(5));
    }

    #[test]
    fn messages_that_are_answered_before_one_that_is_not_take_no_memory() {
        let mut handled = Handled::default();
        handled.begin(0);
        for number in 1..10_000 {
            handled.begin(number);
            assert_eq!(handled.end(number), None);
        }
        assert_eq!(handled.open.len(), 1);
        assert_eq!(handled.end(0), Some(10_000));
    }

    #[test]
    fn an_inbox_is_full_by_bytes_or_by_count() {
        let mut inbox = Inbox::default();
        inbox.push(vec![0; BYTES_MAX].into(), true);
        assert!(!inbox.has_room());
        inbox.pop();
        for _ in 0..MESSAGES_MAX {
            assert!(inbox.has_room());
            inbox.push(Bytes::new(), true);
        }
        assert!(!inbox.has_room());
    }
}
