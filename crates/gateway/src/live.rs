//! The generation that takes a request's work, and what happens when it does not.

use std::future::Future;
use std::sync::Arc;

use greenroom_core::{ActorHandle, ActorRef, Answer};
use greenroom_error::{Error, Result, code};

/// Where a request gets the generation that its work is handed to. One value
/// serves one request, so an implementation may keep count and time in it.
pub trait ActorSource: Send {
    /// The live generation; wakes the actor and waits for it as needed.
    ///
    /// `refused_by` names the generation that turned this request away: the
    /// answer is then a different one, or an error. All calls of one request
    /// together take a bounded time.
    fn acquire(
        &mut self,
        refused_by: Option<ActorRef>,
    ) -> impl Future<Output = Result<Arc<ActorHandle>>> + Send;
}

/// A live generation together with the way to the next one.
pub struct LiveActor<S> {
    handle: Arc<ActorHandle>,
    source: S,
}

impl<S: ActorSource> LiveActor<S> {
    /// Waits for the first generation that takes work.
    ///
    /// # Errors
    /// Those of the source.
    pub async fn acquire(mut source: S) -> Result<Self> {
        let handle = source.acquire(None).await?;
        Ok(Self { handle, source })
    }

    /// The generation that work goes to now.
    pub fn handle(&self) -> &ActorHandle {
        &self.handle
    }

    /// Takes the outcome out of an answer. `None` means that this generation
    /// refused, nothing ran, and the next one is in place: send the work again.
    pub async fn settle<T>(&mut self, answer: Answer<T>) -> Option<Result<T>> {
        let refusal = match answer {
            Answer::Done(result) => return Some(result),
            Answer::Refused(refusal) => refusal,
        };
        // A full inbox says nothing about the generation; going on at once would
        // only make it fuller.
        if refusal.is(&code::ACTOR_OVERLOADED) {
            return Some(Err(refusal));
        }
        let refused_by = self.handle.actor();
        match self.source.acquire(Some(refused_by)).await {
            Ok(next) if next.actor() == refused_by => Some(Err(refusal)),
            Ok(next) => {
                self.handle = next;
                None
            }
            Err(error) => Some(Err(error)),
        }
    }

    /// Names the actor in an error that arose outside it.
    pub(crate) fn attach(&self, error: Error) -> Error {
        self.handle.ctx().attach_actor(error)
    }
}
