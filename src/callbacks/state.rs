//! `serializeState`: the live state as bytes.

use std::sync::Arc;

use greenroom_core::{SerializeStateReason, StateDelta};
use greenroom_error::Result;

use super::Hook;
use crate::actor::ActorShared;
use crate::actor_context::StateDeltaPayload;

impl ActorShared {
    pub(crate) async fn serialize_state(
        self: &Arc<Self>,
        reason: SerializeStateReason,
    ) -> Result<Vec<StateDelta>> {
        self.call_hook(
            Hook::SerializeState,
            move |scope, shared| {
                let ctx = shared.plain_handle(scope)?;
                scope.object(&[(c"ctx", ctx), (c"reason", scope.text(reason.label())?)])
            },
            |scope, value| scope.read::<StateDeltaPayload>(value).map(Into::into),
        )
        .await
    }
}
