//! The generations that the engine gave this process, from start to stopped.
//!
//! Invariant E1: a generation is in the map from before its start until its end
//! was reported, and what it asks of the engine goes out under its own number.
//! Invariant E2: a generation that lost the right to its pages writes nothing
//! more: its storage refuses by itself, and it is dropped without a final save.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::join_all;
use greenroom_core::{ActorRef, Host, StartActor, StopReason};
use greenroom_error::Result;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::envoy::{Link, StopDone};
use crate::shared::{Shared, shut_down};

/// An alarm that is due while nobody serves an actor is forgotten in the end; an actor
/// that could not be placed has it when it is.
const ALARM_SOON_MS: i64 = 60_000;

#[derive(Default)]
pub(crate) struct Generations {
    leases: Mutex<HashMap<ActorRef, Lease>>,
    /// Counts starts; who waits for one looks again when it changes.
    begun: watch::Sender<u64>,
    /// Tells of each end.
    ended: Notify,
}

struct Lease {
    link: Link,
    /// Its start is over: it is in the registry.
    has_begun: bool,
    /// The engine wants it to stop, or it has nothing left to say.
    is_ending: bool,
    /// Why its storage is gone, if it is.
    lost: Option<String>,
}

impl Generations {
    /// The session that a generation came through; `None` once it has ended.
    pub(crate) fn link(&self, actor: ActorRef) -> Option<Link> {
        self.leases
            .lock()
            .get(&actor)
            .map(|lease| lease.link.clone())
    }

    pub(crate) fn count(&self) -> usize {
        self.leases.lock().len()
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.begun.subscribe()
    }

    fn begin(&self, actor: ActorRef, link: Link) {
        let lease = Lease {
            link,
            has_begun: false,
            is_ending: false,
            lost: None,
        };
        self.leases.lock().insert(actor, lease);
    }

    fn note_begun(&self, actor: ActorRef) {
        if let Some(lease) = self.leases.lock().get_mut(&actor) {
            lease.has_begun = true;
        }
    }

    /// Those that have begun, with the sessions they came through.
    fn begun(&self) -> Vec<(ActorRef, Link)> {
        let leases = self.leases.lock();
        let begun = leases.iter().filter(|(_, lease)| lease.has_begun);
        begun
            .map(|(actor, lease)| (*actor, lease.link.clone()))
            .collect()
    }

    /// Whether somebody lives whom nobody ends yet.
    pub(crate) fn is_anyone_left(&self) -> bool {
        self.leases.lock().values().any(|lease| !lease.is_ending)
    }

    fn note_lost(&self, actor: ActorRef, reason: &str) {
        if let Some(lease) = self.leases.lock().get_mut(&actor) {
            lease.lost = Some(reason.to_owned());
        }
    }

    fn announce(&self) {
        self.begun
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// True for the first who says so of a generation that lives.
    fn claim_end(&self, actor: ActorRef) -> bool {
        let mut leases = self.leases.lock();
        let lease = leases.get_mut(&actor);
        lease.is_some_and(|lease| !std::mem::replace(&mut lease.is_ending, true))
    }

    /// Claims the end of all that have begun and that nobody ends yet.
    fn claim_all(&self) -> Vec<ActorRef> {
        let mut leases = self.leases.lock();
        let living = leases
            .iter_mut()
            .filter(|(_, lease)| lease.has_begun && !lease.is_ending);
        let claim = |(actor, lease): (&ActorRef, &mut Lease)| {
            lease.is_ending = true;
            *actor
        };
        living.map(claim).collect()
    }

    fn all(&self) -> Vec<ActorRef> {
        self.leases.lock().keys().copied().collect()
    }

    /// Tells why its storage was gone, if it was.
    fn end(&self, actor: ActorRef) -> Option<String> {
        let lease = self.leases.lock().remove(&actor)?;
        self.ended.notify_waiters();
        lease.lost
    }

    /// Resolves when nothing is left of these.
    async fn have_ended(&self, leases: Vec<(ActorRef, Link)>) {
        for (actor, _) in leases {
            self.has_ended(actor).await;
        }
    }

    async fn has_ended(&self, actor: ActorRef) {
        loop {
            let mut ended = pin!(self.ended.notified());
            ended.as_mut().enable();
            if !self.leases.lock().contains_key(&actor) {
                return;
            }
            ended.await;
        }
    }
}

impl Shared {
    /// Starts a generation that the engine gave us.
    pub(crate) async fn start(&self, link: Link, start: StartActor) -> Result<()> {
        self.check_takes_actors()?;
        let me = self.me.upgrade().ok_or_else(shut_down)?;
        let host: Arc<dyn Host> = Arc::clone(&me) as Arc<dyn Host>;
        let actor = start.actor;
        self.sockets.generation_begins(actor);
        link.restore_sockets(&actor.actor_id, self.sockets.known(&actor.actor_id));
        self.generations.begin(actor, link);
        let started = async {
            let imported = self.take_in(actor, (&start.name, &start.key)).await?;
            let handle = self.registry.start_actor(host, start).await;
            drop(imported);
            handle
        };
        match started.await {
            Ok(handle) => {
                self.generations.note_begun(actor);
                self.sockets.generation_began(&handle);
                drop(handle);
                self.generations.announce();
                self.spawn(async move { me.watch(actor).await });
                Ok(())
            }
            Err(error) => {
                tracing::warn!(actor_id = %actor.actor_id, %error, "an actor did not start");
                self.sockets.adopted_in_vain(&actor.actor_id);
                self.generations.end(actor);
                self.generations.announce();
                Err(error)
            }
        }
    }

    /// Stops a generation because the engine says so, and reports when nothing is
    /// left of it.
    pub(crate) fn stop(&self, actor: ActorRef, reason: StopReason, done: StopDone) {
        self.generations.claim_end(actor);
        let Some(me) = self.me.upgrade() else {
            return done.clean();
        };
        self.spawn(async move {
            match me.end(actor, reason).await {
                Ok(None) => done.clean(),
                Ok(Some(report)) => done.failed(&report),
                Err(error) => done.failed(&error.to_string()),
            }
        });
    }

    /// Ends a generation and what belongs to it; resolves to what it reports.
    async fn end(&self, actor: ActorRef, reason: StopReason) -> Result<Option<String>> {
        let ended = match reason {
            StopReason::Lost => {
                self.registry.abandon_actor(actor).await;
                Ok(None)
            }
            _ => self.registry.stop_actor(actor, reason).await,
        };
        self.sockets_after(actor, reason).await;
        let lost = self.generations.end(actor);
        if let Err(error) = &ended {
            tracing::error!(actor_id = %actor.actor_id, %error, "an actor did not stop cleanly");
        }
        // One that was let go of has said nothing of what it did not save.
        Ok(ended?.or(lost))
    }

    /// Has the engine put actors to sleep until somebody calls them, and resolves when
    /// they are. Those that are to be woken soon are left as they are.
    pub(crate) async fn sleep_all(&self) {
        let soon = self.clock().now_ms() + ALARM_SOON_MS;
        let is_soon = |actor: &ActorRef| {
            let instance = self.registry.lookup(&actor.actor_id).instance();
            let alarm = instance.and_then(|handle| handle.ctx().wanted_alarm());
            alarm.is_some_and(|alarm| alarm <= soon)
        };
        let mut asked = self.generations.begun();
        asked.retain(|(actor, _)| !is_soon(actor));
        for (actor, link) in &asked {
            link.sleep(*actor, None);
        }
        self.generations.have_ended(asked).await;
    }

    /// Resolves when nothing is left of those that have begun.
    pub(crate) async fn all_ended(&self) {
        let begun = self.generations.begun();
        self.generations.have_ended(begun).await;
    }

    /// Stops what lives although the engine has not said so: what it does not stop in
    /// time would be lost with all that is not saved. All at once, for one that takes its
    /// time must not keep others from saving.
    pub(crate) async fn stop_left(&self) {
        let end = |actor| async move { drop(self.end(actor, self.own_reason(actor)).await) };
        join_all(self.generations.claim_all().into_iter().map(end)).await;
    }

    /// Drops what is left, without final saves: those would be refused. Also what a stop
    /// began with and did not get to its end in time.
    pub(crate) async fn abandon_all(&self) {
        let end = |actor| async move { drop(self.end(actor, StopReason::Lost).await) };
        join_all(self.generations.all().into_iter().map(end)).await;
    }

    /// Whoever asked to be destroyed is, and not put to sleep.
    fn own_reason(&self, actor: ActorRef) -> StopReason {
        let instance = self.registry.lookup(&actor.actor_id).instance();
        match instance.is_some_and(|handle| handle.ctx().destroy_requested()) {
            true => StopReason::StopIntent,
            false => StopReason::GoingAway,
        }
    }

    /// Reports a generation whose task ends although nobody stopped it.
    async fn watch(&self, actor: ActorRef) {
        loop {
            let changed = self.registry.changed(&actor.actor_id);
            let instance = self.registry.lookup(&actor.actor_id).instance();
            if instance.is_none_or(|here| here.actor() != actor) {
                break;
            }
            changed.await;
        }
        if self.generations.claim_end(actor)
            && let Some(link) = self.generations.link(actor)
        {
            link.sleep(actor, Some("the actor's task ended".to_owned()));
        }
    }

    /// The pages of a generation are no longer its own, or nobody can say whether
    /// its last commit stands (E2), however far its end has come. May be called from a
    /// lane.
    pub(crate) fn lease_lost(&self, actor: ActorRef, reason: &str) {
        let Some(link) = self.generations.link(actor) else {
            return;
        };
        if self.generations.claim_end(actor) {
            tracing::error!(actor_id = %actor.actor_id, generation = actor.generation, reason, "an actor ends because its storage is gone");
            link.sleep(actor, Some(format!("storage lost: {reason}")));
        }
        self.generations.note_lost(actor, reason);
        if let Some(me) = self.me.upgrade() {
            self.spawn(async move { me.registry.abandon_actor(actor).await });
        }
    }
}
