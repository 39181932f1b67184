//! When an actor may sleep and when grace is over: pure decisions over counts.
//!
//! Nothing here waits or counts; [`crate::actor::work`] counts, the task asks.

use crate::actor::messages::ShutdownKind;
use crate::actor::work::WorkCounts;

/// Everything the idle decision depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleInputs {
    /// Lifecycle is Started (or SleepGrace).
    pub started: bool,
    pub no_sleep: bool,
    pub work: WorkCounts,
    /// Connections that keep the actor awake: all of them, or only those that
    /// cannot hibernate when `hibernate_when_idle` is set.
    pub blocking_connections: usize,
}

/// The first reason not to sleep, in documented order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CanSleep {
    Yes,
    NotReady,
    NoSleep,
    ActiveHttpRequests,
    ActiveKeepAwake,
    ActiveInternalKeepAwake,
    ActiveRunHandler,
    ActiveDisconnectCallbacks,
    ActiveConnections,
    ActiveWebSocketCallbacks,
}

/// Decides whether an actor with these inputs may sleep.
pub fn can_sleep(inputs: &IdleInputs) -> CanSleep {
    let work = &inputs.work;
    if !inputs.started {
        CanSleep::NotReady
    } else if inputs.no_sleep {
        CanSleep::NoSleep
    } else if work.http_requests > 0 {
        CanSleep::ActiveHttpRequests
    } else if work.keep_awake > 0 {
        CanSleep::ActiveKeepAwake
    } else if work.internal_keep_awake > 0 {
        CanSleep::ActiveInternalKeepAwake
    } else if work.run_handlers > 0 && work.queue_waits == 0 {
        // A run handler parked on its queue has nothing to do: a send wakes it.
        CanSleep::ActiveRunHandler
    } else if work.disconnect_callbacks > 0 {
        CanSleep::ActiveDisconnectCallbacks
    } else if inputs.blocking_connections > 0 {
        CanSleep::ActiveConnections
    } else if work.websocket_callbacks > 0 {
        CanSleep::ActiveWebSocketCallbacks
    } else {
        CanSleep::Yes
    }
}

/// True when nothing that grace waits for is left. Destroy does not wait for the
/// run handler.
pub fn can_finalize(reason: ShutdownKind, work: &WorkCounts) -> bool {
    work.core_hooks == 0
        && (reason == ShutdownKind::Destroy || work.run_handlers == 0)
        && work.shutdown_tasks == 0
        && work.keep_awake == 0
        && work.internal_keep_awake == 0
        && work.http_requests == 0
        && work.websocket_callbacks == 0
        && work.disconnect_callbacks == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle() -> IdleInputs {
        IdleInputs {
            started: true,
            ..IdleInputs::default()
        }
    }

    #[test]
    fn each_blocker_alone_keeps_awake_and_the_first_is_named() {
        type Set = fn(&mut IdleInputs);
        let blockers: [(Set, CanSleep); 9] = [
            (|i| i.started = false, CanSleep::NotReady),
            (|i| i.no_sleep = true, CanSleep::NoSleep),
            (|i| i.work.http_requests = 1, CanSleep::ActiveHttpRequests),
            (|i| i.work.keep_awake = 1, CanSleep::ActiveKeepAwake),
            (
                |i| i.work.internal_keep_awake = 1,
                CanSleep::ActiveInternalKeepAwake,
            ),
            (|i| i.work.run_handlers = 1, CanSleep::ActiveRunHandler),
            (
                |i| i.work.disconnect_callbacks = 1,
                CanSleep::ActiveDisconnectCallbacks,
            ),
            (|i| i.blocking_connections = 1, CanSleep::ActiveConnections),
            (
                |i| i.work.websocket_callbacks = 1,
                CanSleep::ActiveWebSocketCallbacks,
            ),
        ];
        assert_eq!(can_sleep(&idle()), CanSleep::Yes);
        for (at, (set, reason)) in blockers.iter().enumerate() {
            let mut alone = idle();
            set(&mut alone);
            assert_eq!(can_sleep(&alone), *reason);
            // With every later blocker set too, the earlier one is still named.
            for (later, _) in &blockers[at..] {
                later(&mut alone);
            }
            assert_eq!(can_sleep(&alone), *reason);
        }
    }

    #[test]
    fn a_run_handler_parked_on_its_queue_may_sleep() {
        let mut inputs = idle();
        inputs.work.run_handlers = 1;
        inputs.work.queue_waits = 1;
        assert_eq!(can_sleep(&inputs), CanSleep::Yes);
    }

    #[test]
    fn wait_until_work_drains_grace_without_blocking_idle_sleep() {
        let mut inputs = idle();
        inputs.work.shutdown_tasks = 1;
        assert_eq!(can_sleep(&inputs), CanSleep::Yes);
        assert!(!can_finalize(ShutdownKind::Sleep, &inputs.work));
    }

    #[test]
    fn destroy_does_not_wait_for_the_run_handler() {
        let work = WorkCounts {
            run_handlers: 1,
            ..WorkCounts::default()
        };
        assert!(can_finalize(ShutdownKind::Destroy, &work));
        assert!(!can_finalize(ShutdownKind::Sleep, &work));
    }
}
