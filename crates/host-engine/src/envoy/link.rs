//! What we say to the engine.

use std::time::Duration;

use greenroom_core::{ActorRef, Clock, HibernationId};
use greenroom_error::{Error, Result};
use greenroom_wire::ActorId;
use rivet_envoy_client::callbacks::ActorStopHandle;
use rivet_envoy_client::handle::EnvoyHandle;
use rivet_envoy_client::tunnel::HibernatingWebSocketMetadata;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::sockets::KnownSocket;

/// Time for the last frames to leave after all actors have stopped: the 2.x
/// engines acknowledge too rarely to be waited for.
const LAST_FRAMES: Duration = Duration::from_millis(200);

/// An engine passes over what it hears before it has taken a session back.
const TAKEN_BACK: Duration = Duration::from_millis(500);
/// It also passes over actors that it has us start at that moment: it is told again, with
/// pauses that double.
const TELL_AGAIN_MIN: Duration = Duration::from_secs(1);
const TELL_AGAIN_MAX: Duration = Duration::from_secs(4);

/// Among the keys that an engine keeps of each actor.
const INSPECTOR_TOKEN_KEY: &[u8] = &[3];

/// The way to the engine, as one generation uses it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Link(pub(super) EnvoyHandle);

impl Link {
    /// Asks for a sleep stop; with `error`, says that the actor crashed.
    pub(crate) fn sleep(&self, actor: ActorRef, error: Option<String>) {
        let id = actor.actor_id.as_str().to_owned();
        self.0.sleep_actor(id, Some(actor.generation), error);
    }

    /// Asks for the end of the actor and of everything it stored.
    pub(crate) fn destroy(&self, actor: ActorRef) {
        let id = actor.actor_id.as_str().to_owned();
        self.0.stop_actor(id, Some(actor.generation));
    }

    /// Sets the actor's one alarm, or clears it.
    pub(crate) async fn set_alarm(&self, actor: ActorRef, at_ms: Option<i64>) -> Result<()> {
        let (taken, told) = oneshot::channel();
        let id = actor.actor_id.as_str().to_owned();
        self.0
            .set_alarm_with_ack(id, at_ms, Some(actor.generation), Some(taken));
        told.await
            .map_err(|_| Error::internal("the session did not take the alarm"))
    }

    /// Puts the inspector token where dashboards look for it, unless it is there.
    pub(crate) async fn show_inspector_token(
        &self,
        actor_id: &ActorId,
        token: String,
    ) -> Result<(), String> {
        let id = actor_id.as_str().to_owned();
        let text = |error: anyhow::Error| error.to_string();
        let key = INSPECTOR_TOKEN_KEY.to_vec();
        let found = self.0.kv_get(id.clone(), vec![key.clone()]).await;
        if matches!(found.map_err(text)?.as_slice(), [Some(shown)] if *shown == token.as_bytes()) {
            return Ok(());
        }
        let entry = (key, token.into_bytes());
        self.0.kv_put(id, vec![entry]).await.map_err(text)
    }

    /// Names the sockets that this process still holds for an actor. To be called
    /// before its start is answered; the engine closes the others.
    pub(crate) fn restore_sockets(&self, actor_id: &ActorId, known: Vec<KnownSocket>) {
        let entries = known
            .into_iter()
            .map(|socket| HibernatingWebSocketMetadata {
                gateway_id: socket.id.gateway_id,
                request_id: socket.id.request_id,
                // Counts what we sent through the actor's own channel, where only
                // control messages go; each generation begins anew.
                envoy_message_index: 0,
                rivet_message_index: socket.last_message,
                path: socket.path,
                headers: socket.headers,
            });
        self.0
            .restore_hibernating_requests(actor_id.as_str().to_owned(), entries.collect());
    }

    /// The engine may forget a hibernating socket's messages up to this one.
    pub(crate) fn acknowledge(&self, socket: HibernationId, message_index: u16) {
        self.0.send_hibernatable_ws_message_ack(
            socket.gateway_id,
            socket.request_id,
            message_index,
        );
    }
}

/// The session itself, which one part of the host owns.
pub(crate) struct Session {
    handle: EnvoyHandle,
    over: CancellationToken,
}

impl Session {
    /// `over` fires when the session is closed.
    pub(super) fn new(handle: EnvoyHandle, over: CancellationToken) -> Self {
        Self { handle, over }
    }

    pub(super) async fn started(&self) -> Result<(), String> {
        self.handle
            .started()
            .await
            .map_err(|error| error.to_string())
    }

    pub(crate) fn key(&self) -> &str {
        self.handle.get_envoy_key()
    }

    /// Starts the actor that the body of a request names: its id and generation.
    pub(crate) async fn start_serverless(&self, body: &[u8]) -> Result<(String, u32), String> {
        let text = |error: anyhow::Error| error.to_string();
        let start = self
            .handle
            .decode_serverless_actor_start(body)
            .map_err(text)?;
        self.handle
            .start_serverless_actor(body)
            .await
            .map_err(text)?;
        Ok((start.actor_id, start.generation))
    }

    /// Resolves when a generation that was started is over.
    pub(crate) async fn stopped(&self, actor_id: &str, generation: u32) {
        let stopped = self
            .handle
            .wait_actor_registered_then_stopped(actor_id, generation);
        stopped.await;
    }

    /// Whether the engine's pings arrive.
    pub(crate) fn is_healthy(&self) -> bool {
        self.handle.is_ping_healthy()
    }

    /// Has the engine stop all actors of ours, and resolves when they have. An engine that
    /// is away is told when it is back, and one that was told is told again while there is
    /// somebody `left` whom it has not stopped. May take for ever: the caller sets the
    /// limit.
    pub(crate) async fn drain(
        &self,
        clock: &Clock,
        mut link_up: watch::Receiver<bool>,
        left: impl Fn() -> bool,
    ) {
        let mut again = TELL_AGAIN_MIN;
        let mut is_told = self.handle.mark_stopping().await;
        loop {
            tokio::select! {
                () = self.handle.wait_actors_drained(), if is_told => break,
                changed = link_up.changed() => {
                    // The one who changes it lives as long as the session.
                    if changed.is_err() {
                        return;
                    }
                    clock.sleep(TAKEN_BACK).await;
                }
                () = clock.sleep(again), if is_told => {
                    again = (again * 2).min(TELL_AGAIN_MAX);
                    // The client does not tell of all that go.
                    if self.handle.active_actor_count() == 0 {
                        break;
                    }
                    if !left() {
                        continue;
                    }
                }
            }
            is_told = self.handle.mark_stopping().await;
        }
        self.settle(clock).await;
    }

    /// Waits until what was said has left.
    pub(crate) async fn settle(&self, clock: &Clock) {
        clock.sleep(LAST_FRAMES).await;
    }

    /// Closes the session without waiting for anything.
    pub(crate) fn close(&self) {
        self.over.cancel();
        self.handle.shutdown(true);
    }

    pub(crate) async fn closed(&self) {
        self.handle.wait_stopped().await;
    }
}

/// The report that a generation has ended. Dropping it says that it ended well.
pub(crate) struct StopDone(pub(super) ActorStopHandle);

impl StopDone {
    pub(crate) fn clean(self) {
        self.0.complete();
    }

    /// The actor crashed, or could not be stopped as it should be.
    pub(crate) fn failed(self, report: &str) {
        self.0.fail(anyhow::anyhow!(report.to_owned()));
    }
}
