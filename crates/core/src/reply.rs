//! One question, one answer.
//!
//! A [`Reply`] is the right to answer a request exactly once. Dropping it is an
//! answer too (`actor/dropped_reply`), so no requester waits for ever on a task
//! that died. The receiving end tells work that *ran* from work that was
//! *refused*: only refused work may be sent again without asking anybody.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use greenroom_error::{Error, Result, code};
use tokio::sync::oneshot;

use crate::actor::work::ActorWorkRegion;

/// How a request ended.
#[derive(Debug)]
pub enum Answer<T> {
    /// The work was accepted; this is its result.
    Done(Result<T>),
    /// Nothing ran. The same request may be sent to another generation.
    Refused(Error),
}

impl<T> Answer<T> {
    /// Forgets whether the work ran.
    pub fn into_result(self) -> Result<T> {
        match self {
            Self::Done(result) => result,
            Self::Refused(error) => Err(error),
        }
    }
}

/// The right, and the duty, to answer.
#[must_use = "dropping a reply answers actor/dropped_reply"]
pub struct Reply<T> {
    sender: Option<oneshot::Sender<Sent<T>>>,
    held: Option<ActorWorkRegion>,
}

/// The waiting end of a [`Reply`].
pub struct ReplyReceiver<T>(oneshot::Receiver<Sent<T>>);

/// An answer on its way, and the work that goes on until it has arrived.
struct Sent<T> {
    answer: Answer<T>,
    held: Option<ActorWorkRegion>,
}

/// Makes a connected pair.
pub fn reply<T>() -> (Reply<T>, ReplyReceiver<T>) {
    let (sender, receiver) = oneshot::channel();
    let reply = Reply {
        sender: Some(sender),
        held: None,
    };
    (reply, ReplyReceiver(receiver))
}

impl<T> Reply<T> {
    /// A reply whose answer interests nobody.
    pub fn ignored() -> Self {
        Self {
            sender: None,
            held: None,
        }
    }

    /// Hands the work over to whoever gets the answer: it goes on until then.
    pub(crate) fn holding(mut self, region: ActorWorkRegion) -> Self {
        self.held = Some(region);
        self
    }

    /// Answers with the outcome of work that ran.
    pub fn send(mut self, result: Result<T>) {
        self.answer(Answer::Done(result));
    }

    /// Answers that nothing ran.
    pub fn refuse(mut self, error: Error) {
        self.answer(Answer::Refused(error));
    }

    /// True when the requester has gone away.
    pub fn is_abandoned(&self) -> bool {
        self.sender.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    fn answer(&mut self, answer: Answer<T>) {
        let held = self.held.take();
        if let Some(sender) = self.sender.take() {
            // The requester may have gone; its answer is then nobody's.
            let _ = sender.send(Sent { answer, held });
        }
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        self.answer(dropped());
    }
}

impl<T> std::fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reply")
    }
}

impl<T> ReplyReceiver<T> {
    /// Waits for the result, whether the work ran or was refused.
    pub async fn result(self) -> Result<T> {
        self.await.into_result()
    }

    /// Waits for the answer, and takes over the work that came with it.
    pub(crate) async fn with_held(self) -> (Answer<T>, Option<ActorWorkRegion>) {
        match self.0.await {
            Ok(Sent { answer, held }) => (answer, held),
            Err(_) => (dropped(), None),
        }
    }
}

fn dropped<T>() -> Answer<T> {
    Answer::Done(Err(Error::new(&code::ACTOR_DROPPED_REPLY)))
}

impl<T> Future for ReplyReceiver<T> {
    type Output = Answer<T>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer<T>> {
        let polled = Pin::new(&mut self.0).poll(cx);
        polled.map(|sent| sent.map_or_else(|_| dropped(), |sent| sent.answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_dropped_reply_is_an_answer() {
        let (reply, receiver) = reply::<()>();
        drop(reply);
        let error = receiver.result().await.expect_err("dropped");
        assert!(error.is(&code::ACTOR_DROPPED_REPLY));
    }

    #[tokio::test]
    async fn refused_work_is_told_from_failed_work() {
        let (first, receiver) = reply::<()>();
        first.refuse(Error::new(&code::ACTOR_STOPPING));
        assert!(matches!(receiver.await, Answer::Refused(_)));
        let (second, receiver) = reply::<()>();
        second.send(Err(Error::new(&code::ACTOR_STOPPING)));
        assert!(matches!(receiver.await, Answer::Done(Err(_))));
    }
}
