//! Tells when an action has begun, so that no schedule is taken off the disk while
//! one before it still waits for its turn.

use std::convert::Infallible;

use tokio::sync::oneshot;

/// Travels with a scheduled call until user code has run up to its first pause, or
/// never will. Dropping it says so.
#[derive(Debug)]
pub struct NotBegun(#[allow(dead_code, reason = "only dropped")] oneshot::Sender<Infallible>);

/// The other end of a [`NotBegun`].
pub(super) struct Begun(oneshot::Receiver<Infallible>);

pub(super) fn begun() -> (NotBegun, Begun) {
    let (not_begun, begun) = oneshot::channel();
    (NotBegun(not_begun), Begun(begun))
}

impl Begun {
    pub(super) async fn wait(self) {
        // Nothing is ever sent: the error is the news.
        let _ = self.0.await;
    }
}
