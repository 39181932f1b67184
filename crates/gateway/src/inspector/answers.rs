//! What each request of an inspector is answered with.
//!
//! A failure is told with its whole text: whoever holds the token may see it. The
//! protocol does not say which request failed.

use std::sync::Arc;

use bytes::Bytes;
use greenroom_core::{ActionCall, ActorHandle, Answer, Request};
use greenroom_error::{Error, Result};
use greenroom_wire::cbor;
use greenroom_wire::inspector_protocol::{ToClient, ToServer};
use greenroom_wire::value;
use tokio_util::sync::CancellationToken;

use super::{database, views};

/// Most messages of a queue, and rows of a table, that are shown at a time.
const QUEUE_MAX: u64 = 200;
const ROWS_MAX: u64 = 500;
const HISTORY_MAX: u64 = 1_000;

/// Answers one request; `None` if its answer is an update.
pub(super) async fn answer(
    actor: Arc<ActorHandle>,
    request: ToServer,
    runtime_routes: bool,
) -> Option<ToClient> {
    match answered(&actor, request, runtime_routes).await {
        Ok(answer) => answer,
        Err(error) => Some(ToClient::Error {
            message: text(&error),
        }),
    }
}

fn text(error: &Error) -> String {
    let detail = error
        .metadata()
        .and_then(|metadata| metadata.get("error")?.as_str());
    detail.unwrap_or_else(|| error.message()).to_owned()
}

async fn answered(
    actor: &ActorHandle,
    request: ToServer,
    runtime_routes: bool,
) -> Result<Option<ToClient>> {
    let ctx = actor.ctx();
    Ok(Some(match request {
        ToServer::PatchState { state } => {
            if !runtime_routes {
                return Err(Error::not_configured("inspector state changes"));
            }
            patch(actor, &state).await?;
            let state = ctx.state_for_inspector().await?;
            return Ok(state.map(|state| ToClient::StateUpdated { state }));
        }
        ToServer::State { id } => ToClient::State {
            rid: id,
            state: ctx.state_for_inspector().await?,
            is_state_enabled: ctx.config().has_state,
        },
        ToServer::Connections { id } => ToClient::Connections {
            rid: id,
            connections: views::connections(ctx),
        },
        ToServer::Action { id, name, args } => ToClient::Action {
            rid: id,
            output: act(actor, name, args).await?,
        },
        ToServer::RpcsList { id } => ToClient::RpcsList {
            rid: id,
            rpcs: views::rpcs(ctx),
        },
        // Traces are not recorded.
        ToServer::TraceQuery { id, .. } => ToClient::TraceQuery {
            rid: id,
            payload: Bytes::new(),
        },
        ToServer::Queue { id, limit } => ToClient::Queue {
            rid: id,
            status: views::queue(ctx, limit.min(QUEUE_MAX) as usize).await?,
        },
        ToServer::WorkflowHistory { id } => {
            let history = ctx.workflow_history().await?;
            ToClient::WorkflowHistory {
                rid: id,
                is_workflow_enabled: history.is_some(),
                history: history.flatten(),
            }
        }
        ToServer::WorkflowReplay { id, entry_id } => {
            let history = ctx.replay_workflow(entry_id).await?;
            ToClient::WorkflowReplay {
                rid: id,
                is_workflow_enabled: history.is_some(),
                history: history.flatten(),
            }
        }
        ToServer::DatabaseSchema { id } => ToClient::DatabaseSchema {
            rid: id,
            schema: database::schema(ctx).await?,
        },
        ToServer::DatabaseTableRows {
            id,
            table,
            limit,
            offset,
        } => ToClient::DatabaseTableRows {
            rid: id,
            result: database::rows(ctx, &table, limit.min(ROWS_MAX), offset).await?,
        },
        schedules => about_schedules(actor, schedules).await?,
    }))
}

async fn about_schedules(actor: &ActorHandle, request: ToServer) -> Result<ToClient> {
    let ctx = actor.ctx();
    match request {
        ToServer::Schedules { id } => Ok(ToClient::Schedules {
            rid: id,
            schedules: views::schedules(ctx).await?,
        }),
        ToServer::ScheduleHistory {
            id,
            schedule_id,
            limit,
        } => {
            let limit = limit.clamp(1, HISTORY_MAX) as u32;
            let history = ctx.cron_history(&schedule_id, Some(limit)).await?;
            Ok(ToClient::ScheduleHistory {
                rid: id,
                schedule_id,
                history: history.into_iter().map(views::fire).collect(),
            })
        }
        ToServer::ScheduleDelete {
            id,
            schedule_id,
            kind,
        } => {
            let deleted = match kind.as_str() {
                "at" => ctx.schedule_cancel(schedule_id.clone()).await?,
                "cron" | "every" => ctx.cron_delete(&schedule_id).await?,
                other => {
                    let reason = format!("'{other}' is none of at, cron and every");
                    return Err(Error::invalid_argument("kind", reason));
                }
            };
            Ok(ToClient::ScheduleDelete {
                rid: id,
                schedule_id,
                deleted,
            })
        }
        other => Err(Error::internal(format!("no answer to {other:?}"))),
    }
}

/// Runs an action as a client without parameters would.
async fn act(actor: &ActorHandle, name: String, args: Bytes) -> Result<Bytes> {
    let call = ActionCall {
        name,
        args,
        params: Bytes::from_static(cbor::NULL),
        ..ActionCall::default()
    };
    // An inspector that goes gives the call up.
    let _cancel_at_end = call.cancelled.clone().drop_guard();
    actor.action(&call).await.into_result()
}

/// Replaces the state, where the program's own layer knows how: it holds the state
/// as objects, and takes a new one through its inspector route.
async fn patch(actor: &ActorHandle, state: &[u8]) -> Result<()> {
    let state = value::cbor_to_json(state).map_err(|error| Error::internal(error.to_string()))?;
    let token = actor.ctx().inspector_bearer();
    let request = Request {
        method: "PATCH".to_owned(),
        uri: "/inspector/state".to_owned(),
        headers: vec![
            ("authorization".to_owned(), format!("Bearer {token}")),
            ("content-type".to_owned(), "application/json".to_owned()),
        ],
        body: [br#"{"state":"#, &state[..], b"}"].concat().into(),
        cancelled: CancellationToken::new(),
        ..Request::default()
    };
    match actor.http(Box::new(request)).await {
        Answer::Done(Ok(response)) if response.status == 200 => Ok(()),
        Answer::Done(Ok(response)) => {
            let status = response.status;
            Err(Error::internal(format!(
                "the state cannot be set: status {status}"
            )))
        }
        answer => answer.into_result().map(drop),
    }
}
