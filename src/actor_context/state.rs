//! The actor's state and saving it.

use std::time::Duration;

use bytes::Bytes;
use greenroom_core::{RequestSaveOpts, StateDelta, WorkflowKvWrite};
use napi::bindgen_prelude::Env;
use napi_derive::napi;

use super::ActorContext;
use crate::bridge::{Buffer, Promise, enter, promise, promise_here};
use crate::conn_handle::ConnHandle;
use crate::numbers;
use crate::runtime;
use crate::sql::{self, JsActorStateTransaction};

#[napi(object)]
pub struct JsRequestSaveOpts {
    /// Save at once instead of at the throttle.
    pub immediate: Option<bool>,
    /// Save within this time at the latest.
    pub max_wait_ms: Option<f64>,
}

#[napi(object)]
pub struct StateDeltaConnHibernationEntry {
    pub conn_id: String,
    /// CBOR of the connection's state.
    pub bytes: Buffer,
}

#[napi(object)]
pub struct StateDeltaPayload {
    /// CBOR of the whole state; absent if it did not change.
    pub state: Option<Buffer>,
    pub conn_hibernation: Vec<StateDeltaConnHibernationEntry>,
    pub conn_hibernation_removed: Vec<String>,
}

#[napi(object)]
pub struct WorkflowKvWritePayload {
    pub key: Buffer,
    pub value: Buffer,
}

impl From<StateDeltaPayload> for Vec<StateDelta> {
    fn from(payload: StateDeltaPayload) -> Self {
        let state = payload.state.map(|state| StateDelta::ActorState(state.0));
        let conns = payload
            .conn_hibernation
            .into_iter()
            .map(|entry| StateDelta::ConnHibernation {
                conn: entry.conn_id,
                bytes: entry.bytes.0,
            });
        let removed = payload.conn_hibernation_removed.into_iter();
        let removed = removed.map(StateDelta::ConnHibernationRemoved);
        state.into_iter().chain(conns).chain(removed).collect()
    }
}

fn save_opts(opts: Option<JsRequestSaveOpts>) -> RequestSaveOpts {
    opts.map_or_else(RequestSaveOpts::default, |opts| RequestSaveOpts {
        immediate: opts.immediate.unwrap_or(false),
        max_wait: opts
            .max_wait_ms
            .map(|ms| Duration::from_millis(numbers::saturating_u32(ms).into())),
    })
}

#[napi]
impl ActorContext {
    /// CBOR of the state as it was last saved, or first made; empty if the actor
    /// has none.
    #[napi(catch_unwind)]
    pub fn state(&self) -> Buffer {
        self.core().state().into()
    }

    #[napi(catch_unwind)]
    pub fn begin_on_state_change(&self) {
        self.core().begin_on_state_change();
    }

    #[napi(catch_unwind)]
    pub fn end_on_state_change(&self) {
        self.core().end_on_state_change();
    }

    /// Asks for a save; never fails.
    #[napi(catch_unwind)]
    pub fn request_save(&self, opts: Option<JsRequestSaveOpts>) {
        self.core().request_save(save_opts(opts));
    }

    /// Asks for a save and resolves when everything up to this call is on disk.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn request_save_and_wait(
        &self,
        env: Env,
        opts: Option<JsRequestSaveOpts>,
    ) -> napi::Result<Promise<()>> {
        let (ctx, opts) = (self.core().clone(), save_opts(opts));
        enter(&env, |scope| {
            promise_here(scope, async move { ctx.request_save_and_wait(opts).await })
        })
    }

    /// Writes the given changes at once, without asking `serializeState`.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn save_state(&self, env: Env, payload: StateDeltaPayload) -> napi::Result<Promise<()>> {
        let ctx = self.core().clone();
        enter(&env, |scope| {
            promise_here(scope, async move {
                let saved = ctx.save_state(payload.into()).await;
                saved.map_err(|error| ctx.attach_actor(error))
            })
        })
    }

    /// A transaction over the database and the state together. Default time-out
    /// 60 s.
    #[napi(catch_unwind)]
    pub fn begin_state_transaction(
        &self,
        env: Env,
        timeout_ms: Option<f64>,
    ) -> napi::Result<Promise<JsActorStateTransaction>> {
        sql::begin_state_transaction(self, &env, timeout_ms)
    }

    /// Saves the state and the given workflow rows in one transaction.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn save_state_and_workflow_batch(
        &self,
        env: Env,
        writes: Vec<WorkflowKvWritePayload>,
    ) -> napi::Result<Promise<()>> {
        let ctx = self.core().clone();
        let write = |write: WorkflowKvWritePayload| WorkflowKvWrite {
            key: write.key.0,
            value: write.value.0,
        };
        let writes = writes.into_iter().map(write).collect();
        enter(&env, |scope| {
            let saved = async move { ctx.save_state_and_workflow_batch(writes).await };
            promise(scope, runtime::begin(saved))
        })
    }

    /// Marks a connection's rows for deletion with the next save.
    #[napi(catch_unwind)]
    pub fn queue_hibernation_removal(&self, conn_id: String) {
        self.core().queue_hibernation_removal(&conn_id);
    }

    #[napi(catch_unwind)]
    pub fn has_pending_hibernation_changes(&self) -> bool {
        self.core().has_pending_hibernation_changes()
    }

    /// Ids of connections whose rows are due for deletion. Reading does not take
    /// them: they go with the save that contains them.
    #[napi(catch_unwind)]
    pub fn take_pending_hibernation_changes(&self) -> Vec<String> {
        self.core().pending_hibernation_removals()
    }

    /// Hibernatable connections whose rows are due to be written.
    #[napi(catch_unwind)]
    pub fn dirty_hibernatable_conns(&self) -> Vec<ConnHandle> {
        let conns = self.core().dirty_hibernatable_conns().into_iter();
        let handle = |conn| ConnHandle::new(self.shared.clone(), conn);
        conns.map(handle).collect()
    }

    /// The generation's object for the TypeScript layer.
    #[napi(catch_unwind, ts_return_type = "object")]
    pub fn runtime_state(&self, env: Env) -> napi::Result<napi::sys::napi_value> {
        enter(&env, |scope| {
            self.shared
                .runtime_state(scope)
                .map(|value| value.into_raw())
        })
    }

    /// Forgets that object; the next `runtimeState` makes a new one.
    #[napi(catch_unwind)]
    pub fn clear_runtime_state(&self) {
        self.shared.clear_runtime_state();
    }
}

impl From<Buffer> for Bytes {
    fn from(buffer: Buffer) -> Self {
        buffer.0
    }
}
