//! `Schedule`: calls of actions at a later time.
//!
//! Schedules are not there yet: every call answers `actor/not_configured`.

#![allow(clippy::too_many_arguments, reason = "published signatures")]

use std::sync::Arc;

use napi::bindgen_prelude::Env;
use napi_derive::napi;

use crate::actor::ActorShared;
use crate::bridge::{Buffer, Json, Promise};
use crate::missing::missing;

const COMPONENT: &str = "schedule";

/// A pending one-shot call.
#[napi(object)]
pub struct JsScheduledEventInfo {
    pub id: String,
    pub action: String,
    pub args: Buffer,
    pub run_at: f64,
}

/// A recurring job.
#[napi(object)]
pub struct JsCronJobInfo {
    pub name: String,
    /// `cron` or `every`.
    pub kind: String,
    pub action: String,
    pub args: Buffer,
    pub next_run_at: f64,
    pub last_run_at: Option<f64>,
    pub expression: Option<String>,
    pub timezone: Option<String>,
    pub interval_ms: Option<f64>,
    pub max_history: u32,
}

/// Why a fire failed, as clients may see it.
#[napi(object)]
pub struct JsScheduleErrorInfo {
    pub group: String,
    pub code: String,
    pub message: String,
    #[napi(ts_type = "any")]
    pub metadata: Option<Json>,
}

/// One fire of a recurring job.
#[napi(object)]
pub struct JsCronFire {
    pub action: String,
    pub scheduled_at: f64,
    pub fired_at: f64,
    pub finished_at: Option<f64>,
    /// `running`, `ok`, `error` or `skipped`.
    pub result: String,
    pub error: Option<JsScheduleErrorInfo>,
}

/// Timed calls of one actor. Times are milliseconds since 1970; `args` is a CBOR array.
#[napi]
pub struct Schedule(#[expect(dead_code, reason = "for the calls to come")] Arc<ActorShared>);

impl Schedule {
    pub(crate) fn new(shared: Arc<ActorShared>) -> Self {
        Self(shared)
    }
}

#[napi]
impl Schedule {
    /// Calls an action once, `durationMs` from now; resolves to the id.
    #[napi(catch_unwind)]
    pub fn after(
        &self,
        env: Env,
        _duration_ms: f64,
        _action_name: String,
        _args: Buffer,
    ) -> napi::Result<Promise<String>> {
        missing(&env, COMPONENT)
    }

    /// Calls an action once at a time; a past one means at once.
    #[napi(catch_unwind)]
    pub fn at(
        &self,
        env: Env,
        _timestamp_ms: f64,
        _action_name: String,
        _args: Buffer,
    ) -> napi::Result<Promise<String>> {
        missing(&env, COMPONENT)
    }

    /// False if there is no such one-shot call.
    #[napi(catch_unwind)]
    pub fn cancel(&self, env: Env, _id: String) -> napi::Result<Promise<bool>> {
        missing(&env, COMPONENT)
    }

    /// A one-shot call, or null.
    #[napi(catch_unwind, ts_return_type = "Promise<JsScheduledEventInfo | null>")]
    pub fn get(
        &self,
        env: Env,
        _id: String,
    ) -> napi::Result<Promise<Option<JsScheduledEventInfo>>> {
        missing(&env, COMPONENT)
    }

    /// One-shot calls, by time.
    #[napi(catch_unwind)]
    pub fn list(&self, env: Env) -> napi::Result<Promise<Vec<JsScheduledEventInfo>>> {
        missing(&env, COMPONENT)
    }

    /// Sets a job that recurs by a cron expression of five fields.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn cron_set(
        &self,
        env: Env,
        _name: String,
        _expression: String,
        _timezone: Option<String>,
        _action_name: String,
        _args: Buffer,
        _max_history: Option<f64>,
    ) -> napi::Result<Promise<()>> {
        missing(&env, COMPONENT)
    }

    /// Sets a job that recurs at an interval.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn cron_every(
        &self,
        env: Env,
        _name: String,
        _interval_ms: f64,
        _action_name: String,
        _args: Buffer,
        _max_history: Option<f64>,
    ) -> napi::Result<Promise<()>> {
        missing(&env, COMPONENT)
    }

    /// A recurring job, or null.
    #[napi(catch_unwind, ts_return_type = "Promise<JsCronJobInfo | null>")]
    pub fn cron_get(
        &self,
        env: Env,
        _name: String,
    ) -> napi::Result<Promise<Option<JsCronJobInfo>>> {
        missing(&env, COMPONENT)
    }

    /// Recurring jobs.
    #[napi(catch_unwind)]
    pub fn cron_list(&self, env: Env) -> napi::Result<Promise<Vec<JsCronJobInfo>>> {
        missing(&env, COMPONENT)
    }

    /// Deletes a job and its history; false if there is none.
    #[napi(catch_unwind)]
    pub fn cron_delete(&self, env: Env, _name: String) -> napi::Result<Promise<bool>> {
        missing(&env, COMPONENT)
    }

    /// Fires of a job, newest first.
    #[napi(catch_unwind)]
    pub fn cron_history(
        &self,
        env: Env,
        _name: String,
        _limit: Option<f64>,
    ) -> napi::Result<Promise<Vec<JsCronFire>>> {
        missing(&env, COMPONENT)
    }
}
