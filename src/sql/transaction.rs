//! `JsSqliteTransaction`: a transaction that has the database for itself.

use greenroom_core::ActorTransaction;
use greenroom_store::SqlRuns;
use napi::bindgen_prelude::Env;
use napi_derive::napi;

use super::batch::{JsSqlBatch, JsSqlBatchResults};
use super::calls::{Bounds, call, start, try_call};
use super::cursor::{FIRST_PAGE_ROWS, JsSqlCursor};
use super::input::{self, JsBindParam, JsSqlRuns, SqlParams, SqlText};
use super::output::{JsQueryResult, JsSqlValues, NativeExecuteResult};
use crate::bridge::{Promise, enter, promise};
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
        start(
            &env,
            Bounds::default(),
            input::statement(sql, params),
            |statement, options, settler| {
                tx.execute_then(statement, options, |result| {
                    settler.settle(result.map(From::from))
                });
            },
        )
    }

    /// Runs any number of statements; the rows are those of the last query.
    #[napi(catch_unwind)]
    pub fn exec(&self, env: Env, sql: String) -> napi::Result<Promise<JsQueryResult>> {
        let tx = self.0.clone();
        call(&env, Bounds::default(), |options| async move {
            tx.exec(sql, options).await
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
        #[napi(ts_arg_type = "string")] sql: SqlText,
        #[napi(ts_arg_type = "Array<unknown> | undefined | null")] params: Option<SqlParams>,
        timeout_ms: Option<f64>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<JsSqlValues>> {
        let tx = self.0.clone();
        start(
            &env,
            Bounds(timeout_ms, signal),
            Ok(SqlParams::of(sql, params)),
            |statement, options, settler| {
                tx.execute_then(statement, options, |result| {
                    settler.settle(result.map(From::from))
                });
            },
        )
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
        call(&env, Bounds(timeout_ms, signal), |options| async move {
            tx.exec(sql, options).await
        })
    }

    /// Runs statements, all of them or none.
    #[napi(catch_unwind)]
    pub fn batch_values(
        &self,
        env: Env,
        batch: JsSqlBatch,
        timeout_ms: Option<f64>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<JsSqlBatchResults>> {
        let tx = self.0.clone();
        start(
            &env,
            Bounds(timeout_ms, signal),
            batch.into_statements(),
            |statements, options, settler| {
                tx.execute_batch_then(statements, options, |results| {
                    settler.settle(results.map(From::from))
                });
            },
        )
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
        try_call(&env, Bounds(timeout_ms, signal), |options| {
            let runs = SqlRuns::try_from(runs)?;
            Ok(async move { tx.execute_runs(runs, options).await })
        })
    }

    /// Opens the result of a query; it outlives the transaction.
    #[napi(catch_unwind)]
    pub fn open_cursor(
        &self,
        env: Env,
        #[napi(ts_arg_type = "string")] sql: SqlText,
        #[napi(ts_arg_type = "Array<unknown> | undefined | null")] params: Option<SqlParams>,
        timeout_ms: Option<f64>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<JsSqlCursor>> {
        let tx = self.0.clone();
        let statement = SqlParams::of(sql, params);
        call(&env, Bounds(timeout_ms, signal), |options| async move {
            tx.open_cursor(statement, options, FIRST_PAGE_ROWS).await
        })
    }
}
