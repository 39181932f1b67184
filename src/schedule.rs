//! `Schedule`: calls of actions at a later time.

#![allow(clippy::too_many_arguments, reason = "published signatures")]

use std::sync::Arc;

use greenroom_core::{CronJob, JobCadence, JobFire, NewJob, ScheduledCall, ScheduledEvent};
use greenroom_error::Result;
use greenroom_store::{FireError, FireResult};
use napi::bindgen_prelude::Env;
use napi_derive::napi;

use crate::actor::ActorShared;
use crate::bridge::{Buffer, Json, Promise};
use crate::numbers;

/// A pending one-shot call.
#[napi(object)]
pub struct JsScheduledEventInfo {
    pub id: String,
    pub action: String,
    pub args: Buffer,
    pub run_at: f64,
}

impl From<ScheduledEvent> for JsScheduledEventInfo {
    fn from(event: ScheduledEvent) -> Self {
        Self {
            id: event.id,
            action: event.action,
            args: event.args.into(),
            run_at: event.run_at as f64,
        }
    }
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

impl From<CronJob> for JsCronJobInfo {
    fn from(job: CronJob) -> Self {
        let (kind, expression, timezone, interval_ms) = match job.cadence {
            JobCadence::Cron {
                expression,
                timezone,
            } => ("cron", Some(expression), Some(timezone), None),
            JobCadence::Every { interval_ms } => ("every", None, None, Some(interval_ms as f64)),
        };
        Self {
            name: job.name,
            kind: kind.to_owned(),
            action: job.action,
            args: job.args.into(),
            next_run_at: job.next_run_at as f64,
            last_run_at: job.last_run_at.map(|at| at as f64),
            expression,
            timezone,
            interval_ms,
            max_history: job.max_history,
        }
    }
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
pub struct Schedule(Arc<ActorShared>);

impl Schedule {
    pub(crate) fn new(shared: Arc<ActorShared>) -> Self {
        Self(shared)
    }
}

fn call(action: String, args: Buffer) -> ScheduledCall {
    ScheduledCall {
        action,
        args: args.0,
        ..ScheduledCall::default()
    }
}

fn job(name: String, call: ScheduledCall, max_history: Option<f64>) -> Result<NewJob> {
    let max_history = max_history.map(|max| numbers::count("maxHistory", max));
    Ok(NewJob {
        name,
        call,
        max_history: max_history.transpose()?,
    })
}

impl From<JobFire> for JsCronFire {
    fn from(fire: JobFire) -> Self {
        let result = fire.result.label().to_owned();
        let error = match fire.result {
            FireResult::Error(error) => Some(JsScheduleErrorInfo::from(error)),
            _ => None,
        };
        Self {
            action: fire.action,
            scheduled_at: fire.scheduled_at as f64,
            fired_at: fire.fired_at as f64,
            finished_at: fire.finished_at.map(|at| at as f64),
            result,
            error,
        }
    }
}

impl From<FireError> for JsScheduleErrorInfo {
    fn from(error: FireError) -> Self {
        let metadata = error.metadata.and_then(|cbor| {
            // It was written from JSON; another program's may be anything.
            let text = greenroom_wire::value::cbor_to_json(&cbor).ok()?;
            serde_json::from_slice(&text).ok()
        });
        Self {
            group: error.group,
            code: error.code,
            message: error.message,
            metadata: metadata.map(Json),
        }
    }
}

#[napi]
impl Schedule {
    /// Calls an action once, `durationMs` from now; resolves to the id.
    #[napi(catch_unwind)]
    pub fn after(
        &self,
        env: Env,
        duration_ms: f64,
        action_name: String,
        args: Buffer,
    ) -> napi::Result<Promise<String>> {
        self.0.run(env, |ctx| async move {
            let duration_ms = numbers::delay("durationMs", duration_ms)?;
            ctx.schedule_after(duration_ms, call(action_name, args))
                .await
        })
    }

    /// Calls an action once at a time; a past one means at once.
    #[napi(catch_unwind)]
    pub fn at(
        &self,
        env: Env,
        timestamp_ms: f64,
        action_name: String,
        args: Buffer,
    ) -> napi::Result<Promise<String>> {
        self.0.run(env, |ctx| async move {
            let at_ms = numbers::timestamp("timestampMs", timestamp_ms)?;
            ctx.schedule_at(at_ms, call(action_name, args)).await
        })
    }

    /// False if there is no such one-shot call.
    #[napi(catch_unwind)]
    pub fn cancel(&self, env: Env, id: String) -> napi::Result<Promise<bool>> {
        self.0
            .run(env, |ctx| async move { ctx.schedule_cancel(id).await })
    }

    /// A one-shot call, or null.
    #[napi(catch_unwind, ts_return_type = "Promise<JsScheduledEventInfo | null>")]
    pub fn get(&self, env: Env, id: String) -> napi::Result<Promise<Option<JsScheduledEventInfo>>> {
        self.0.run(env, |ctx| async move {
            let event = ctx.schedule_get(id).await?;
            Ok(event.map(JsScheduledEventInfo::from))
        })
    }

    /// One-shot calls, by time.
    #[napi(catch_unwind)]
    pub fn list(&self, env: Env) -> napi::Result<Promise<Vec<JsScheduledEventInfo>>> {
        self.0.run(env, |ctx| async move {
            let events = ctx.schedule_list().await?;
            Ok(events.into_iter().map(JsScheduledEventInfo::from).collect())
        })
    }

    /// Sets a job that recurs by a cron expression of five fields.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn cron_set(
        &self,
        env: Env,
        name: String,
        expression: String,
        timezone: Option<String>,
        action_name: String,
        args: Buffer,
        max_history: Option<f64>,
    ) -> napi::Result<Promise<()>> {
        self.0.run(env, |ctx| async move {
            let job = job(name, call(action_name, args), max_history)?;
            ctx.cron_set(job, expression, timezone).await
        })
    }

    /// Sets a job that recurs at an interval.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn cron_every(
        &self,
        env: Env,
        name: String,
        interval_ms: f64,
        action_name: String,
        args: Buffer,
        max_history: Option<f64>,
    ) -> napi::Result<Promise<()>> {
        self.0.run(env, |ctx| async move {
            let interval_ms = numbers::timestamp("intervalMs", interval_ms)?;
            let job = job(name, call(action_name, args), max_history)?;
            ctx.cron_every(job, interval_ms).await
        })
    }

    /// A recurring job, or null.
    #[napi(catch_unwind, ts_return_type = "Promise<JsCronJobInfo | null>")]
    pub fn cron_get(&self, env: Env, name: String) -> napi::Result<Promise<Option<JsCronJobInfo>>> {
        self.0.run(env, |ctx| async move {
            Ok(ctx.cron_get(&name).await?.map(JsCronJobInfo::from))
        })
    }

    /// Recurring jobs, by next fire.
    #[napi(catch_unwind)]
    pub fn cron_list(&self, env: Env) -> napi::Result<Promise<Vec<JsCronJobInfo>>> {
        self.0.run(env, |ctx| async move {
            let jobs = ctx.cron_list().await?;
            Ok(jobs.into_iter().map(JsCronJobInfo::from).collect())
        })
    }

    /// Deletes a job and its history; false if there is none.
    #[napi(catch_unwind)]
    pub fn cron_delete(&self, env: Env, name: String) -> napi::Result<Promise<bool>> {
        self.0
            .run(env, |ctx| async move { ctx.cron_delete(&name).await })
    }

    /// Fires of a job, newest first.
    #[napi(catch_unwind)]
    pub fn cron_history(
        &self,
        env: Env,
        name: String,
        limit: Option<f64>,
    ) -> napi::Result<Promise<Vec<JsCronFire>>> {
        self.0.run(env, |ctx| async move {
            let limit = limit.map(|limit| numbers::count("limit", limit));
            let fires = ctx.cron_history(&name, limit.transpose()?).await?;
            Ok(fires.into_iter().map(JsCronFire::from).collect())
        })
    }
}
