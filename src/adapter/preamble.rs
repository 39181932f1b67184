//! The start of a generation, in the order users rely on.

use std::sync::Arc;

use bytes::Bytes;
use greenroom_core::Reply;
use greenroom_error::{Error, Result};

use super::run_handler;
use crate::actor::ActorShared;

pub(super) struct Preamble {
    pub(super) input: Option<Bytes>,
    pub(super) is_new: bool,
    /// State of an actor that is not new.
    pub(super) snapshot: Option<Bytes>,
    pub(super) startup_ready: Reply<()>,
}

impl Preamble {
    /// Runs the start hooks, reports ready, and goes on as the `run` handler.
    pub(super) async fn run(self, shared: Arc<ActorShared>) {
        let ready = self.startup_ready;
        let start = Start {
            input: self.input,
            is_new: self.is_new,
            snapshot: self.snapshot,
        };
        if let Err(error) = Box::pin(start.run(&shared)).await {
            ready.send(Err(error));
            return;
        }
        run_handler::run(shared, ready).await;
    }
}

struct Start {
    input: Option<Bytes>,
    is_new: bool,
    snapshot: Option<Bytes>,
}

impl Start {
    async fn run(self, shared: &Arc<ActorShared>) -> Result<()> {
        shared.on_migrate(self.is_new).await?;
        if self.is_new {
            if let Some(state) = shared.create_state(self.input.clone()).await? {
                shared.ctx.set_initial_state(state);
            }
            shared.on_create(self.input).await?;
            shared.ctx.persist_initialized().await?;
        } else {
            restore(shared, self.snapshot, self.input).await?;
        }
        shared.create_vars().await?;
        shared.on_wake().await?;
        shared.on_before_actor_start().await
    }
}

/// An empty snapshot is that of an actor that had no state when it was saved; if
/// its type has since got one, it begins now.
async fn restore(
    shared: &Arc<ActorShared>,
    snapshot: Option<Bytes>,
    input: Option<Bytes>,
) -> Result<()> {
    let known = snapshot.is_some();
    if snapshot.is_some_and(|state| !state.is_empty()) {
        return Ok(());
    }
    match shared.create_state(input).await? {
        Some(state) => {
            shared.ctx.set_initial_state(state);
            shared.ctx.persist_actor_rows().await
        }
        None if known => Ok(()),
        None => Err(Error::invalid_state(
            "actor wake snapshot",
            "wake path did not include a persisted snapshot",
        )),
    }
}
