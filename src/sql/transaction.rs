//! `JsSqliteTransaction`: a transaction that has the database for itself.

use greenroom_core::{ActorTransaction, SqlCallOptions};
use greenroom_store::SqlRuns;
use napi::bindgen_prelude::Env;
use napi_derive::napi;

use super::call_options;
use super::cursor::{FIRST_PAGE_ROWS, JsSqlCursor};
use super::database::converted;
use super::input::{self, JsBindParam, JsSqlRuns, SqlParams, SqlStatements};
use super::output::{JsQueryResult, JsSqlValues, NativeExecuteResult};
use crate::bridge::{Promise, enter, promise, promise_by};
use crate::cancellation_token::CancellationToken;

/// A transaction that has the database for itself. Rolled back when it is
/// collected without an end.
#[napi]
pub struct JsSqliteTransaction(ActorTransaction);

impl JsSqliteTransaction {
    pub(super) fn new(tx: ActorTransaction) -> Self {
        Self(tx)
    }
}

#[napi]
impl JsSqliteTransaction {
    /// Runs one statement.
    #[napi(catch_unwind)]
    pub fn execute(
        &self,
        env: Env,
        sql: String,
        params: Option<Vec<JsBindParam>>,
    ) -> napi::Result<Promise<NativeExecuteResult>> {
        let tx = self.0.clone();
        enter(&env, |scope| {
            promise_by(scope, |settler| match input::statement(sql, params) {
                Ok(statement) => tx.execute_then(statement, SqlCallOptions::default(), |result| {
                    settler.settle(result.map(NativeExecuteResult::from));
                }),
                Err(error) => settler.settle(Err(error)),
            })
        })
    }

    /// Runs any number of statements; the rows are those of the last query.
    #[napi(catch_unwind)]
    pub fn exec(&self, env: Env, sql: String) -> napi::Result<Promise<JsQueryResult>> {
        let tx = self.0.clone();
        enter(&env, |scope| {
            promise(scope, async move {
                let result = tx.exec(sql, SqlCallOptions::default()).await;
                result.map(JsQueryResult::from)
            })
        })
    }

    /// Makes the transaction durable.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn commit(&self, env: Env) -> napi::Result<Promise<()>> {
        let tx = self.0.clone();
        enter(&env, |scope| {
            promise(scope, async move { tx.commit().await })
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

    /// Runs one statement in exact values.
    #[napi(catch_unwind)]
    pub fn execute_values(
        &self,
        env: Env,
        sql: String,
        #[napi(ts_arg_type = "Array<unknown> | undefined | null")] params: Option<SqlParams>,
        timeout_ms: Option<f64>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<JsSqlValues>> {
        let tx = self.0.clone();
        enter(&env, |scope| {
            let options = call_options(timeout_ms, signal)?;
            let statement = SqlParams::of(sql, params);
            promise_by(scope, |settler| {
                tx.execute_then(statement, options, |result| {
                    settler.settle(result.map(JsSqlValues::from));
                });
            })
        })
    }

    /// Runs a script in exact values.
    #[napi(catch_unwind)]
    pub fn script_values(
        &self,
        env: Env,
        sql: String,
        timeout_ms: Option<f64>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<JsSqlValues>> {
        let tx = self.0.clone();
        enter(&env, |scope| {
            let options = call_options(timeout_ms, signal)?;
            promise(scope, async move {
                let result = tx.exec(sql, options).await;
                result.map(JsSqlValues::from)
            })
        })
    }

    /// Runs `[sql, params, sql, params, …]`, all of them or none.
    #[napi(catch_unwind)]
    pub fn batch_values(
        &self,
        env: Env,
        #[napi(ts_arg_type = "Array<unknown>")] statements: SqlStatements,
        timeout_ms: Option<f64>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<Vec<JsSqlValues>>> {
        let tx = self.0.clone();
        enter(&env, |scope| {
            let options = call_options(timeout_ms, signal)?;
            promise(scope, async move {
                converted(tx.execute_batch(statements.0, options).await)
            })
        })
    }

    /// Runs one statement many times, all of them or none.
    #[napi(catch_unwind)]
    pub fn repeat_values(
        &self,
        env: Env,
        runs: JsSqlRuns,
        timeout_ms: Option<f64>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<JsSqlValues>> {
        let tx = self.0.clone();
        enter(&env, |scope| {
            let options = call_options(timeout_ms, signal)?;
            let runs = SqlRuns::try_from(runs)?;
            promise(scope, async move {
                let result = tx.execute_runs(runs, options).await;
                result.map(JsSqlValues::from)
            })
        })
    }

    /// Opens the result of a query; it outlives the transaction.
    #[napi(catch_unwind)]
    pub fn open_cursor(
        &self,
        env: Env,
        sql: String,
        #[napi(ts_arg_type = "Array<unknown> | undefined | null")] params: Option<SqlParams>,
        timeout_ms: Option<f64>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<JsSqlCursor>> {
        let tx = self.0.clone();
        enter(&env, |scope| {
            let options = call_options(timeout_ms, signal)?;
            let statement = SqlParams::of(sql, params);
            promise(scope, async move {
                let opened = tx.open_cursor(statement, options, FIRST_PAGE_ROWS).await;
                opened.map(JsSqlCursor::new)
            })
        })
    }
}
