//! What a workflow engine in user code answers to an inspector.

use std::sync::Arc;

use bytes::Bytes;
use greenroom_error::Result;

use super::Hook;
use crate::actor::ActorShared;
use crate::bridge::{JsResult, Scope, Value};

fn optional_bytes<'s>(scope: &Scope<'s>, value: Value<'s>, hook: Hook) -> JsResult<Option<Bytes>> {
    if scope.kind(value)?.is_nothing() {
        return Ok(None);
    }
    scope.returned_bytes(value, hook.name()).map(Some)
}

impl ActorShared {
    pub(crate) async fn workflow_history(self: &Arc<Self>) -> Result<Option<Bytes>> {
        let hook = Hook::GetWorkflowHistory;
        self.call_hook(
            hook,
            |scope, shared| scope.object(&[(c"ctx", shared.plain_handle(scope)?)]),
            move |scope, value| optional_bytes(scope, value, hook),
        )
        .await
    }

    /// Without an entry the workflow is replayed from its beginning.
    pub(crate) async fn replay_workflow(
        self: &Arc<Self>,
        entry_id: Option<String>,
    ) -> Result<Option<Bytes>> {
        let hook = Hook::ReplayWorkflow;
        self.call_hook(
            hook,
            move |scope, shared| {
                let ctx = shared.plain_handle(scope)?;
                match &entry_id {
                    Some(id) => scope.object(&[(c"ctx", ctx), (c"entryId", scope.text(id)?)]),
                    None => scope.object(&[(c"ctx", ctx)]),
                }
            },
            move |scope, value| optional_bytes(scope, value, hook),
        )
        .await
    }
}
