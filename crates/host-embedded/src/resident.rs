//! One actor that this process is looking after, awake or not.
//!
//! A resident is the single place where an actor's whereabouts change: who wins
//! the start, whether a stop is due, whether the key is free. It runs nothing.
//!
//! Invariant R1: `Asleep → Starting` and `Asleep → Removing` are taken by exactly
//! one caller, who then drives the resident on.
//! Invariant R2: `Destroyed` and `Forgotten` are final, and the resident has left
//! the maps when they are seen; whoever sees them looks the actor up again.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use greenroom_core::actor::messages::ShutdownKind;
use greenroom_core::clock::Instant;
use greenroom_core::{ActorHandle, ActorRef, Clock};
use greenroom_error::Error;
use greenroom_wire::{ActorId, ActorKey};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::directory::ActorRecord;

/// First pause after a failed start or a crash; it doubles from there.
const PAUSE_MIN: Duration = Duration::from_millis(10);
/// Longest pause between quick retries of a start.
const START_PAUSE_MAX: Duration = Duration::from_millis(500);
/// Longest pause after a crash of an actor that keeps crashing.
const CRASH_PAUSE_MAX: Duration = Duration::from_secs(10);
/// A generation that lived this long ends a series of crashes.
const CRASH_MEMORY: Duration = Duration::from_secs(60);

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

/// Past trouble of an actor.
#[derive(Default)]
pub(crate) struct Trouble {
    /// Failed starts in a row.
    pub(crate) failed_starts: u32,
    /// Failed starts since the resident exists; never goes back.
    pub(crate) failed_starts_total: u64,
    crashes: u32,
    live_since: Option<Instant>,
    /// No start before this.
    not_before: Option<Instant>,
    /// Of the last failed start.
    pub(crate) last_error: Option<Arc<Error>>,
    /// The directory holds an error text of this actor.
    noted_error: bool,
    pub(crate) failed_removals: u64,
    removal_error: Option<Error>,
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
}

impl Resident {
    pub(crate) fn new(record: ActorRecord, name: Arc<str>) -> Self {
        Self {
            id: record.id,
            name,
            key: record.key,
            input: Mutex::new(Input::Known(record.input)),
            phase: watch::Sender::new(Phase::Asleep),
            control: Mutex::default(),
            trouble: Mutex::new(Trouble {
                noted_error: record.error.is_some(),
                ..Trouble::default()
            }),
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

    /// Drops out of memory; only asleep, and only the maps may call it (R2).
    pub(crate) fn claim_forgetting(&self) -> bool {
        self.leave_asleep(Phase::Forgotten)
    }

    /// The last word about this resident (R2).
    pub(crate) fn publish_destroyed(&self) {
        self.phase.send_replace(Phase::Destroyed);
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
        {
            let mut trouble = self.trouble.lock();
            trouble.failed_starts = 0;
            trouble.live_since = Some(now);
            trouble.not_before = None;
        }
        let mut control = self.control.lock();
        self.phase.send_replace(Phase::Live(handle));
        control.pending.take()
    }

    /// The start failed. True if the actor asked to be destroyed meanwhile.
    pub(crate) fn note_failed_start(&self, error: Arc<Error>, now: Instant) -> bool {
        let mut trouble = self.trouble.lock();
        trouble.not_before = Some(now + pause(trouble.failed_starts, START_PAUSE_MAX));
        trouble.failed_starts = trouble.failed_starts.saturating_add(1);
        trouble.failed_starts_total += 1;
        trouble.last_error = Some(error);
        trouble.noted_error = true;
        drop(trouble);
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

    /// A generation crashed: the next start waits, longer each time.
    pub(crate) fn note_crash(&self, now: Instant) {
        let mut trouble = self.trouble.lock();
        let lived = trouble.live_since.take().map(|since| now.since(since));
        if lived.is_some_and(|lived| lived >= CRASH_MEMORY) {
            trouble.crashes = 0;
        }
        // The first restart is immediate: most crashes do not repeat.
        trouble.not_before = trouble
            .crashes
            .checked_sub(1)
            .map(|before| now + pause(before, CRASH_PAUSE_MAX));
        trouble.crashes = trouble.crashes.saturating_add(1);
        trouble.noted_error = true;
    }

    /// True if the directory says that something is wrong which no longer is.
    pub(crate) fn take_noted_error(&self) -> bool {
        std::mem::take(&mut self.trouble.lock().noted_error)
    }

    /// The removal failed: the actor goes on to exist, asleep.
    pub(crate) fn note_failed_removal(&self, error: Error) {
        let mut trouble = self.trouble.lock();
        trouble.failed_removals += 1;
        trouble.removal_error = Some(error);
        drop(trouble);
        self.phase.send_replace(Phase::Asleep);
    }

    /// Why a removal failed, if one has since there were `before` failures.
    pub(crate) fn removal_failure_since(&self, before: u64) -> Option<Error> {
        let trouble = self.trouble.lock();
        let error = trouble.removal_error.as_ref()?;
        (trouble.failed_removals > before).then(|| error.duplicate())
    }

    /// Looks at past trouble.
    pub(crate) fn trouble<T>(&self, look: impl FnOnce(&Trouble) -> T) -> T {
        look(&self.trouble.lock())
    }

    /// Time until a start is allowed; `None` if it is now.
    pub(crate) fn pause_left(&self, clock: &Clock) -> Option<Duration> {
        let not_before = self.trouble.lock().not_before?;
        let left = not_before.since(clock.now());
        (!left.is_zero()).then_some(left)
    }

    /// True if forgetting the resident would forget a pause or a series of
    /// failures.
    pub(crate) fn is_troubled(&self) -> bool {
        let trouble = self.trouble.lock();
        trouble.failed_starts > 0 || trouble.crashes > 0
    }
}

fn pause(times_before: u32, longest: Duration) -> Duration {
    let doubled = PAUSE_MIN.saturating_mul(1 << times_before.min(20));
    doubled.min(longest)
}

/// How long a resident with past trouble is remembered while nobody asks for it.
pub(crate) const TROUBLE_MEMORY: Duration = CRASH_MEMORY;

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
        Resident::new(record, "name".into())
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
        let error = Arc::new(Error::new(&code::ACTOR_STARTING));
        let (clock, _) = Clock::manual(0);
        assert!(resident.note_failed_start(error, clock.now()));
    }

    #[test]
    fn pauses_double_up_to_their_limit() {
        let (clock, hands) = Clock::manual(0);
        let resident = resident();
        let mut pauses = Vec::new();
        for _ in 0..8 {
            let error = Arc::new(Error::new(&code::ACTOR_STARTING));
            resident.note_failed_start(error, clock.now());
            let pause = resident.pause_left(&clock).expect("a pause");
            pauses.push(pause.as_millis());
            hands.advance(pause);
            assert_eq!(resident.pause_left(&clock), None);
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 500, 500]);
    }

    #[test]
    fn the_first_crash_costs_no_pause_and_a_long_life_forgives() {
        let (clock, hands) = Clock::manual(0);
        let resident = resident();
        resident.note_crash(clock.now());
        assert_eq!(resident.pause_left(&clock), None);
        resident.note_crash(clock.now());
        assert!(resident.pause_left(&clock).is_some());
        resident.trouble.lock().live_since = Some(clock.now());
        hands.advance(CRASH_MEMORY);
        resident.note_crash(clock.now());
        assert_eq!(resident.pause_left(&clock), None);
    }
}
