//! Recurring jobs: named, set as often as one likes, remembered.

use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use greenroom_store::{Cadence, FireRow, HISTORY_MAX, INTERVAL_MIN_MS, ScheduleRow, ScheduleWrite};
use serde_json::json;

use super::{JOB_PREFIX, ScheduledCall, job_name};
use crate::actor::context::ActorContext;
use crate::actor::cron::{self, CronSpec, DEFAULT_ZONE};

const NAME_BYTES_MAX: usize = 128;
/// Fires a job remembers if it does not say.
const HISTORY_DEFAULT: u32 = 100;
/// Fires listed if the caller does not say.
const HISTORY_LIMIT_DEFAULT: u32 = 20;

/// A job to set.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// 1 to 128 bytes. A job of this name is replaced.
    pub name: String,
    pub call: ScheduledCall,
    /// Fires to remember, at most 1,000. Default 100; 0 keeps none.
    pub max_history: Option<u32>,
}

/// When a job fires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobCadence {
    Cron {
        expression: String,
        timezone: String,
    },
    Every {
        interval_ms: i64,
    },
}

/// A job as it is set. Times are Unix milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronJob {
    pub name: String,
    pub action: String,
    /// CBOR array.
    pub args: Bytes,
    pub cadence: JobCadence,
    pub next_run_at: i64,
    /// Last fire that was not skipped.
    pub last_run_at: Option<i64>,
    pub max_history: u32,
}

/// One fire of a job.
pub type JobFire = FireRow;

impl ActorContext {
    /// Calls an action whenever a cron expression matches. Setting the same
    /// expression and zone again keeps the next fire.
    ///
    /// Errors: `schedule/invalid_name`, `schedule/invalid_cron_expression`,
    /// `schedule/invalid_timezone`, `schedule/invalid_max_history`,
    /// `schedule/max_schedules_exceeded`.
    pub async fn cron_set(
        &self,
        job: NewJob,
        expression: String,
        timezone: Option<String>,
    ) -> Result<()> {
        let zone = timezone.as_deref().unwrap_or(DEFAULT_ZONE);
        check_name(&job.name)?;
        let spec = CronSpec::parse(&expression, zone)?;
        let next = spec
            .next_after(self.clock().now_ms())
            .ok_or_else(|| cron::invalid("it never matches"))?;
        let cadence = Cadence::Cron {
            timezone: spec.zone_name().to_owned(),
            expression,
        };
        self.set_job(job, cadence, next).await
    }

    /// Calls an action every so many milliseconds, first after one interval. The
    /// phase is kept whatever is missed or late. Setting the same interval again
    /// keeps the next fire.
    ///
    /// Errors: as of [`cron_set`](Self::cron_set), and `schedule/invalid_interval`
    /// below 5,000.
    pub async fn cron_every(&self, job: NewJob, interval_ms: i64) -> Result<()> {
        check_name(&job.name)?;
        if interval_ms < INTERVAL_MIN_MS {
            return Err(Error::with(
                &code::SCHEDULE_INVALID_INTERVAL,
                json!({ "interval_ms": interval_ms, "minimum_ms": INTERVAL_MIN_MS }),
            ));
        }
        let next = self.clock().now_ms().saturating_add(interval_ms);
        let next = next.min(i64::MAX - 1);
        self.set_job(job, Cadence::Every { interval_ms }, next)
            .await
    }

    async fn set_job(&self, job: NewJob, cadence: Cadence, next: i64) -> Result<()> {
        let max_history = job.max_history.unwrap_or(HISTORY_DEFAULT);
        if max_history > HISTORY_MAX {
            return Err(invalid_history(max_history));
        }
        let row = ScheduleRow {
            event_id: job_id(&job.name),
            trigger_at: next,
            action: job.call.action,
            args: job.call.args,
            cadence,
            last_started_at: None,
            max_history,
            trace: job.call.trace,
        };
        self.schedule_stored(ScheduleWrite::Put(row)).await
    }

    pub async fn cron_get(&self, name: &str) -> Result<Option<CronJob>> {
        check_name(name)?;
        let row = self.in_turn(self.sql().schedule(job_id(name))).await?;
        Ok(row.and_then(to_job))
    }

    /// All jobs, by next fire.
    pub async fn cron_list(&self) -> Result<Vec<CronJob>> {
        let rows = self.in_turn(self.sql().schedules()).await?;
        Ok(rows.into_iter().filter_map(to_job).collect())
    }

    /// Deletes a job with its history; false if there is none.
    pub async fn cron_delete(&self, name: &str) -> Result<bool> {
        check_name(name)?;
        let id = job_id(name);
        self.schedule_deleted(ScheduleWrite::Delete { id }).await
    }

    /// The newest fires of a job, newest first; 20 unless `limit` (1 to 1,000)
    /// says otherwise.
    pub async fn cron_history(&self, name: &str, limit: Option<u32>) -> Result<Vec<JobFire>> {
        check_name(name)?;
        let limit = limit.unwrap_or(HISTORY_LIMIT_DEFAULT);
        if !(1..=HISTORY_MAX).contains(&limit) {
            return Err(invalid_history(limit));
        }
        self.in_turn(self.sql().schedule_history(job_id(name), limit))
            .await
    }
}

fn job_id(name: &str) -> String {
    format!("{JOB_PREFIX}{name}")
}

fn check_name(name: &str) -> Result<()> {
    let reason = if name.is_empty() {
        "must not be empty"
    } else if name.len() > NAME_BYTES_MAX {
        "must be at most 128 UTF-8 bytes"
    } else {
        return Ok(());
    };
    Err(Error::with(
        &code::SCHEDULE_INVALID_NAME,
        json!({ "reason": reason }),
    ))
}

fn invalid_history(max_history: u32) -> Error {
    Error::with(
        &code::SCHEDULE_INVALID_MAX_HISTORY,
        json!({ "max_history": max_history, "maximum": HISTORY_MAX }),
    )
}

fn to_job(row: ScheduleRow) -> Option<CronJob> {
    let cadence = match row.cadence {
        Cadence::Once => return None,
        Cadence::Cron {
            expression,
            timezone,
        } => JobCadence::Cron {
            expression,
            timezone,
        },
        Cadence::Every { interval_ms } => JobCadence::Every { interval_ms },
    };
    Some(CronJob {
        name: job_name(&row.event_id)?.to_owned(),
        action: row.action,
        args: row.args,
        cadence,
        next_run_at: row.trigger_at,
        last_run_at: row.last_started_at,
        max_history: row.max_history,
    })
}
