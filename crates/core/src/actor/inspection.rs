//! What attached inspectors are told, and what they are shown.
//!
//! Owns the news that something changed and the questions that only the task or
//! user code can answer. Who may attach is [`super::inspector`]'s business, how it
//! looks on the wire a gateway's.

use bytes::Bytes;
use greenroom_error::{Result, code};
use tokio::sync::watch;

use crate::actor::context::ActorContext;
use crate::actor::messages::{ActorEvent, SerializeStateReason, StateDelta};
use crate::reply::reply;

/// How often each part of an actor changed while an inspector was attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Revisions {
    pub state: u64,
    pub connections: u64,
    pub queue: u64,
    pub schedules: u64,
    pub workflow: u64,
}

/// Where inspectors hear of changes. Without one, a change costs a look.
#[derive(Debug, Default)]
pub(super) struct Board(watch::Sender<Revisions>);

impl ActorContext {
    /// Attaches an inspector, as long as the receiver lives.
    pub fn attach_inspector(&self) -> watch::Receiver<Revisions> {
        self.0.inspector.board.0.subscribe()
    }

    /// Inspectors that are attached.
    pub fn attached_inspectors(&self) -> usize {
        self.0.inspector.board.0.receiver_count()
    }

    pub fn inspector_revisions(&self) -> Revisions {
        *self.0.inspector.board.0.borrow()
    }

    /// Tells inspectors that something changed.
    pub(crate) fn changed_for_inspectors(&self, part: fn(&mut Revisions) -> &mut u64) {
        if self.attached_inspectors() > 0 {
            let board = &self.0.inspector.board.0;
            board.send_modify(|revisions| *part(revisions) += 1);
        }
    }

    /// The state as user code has it now, CBOR; nothing is saved. `None` for an
    /// actor without state.
    ///
    /// # Errors
    /// Those of user code; `actor/not_configured` once the actor ended.
    pub async fn state_for_inspector(&self) -> Result<Option<Bytes>> {
        if !self.config().has_state {
            return Ok(None);
        }
        let (answer, answered) = reply();
        self.send_actor_event(ActorEvent::SerializeState {
            reason: SerializeStateReason::Inspector,
            reply: answer,
        })?;
        let deltas = answered.result().await?;
        let state = deltas.into_iter().find_map(|delta| match delta {
            StateDelta::ActorState(state) => Some(state),
            _ => None,
        });
        Ok(Some(state.unwrap_or_else(|| self.state())))
    }

    /// What the workflow in user code has done, in its own form. The outer `None`
    /// means that there is no workflow.
    ///
    /// # Errors
    /// Those of user code; `actor/not_configured` once the actor ended.
    pub async fn workflow_history(&self) -> Result<Option<Option<Bytes>>> {
        let (answer, answered) = reply();
        self.send_actor_event(ActorEvent::WorkflowHistoryRequested { reply: answer })?;
        if_there(answered.result().await)
    }

    /// Begins the workflow anew, from this entry or from the beginning.
    ///
    /// # Errors
    /// As [`workflow_history`](Self::workflow_history).
    pub async fn replay_workflow(&self, entry_id: Option<String>) -> Result<Option<Option<Bytes>>> {
        let (answer, answered) = reply();
        self.send_actor_event(ActorEvent::WorkflowReplayRequested {
            entry_id,
            reply: answer,
        })?;
        if_there(answered.result().await)
    }
}

/// A question about workflows that nobody answers was asked of an actor without.
fn if_there<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.is(&code::ACTOR_DROPPED_REPLY) => Ok(None),
        Err(error) => Err(error),
    }
}
