//! `JsNativeDatabase`: the database of one actor.

use std::sync::Arc;

use greenroom_core::ActorSql;
use greenroom_store::{DatabaseFigures, ExecuteResult, SqlRuns};
use napi::bindgen_prelude::{Env, ToNapiValue};
use napi_derive::napi;

use super::batch::{JsSqlBatch, JsSqlBatchResults};
use super::calls::{Bounds, call, start, try_call};
use super::cursor::{FIRST_PAGE_ROWS, JsSqlCursor};
use super::input::{self, JsBindParam, JsSqlRuns, JsSqliteBatchStatement, SqlParams, SqlText};
use super::output::{JsQueryResult, JsRunResult, JsSqlValues, NativeExecuteResult};
use super::timeout;
use super::transaction::JsSqliteTransaction;
use crate::actor::ActorShared;
use crate::bridge::{Promise, enter, promise};
use crate::cancellation_token::CancellationToken;

/// Figures of a database. Its pages go to a file and not through requests, so what
/// the published addon tells of those is 0 here.
#[napi(object)]
#[derive(Default)]
pub struct JsSqliteVfsMetrics {
    pub request_build_ns: f64,
    pub serialize_ns: f64,
    pub transport_ns: f64,
    pub state_update_ns: f64,
    pub total_ns: f64,
    /// Commits that wrote, the runtime's and the user's, since this process first
    /// used the database.
    pub commit_count: f64,
    /// Pages in the cache.
    pub page_cache_entries: f64,
    /// Bytes of the cache.
    pub page_cache_weighted_size: f64,
    pub page_cache_capacity_pages: f64,
    /// Nothing is held back between two statements: 0.
    pub write_buffer_dirty_pages: f64,
    pub db_size_pages: f64,
}

impl From<DatabaseFigures> for JsSqliteVfsMetrics {
    fn from(figures: DatabaseFigures) -> Self {
        Self {
            commit_count: figures.commits as f64,
            page_cache_entries: figures.cached_pages as f64,
            page_cache_weighted_size: figures.cached_bytes as f64,
            page_cache_capacity_pages: figures.cache_capacity_pages as f64,
            db_size_pages: figures.pages as f64,
            ..Self::default()
        }
    }
}

/// The database of one actor.
#[napi]
pub struct JsNativeDatabase(Arc<ActorShared>);

impl JsNativeDatabase {
    pub(crate) fn new(shared: Arc<ActorShared>) -> Self {
        Self(shared)
    }

    fn sql(&self) -> ActorSql {
        self.0.ctx.user_sql()
    }

    /// Runs one statement of the published dialect and converts its result.
    fn one<T>(
        &self,
        env: &Env,
        sql: String,
        params: Option<Vec<JsBindParam>>,
    ) -> napi::Result<Promise<T>>
    where
        T: From<ExecuteResult> + ToNapiValue + Send + 'static,
    {
        let database = self.sql();
        let statement = input::statement(sql, params);
        start(
            env,
            Bounds::default(),
            statement,
            |statement, options, settler| {
                database.execute_then(statement, options, |result| {
                    settler.settle(result.map(T::from))
                });
            },
        )
    }
}

#[napi]
impl JsNativeDatabase {
    /// Runs one statement for its effect.
    #[napi(catch_unwind)]
    pub fn run(
        &self,
        env: Env,
        sql: String,
        params: Option<Vec<JsBindParam>>,
    ) -> napi::Result<Promise<JsRunResult>> {
        self.one(&env, sql, params)
    }

    /// Runs one statement for its rows.
    #[napi(catch_unwind)]
    pub fn query(
        &self,
        env: Env,
        sql: String,
        params: Option<Vec<JsBindParam>>,
    ) -> napi::Result<Promise<JsQueryResult>> {
        self.one(&env, sql, params)
    }

    /// Runs one statement.
    #[napi(catch_unwind)]
    pub fn execute(
        &self,
        env: Env,
        sql: String,
        params: Option<Vec<JsBindParam>>,
    ) -> napi::Result<Promise<NativeExecuteResult>> {
        self.one(&env, sql, params)
    }

    /// Runs statements in one transaction.
    #[napi(catch_unwind)]
    pub fn execute_batch(
        &self,
        env: Env,
        statements: Vec<JsSqliteBatchStatement>,
    ) -> napi::Result<Promise<Vec<NativeExecuteResult>>> {
        let database = self.sql();
        call(&env, Bounds::default(), |options| async move {
            let statements = input::batch(statements)?;
            let results = database.execute_batch(statements, options).await?;
            Ok(results
                .into_iter()
                .map(NativeExecuteResult::from)
                .collect::<Vec<_>>())
        })
    }

    /// Runs any number of statements; the rows are those of the last query.
    #[napi(catch_unwind)]
    pub fn exec(&self, env: Env, sql: String) -> napi::Result<Promise<JsQueryResult>> {
        let database = self.sql();
        call(&env, Bounds::default(), |options| async move {
            database.exec(sql, options).await
        })
    }

    /// Takes the database for one transaction. Default time-out 60 s.
    #[napi(catch_unwind)]
    pub fn begin_transaction(
        &self,
        env: Env,
        timeout_ms: Option<f64>,
        name: Option<String>,
    ) -> napi::Result<Promise<JsSqliteTransaction>> {
        let database = self.sql();
        enter(&env, |scope| {
            promise(scope, async move {
                let begun = database.begin_transaction(timeout(timeout_ms)?, name).await;
                begun.map(JsSqliteTransaction::new)
            })
        })
    }

    /// Runs one statement in exact values. `signal` or the time-out stop it; the
    /// default time-out is the actor's.
    #[napi(catch_unwind)]
    pub fn execute_values(
        &self,
        env: Env,
        #[napi(ts_arg_type = "string")] sql: SqlText,
        #[napi(ts_arg_type = "Array<unknown> | undefined | null")] params: Option<SqlParams>,
        timeout_ms: Option<f64>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<JsSqlValues>> {
        let database = self.sql();
        start(
            &env,
            Bounds(timeout_ms, signal),
            Ok(SqlParams::of(sql, params)),
            |statement, options, settler| {
                database.execute_then(statement, options, |result| {
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
        let database = self.sql();
        call(&env, Bounds(timeout_ms, signal), |options| async move {
            database.exec(sql, options).await
        })
    }

    /// Runs statements in one transaction.
    #[napi(catch_unwind)]
    pub fn batch_values(
        &self,
        env: Env,
        batch: JsSqlBatch,
        timeout_ms: Option<f64>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<JsSqlBatchResults>> {
        let database = self.sql();
        start(
            &env,
            Bounds(timeout_ms, signal),
            batch.into_statements(),
            |statements, options, settler| {
                database.execute_batch_then(statements, options, |results| {
                    settler.settle(results.map(From::from))
                });
            },
        )
    }

    /// Runs one statement many times in one transaction.
    #[napi(catch_unwind)]
    pub fn repeat_values(
        &self,
        env: Env,
        runs: JsSqlRuns,
        timeout_ms: Option<f64>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<JsSqlValues>> {
        let database = self.sql();
        try_call(&env, Bounds(timeout_ms, signal), |options| {
            let runs = SqlRuns::try_from(runs)?;
            Ok(async move { database.execute_runs(runs, options).await })
        })
    }

    /// Opens the result of a query, to be read page by page.
    #[napi(catch_unwind)]
    pub fn open_cursor(
        &self,
        env: Env,
        #[napi(ts_arg_type = "string")] sql: SqlText,
        #[napi(ts_arg_type = "Array<unknown> | undefined | null")] params: Option<SqlParams>,
        timeout_ms: Option<f64>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<JsSqlCursor>> {
        let database = self.sql();
        let statement = SqlParams::of(sql, params);
        call(&env, Bounds(timeout_ms, signal), |options| async move {
            database
                .open_cursor(statement, options, FIRST_PAGE_ROWS)
                .await
        })
    }

    /// Figures as of the last write, null before the database is open.
    #[napi(catch_unwind)]
    pub fn metrics(&self) -> Option<JsSqliteVfsMetrics> {
        self.sql().figures().map(From::from)
    }

    /// Text of the last storage error, taken by reading.
    #[napi(catch_unwind)]
    pub fn take_last_kv_error(&self) -> Option<String> {
        self.sql().take_last_storage_error()
    }

    /// Lets go of what user code has open: a transaction is rolled back. The
    /// runtime's own tables go on.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn close(&self, env: Env) -> napi::Result<Promise<()>> {
        let database = self.sql();
        enter(&env, |scope| {
            promise(scope, async move { database.let_go().await })
        })
    }
}
