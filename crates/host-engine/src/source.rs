//! Waiting for a generation of this process that takes work.
//!
//! The engine sends a request to the process where its actor lives, so there is
//! little to wait for: a start that is under way, or, for a socket that outlives
//! generations, the next one.

use std::sync::Arc;
use std::time::Duration;

use greenroom_core::actor::messages::ShutdownKind;
use greenroom_core::{ActorHandle, ActorRef, Lookup};
use greenroom_error::{Error, Result, code};
use greenroom_gateway::ActorSource;
use greenroom_wire::ActorId;
use serde_json::json;

use crate::shared::{Shared, Stage};

/// Bound on all waiting of one request.
const READY_TIME: Duration = Duration::from_secs(10);

/// Finds and awaits the actor of one request.
pub(crate) struct Seeker {
    shared: Arc<Shared>,
    actor_id: ActorId,
    /// Whether to wait for the next generation, and to have a sleeping actor woken
    /// for it. Requests never need that: the engine woke the actor before it sent
    /// them, and a client repeats what is refused.
    patient: bool,
    woken: bool,
}

impl Seeker {
    pub(crate) fn of_request(shared: Arc<Shared>, actor_id: ActorId) -> Self {
        Self {
            shared,
            actor_id,
            patient: false,
            woken: false,
        }
    }

    pub(crate) fn of_socket(shared: Arc<Shared>, actor_id: ActorId) -> Self {
        Self {
            shared,
            actor_id,
            patient: true,
            woken: false,
        }
    }

    fn ready(&self, refused_by: Option<ActorRef>) -> Option<Arc<ActorHandle>> {
        let handle = match self.shared.registry.lookup(&self.actor_id) {
            Lookup::Active(handle) => handle,
            // Work is still taken while the hooks of a sleep run.
            Lookup::Stopping(handle, ShutdownKind::Sleep) if handle.ctx().refusal().is_none() => {
                handle
            }
            _ => return None,
        };
        (Some(handle.actor()) != refused_by).then_some(handle)
    }

    async fn seek(&mut self, refused_by: Option<ActorRef>) -> Result<Arc<ActorHandle>> {
        loop {
            self.shared.check_open()?;
            // Both before the look: what changes after it is not missed.
            let mut begun = self.shared.generations.subscribe();
            let changed = self.shared.registry.changed(&self.actor_id);
            if let Some(handle) = self.ready(refused_by) {
                return Ok(handle);
            }
            match self.shared.registry.lookup(&self.actor_id) {
                Lookup::Starting => changed.await,
                _ if !self.patient => return Err(self.stopped()),
                Lookup::Stopping(..) | Lookup::Active(_) => changed.await,
                Lookup::Absent => {
                    if !std::mem::replace(&mut self.woken, true) {
                        self.wake();
                    }
                    // The sender lives in the host this holds.
                    let _ = begun.changed().await;
                }
            }
        }
    }

    /// Has the engine start the actor, wherever that is.
    fn wake(&self) {
        let shared = Arc::clone(&self.shared);
        let actor_id = self.actor_id;
        self.shared.spawn(async move {
            if let Err(error) = shared.api.wake(&actor_id).await {
                tracing::warn!(%actor_id, %error, "an actor with open sockets could not be woken");
            }
        });
    }

    fn stopped(&self) -> Error {
        Error::with(
            &code::GUARD_ACTOR_STOPPED_WHILE_WAITING,
            json!({ "actor_id": self.actor_id.as_str(), "phase": "request" }),
        )
    }
}

impl ActorSource for Seeker {
    async fn acquire(&mut self, refused_by: Option<ActorRef>) -> Result<Arc<ActorHandle>> {
        let actor_id = self.actor_id;
        let clock = self.shared.clock().clone();
        let found = clock.timeout(READY_TIME, self.seek(refused_by)).await;
        if self.patient && !matches!(found, Ok(Ok(_))) && !self.shared.is_open() {
            // The actor moves away, and with it what its sockets were not answered.
            let mut stage = self.shared.stage.subscribe();
            let _ = stage.wait_for(|stage| *stage == Stage::Closed).await;
        }
        found.unwrap_or_else(|_| {
            Err(Error::with(
                &code::GUARD_ACTOR_READY_TIMEOUT,
                json!({ "actor_id": actor_id.as_str() }),
            ))
        })
    }
}
