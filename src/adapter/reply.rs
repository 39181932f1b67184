//! Replies that say why, if the loop ends before they are answered.

use greenroom_core::Reply;
use greenroom_error::{Error, Result, code};

/// A reply that answers `actor/stopping` when dropped (A3).
pub(super) struct Pending<T>(Option<Reply<T>>);

impl<T> Pending<T> {
    pub(super) fn new(reply: Reply<T>) -> Self {
        Self(Some(reply))
    }

    pub(super) fn send(mut self, result: Result<T>) {
        if let Some(reply) = self.0.take() {
            reply.send(result);
        }
    }
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        if let Some(reply) = self.0.take() {
            reply.send(Err(Error::new(&code::ACTOR_STOPPING)));
        }
    }
}
