//! `JsNativeDatabase` and `JsSqliteTransaction`: SQL of user code.
//!
//! User SQL is not there yet: every call answers `actor/not_configured`.

use std::sync::Arc;

use napi::bindgen_prelude::Env;
use napi_derive::napi;

use crate::actor::ActorShared;
use crate::bridge::{Buffer, Json, Promise, Rejection, enter, promise};
use crate::missing::missing;

const COMPONENT: &str = "sql";

/// One bound value; `kind` says which property holds it.
#[napi(object)]
pub struct JsBindParam {
    /// `null`, `int`, `float`, `text` or `blob`.
    pub kind: String,
    pub int_value: Option<f64>,
    pub float_value: Option<f64>,
    pub text_value: Option<String>,
    pub blob_value: Option<Buffer>,
}

#[napi(object)]
pub struct ExecuteResult {
    pub changes: f64,
}

#[napi(object)]
pub struct QueryResult {
    pub columns: Vec<String>,
    #[napi(ts_type = "Array<Array<any>>")]
    pub rows: Json,
}

#[napi(object)]
pub struct NativeExecuteResult {
    pub columns: Vec<String>,
    #[napi(ts_type = "Array<Array<any>>")]
    pub rows: Json,
    pub changes: f64,
    pub last_insert_row_id: Option<f64>,
}

#[napi(object)]
pub struct JsSqliteBatchStatement {
    pub sql: String,
    pub params: Option<Vec<JsBindParam>>,
}

/// Figures of an open database.
#[napi(object)]
pub struct JsSqliteVfsMetrics {
    pub request_build_ns: f64,
    pub serialize_ns: f64,
    pub transport_ns: f64,
    pub state_update_ns: f64,
    pub total_ns: f64,
    pub commit_count: f64,
    pub page_cache_entries: f64,
    pub page_cache_weighted_size: f64,
    pub page_cache_capacity_pages: f64,
    pub write_buffer_dirty_pages: f64,
    pub db_size_pages: f64,
}

/// The database of one actor.
#[napi]
pub struct JsNativeDatabase(
    #[expect(dead_code, reason = "for the calls to come")] Arc<ActorShared>,
);

impl JsNativeDatabase {
    pub(crate) fn new(shared: Arc<ActorShared>) -> Self {
        Self(shared)
    }
}

#[napi]
impl JsNativeDatabase {
    /// Runs a statement for its effect.
    #[napi(catch_unwind)]
    pub fn run(
        &self,
        env: Env,
        _sql: String,
        _params: Option<Vec<JsBindParam>>,
    ) -> napi::Result<Promise<ExecuteResult>> {
        missing(&env, COMPONENT)
    }

    /// Runs a statement for its rows.
    #[napi(catch_unwind)]
    pub fn query(
        &self,
        env: Env,
        _sql: String,
        _params: Option<Vec<JsBindParam>>,
    ) -> napi::Result<Promise<QueryResult>> {
        missing(&env, COMPONENT)
    }

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

    /// Runs statements in one transaction.
    #[napi(catch_unwind)]
    pub fn execute_batch(
        &self,
        env: Env,
        _statements: Vec<JsSqliteBatchStatement>,
    ) -> napi::Result<Promise<Vec<NativeExecuteResult>>> {
        missing(&env, COMPONENT)
    }

    /// Runs any number of statements; the rows are those of the last.
    #[napi(catch_unwind)]
    pub fn exec(&self, env: Env, _sql: String) -> napi::Result<Promise<QueryResult>> {
        missing(&env, COMPONENT)
    }

    /// Takes the database for one transaction.
    #[napi(catch_unwind)]
    pub fn begin_transaction(
        &self,
        env: Env,
        _timeout_ms: Option<f64>,
        _name: Option<String>,
    ) -> napi::Result<Promise<JsSqliteTransaction>> {
        missing(&env, COMPONENT)
    }

    /// Null until the database was opened by user code.
    #[napi(catch_unwind)]
    pub fn metrics(&self) -> Option<JsSqliteVfsMetrics> {
        None
    }

    /// Text of the last storage error, taken by reading.
    #[napi(catch_unwind)]
    pub fn take_last_kv_error(&self) -> Option<String> {
        None
    }

    /// Lets go of what user code has open; the runtime's own tables go on.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn close(&self, env: Env) -> napi::Result<Promise<()>> {
        enter(&env, |scope| {
            promise(scope, async { Ok::<_, Rejection>(()) })
        })
    }
}

/// A transaction that has the database for itself.
#[napi]
pub struct JsSqliteTransaction {}

#[napi]
impl JsSqliteTransaction {
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

    /// Runs any number of statements.
    #[napi(catch_unwind)]
    pub fn exec(&self, env: Env, _sql: String) -> napi::Result<Promise<QueryResult>> {
        missing(&env, COMPONENT)
    }

    /// Makes the transaction durable.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn commit(&self, env: Env) -> napi::Result<Promise<()>> {
        missing(&env, COMPONENT)
    }

    /// Undoes the transaction.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn rollback(&self, env: Env) -> napi::Result<Promise<()>> {
        missing(&env, COMPONENT)
    }
}
