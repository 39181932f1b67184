//! What an inspector asks of an actor's handle.

use napi::bindgen_prelude::Env;
use napi_derive::napi;

use super::ActorContext;
use crate::bridge::{Buffer, Promise, enter, promise};
use crate::inspector;

#[napi(object)]
pub struct JsInspectorSnapshot {
    pub state_revision: f64,
    pub connections_revision: f64,
    pub queue_revision: f64,
    pub active_connections: u32,
    pub queue_size: u32,
    pub connected_clients: u32,
}

#[napi]
impl ActorContext {
    /// Revisions grow while an inspector is attached; the rest is as of now.
    #[napi(catch_unwind)]
    pub fn inspector_snapshot(&self) -> JsInspectorSnapshot {
        let ctx = &self.shared.ctx;
        let revisions = ctx.inspector_revisions();
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        JsInspectorSnapshot {
            state_revision: revisions.state as f64,
            connections_revision: revisions.connections as f64,
            queue_revision: revisions.queue as f64,
            active_connections: count(ctx.conn_count()),
            queue_size: u32::try_from(ctx.queue_len()).unwrap_or(u32::MAX),
            connected_clients: count(ctx.attached_inspectors()),
        }
    }

    /// Rejects with `inspector/unauthorized` unless the bearer token may inspect
    /// this actor: its own, or in test environments the one they set.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn verify_inspector_auth(
        &self,
        env: Env,
        bearer_token: Option<String>,
    ) -> napi::Result<Promise<()>> {
        let verified = self
            .shared
            .ctx
            .verify_inspector_token(bearer_token.as_deref());
        enter(&env, |scope| promise(scope, async move { verified }))
    }

    #[napi(catch_unwind)]
    pub fn decode_inspector_request(
        &self,
        bytes: Buffer,
        advertised_version: f64,
    ) -> napi::Result<Buffer> {
        inspector::decode_inspector_request(bytes, advertised_version)
    }

    #[napi(catch_unwind)]
    pub fn encode_inspector_response(
        &self,
        bytes: Buffer,
        target_version: f64,
    ) -> napi::Result<Buffer> {
        inspector::encode_inspector_response(bytes, target_version)
    }
}
