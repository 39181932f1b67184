//! Correlation of invocations. Tracing itself is off: spans are null or empty.

use napi::bindgen_prelude::Env;
use napi_derive::napi;

use super::ActorContext;
use crate::bridge::{Promise, Rejection, enter, promise};
use crate::telemetry::{
    JsActorInvocationSpanContext, OutboundCall, WorkflowSpan, WorkflowStepSpan,
};

#[napi(object)]
pub struct JsActorInvocationTraceContext {
    pub ray_id: Option<String>,
    /// Present only while tracing.
    pub span: Option<JsActorInvocationSpanContext>,
}

#[napi]
impl ActorContext {
    /// Identity of the work this handle belongs to; null on lifecycle handles.
    #[napi(catch_unwind)]
    pub fn invocation_trace_context(&self) -> Option<JsActorInvocationTraceContext> {
        let invocation = self.invocation.as_ref()?;
        Some(JsActorInvocationTraceContext {
            ray_id: invocation.ray_id.clone(),
            span: None,
        })
    }

    /// A handle for the same work under the given W3C context.
    #[napi(catch_unwind)]
    pub fn with_application_span(
        &self,
        _traceparent: Option<String>,
        _tracestate: Option<String>,
    ) -> ActorContext {
        ActorContext::new(self.shared.clone(), self.invocation.clone())
    }

    /// The span of a call to another actor; null while tracing is off.
    #[napi(catch_unwind)]
    pub fn start_call_span(
        &self,
        _actor_name: String,
        _action_name: String,
    ) -> Option<OutboundCall> {
        None
    }

    #[napi(catch_unwind)]
    pub fn start_workflow_span(&self, env: Env) -> napi::Result<Promise<WorkflowSpan>> {
        let invocation = Some(self.invocation.clone().unwrap_or_default());
        let span = WorkflowSpan::new(self.shared.clone(), invocation);
        enter(&env, |scope| {
            promise(scope, async { Ok::<_, Rejection>(span) })
        })
    }

    /// Null while tracing is off.
    #[napi(catch_unwind)]
    pub fn start_workflow_step_span(
        &self,
        _step_name: String,
        _attempt: u32,
    ) -> Option<WorkflowStepSpan> {
        None
    }
}
