//! The lifecycle as data: states, what each command means in each state, and who
//! may still get in. Pure functions; [`crate::actor::task`] acts on what they
//! return.

use greenroom_error::{Code, code};

use crate::actor::messages::ShutdownKind;

/// Where a generation stands. It only moves forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum LifecycleState {
    /// Storage is loading; no user code has run.
    #[default]
    Loading,
    /// Live. The preamble of user code may still be running.
    Started,
    /// `onSleep` runs; work is still accepted and saved.
    SleepGrace,
    /// Final save and teardown before sleep.
    SleepFinalize,
    /// `onDestroy` runs; new work is refused.
    DestroyGrace,
    /// Teardown before destruction.
    Destroying,
    /// The task has ended.
    Terminated,
}

impl LifecycleState {
    pub const ALL: [Self; 7] = [
        Self::Loading,
        Self::Started,
        Self::SleepGrace,
        Self::SleepFinalize,
        Self::DestroyGrace,
        Self::Destroying,
        Self::Terminated,
    ];

    /// The `started` flag that intents and the registry read.
    pub fn is_started(self) -> bool {
        matches!(self, Self::Started | Self::SleepGrace)
    }

    /// The task reads its dispatch inbox, to run or to refuse.
    pub fn reads_dispatch(self) -> bool {
        matches!(self, Self::Started | Self::SleepGrace | Self::DestroyGrace)
    }

    /// Timer saves and workflow flushes run.
    pub fn saves(self) -> bool {
        self.is_started()
    }

    /// Rank in the order of life; a transition never lowers it.
    fn rank(self) -> u8 {
        match self {
            Self::Loading => 0,
            Self::Started => 1,
            Self::SleepGrace | Self::DestroyGrace => 2,
            Self::SleepFinalize | Self::Destroying => 3,
            Self::Terminated => 4,
        }
    }

    /// True if `next` is a forward step.
    pub fn may_become(self, next: Self) -> bool {
        next.rank() > self.rank()
    }

    pub fn grace_of(reason: ShutdownKind) -> Self {
        match reason {
            ShutdownKind::Sleep => Self::SleepGrace,
            ShutdownKind::Destroy => Self::DestroyGrace,
        }
    }

    pub fn finalize_of(reason: ShutdownKind) -> Self {
        match reason {
            ShutdownKind::Sleep => Self::SleepFinalize,
            ShutdownKind::Destroy => Self::Destroying,
        }
    }
}

/// What a Start command means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnStart {
    Run,
    Refuse(&'static Code),
}

pub fn on_start(state: LifecycleState) -> OnStart {
    match state {
        LifecycleState::Loading => OnStart::Run,
        // A generation starts once; asking again while live changes nothing.
        LifecycleState::Started => OnStart::Refuse(&code::ACTOR_INVALID_OPERATION),
        LifecycleState::SleepGrace
        | LifecycleState::SleepFinalize
        | LifecycleState::DestroyGrace
        | LifecycleState::Destroying
        | LifecycleState::Terminated => OnStart::Refuse(&code::ACTOR_STOPPING),
    }
}

/// What a Stop command means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnStop {
    /// Begin grace; the reply waits for the end.
    BeginGrace,
    /// A stop of the same kind is under way: answered at once.
    AlreadyStopping,
    /// A stop of the other kind is under way, which cannot be changed any more.
    Conflict,
    Refuse(&'static Code),
}

pub fn on_stop(state: LifecycleState, reason: ShutdownKind) -> OnStop {
    use LifecycleState as S;
    match state {
        S::Loading => OnStop::Refuse(&code::ACTOR_NOT_READY),
        S::Started => OnStop::BeginGrace,
        S::Terminated => OnStop::AlreadyStopping,
        S::SleepGrace | S::SleepFinalize if reason == ShutdownKind::Sleep => {
            OnStop::AlreadyStopping
        }
        S::DestroyGrace | S::Destroying if reason == ShutdownKind::Destroy => {
            OnStop::AlreadyStopping
        }
        S::SleepGrace | S::SleepFinalize | S::DestroyGrace | S::Destroying => OnStop::Conflict,
    }
}

/// What an alarm means: whether due work may be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnAlarm {
    /// Fire due schedules and the run wake.
    Fire,
    /// Only forget a due run wake: the actor ends.
    ConsumeRunWake,
    Nothing,
}

pub fn on_alarm(state: LifecycleState) -> OnAlarm {
    match state {
        LifecycleState::Started | LifecycleState::SleepGrace => OnAlarm::Fire,
        LifecycleState::DestroyGrace => OnAlarm::ConsumeRunWake,
        LifecycleState::Loading
        | LifecycleState::SleepFinalize
        | LifecycleState::Destroying
        | LifecycleState::Terminated => OnAlarm::Nothing,
    }
}

/// The one admission rule for client work, used by the registry and by the task.
/// `None` admits.
pub fn refusal(state: LifecycleState, destroy_requested: bool) -> Option<&'static Code> {
    use LifecycleState as S;
    if destroy_requested {
        return Some(&code::ACTOR_DESTROYING);
    }
    match state {
        S::Started | S::SleepGrace => None,
        S::Loading => Some(&code::ACTOR_NOT_READY),
        S::SleepFinalize | S::DestroyGrace => Some(&code::ACTOR_STOPPING),
        S::Destroying | S::Terminated => Some(&code::ACTOR_DESTROYING),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [ShutdownKind; 2] = [ShutdownKind::Sleep, ShutdownKind::Destroy];

    #[test]
    fn every_state_answers_every_stop_as_documented() {
        use LifecycleState as S;
        for state in LifecycleState::ALL {
            for reason in KINDS {
                let expected = match (state, reason) {
                    (S::Loading, _) => OnStop::Refuse(&code::ACTOR_NOT_READY),
                    (S::Started, _) => OnStop::BeginGrace,
                    (S::Terminated, _)
                    | (S::SleepGrace | S::SleepFinalize, ShutdownKind::Sleep)
                    | (S::DestroyGrace | S::Destroying, ShutdownKind::Destroy) => {
                        OnStop::AlreadyStopping
                    }
                    _ => OnStop::Conflict,
                };
                assert_eq!(on_stop(state, reason), expected, "{state:?} {reason:?}");
            }
        }
    }

    #[test]
    fn work_is_admitted_exactly_while_the_started_flag_is_up() {
        for state in LifecycleState::ALL {
            assert_eq!(refusal(state, false).is_none(), state.is_started());
            assert_eq!(refusal(state, true), Some(&code::ACTOR_DESTROYING));
        }
    }

    #[test]
    fn life_only_moves_forward() {
        for from in LifecycleState::ALL {
            assert!(!from.may_become(from));
            for to in LifecycleState::ALL {
                assert!(!(from.may_become(to) && to.may_become(from)));
            }
        }
        for reason in KINDS {
            let grace = LifecycleState::grace_of(reason);
            assert!(LifecycleState::Started.may_become(grace));
            assert!(grace.may_become(LifecycleState::finalize_of(reason)));
        }
    }

    #[test]
    fn alarms_fire_only_while_live() {
        for state in LifecycleState::ALL {
            assert_eq!(on_alarm(state) == OnAlarm::Fire, state.is_started());
        }
    }

    #[test]
    fn a_generation_starts_once() {
        for state in LifecycleState::ALL {
            assert_eq!(
                on_start(state) == OnStart::Run,
                state == LifecycleState::Loading
            );
        }
    }
}
