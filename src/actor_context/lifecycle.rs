//! Sleep, destroy, alarms and the `run` handler.

use greenroom_error::Error;
use napi::bindgen_prelude::Env;
use napi_derive::napi;

use super::ActorContext;
use crate::bridge::{Promise, Rejection, enter, promise, to_napi};
use crate::numbers;
use crate::runtime;

#[napi(object)]
pub struct JsActorRuntimeSocketEndpointInfo {
    pub path: String,
}

#[napi]
impl ActorContext {
    /// Asks for the actor to be put to sleep.
    #[napi(catch_unwind)]
    pub fn sleep(&self) -> napi::Result<()> {
        self.core().sleep().map_err(|error| to_napi(&error))
    }

    /// Asks for the actor to be destroyed, with everything it has stored.
    #[napi(catch_unwind)]
    pub fn destroy(&self) -> napi::Result<()> {
        self.core().destroy().map_err(|error| to_napi(&error))
    }

    #[napi(catch_unwind)]
    pub fn destroy_requested(&self) -> bool {
        self.core().destroy_requested()
    }

    /// Resolves when this generation's destroy has completed.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn wait_for_destroy_completion(&self, env: Env) -> napi::Result<Promise<()>> {
        let ctx = self.core().clone();
        enter(&env, |scope| {
            promise(scope, async move {
                ctx.wait_for_destroy_completion().await;
                Ok::<_, Rejection>(())
            })
        })
    }

    /// True once shutdown began or the actor's event loop ended.
    #[napi(catch_unwind)]
    pub fn aborted(&self) -> bool {
        self.shared.aborted()
    }

    /// A new `AbortSignal` that fires when `aborted` becomes true.
    #[napi(catch_unwind, ts_return_type = "AbortSignal")]
    pub fn abort_signal(&self, env: Env) -> napi::Result<napi::sys::napi_value> {
        enter(&env, |scope| {
            self.shared
                .abort_signal(scope)
                .map(|signal| signal.into_raw())
        })
    }

    /// Sets or clears the actor's wake-up directly (milliseconds since 1970).
    #[napi(catch_unwind)]
    pub fn set_alarm(&self, timestamp_ms: Option<f64>) {
        let ctx = self.core().clone();
        let at_ms = timestamp_ms.map(numbers::truncated_i64);
        runtime::spawn(async move {
            if let Err(error) = ctx.set_alarm(at_ms).await {
                tracing::warn!(actor_id = %ctx.actor_id(), %error, "the alarm was not set");
            }
        });
    }

    /// Resolves when the generation is over, or what still runs of it has no time
    /// left. Whoever waits for it does not hold it up.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn until_over(&self, env: Env) -> napi::Result<Promise<()>> {
        let over = self.core().shutdown_deadline();
        enter(&env, |scope| {
            promise(scope, async move {
                over.cancelled().await;
                Ok::<_, Error>(())
            })
        })
    }

    /// Stores when `run` must run again even if the actor sleeps.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn set_run_wake_at(
        &self,
        env: Env,
        timestamp_ms: Option<f64>,
    ) -> napi::Result<Promise<()>> {
        let ctx = self.core().clone();
        let at_ms = timestamp_ms.map(|at| numbers::timestamp("timestampMs", at));
        enter(&env, |scope| {
            let set = async move { ctx.set_run_wake_at(at_ms.transpose()?).await };
            promise(scope, runtime::begin(set))
        })
    }

    /// True if the actor has a `run` handler and has come to the point of
    /// running it.
    #[napi(catch_unwind)]
    pub fn run_handler_active(&self) -> bool {
        self.shared.run.is_installed()
    }

    /// Gives the current run of the handler up and starts another.
    #[napi(catch_unwind)]
    pub fn restart_run_handler(&self) -> napi::Result<()> {
        self.shared.run.restart().map_err(|error| to_napi(&error))
    }

    /// Without effect, kept for older callers.
    #[napi(catch_unwind)]
    pub fn set_prevent_sleep(&self, _prevent_sleep: bool) {}

    /// Always false, kept for older callers.
    #[napi(catch_unwind)]
    pub fn prevent_sleep(&self) -> bool {
        false
    }

    #[napi(catch_unwind)]
    pub fn provision_actor_runtime_socket(
        &self,
        env: Env,
    ) -> napi::Result<Promise<JsActorRuntimeSocketEndpointInfo>> {
        let error = Error::new(&greenroom_error::code::RUNTIME_SOCKET_NOT_ENABLED);
        enter(&env, |scope| {
            promise(scope, async {
                Err::<JsActorRuntimeSocketEndpointInfo, _>(error)
            })
        })
    }
}
