//! Start and end of a generation, and the `run` handler.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use greenroom_core::ShutdownKind;
use greenroom_error::Result;

use super::{Hook, ignore};
use crate::actor::ActorShared;
use crate::bridge::{JsResult, Kind, Scope, Value};

fn plain<'s>(scope: &Scope<'s>, shared: &Arc<ActorShared>) -> JsResult<Value<'s>> {
    scope.object(&[(c"ctx", shared.plain_handle(scope)?)])
}

fn with_input<'s>(
    scope: &Scope<'s>,
    shared: &Arc<ActorShared>,
    input: Option<&[u8]>,
) -> JsResult<Value<'s>> {
    let ctx = shared.plain_handle(scope)?;
    let input = match input {
        Some(input) => scope.buffer(input)?,
        None => scope.null()?,
    };
    scope.object(&[(c"ctx", ctx), (c"input", input)])
}

impl ActorShared {
    /// Calls a hook of the start sequence, bounded; an absent one is a success.
    async fn start_hook<P>(self: &Arc<Self>, hook: Hook, span: Duration, payload: P) -> Result<()>
    where
        P: for<'s> FnOnce(&Scope<'s>, &Arc<ActorShared>) -> JsResult<Value<'s>> + Send + 'static,
    {
        if !self.callbacks.has(hook) {
            return Ok(());
        }
        let called = self.call_hook(hook, payload, ignore);
        self.ctx.bounded(span, hook.name(), called).await
    }

    pub(crate) async fn on_migrate(self: &Arc<Self>, is_new: bool) -> Result<()> {
        let span = self.ctx.config().on_migrate_timeout;
        self.start_hook(Hook::OnMigrate, span, move |scope, shared| {
            let ctx = shared.plain_handle(scope)?;
            scope.object(&[(c"ctx", ctx), (c"isNew", scope.boolean(is_new)?)])
        })
        .await
    }

    /// CBOR of the initial state; `None` if the actor has none.
    pub(crate) async fn create_state(
        self: &Arc<Self>,
        input: Option<Bytes>,
    ) -> Result<Option<Bytes>> {
        let hook = Hook::CreateState;
        if !self.callbacks.has(hook) {
            return Ok(None);
        }
        let called = self.call_hook(
            hook,
            move |scope, shared| with_input(scope, shared, input.as_deref()),
            move |scope, value| scope.returned_bytes(value, hook.name()),
        );
        let span = self.ctx.config().create_state_timeout;
        self.ctx.bounded(span, hook.name(), called).await.map(Some)
    }

    pub(crate) async fn on_create(self: &Arc<Self>, input: Option<Bytes>) -> Result<()> {
        let span = self.ctx.config().on_create_timeout;
        self.start_hook(Hook::OnCreate, span, move |scope, shared| {
            with_input(scope, shared, input.as_deref())
        })
        .await
    }

    pub(crate) async fn create_vars(self: &Arc<Self>) -> Result<()> {
        let span = self.ctx.config().create_vars_timeout;
        self.start_hook(Hook::CreateVars, span, plain).await
    }

    pub(crate) async fn on_wake(self: &Arc<Self>) -> Result<()> {
        let span = self.ctx.config().on_wake_timeout;
        self.start_hook(Hook::OnWake, span, plain).await
    }

    pub(crate) async fn on_before_actor_start(self: &Arc<Self>) -> Result<()> {
        let span = self.ctx.config().on_before_actor_start_timeout;
        self.start_hook(Hook::OnBeforeActorStart, span, plain).await
    }

    /// True if the handler ran; false if it declined to start.
    pub(crate) async fn run_handler(self: &Arc<Self>) -> Result<bool> {
        self.call_hook(Hook::Run, plain, |scope, value| {
            // Only an explicit `false` declines.
            Ok(scope.kind(value)? != Kind::Boolean || scope.bool(value)?)
        })
        .await
    }

    /// `onSleep` or `onDestroy`; unbounded, the caller knows the deadline.
    pub(crate) async fn on_shutdown(self: &Arc<Self>, kind: ShutdownKind) -> Result<()> {
        let hook = match kind {
            ShutdownKind::Sleep => Hook::OnSleep,
            ShutdownKind::Destroy => Hook::OnDestroy,
        };
        if !self.callbacks.has(hook) {
            return Ok(());
        }
        self.call_hook(hook, plain, ignore).await
    }
}
