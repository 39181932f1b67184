//! Waiting for a generation that takes work, on behalf of one request.
//!
//! The fast path is one look at the resident's phase. Everything else ends in a
//! bounded wait for the phase to change, then looks again.

use std::borrow::Borrow;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use greenroom_core::actor::messages::ShutdownKind;
use greenroom_core::clock::Instant;
use greenroom_core::{ActorHandle, ActorRef};
use greenroom_error::{Error, Result, code};
use greenroom_gateway::ActorSource;
use greenroom_wire::ActorId;
use serde_json::json;

use crate::resident::{Phase, Resident};
use crate::shared::Shared;
use crate::target::{Target, not_found};

/// Failed starts that one request sits through.
const WAKE_RETRIES: u32 = 8;

/// Finds, wakes and awaits the actor of one request. Borrows its host and target,
/// or owns them.
pub(crate) struct Seeker<S, T> {
    shared: S,
    target: T,
    /// End of all waiting, set when it begins.
    deadline: Option<Instant>,
    /// The actor waited for, and how many of its starts had failed by then.
    watched: Option<(ActorId, u64)>,
}

impl<S: Deref<Target = Shared>, T: Borrow<Target>> Seeker<S, T> {
    pub(crate) fn new(shared: S, target: T) -> Self {
        Self {
            shared,
            target,
            deadline: None,
            watched: None,
        }
    }

    /// True if the phase names a generation that may be given the work.
    fn takes_work(phase: &Phase, refused_by: Option<ActorRef>) -> Option<&Arc<ActorHandle>> {
        let handle = match phase {
            Phase::Live(handle) => handle,
            // Work is still taken while the hooks of a sleep run.
            Phase::Stopping(handle, ShutdownKind::Sleep) if handle.ctx().refusal().is_none() => {
                handle
            }
            _ => return None,
        };
        (Some(handle.actor()) != refused_by).then_some(handle)
    }

    /// One round of waiting. Returns when it is worth looking again.
    async fn wait(&mut self, resident: &Arc<Resident>, refused: bool) -> Result<()> {
        let mut phases = resident.subscribe();
        let phase = phases.borrow_and_update().clone();
        match phase {
            Phase::Asleep => {
                self.check_starts(resident)?;
                match resident.pause_left(self.shared.clock()) {
                    None => {
                        self.shared.begin_start(resident);
                        Ok(())
                    }
                    Some(pause) => {
                        let clock = self.shared.clock().clone();
                        let pause = async {
                            tokio::select! {
                                () = clock.sleep(pause) => {}
                                _ = phases.changed() => {}
                            }
                        };
                        self.bounded(resident, pause).await
                    }
                }
            }
            Phase::Live(handle) if refused => {
                // Either its stop is about to be published, or its task died.
                let left = self.shared.registry.changed(&resident.id);
                self.shared.look_after(resident, &handle);
                let either = async {
                    tokio::select! {
                        _ = phases.changed() => {}
                        () = left => {}
                    }
                };
                self.bounded(resident, either).await
            }
            Phase::Live(_) => Ok(()),
            Phase::Starting | Phase::Stopping(..) | Phase::Removing | Phase::Replacing => {
                self.note_watched(resident);
                let changed = async {
                    // The sender lives in the resident this holds.
                    let _ = phases.changed().await;
                };
                self.bounded(resident, changed).await
            }
            Phase::Destroyed => match self.target.borrow() {
                Target::Id(_) => Err(not_found()),
                Target::Key { .. } => Ok(()),
            },
            Phase::Forgotten => Ok(()),
        }
    }

    async fn bounded(&mut self, resident: &Resident, wait: impl Future<Output = ()>) -> Result<()> {
        let clock = self.shared.clock();
        let now = clock.now();
        let end = *self
            .deadline
            .get_or_insert(now + self.shared.options.ready_timeout);
        let left: Duration = end.since(now);
        let timed_out = || {
            Error::with(
                &code::GUARD_ACTOR_READY_TIMEOUT,
                json!({ "actor_id": resident.id.as_str() }),
            )
        };
        if left.is_zero() {
            return Err(timed_out());
        }
        clock.timeout(left, wait).await.map_err(|_| timed_out())
    }

    fn note_watched(&mut self, resident: &Resident) -> u64 {
        match self.watched {
            Some((id, total)) if id == resident.id => total,
            _ => {
                let total = resident.trouble(|trouble| trouble.failed_starts_total());
                self.watched = Some((resident.id, total));
                total
            }
        }
    }

    /// Gives up once this request has seen enough starts fail: one, if that is
    /// hopeless or the last of a long series.
    fn check_starts(&mut self, resident: &Resident) -> Result<()> {
        let before = self.note_watched(resident);
        resident.trouble(|trouble| {
            let Some(error) = trouble.last_error() else {
                return Ok(());
            };
            if trouble.failed_starts_total() == before {
                return Ok(());
            }
            if is_hopeless(error) {
                return Err(error.duplicate());
            }
            if trouble.failed_starts() < WAKE_RETRIES {
                return Ok(());
            }
            let view = error.client_view();
            Err(Error::with(
                &code::GUARD_ACTOR_WAKE_RETRIES_EXCEEDED,
                json!({
                    "actor_id": resident.id.as_str(),
                    "reason": "actor_stopped_before_ready",
                    "wake_retries": WAKE_RETRIES,
                    "error": { "group": view.group, "code": view.code, "message": view.message },
                }),
            ))
        })
    }
}

/// True for what the next start will meet as well.
fn is_hopeless(error: &Error) -> bool {
    let hopeless = [
        &code::ACTOR_NOT_REGISTERED,
        &code::ACTOR_CORRUPT,
        &code::PROTOCOL_INVALID_PERSISTED_DATA,
        &code::HOST_STORAGE_FAILED,
        &code::REGISTRY_SHUT_DOWN,
    ];
    hopeless.into_iter().any(|row| error.is(row))
}

impl<S, T> ActorSource for Seeker<S, T>
where
    S: Deref<Target = Shared> + Send + Sync,
    T: Borrow<Target> + Send + Sync,
{
    async fn acquire(&mut self, refused_by: Option<ActorRef>) -> Result<Arc<ActorHandle>> {
        loop {
            self.shared.check_open()?;
            let resident = self.shared.find(self.target.borrow()).await?;
            let phase = resident.phase();
            if let Some(handle) = Self::takes_work(&phase, refused_by) {
                return Ok(Arc::clone(handle));
            }
            let refused = phase.handle().map(|handle| handle.actor()) == refused_by;
            self.wait(&resident, refused).await?;
        }
    }
}
