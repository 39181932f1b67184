//! One actor that this process is looking after, awake or not.
//!
//! A resident is the single place where an actor's whereabouts change: who wins
//! the start, whether a stop is due, whether the key is free. It runs nothing.
//!
//! Invariant R1: `Asleep → Starting`, `Asleep → Removing` and `Asleep → Replacing`
//! are taken by exactly one caller, who then drives the resident on.
//! Invariant R2: `Destroyed` and `Forgotten` are final, and the resident has left
//! the maps when they are seen; whoever sees them looks the actor up again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use greenroom_core::actor::messages::ShutdownKind;
use greenroom_core::clock::Instant;
use greenroom_core::{ActorHandle, ActorRef, Clock};
use greenroom_error::Error;
use greenroom_store::PendingCommit;
use greenroom_wire::{ActorId, ActorKey};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::directory::{ActorRecord, Birth};
use crate::trouble::Trouble;

/// Where an actor stands.
#[derive(Clone)]
pub(crate) enum Phase {
    /// No instance.
    Asleep,
    Starting,
    Live(Arc<ActorHandle>),
    Stopping(Arc<ActorHandle>, ShutdownKind),
    /// No instance; being destroyed.
    Removing,
    /// No instance; its data is being replaced.
    Replacing,
    Destroyed,
    /// Dropped from memory while asleep.
    Forgotten,
}

impl Phase {
    /// The generation in this phase, if there is one that takes or took work.
    pub(crate) fn handle(&self) -> Option<&Arc<ActorHandle>> {
        match self {
            Self::Live(handle) | Self::Stopping(handle, _) => Some(handle),
            _ => None,
        }
    }

    /// True when there is nothing to wait for before this process may end.
    pub(crate) fn is_at_rest(&self) -> bool {
        matches!(self, Self::Asleep | Self::Destroyed | Self::Forgotten)
    }
}

/// Why an actor has to stop. The order is that of strength.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wish {
    Sleep,
    /// The process leaves.
    GoingAway,
    /// Out of memory without goodbye.
    Evict,
    Crash(String),
    Destroy {
        from_outside: bool,
    },
}

/// What is only looked at while something changes.
#[derive(Default)]
struct Control {
    /// Newest generation that was started; 0 before the first.
    generation: u32,
    /// A stop that was asked for while the start was under way.
    pending: Option<Wish>,
    /// A destroy that was asked for while the actor was falling asleep.
    destroy_next: bool,
}

/// Where the creation input is.
enum Input {
    /// Here, or nowhere: the actor has it, or there never was one.
    Known(Option<Bytes>),
    /// In the directory only. A live generation has it too, but perhaps not yet
    /// on disk.
    InDirectory,
}

pub(crate) struct Resident {
    pub(crate) id: ActorId,
    pub(crate) name: Arc<str>,
    pub(crate) key: ActorKey,
    input: Mutex<Input>,
    phase: watch::Sender<Phase>,
    /// Held while the phase changes because of a wish or the end of a start.
    control: Mutex<Control>,
    trouble: Mutex<Trouble>,
    /// Until the first start is over and the actor's creation durable.
    birth: Mutex<Option<Birth>>,
    /// Somebody waits for this resident to be forgotten.
    calming: AtomicBool,
}

impl Resident {
    pub(crate) fn new(record: ActorRecord, name: Arc<str>, birth: Option<Birth>) -> Self {
        Self {
            id: record.id,
            name,
            key: record.key,
            input: Mutex::new(Input::Known(record.input)),
            phase: watch::Sender::new(Phase::Asleep),
            control: Mutex::default(),
            trouble: Mutex::new(Trouble::new(record.error.is_some())),
            birth: Mutex::new(birth),
            calming: AtomicBool::new(false),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase.borrow().clone()
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// The creation input; `None` if only the directory knows.
    pub(crate) fn input(&self) -> Option<Option<Bytes>> {
        match &*self.input.lock() {
            Input::Known(input) => Some(input.clone()),
            Input::InDirectory => None,
        }
    }

    /// What must be on disk before anybody hears of the actor; `None` if it is.
    pub(crate) fn pending_commit(&self) -> Option<PendingCommit> {
        let birth = self.birth.lock();
        birth.as_ref().map(|birth| birth.commit.clone())
    }

    /// The generation that was counted with the creation, for one start.
    pub(crate) fn take_first_generation(&self) -> Option<u32> {
        self.birth.lock().as_mut()?.generation.take()
    }

    /// The creation failed: the actor was never there.
    pub(crate) fn is_stillborn(&self) -> bool {
        self.pending_commit()
            .is_some_and(|commit| matches!(commit.outcome(), Some(Err(_))))
    }

    /// The creation is over. One that failed is remembered as long as this is: what
    /// is told of the actor is told through it.
    pub(crate) fn end_birth(&self) {
        if !self.is_stillborn() {
            self.birth.lock().take();
        }
    }

    /// After a clean stop the actor's own database holds its input. True if the
    /// directory can let go of it.
    pub(crate) fn input_is_stored(&self) -> bool {
        let before = std::mem::replace(&mut *self.input.lock(), Input::Known(None));
        matches!(before, Input::InDirectory)
    }

    fn leave_asleep(&self, next: Phase) -> bool {
        self.phase.send_if_modified(|phase| {
            let asleep = matches!(phase, Phase::Asleep);
            if asleep {
                *phase = next;
            }
            asleep
        })
    }

    /// Takes the right to start (R1).
    pub(crate) fn claim_start(&self) -> bool {
        self.leave_asleep(Phase::Starting)
    }

    /// Takes the right to remove an actor without an instance (R1).
    pub(crate) fn claim_removal(&self) -> bool {
        self.leave_asleep(Phase::Removing)
    }

    /// Takes the right to replace the data of an actor without an instance (R1).
    pub(crate) fn claim_replacement(&self) -> bool {
        self.leave_asleep(Phase::Replacing)
    }

    /// The data was replaced, or not: asleep again.
    pub(crate) fn end_replacement(&self) {
        self.phase.send_replace(Phase::Asleep);
    }

    /// Drops out of memory; only asleep, and only the maps may call it (R2).
    pub(crate) fn claim_forgetting(&self) -> bool {
        self.leave_asleep(Phase::Forgotten)
    }

    /// The last word about this resident (R2).
    pub(crate) fn publish_destroyed(&self) {
        self.phase.send_replace(Phase::Destroyed);
    }

    /// The newest generation that was started; 0 before the first.
    pub(crate) fn generation(&self) -> u32 {
        self.control.lock().generation
    }

    pub(crate) fn note_generation(&self, generation: u32) {
        self.control.lock().generation = generation;
    }

    /// The start succeeded. A stop that was asked for meanwhile is handed back,
    /// to be carried out now.
    pub(crate) fn publish_live(&self, handle: Arc<ActorHandle>, now: Instant) -> Option<Wish> {
        {
            let mut input = self.input.lock();
            if matches!(*input, Input::Known(Some(_))) {
                *input = Input::InDirectory;
            }
        }
        self.trouble.lock().started(now);
        let mut control = self.control.lock();
        self.phase.send_replace(Phase::Live(handle));
        control.pending.take()
    }

    /// The start failed. True if the actor asked to be destroyed meanwhile.
    pub(crate) fn note_failed_start(&self, error: Error, now: Instant) -> bool {
        self.trouble.lock().start_failed(error, now);
        let pending = self.control.lock().pending.take();
        matches!(pending, Some(Wish::Destroy { .. }))
    }

    /// Begins a stop of a generation. `Some` makes the caller responsible for
    /// carrying it out; `None` means that there is nothing to do, or that
    /// somebody else will.
    pub(crate) fn begin_stop(&self, actor: ActorRef, wish: &Wish) -> Option<Arc<ActorHandle>> {
        let mut control = self.control.lock();
        if control.generation != actor.generation {
            return None;
        }
        let kind = match wish {
            Wish::Destroy { .. } => ShutdownKind::Destroy,
            Wish::Sleep | Wish::GoingAway | Wish::Evict | Wish::Crash(_) => ShutdownKind::Sleep,
        };
        match self.phase() {
            Phase::Live(handle) => {
                self.phase
                    .send_replace(Phase::Stopping(Arc::clone(&handle), kind));
                Some(handle)
            }
            Phase::Starting => {
                if control.pending.as_ref().is_none_or(|p| p < wish) {
                    control.pending = Some(wish.clone());
                }
                None
            }
            Phase::Stopping(_, ShutdownKind::Sleep) if kind == ShutdownKind::Destroy => {
                control.destroy_next = true;
                None
            }
            _ => None,
        }
    }

    /// After a sleep stop: to rest, or on to removal if a destroy was asked for.
    /// True means removal.
    pub(crate) fn settle_after_stop(&self) -> bool {
        let mut control = self.control.lock();
        if std::mem::take(&mut control.destroy_next) {
            self.phase.send_replace(Phase::Removing);
            return true;
        }
        self.phase.send_replace(Phase::Asleep);
        false
    }

    /// The instance ended without anybody asking. True for the one caller that
    /// saw it first, who then puts the resident to rest.
    pub(crate) fn claim_ended(&self, actor: ActorRef, handle: &Arc<ActorHandle>) -> bool {
        let _control = self.control.lock();
        self.phase.send_if_modified(|phase| {
            let ended = matches!(phase, Phase::Live(live) if live.actor() == actor);
            if ended {
                *phase = Phase::Stopping(Arc::clone(handle), ShutdownKind::Sleep);
            }
            ended
        })
    }

    /// The removal failed: the actor goes on to exist, asleep.
    pub(crate) fn note_failed_removal(&self, error: Error) {
        self.trouble.lock().removal_failed(error);
        self.phase.send_replace(Phase::Asleep);
    }

    /// Looks at, or adds to, what went wrong.
    pub(crate) fn trouble<T>(&self, look: impl FnOnce(&mut Trouble) -> T) -> T {
        look(&mut self.trouble.lock())
    }

    /// How long the actor has been live; `None` if it is not.
    pub(crate) fn live_for(&self, now: Instant) -> Option<Duration> {
        let live = matches!(*self.phase.borrow(), Phase::Live(_));
        let since = self.trouble.lock().live_since();
        since.filter(|_| live).map(|since| now.since(since))
    }

    /// Time until a start is allowed; `None` if it is now.
    pub(crate) fn pause_left(&self, clock: &Clock) -> Option<Duration> {
        self.trouble.lock().pause_left(clock.now())
    }

    /// Takes the duty to forget this resident later; one holds it at a time.
    pub(crate) fn claim_calming(&self) -> bool {
        !self.calming.swap(true, Ordering::SeqCst)
    }

    pub(crate) fn end_calming(&self) {
        self.calming.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use greenroom_error::code;

    use super::*;

    fn resident() -> Resident {
        let record = ActorRecord {
            id: ActorId::generate(),
            name: "name".to_owned(),
            key: ActorKey::new(["k"]).unwrap(),
            create_ts: 0,
            start_ts: None,
            sleep_ts: None,
            destroy_ts: None,
            input: None,
            error: None,
        };
        Resident::new(record, "name".into(), None)
    }

    #[test]
    fn one_caller_gets_the_start() {
        let resident = resident();
        assert!(resident.claim_start());
        assert!(!resident.claim_start());
        assert!(!resident.claim_removal());
        assert!(!resident.claim_forgetting());
    }

    #[test]
    fn a_stop_asked_for_during_the_start_waits_and_the_stronger_wish_wins() {
        let resident = resident();
        resident.claim_start();
        resident.note_generation(3);
        let actor = |generation| ActorRef {
            actor_id: resident.id,
            generation,
        };
        let destroy = Wish::Destroy {
            from_outside: false,
        };
        assert!(resident.begin_stop(actor(2), &destroy).is_none(), "stale");
        assert!(resident.begin_stop(actor(3), &destroy).is_none());
        assert!(resident.begin_stop(actor(3), &Wish::Sleep).is_none());
        let error = Error::new(&code::ACTOR_STARTING);
        let (clock, _) = Clock::manual(0);
        assert!(resident.note_failed_start(error, clock.now()));
    }
}
