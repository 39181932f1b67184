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
use crate::sockets::EngineSocket;

/// Bound on all waiting of one request.
const READY_TIME: Duration = Duration::from_secs(10);
/// Longest time that is left to the engine to wake an actor by itself.
const WAKES_ITSELF: Duration = Duration::from_secs(3);
/// Time in which the report of a sleep reaches the engine.
const REPORTED: Duration = Duration::from_millis(50);

/// Finds and awaits the actor of one request.
pub(crate) struct Seeker {
    shared: Arc<Shared>,
    actor_id: ActorId,
    /// Whom to wait for the next generation for, and to have a sleeping actor woken.
    /// Requests never need that: the engine woke the actor before it sent them, and a
    /// client repeats what is refused.
    socket: Option<Arc<EngineSocket>>,
    woken: bool,
}

impl Seeker {
    pub(crate) fn of_request(shared: Arc<Shared>, actor_id: ActorId) -> Self {
        Self {
            shared,
            actor_id,
            socket: None,
            woken: false,
        }
    }

    pub(crate) fn of_socket(shared: Arc<Shared>, socket: Arc<EngineSocket>) -> Self {
        Self {
            shared,
            actor_id: socket.actor_id,
            socket: Some(socket),
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
            // Requests are served until their actor stops: nobody else has it before.
            if self.socket.is_some() {
                self.shared.check_open()?;
            }
            // Both before the look: what changes after it is not missed.
            let mut begun = self.shared.generations.subscribe();
            let changed = self.shared.registry.changed(&self.actor_id);
            if let Some(handle) = self.ready(refused_by) {
                return Ok(handle);
            }
            match self.shared.registry.lookup(&self.actor_id) {
                Lookup::Starting => changed.await,
                _ if self.socket.is_none() => return Err(self.stopped()),
                Lookup::Stopping(..) | Lookup::Active(_) => changed.await,
                Lookup::Absent => {
                    if let Some(socket) = &self.socket
                        && !std::mem::replace(&mut self.woken, true)
                    {
                        wake(&self.shared, Arc::clone(socket));
                    }
                    // The sender lives in the host this holds.
                    let _ = begun.changed().await;
                }
            }
        }
    }

    /// The search for a socket's actor has failed.
    async fn give_up(&self, socket: &EngineSocket) {
        if !self.shared.is_open() {
            // The actor moves away, and with it what its sockets were not answered.
            let mut stage = self.shared.stage.subscribe();
            let closed = stage.wait_for(|stage| *stage == Stage::Closed);
            let leaving = self.shared.sockets.leaving.cancelled();
            tokio::select! {
                _ = closed => {}
                () = leaving => {}
            }
        }
        // Where it lives now, its client may be served already.
        if matches!(self.shared.registry.lookup(&self.actor_id), Lookup::Absent) {
            socket.forget_if_held();
        }
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
        if let Some(socket) = self.socket.as_ref().filter(|_| !matches!(found, Ok(Ok(_)))) {
            self.give_up(socket).await;
        }
        found.unwrap_or_else(|_| {
            Err(Error::with(
                &code::GUARD_ACTOR_READY_TIMEOUT,
                json!({ "actor_id": actor_id.as_str() }),
            ))
        })
    }
}

/// Has the engine start a socket's actor, wherever that is, unless it does so before.
fn wake(shared: &Arc<Shared>, socket: Arc<EngineSocket>) {
    let host = Arc::clone(shared);
    shared.spawn(async move {
        let actor_id = socket.actor_id;
        let is_due = tokio::select! {
            is_due = is_wake_due(&host, actor_id, patience(&socket)) => is_due,
            () = host.sockets.leaving.cancelled() => false,
            () = socket.gone().cancelled() => false,
        };
        if is_due && let Err(error) = host.api.wake(&actor_id).await {
            tracing::warn!(%actor_id, %error, "an actor with open sockets could not be woken");
        }
    });
}

/// How long the engine is left to itself. It wakes an actor for the messages that
/// it keeps of a client, once it has noticed the sleep; when it notices, it drops
/// what it was sent and has not passed on. A generation that begins before that
/// could lose its first answers.
fn patience(socket: &EngineSocket) -> Duration {
    let keeps = socket.waits_since();
    keeps.map_or(Duration::ZERO, |_| WAKES_ITSELF)
}

/// Resolves when the engine has had its time to wake the actor: true if it did not,
/// and somebody still may.
async fn is_wake_due(shared: &Shared, actor_id: ActorId, patience: Duration) -> bool {
    shared.clock().sleep(patience).await;
    // The engine does not know of the sleep before (K3).
    if let Some(heard) = shared.sockets.heard_by(&actor_id) {
        shared.clock().sleep_until(heard + REPORTED).await;
    }
    shared.is_open() && matches!(shared.registry.lookup(&actor_id), Lookup::Absent)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::FutureExt;
    use greenroom_core::Clock;

    use super::*;
    use crate::rig::{Heard, adopted, shared};
    use crate::sockets::Incoming;

    #[tokio::test]
    async fn a_session_whose_actor_lives_elsewhere_does_not_close_its_client() {
        let (clock, time) = Clock::manual(0);
        let shared = shared(clock);
        let socket = adopted(&shared, ActorId::generate(), &[]);
        let heard = Arc::new(Heard::default());
        assert!(socket.set_way(heard.way(&shared)));
        socket.lasts_in_tests();
        let mut seeker = Seeker::of_socket(Arc::clone(&shared), Arc::clone(&socket));
        let mut seeking = Box::pin(seeker.acquire(None));
        let found = loop {
            if let Some(found) = seeking.as_mut().now_or_never() {
                break found;
            }
            time.advance(READY_TIME);
        };
        let error = found.err().expect("it lives elsewhere");
        assert!(error.is(&code::GUARD_ACTOR_READY_TIMEOUT));
        socket.outbox().close_with(&error);
        shared.sockets.tasks.close();
        shared.sockets.tasks.wait().await;
        assert_eq!(heard.all(), [""; 0]);
    }

    #[tokio::test]
    async fn an_actor_is_not_woken_before_the_engine_could_have() {
        let shared = shared(Clock::real());
        let socket = adopted(&shared, ActorId::generate(), &[]);
        assert_eq!(patience(&socket), Duration::ZERO, "it keeps no message");
        let data = Bytes::from_static(b"hi");
        let message = |index| Incoming::Message {
            data: data.clone(),
            binary: false,
            index,
        };
        assert!(socket.incoming(message(1)));
        assert_eq!(patience(&socket), WAKES_ITSELF);
        socket.give_up(1);
        assert_eq!(
            patience(&socket),
            Duration::ZERO,
            "it has forgotten the message"
        );
    }

    #[tokio::test]
    async fn a_wake_is_asked_for_once_the_engine_has_had_its_time_and_not_by_a_host_that_leaves() {
        let (clock, time) = Clock::manual(0);
        let shared = shared(clock);
        let id = ActorId::generate();
        let mut due = Box::pin(is_wake_due(&shared, id, WAKES_ITSELF));
        for span in [Duration::ZERO, WAKES_ITSELF - REPORTED] {
            time.advance(span);
            assert_eq!(due.as_mut().now_or_never(), None);
        }
        time.advance(REPORTED);
        assert!(due.await);
        let mut late = Box::pin(is_wake_due(&shared, id, WAKES_ITSELF));
        assert_eq!(late.as_mut().now_or_never(), None);
        shared.stage.send_replace(Stage::Closed);
        time.advance(WAKES_ITSELF);
        assert!(!late.await);
    }

    #[tokio::test]
    async fn a_request_is_not_refused_because_the_host_leaves() {
        let shared = shared(Clock::real());
        shared.stage.send_replace(Stage::Leaving);
        let mut seeker = Seeker::of_request(Arc::clone(&shared), ActorId::generate());
        let error = seeker.acquire(None).await.err().expect("nobody is here");
        // A client repeats this.
        assert!(error.is(&code::GUARD_ACTOR_STOPPED_WHILE_WAITING));
    }

    #[tokio::test]
    async fn a_search_ends_when_sockets_have_to_go() {
        let shared = shared(Clock::real());
        let socket = adopted(&shared, ActorId::generate(), &[]);
        shared.stage.send_replace(Stage::Leaving);
        let mut seeker = Seeker::of_socket(Arc::clone(&shared), socket);
        let mut seeking = Box::pin(seeker.acquire(None));
        assert!(
            seeking.as_mut().now_or_never().is_none(),
            "actors move first"
        );
        shared.sockets.leaving.cancel();
        assert!(
            seeking
                .as_mut()
                .now_or_never()
                .is_some_and(|found| found.is_err())
        );
    }
}
