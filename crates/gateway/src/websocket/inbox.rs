//! Messages of a client that nobody has taken yet: while its actor wakes, and
//! while more of them are being worked on than one client may ask for at once.
//!
//! Bounded; a client that goes on is simply not read from.

use std::collections::VecDeque;
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

#[derive(Default)]
pub(crate) struct Inbox {
    waiting: VecDeque<Message>,
    bytes: usize,
    next_number: u64,
}

impl Inbox {
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
