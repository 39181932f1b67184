//! What all JavaScript handles of one actor generation share.
//!
//! Keeps values for JavaScript (the runtime bag, signals) and counts what
//! JavaScript has under way. It runs no callback and decides no lifecycle.

mod js_side;
mod regions;
mod run_control;
mod task_gate;

use std::future::Future;
use std::sync::Arc;

use greenroom_core::ActorWorkKind;
use greenroom_error::{Error, Result};
use greenroom_wire::ActorId;
use napi::bindgen_prelude::{Env, ToNapiValue};
use tokio_util::sync::CancellationToken;

use crate::bridge::{Bridge, Promise, enter, promise};
use crate::callbacks::Callbacks;
use crate::runtime;

use js_side::JsSide;
pub(crate) use regions::Regions;
pub(crate) use run_control::RunControl;
pub(crate) use task_gate::TaskGate;

/// One generation, as the addon sees it.
pub(crate) struct ActorShared {
    id: ActorId,
    pub(crate) ctx: greenroom_core::ActorContext,
    pub(crate) callbacks: Arc<Callbacks>,
    pub(crate) keep_awake: Regions,
    pub(crate) websocket_callbacks: Regions,
    pub(crate) tasks: TaskGate,
    pub(crate) run: RunControl,
    js: JsSide,
    /// Fires when the adapter's event loop has ended.
    ended: CancellationToken,
}

impl ActorShared {
    pub(crate) fn new(ctx: greenroom_core::ActorContext, callbacks: Arc<Callbacks>) -> Arc<Self> {
        Arc::new(Self {
            id: ctx.actor_id(),
            ctx,
            callbacks,
            keep_awake: Regions::new(ActorWorkKind::KeepAwake),
            websocket_callbacks: Regions::new(ActorWorkKind::WebSocketCallback),
            tasks: TaskGate::default(),
            run: RunControl::default(),
            js: JsSide::default(),
            ended: CancellationToken::new(),
        })
    }

    /// Begins a call of user code on the core at once, so that calls keep their
    /// order, and promises its result.
    pub(crate) fn run<T, F>(
        &self,
        env: Env,
        work: impl FnOnce(greenroom_core::ActorContext) -> F,
    ) -> napi::Result<Promise<T>>
    where
        T: ToNapiValue + Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        enter(&env, |scope| {
            promise(scope, runtime::begin(work(self.ctx.clone())))
        })
    }

    pub(crate) fn actor_id(&self) -> &str {
        self.id.as_str()
    }

    pub(crate) fn bridge(&self) -> &Bridge {
        self.callbacks.bridge()
    }

    /// The generation's shutdown began, or its event loop ended.
    pub(crate) fn aborted(&self) -> bool {
        self.ctx.aborted() || self.ended.is_cancelled()
    }

    /// The adapter's event loop is there to take events.
    pub(crate) fn check_live(&self) -> Result<()> {
        if self.ended.is_cancelled() {
            return Err(Error::not_configured("actor event inbox"));
        }
        Ok(())
    }

    /// Resolves when [`ActorShared::aborted`] becomes true.
    pub(crate) async fn until_aborted(&self) {
        let abort = self.ctx.abort_signal();
        tokio::select! {
            () = abort.cancelled() => {}
            () = self.ended.cancelled() => {}
        }
    }

    /// The event loop has ended: signals fire, and JavaScript values that were
    /// kept for the generation are let go.
    pub(crate) fn end(&self) {
        self.ended.cancel();
        self.tasks.close();
        self.keep_awake.clear();
        self.websocket_callbacks.clear();
        self.js.end();
    }
}

impl std::fmt::Debug for ActorShared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.ctx.fmt(f)
    }
}
