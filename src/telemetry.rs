//! Spans and the diagnostics sink of telemetry, which is off: everything exists
//! and records nothing.

use std::sync::Arc;

use greenroom_error::Error;
use napi::bindgen_prelude::{Env, Unknown};
use napi_derive::napi;

use crate::actor::ActorShared;
use crate::actor_context::{ActorContext, Invocation};
use crate::bridge::{Promise, Rejection, enter, promise, require_function};

#[napi(object)]
pub struct JsActorInvocationSpanContext {
    pub trace_id: String,
    pub span_id: String,
    pub trace_flags: u32,
    pub tracestate: Option<String>,
}

/// Takes the listener for diagnostics of the exporter. There is no exporter, so
/// the listener is checked and not kept.
#[napi(catch_unwind, ts_args_type = "callback: (...args: any[]) => any")]
pub fn set_telemetry_log_sink(env: Env, callback: Unknown<'_>) -> napi::Result<()> {
    enter(&env, |scope| {
        require_function(
            scope,
            scope.value(napi::JsValue::raw(&callback)),
            "callback",
        )
    })
}

/// Flushes and stops the exporter. Repeating it does nothing.
#[napi(catch_unwind, ts_return_type = "Promise<void>")]
pub fn shutdown_telemetry(env: Env) -> napi::Result<Promise<()>> {
    enter(&env, |scope| {
        promise(scope, async { Ok::<_, Rejection>(()) })
    })
}

/// One open call to another actor.
#[napi]
pub struct OutboundCall {}

#[napi]
impl OutboundCall {
    /// Context to send to the callee; null while tracing is off.
    #[napi(catch_unwind)]
    pub fn span_context(&self) -> Option<JsActorInvocationSpanContext> {
        None
    }

    /// Records the outcome; the first call wins.
    #[napi(catch_unwind)]
    pub fn finish(&self, _error: Option<String>) {}
}

/// One open run of a workflow.
#[napi]
pub struct WorkflowSpan {
    shared: Arc<ActorShared>,
    invocation: Option<Invocation>,
}

impl WorkflowSpan {
    pub(crate) fn new(shared: Arc<ActorShared>, invocation: Option<Invocation>) -> Self {
        Self { shared, invocation }
    }
}

const RUN_OUTCOMES: [&str; 5] = ["completed", "sleeping", "evicted", "failed", "cancelled"];

#[napi]
impl WorkflowSpan {
    /// The handle workflow code runs under.
    #[napi(catch_unwind)]
    pub fn ctx(&self) -> ActorContext {
        ActorContext::new(self.shared.clone(), self.invocation.clone())
    }

    /// Records the outcome; finishing twice is fine.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn finish(&self, env: Env, outcome: String) -> napi::Result<Promise<()>> {
        enter(&env, |scope| {
            promise(scope, async move {
                if RUN_OUTCOMES.contains(&outcome.as_str()) {
                    Ok(())
                } else {
                    let text = format!("unknown workflow run outcome `{outcome}`");
                    Err(Error::internal(text))
                }
            })
        })
    }
}

/// One open attempt at a step of a workflow.
#[napi]
pub struct WorkflowStepSpan {
    shared: Arc<ActorShared>,
    invocation: Option<Invocation>,
}

#[napi]
impl WorkflowStepSpan {
    /// The handle the step's callback runs under.
    #[napi(catch_unwind)]
    pub fn ctx(&self) -> ActorContext {
        ActorContext::new(self.shared.clone(), self.invocation.clone())
    }

    /// Records the outcome of the attempt.
    #[napi(catch_unwind)]
    pub fn finish(&self, _outcome: String, _error: Option<String>) {}
}
