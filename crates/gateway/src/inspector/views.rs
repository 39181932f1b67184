//! What an inspector is shown of an actor, part by part.

use bytes::Bytes;
use greenroom_core::{
    ActorContext, ConnHandle, CronJob, InspectorRevisions, JobCadence, JobFire, ScheduledEvent,
};
use greenroom_error::Result;
use greenroom_store::FireResult;
use greenroom_wire::cbor::{self, write};
use greenroom_wire::inspector_protocol::{
    Connection, FireError, Init, QueueStatus, Queued, Schedule, ScheduleFire, TabConfigEntry,
    ToClient,
};

/// Everything at once.
pub(super) async fn init(ctx: &ActorContext) -> Result<Init> {
    let history = ctx.workflow_history().await?;
    Ok(Init {
        connections: connections(ctx),
        state: ctx.state_for_inspector().await?,
        is_state_enabled: ctx.config().has_state,
        rpcs: rpcs(ctx),
        is_database_enabled: ctx.config().has_database,
        queue_size: ctx.queue_inspect().await?.len() as u64,
        is_workflow_enabled: history.is_some(),
        workflow_history: history.flatten(),
        tab_config: tabs(ctx),
        schedules: schedules(ctx).await?,
    })
}

/// News of what changed between two looks. What cannot be read is told as that.
pub(super) async fn changed(
    ctx: &ActorContext,
    told: InspectorRevisions,
    now: InspectorRevisions,
) -> Vec<ToClient> {
    let mut news = Vec::new();
    if now.connections != told.connections {
        let connections = connections(ctx);
        news.push(ToClient::ConnectionsUpdated { connections });
    }
    if now.state != told.state {
        let state = ctx.state_for_inspector().await;
        let state = state.map(|state| Some(ToClient::StateUpdated { state: state? }));
        tell(&mut news, state);
    }
    if now.queue != told.queue {
        // Known since the change, without a look at the rows.
        let queue_size = ctx.queue_len();
        news.push(ToClient::QueueUpdated { queue_size });
    }
    if now.workflow != told.workflow {
        let history = ctx.workflow_history().await;
        let history = history.map(|history| {
            let history = history.flatten()?;
            Some(ToClient::WorkflowHistoryUpdated { history })
        });
        tell(&mut news, history);
    }
    if now.schedules != told.schedules {
        let schedules = schedules(ctx).await;
        let schedules = schedules.map(|schedules| Some(ToClient::SchedulesUpdated { schedules }));
        tell(&mut news, schedules);
    }
    news
}

fn tell(news: &mut Vec<ToClient>, looked: Result<Option<ToClient>>) {
    match looked {
        Ok(message) => news.extend(message),
        Err(error) => news.push(ToClient::Error {
            message: error.to_string(),
        }),
    }
}

pub(super) fn connections(ctx: &ActorContext) -> Vec<Connection> {
    let shown = |conn: ConnHandle| Connection {
        id: conn.id().to_owned(),
        details: details(&conn),
    };
    ctx.conns().into_iter().map(shown).collect()
}

fn details(conn: &ConnHandle) -> Bytes {
    let mut out = Vec::new();
    let value = |out: &mut Vec<u8>, cbor: Bytes| match cbor.is_empty() {
        true => write::null(out),
        false => out.extend_from_slice(&cbor),
    };
    write::map(&mut out, 6);
    write::text(&mut out, "type");
    write::null(&mut out);
    write::text(&mut out, "params");
    value(&mut out, conn.params());
    write::text(&mut out, "stateEnabled");
    write::bool(&mut out, true);
    write::text(&mut out, "state");
    value(&mut out, conn.state());
    write::text(&mut out, "subscriptions");
    write::uint(&mut out, conn.subscriptions().len() as u64);
    write::text(&mut out, "isHibernatable");
    write::bool(&mut out, conn.is_hibernatable());
    debug_assert!(cbor::check(&out).is_ok());
    out.into()
}

pub(super) fn rpcs(ctx: &ActorContext) -> Vec<String> {
    let mut names = ctx.config().actions.clone();
    names.sort();
    names
}

fn tabs(ctx: &ActorContext) -> Vec<TabConfigEntry> {
    let tabs = ctx.config().inspector_tabs.iter();
    let shown = tabs.map(|tab| TabConfigEntry {
        id: tab.id.clone(),
        label: tab.label.clone(),
        icon: tab.icon.clone(),
        hidden: tab.hidden,
    });
    shown.collect()
}

/// The oldest messages, at most `limit`.
pub(super) async fn queue(ctx: &ActorContext, limit: usize) -> Result<QueueStatus> {
    let heads = ctx.queue_inspect().await?;
    let (size, truncated) = (heads.len() as u64, heads.len() > limit);
    let messages = heads.into_iter().take(limit).map(|head| Queued {
        id: head.id,
        name: head.name,
        created_at_ms: unsigned(head.created_at),
    });
    Ok(QueueStatus {
        size,
        max_size: ctx.queue_max_size().into(),
        messages: messages.collect(),
        truncated,
    })
}

/// Those that fire once and those that recur, by time and id.
pub(super) async fn schedules(ctx: &ActorContext) -> Result<Vec<Schedule>> {
    let once = ctx.schedule_list().await?.into_iter().map(of_event);
    let mut all: Vec<Schedule> = once.collect();
    all.extend(ctx.cron_list().await?.into_iter().map(of_job));
    all.sort_by(|a, b| (a.next_run_at, &a.id).cmp(&(b.next_run_at, &b.id)));
    Ok(all)
}

fn of_event(event: ScheduledEvent) -> Schedule {
    Schedule {
        id: event.id,
        name: None,
        kind: "at".to_owned(),
        action: event.action,
        args: event.args,
        next_run_at: unsigned(event.run_at),
        last_run_at: None,
        expression: None,
        timezone: None,
        interval_ms: None,
        max_history: None,
    }
}

fn of_job(job: CronJob) -> Schedule {
    let (kind, expression, timezone, interval_ms) = match job.cadence {
        JobCadence::Cron {
            expression,
            timezone,
        } => ("cron", Some(expression), Some(timezone), None),
        JobCadence::Every { interval_ms } => ("every", None, None, Some(unsigned(interval_ms))),
    };
    Schedule {
        id: job.name.clone(),
        name: Some(job.name),
        kind: kind.to_owned(),
        action: job.action,
        args: job.args,
        next_run_at: unsigned(job.next_run_at),
        last_run_at: job.last_run_at.map(unsigned),
        expression,
        timezone,
        interval_ms,
        max_history: Some(job.max_history.into()),
    }
}

pub(super) fn fire(fire: JobFire) -> ScheduleFire {
    let result = fire.result.label().to_owned();
    let error = match fire.result {
        FireResult::Error(error) => Some(FireError {
            group: error.group,
            code: error.code,
            message: error.message,
            metadata: error.metadata.map(Bytes::from),
        }),
        _ => None,
    };
    ScheduleFire {
        action: fire.action,
        scheduled_at: unsigned(fire.scheduled_at),
        fired_at: unsigned(fire.fired_at),
        finished_at: fire.finished_at.map(unsigned),
        result,
        error,
    }
}

/// Times before 1970 cannot be told.
fn unsigned(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0)
}
