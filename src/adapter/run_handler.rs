//! The user's `run` handler: started with the generation, restarted on demand,
//! given up when the loop ends.

use std::sync::Arc;

use greenroom_core::Reply;
use greenroom_error::code;

use crate::actor::ActorShared;
use crate::callbacks::Hook;

/// Reports ready, and runs the handler if there is one, for as long as the
/// generation lives.
pub(super) async fn run(shared: Arc<ActorShared>, ready: Reply<()>) {
    if !shared.callbacks.has(Hook::Run) {
        ready.send(Ok(()));
        return;
    }
    shared.run.install();
    let mut ready = Some(ready);
    loop {
        if run_once(&shared, &mut ready).await == Ended::Finished {
            shared.run.restart_requested().await;
        }
    }
}

#[derive(PartialEq, Eq)]
enum Ended {
    Finished,
    /// Given up for another run.
    Restarted,
}

/// One run, up to its end or to a restart. Failures are the user's to see in the
/// log; the actor lives on.
async fn run_once(shared: &Arc<ActorShared>, ready: &mut Option<Reply<()>>) -> Ended {
    let guard = shared.ctx.run_handler_guard();
    shared.run.set_active(true);
    let run = async {
        let mut run = std::pin::pin!(shared.run_handler());
        // The call is posted by the first poll, so the handler begins before the
        // first action.
        let first = futures_util::poll!(run.as_mut());
        if let Some(ready) = ready.take() {
            ready.send(Ok(()));
        }
        match first {
            std::task::Poll::Ready(result) => result,
            std::task::Poll::Pending => run.await,
        }
    };
    let ended = tokio::select! {
        result = run => {
            report(shared, result);
            Ended::Finished
        }
        () = shared.run.restart_requested() => Ended::Restarted,
    };
    shared.run.set_active(false);
    drop(guard);
    ended
}

fn report(shared: &ActorShared, result: greenroom_error::Result<bool>) {
    let actor_id = shared.ctx.actor_id();
    match result {
        Ok(true) => tracing::debug!(%actor_id, "the run handler returned"),
        Ok(false) => tracing::debug!(%actor_id, "the run handler declined to start"),
        Err(error) if error.is(&code::ACTOR_ABORTED) => {
            tracing::debug!(%actor_id, %error, "the run handler was aborted");
        }
        Err(error) => tracing::error!(%actor_id, %error, "the run handler failed"),
    }
}
