//! The sockets of clients, for as long as they are open: longer than the
//! generations of their actors.
//!
//! A socket runs as one task, and its [`home::SocketPlace`] is entered here. When
//! an actor sleeps its sockets stay; its next generation begins with them. Nothing
//! here reads or writes a socket.
//!
//! Invariant K1: a socket is in the maps from the moment its actor is known until
//! its task has let go of it.
//! Invariant K2: a generation that has ended leaves no socket behind that cannot
//! outlive it, and a destroyed actor none at all.

mod held;
mod home;
mod limits;
mod local;
mod plan;

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use greenroom_core::{ActorHandle, ActorRef, Clock, HeldSocket, HibernationId};
use greenroom_error::{Error, Result, code};
use greenroom_wire::ActorId;
use parking_lot::Mutex;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use held::Held;
pub use limits::SocketLimits;
pub use local::{LocalSocket, LocalSocketEvent};
pub(crate) use plan::{Origin, Plan, serve};

pub(crate) struct Sockets {
    limits: SocketLimits,
    /// Peers live in real time, whatever clock the actors have.
    clock: Clock,
    /// Names this run of the process: sockets do not outlive it.
    gateway_id: [u8; 4],
    next_request: AtomicU32,
    maps: Mutex<Maps>,
    /// Fires when sockets of this process have to come to their end.
    pub(crate) leaving: CancellationToken,
    /// Open sockets, to be waited for at the end.
    pub(crate) tasks: TaskTracker,
}

#[derive(Default)]
struct Maps {
    by_actor: HashMap<ActorId, HashMap<HibernationId, Arc<Held>>>,
    by_address: HashMap<IpAddr, usize>,
    open: usize,
}

/// A socket's place in the process, counted until dropped.
pub(crate) struct Place {
    sockets: Arc<Sockets>,
    address: Option<IpAddr>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut maps = self.sockets.maps.lock();
        maps.open -= 1;
        if let Some(address) = &self.address
            && let Some(count) = maps.by_address.get_mut(address)
        {
            *count -= 1;
            if *count == 0 {
                maps.by_address.remove(address);
            }
        }
    }
}

impl Sockets {
    pub(crate) fn new(limits: SocketLimits) -> Arc<Self> {
        let [a, b, c, d, ..] = uuid::Uuid::new_v4().into_bytes();
        Arc::new(Self {
            limits,
            clock: Clock::real(),
            gateway_id: [a, b, c, d],
            next_request: AtomicU32::default(),
            maps: Mutex::default(),
            leaving: CancellationToken::new(),
            tasks: TaskTracker::new(),
        })
    }

    pub(crate) fn limits(&self) -> &SocketLimits {
        &self.limits
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn next_id(&self) -> HibernationId {
        let request = self.next_request.fetch_add(1, Ordering::Relaxed);
        HibernationId {
            gateway_id: self.gateway_id,
            request_id: request.to_be_bytes(),
        }
    }

    /// Takes a place for a client at this address, or in this process.
    ///
    /// # Errors
    /// `guard/service_unavailable` if the process has too many sockets,
    /// `guard/rate_limit` if the address has.
    pub(crate) fn take_place(self: &Arc<Self>, address: Option<IpAddr>) -> Result<Place> {
        let mut maps = self.maps.lock();
        if maps.open >= self.limits.max_sockets {
            return Err(Error::new(&code::GUARD_SERVICE_UNAVAILABLE));
        }
        if let Some(address) = address {
            let here = maps.by_address.entry(address).or_default();
            if *here >= self.limits.max_sockets_per_address {
                return Err(Error::with(
                    &code::GUARD_RATE_LIMIT,
                    json!({ "ip": address.to_string() }),
                ));
            }
            *here += 1;
        }
        maps.open += 1;
        Ok(Place {
            sockets: Arc::clone(self),
            address,
        })
    }

    /// Enters a socket under its actor (K1).
    ///
    /// # Errors
    /// `actor/overloaded` if the actor has too many.
    fn enter(&self, actor_id: ActorId, held: &Arc<Held>) -> Result<()> {
        let mut maps = self.maps.lock();
        let sockets = maps.by_actor.entry(actor_id).or_default();
        if sockets.len() >= self.limits.max_sockets_per_actor && !sockets.contains_key(&held.id) {
            return Err(Error::with(
                &code::ACTOR_OVERLOADED,
                json!({
                    "channel": "connections",
                    "operation": "connect",
                    "capacity": self.limits.max_sockets_per_actor,
                }),
            ));
        }
        sockets.insert(held.id, Arc::clone(held));
        Ok(())
    }

    fn leave(&self, actor_id: &ActorId, id: &HibernationId) {
        let mut maps = self.maps.lock();
        if let Some(sockets) = maps.by_actor.get_mut(actor_id) {
            sockets.remove(id);
            if sockets.is_empty() {
                maps.by_actor.remove(actor_id);
            }
        }
    }

    fn of(&self, actor_id: &ActorId) -> Vec<Arc<Held>> {
        let maps = self.maps.lock();
        let sockets = maps.by_actor.get(actor_id);
        sockets
            .into_iter()
            .flat_map(HashMap::values)
            .cloned()
            .collect()
    }

    /// What the actor's next generation begins with.
    pub(crate) fn held(&self, actor_id: &ActorId) -> Vec<HeldSocket> {
        let sockets = self.of(actor_id);
        sockets
            .iter()
            .filter_map(|held| held.for_next_generation())
            .collect()
    }

    /// A generation has begun with what [`Self::held`] said a moment ago: what
    /// came and went since is put right.
    pub(crate) fn generation_began(&self, actor: &ActorHandle) {
        let ctx = actor.ctx();
        let held = self.of(&ctx.actor_id());
        let ids: HashSet<HibernationId> = held.iter().map(|held| held.id).collect();
        for conn in ctx
            .conns()
            .into_iter()
            .filter(|conn| conn.is_hibernatable())
        {
            let id = conn.hibernation().map(|meta| meta.id);
            if !id.is_some_and(|id| ids.contains(&id)) {
                ctx.connection_closed(conn.id());
            }
        }
        for held in held {
            held.generation_began(ctx);
        }
    }

    /// A generation has ended and the actor goes on to exist (K2).
    pub(crate) fn generation_ended(&self, actor: ActorRef) {
        for held in self.of(&actor.actor_id) {
            held.generation_ended(actor.generation);
        }
    }

    /// No generation will come any more (K2).
    pub(crate) fn actor_destroyed(&self, actor_id: &ActorId) {
        for held in self.of(actor_id) {
            held.actor_destroyed();
        }
    }

    pub(crate) fn open_count(&self) -> usize {
        self.maps.lock().open
    }
}
