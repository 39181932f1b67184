//! `JsActorStateTransaction`: SQL and state in one transaction.

use greenroom_core::StateTransaction;
use napi::bindgen_prelude::Env;
use napi_derive::napi;

use super::calls::{Bounds, call};
use super::input::{self, JsBindParam, SqlParams, SqlText};
use super::output::{JsSqlValues, NativeExecuteResult};
use super::timeout;
use crate::actor_context::{ActorContext, StateDeltaPayload};
use crate::bridge::{Promise, enter, promise};
use crate::cancellation_token::CancellationToken;

/// A transaction over the database and the state together. Rolled back when it
/// is collected without an end.
#[napi]
pub struct JsActorStateTransaction(StateTransaction);

/// Begins one for `beginStateTransaction`.
pub(crate) fn begin(
    ctx: &ActorContext,
    env: &Env,
    timeout_ms: Option<f64>,
) -> napi::Result<Promise<JsActorStateTransaction>> {
    let ctx = ctx.core().clone();
    enter(env, |scope| {
        promise(scope, async move {
            let begun = ctx.begin_state_transaction(timeout(timeout_ms)?).await;
            begun.map(JsActorStateTransaction)
        })
    })
}

#[napi]
impl JsActorStateTransaction {
    /// Runs one statement.
    #[napi(catch_unwind)]
    pub fn execute(
        &self,
        env: Env,
        sql: String,
        params: Option<Vec<JsBindParam>>,
    ) -> napi::Result<Promise<NativeExecuteResult>> {
        let tx = self.0.clone();
        call(&env, Bounds::default(), |options| async move {
            let statement = input::statement(sql, params)?;
            tx.execute(statement, options).await
        })
    }

    /// Runs one statement in exact values.
    #[napi(catch_unwind)]
    pub fn execute_values(
        &self,
        env: Env,
        #[napi(ts_arg_type = "string")] sql: SqlText,
        #[napi(ts_arg_type = "Array<unknown> | undefined | null")] params: Option<SqlParams>,
        timeout_ms: Option<f64>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<JsSqlValues>> {
        let tx = self.0.clone();
        let statement = SqlParams::of(sql, params);
        call(&env, Bounds(timeout_ms, signal), |options| async move {
            tx.execute(statement, options).await
        })
    }

    /// Writes the state and makes the transaction durable.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn commit(&self, env: Env, payload: StateDeltaPayload) -> napi::Result<Promise<()>> {
        let tx = self.0.clone();
        enter(&env, |scope| {
            promise(scope, async move { tx.commit(payload.into()).await })
        })
    }

    /// Undoes the transaction.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn rollback(&self, env: Env) -> napi::Result<Promise<()>> {
        let tx = self.0.clone();
        enter(&env, |scope| {
            promise(scope, async move { tx.rollback().await })
        })
    }
}
