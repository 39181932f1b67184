//! The sockets of clients that the engine forwards to this process.
//!
//! A socket is a task and outlives the generations of its actor: while the actor
//! sleeps the engine keeps the client, and this process keeps the session. When
//! the actor wakes here again, the engine hands the socket back and the session
//! goes on; what the client said meanwhile waits at the engine.
//!
//! A session does not outlive its process, but a connection does: when its actor
//! wakes in another one, that makes a session for the connection's stored rows,
//! and the engine hands the client over, with the messages that were not handled.
//!
//! Invariant K1: a socket is in the map from its opening until its task ends.
//! Invariant K2: a generation that has ended leaves no socket behind that cannot
//! outlive it, and none at all when the actor moves away.
//! Invariant K3: the engine hears of an actor's sleep when the clients that it keeps
//! have heard what was said to them before.

mod given;
mod pace;
mod pipe;
mod place;
mod plan;
mod progress;
mod socket;
mod voice;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use greenroom_core::{ActorHandle, ActorRef, HeldSocket, HibernationId, Instant, StopReason};
use greenroom_error::{Error, Result, code};
use greenroom_wire::ActorId;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::shared::Shared;
pub(crate) use given::{Incoming, KnownSocket, NewSocket, Resumed, ResumedKind};
pub(crate) use socket::EngineSocket;

/// How long a session waits for its actor to wake here again. The actor may live
/// elsewhere by then, and nobody would tell.
const HELD_TIME: Duration = Duration::from_secs(600);
/// Longest time for what was said to leave with an actor that moves away.
const PARTING_TIME: Duration = Duration::from_secs(2);
/// Longest time that the report of a sleep waits for clients to hear what was said:
/// more than one that was handed over just now takes.
const HEARD_MAX: Duration = Duration::from_millis(1_200);
/// Until it is looked again whether something waits to be said.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

#[derive(Default)]
pub(crate) struct Sockets {
    maps: Mutex<Maps>,
    /// Fires when sessions have to come to their end.
    pub(crate) leaving: CancellationToken,
    /// Sessions, to be waited for at the end.
    pub(crate) tasks: TaskTracker,
}

#[derive(Default)]
struct Maps {
    by_actor: HashMap<ActorId, HashMap<HibernationId, Arc<EngineSocket>>>,
    open: usize,
}

impl Sockets {
    /// Enters a new socket (K1).
    ///
    /// # Errors
    /// `guard/service_unavailable` if the process has too many.
    fn enter(&self, socket: &Arc<EngineSocket>, most: usize) -> Result<()> {
        let mut maps = self.maps.lock();
        if maps.open >= most {
            return Err(Error::new(&code::GUARD_SERVICE_UNAVAILABLE));
        }
        maps.open += 1;
        let sockets = maps.by_actor.entry(socket.actor_id).or_default();
        if let Some(before) = sockets.insert(socket.id, Arc::clone(socket)) {
            // The old one is over; what is adopted is its connection.
            match socket.resumed() {
                Some(_) => before.forget(),
                None => before.gone().cancel(),
            }
        }
        Ok(())
    }

    fn leave(&self, socket: &Arc<EngineSocket>) {
        let mut maps = self.maps.lock();
        maps.open -= 1;
        if let Some(sockets) = maps.by_actor.get_mut(&socket.actor_id) {
            if sockets
                .get(&socket.id)
                .is_some_and(|here| Arc::ptr_eq(here, socket))
            {
                sockets.remove(&socket.id);
            }
            if sockets.is_empty() {
                maps.by_actor.remove(&socket.actor_id);
            }
        }
    }

    fn of(&self, actor_id: &ActorId) -> Vec<Arc<EngineSocket>> {
        let maps = self.maps.lock();
        let sockets = maps.by_actor.get(actor_id);
        let sockets = sockets.into_iter().flat_map(HashMap::values);
        sockets.cloned().collect()
    }

    /// It is stored that everything up to this message was handled.
    pub(crate) fn stored(&self, actor_id: &ActorId, id: HibernationId, message_index: u16) {
        let maps = self.maps.lock();
        let sockets = maps.by_actor.get(actor_id);
        let socket = sockets.and_then(|sockets| sockets.get(&id)).cloned();
        drop(maps);
        if let Some(socket) = socket {
            socket.stored(message_index);
        }
    }

    /// Resolves when the sessions have seen what the actor has answered; `None` if it
    /// has no sockets.
    pub(crate) fn settled(
        &self,
        actor_id: &ActorId,
    ) -> Option<impl Future<Output = ()> + Send + 'static> {
        let sockets = self.of(actor_id);
        if sockets.is_empty() {
            return None;
        }
        let settled = |socket: Arc<EngineSocket>| async move { socket.settled().await };
        let all = join_all(sockets.into_iter().map(settled));
        Some(async move {
            all.await;
        })
    }

    /// When the actor's clients will have heard what was said to them; `None` if
    /// nothing was.
    pub(crate) fn heard_by(&self, actor_id: &ActorId) -> Option<Instant> {
        let sockets = self.of(actor_id);
        sockets.iter().filter_map(|socket| socket.heard_by()).max()
    }

    pub(crate) fn open_count(&self) -> usize {
        self.maps.lock().open
    }

    /// What the engine is told before an actor's start: the sockets that can go on.
    pub(crate) fn known(&self, actor_id: &ActorId) -> Vec<KnownSocket> {
        let sockets = self.of(actor_id);
        sockets.iter().filter_map(|socket| socket.known()).collect()
    }

    /// The session of a socket that is held here and can go on.
    pub(crate) fn find(&self, actor_id: &ActorId, id: HibernationId) -> Option<Arc<EngineSocket>> {
        let maps = self.maps.lock();
        let socket = maps.by_actor.get(actor_id)?.get(&id)?;
        (!socket.is_leaving()).then(|| Arc::clone(socket))
    }

    /// Forgets sessions that are no longer their clients': the actor lived elsewhere
    /// after the generation that they know. The others have to be handed over.
    pub(crate) fn generation_begins(&self, actor: ActorRef) {
        for socket in self.of(&actor.actor_id) {
            if socket.is_stale(actor.generation) {
                socket.forget();
            } else {
                socket.await_hand_over();
            }
        }
    }

    /// Forgets sessions whose clients the engine will not hand over: the generation
    /// that they were made for did not begin.
    pub(crate) fn adopted_in_vain(&self, actor_id: &ActorId) {
        for socket in self.of(actor_id) {
            if !socket.reachable().is_cancelled() {
                socket.forget();
            }
        }
    }

    /// What the actor's next generation begins with.
    pub(crate) fn held(&self, actor_id: &ActorId) -> Vec<HeldSocket> {
        let sockets = self.of(actor_id);
        let held = sockets.iter();
        held.filter_map(|socket| socket.for_next_generation())
            .collect()
    }

    /// A generation has begun with what [`Self::held`] said a moment ago: what
    /// came and went since is put right.
    pub(crate) fn generation_began(&self, actor: &ActorHandle) {
        let ctx = actor.ctx();
        let held = self.of(&ctx.actor_id());
        let restored = ctx.conns().into_iter();
        for conn in restored.filter(|conn| conn.is_hibernatable()) {
            let id = conn.hibernation().map(|meta| meta.id);
            if !held.iter().any(|socket| Some(socket.id) == id) {
                ctx.connection_closed(conn.id());
            }
        }
        for socket in held {
            socket.generation_began(ctx);
        }
    }
}

impl Shared {
    /// A generation is over (K2).
    pub(crate) async fn sockets_after(&self, actor: ActorRef, reason: StopReason) {
        let sockets = self.sockets.of(&actor.actor_id);
        if sockets.is_empty() {
            return;
        }
        match reason {
            StopReason::SleepIntent => {
                let held: Vec<_> = sockets
                    .into_iter()
                    .filter(|socket| socket.generation_ended(actor.generation))
                    .collect();
                self.forget_later(actor, held.clone());
                self.until_heard(&held).await;
            }
            StopReason::StopIntent | StopReason::Destroy => {
                sockets.iter().for_each(|socket| socket.actor_destroyed());
            }
            // The engine keeps the client for whoever is next.
            StopReason::GoingAway => {
                let parting = join_all(sockets.iter().map(|socket| socket.part()));
                if self.clock().timeout(PARTING_TIME, parting).await.is_err() {
                    sockets.iter().for_each(|socket| socket.forget());
                }
            }
            StopReason::Lost => sockets.iter().for_each(|socket| socket.forget()),
        }
    }

    /// Waits until these clients have heard what was said to them (K3), but not for long.
    async fn until_heard(&self, held: &[Arc<EngineSocket>]) {
        let clock = self.clock();
        let end = clock.now() + HEARD_MAX;
        loop {
            // What is on its way to the session's end of the pipe arrives there.
            tokio::task::yield_now().await;
            let now = clock.now();
            let soon = now + LOOK_AGAIN;
            let at = |socket: &Arc<EngineSocket>| match socket.holds_words() {
                true => Some(soon),
                false => socket.heard_by().filter(|at| *at > now),
            };
            match held.iter().filter_map(at).max() {
                Some(at) if now < end => clock.sleep_until(at.min(end)).await,
                _ => return,
            }
        }
    }

    fn forget_later(&self, actor: ActorRef, held: Vec<Arc<EngineSocket>>) {
        if held.is_empty() {
            return;
        }
        let leaving = self.sockets.leaving.clone();
        let clock = self.clock().clone();
        self.spawn(async move {
            tokio::select! {
                () = clock.sleep(HELD_TIME) => {}
                () = leaving.cancelled() => {}
            }
            for socket in held {
                if socket.generation() <= actor.generation {
                    socket.forget();
                }
            }
        });
    }
}
