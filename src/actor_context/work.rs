//! Work that keeps an actor awake, or that its shutdown waits for.

use greenroom_core::ActorWorkKind;
use napi::bindgen_prelude::{Env, Unknown};
use napi_derive::napi;

use super::ActorContext;
use crate::bridge::{Promise, Rejection, enter, promise};

#[napi]
impl ActorContext {
    /// Begins a stretch during which the actor does not sleep; 0 once it has
    /// ended.
    #[napi(catch_unwind)]
    pub fn begin_keep_awake(&self) -> u32 {
        self.shared.keep_awake.begin(self.core())
    }

    #[napi(catch_unwind)]
    pub fn end_keep_awake(&self, region_id: u32) {
        self.shared.keep_awake.end(region_id);
    }

    /// Keeps the actor awake until the promise settles.
    #[napi(catch_unwind, ts_args_type = "promise: Promise<any>")]
    pub fn keep_awake(&self, env: Env, promise: Unknown<'_>) -> napi::Result<()> {
        self.track(&env, promise, ActorWorkKind::KeepAwake, "keepAwake")
    }

    /// Work that shutdown waits for, but idle sleep does not.
    #[napi(catch_unwind, ts_args_type = "promise: Promise<any>")]
    pub fn wait_until(&self, env: Env, promise: Unknown<'_>) -> napi::Result<()> {
        self.track(&env, promise, ActorWorkKind::WaitUntil, "waitUntil")
    }

    /// Makes the promise part of the actor: its event loop does not end before
    /// it has settled.
    #[napi(catch_unwind, ts_args_type = "promise: Promise<any>")]
    pub fn register_task(&self, env: Env, promise: Unknown<'_>) -> napi::Result<()> {
        enter(&env, |scope| {
            let registered = self.shared.tasks.register()?;
            let region = self.core().begin_work(ActorWorkKind::RegisteredTask);
            let promise = scope.value(napi::JsValue::raw(&promise));
            scope.when_settled(promise, move |outcome| {
                if let Err(error) = outcome {
                    tracing::warn!(%error, "a registered task failed");
                }
                drop((region, registered));
            })
        })
    }

    /// Begins the run of an async WebSocket listener; 0 once the actor has ended.
    #[napi(catch_unwind)]
    pub fn begin_websocket_callback(&self) -> u32 {
        self.shared.websocket_callbacks.begin(self.core())
    }

    #[napi(catch_unwind)]
    pub fn end_websocket_callback(&self, region_id: u32) {
        self.shared.websocket_callbacks.end(region_id);
    }

    /// Waits for work that shutdown drains; false if the deadline comes first.
    #[napi(catch_unwind)]
    pub fn wait_for_tracked_shutdown_work(&self, env: Env) -> napi::Result<Promise<bool>> {
        let ctx = self.core().clone();
        enter(&env, |scope| {
            promise(scope, async move {
                Ok::<_, Rejection>(ctx.wait_for_tracked_shutdown_work().await)
            })
        })
    }

    /// The same without a deadline.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn wait_for_tracked_shutdown_work_unbounded(&self, env: Env) -> napi::Result<Promise<()>> {
        let ctx = self.core().clone();
        enter(&env, |scope| {
            promise(scope, async move {
                ctx.wait_for_tracked_shutdown_work_unbounded().await;
                Ok::<_, Rejection>(())
            })
        })
    }
}

impl ActorContext {
    fn track(
        &self,
        env: &Env,
        promise: Unknown<'_>,
        kind: ActorWorkKind,
        name: &'static str,
    ) -> napi::Result<()> {
        enter(env, |scope| {
            let region = self.core().begin_work(kind);
            let promise = scope.value(napi::JsValue::raw(&promise));
            scope.when_settled(promise, move |outcome| {
                if let Err(error) = outcome {
                    tracing::warn!(%error, name, "work of an actor failed");
                }
                drop(region);
            })
        })
    }
}
