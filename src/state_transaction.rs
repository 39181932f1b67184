//! `JsActorStateTransaction`: SQL and state in one transaction.
//!
//! State transactions are not there yet: `beginStateTransaction` rejects, so no
//! object of this class exists.

use napi::bindgen_prelude::Env;
use napi_derive::napi;

use crate::actor_context::StateDeltaPayload;
use crate::bridge::Promise;
use crate::missing::missing;
use crate::native_database::{JsBindParam, NativeExecuteResult};

const COMPONENT: &str = "state transactions";

/// A transaction over the database and the state together.
#[napi]
pub struct JsActorStateTransaction {}

#[napi]
impl JsActorStateTransaction {
    /// Runs one statement.
    #[napi(catch_unwind)]
    pub fn execute(
        &self,
        env: Env,
        _sql: String,
        _params: Option<Vec<JsBindParam>>,
    ) -> napi::Result<Promise<NativeExecuteResult>> {
        missing(&env, COMPONENT)
    }

    /// Writes the state and makes the transaction durable.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn commit(&self, env: Env, _payload: StateDeltaPayload) -> napi::Result<Promise<()>> {
        missing(&env, COMPONENT)
    }

    /// Undoes the transaction.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn rollback(&self, env: Env) -> napi::Result<Promise<()>> {
        missing(&env, COMPONENT)
    }
}
