//! Work that keeps an actor awake or holds up its shutdown.
//!
//! Each [`ActorWorkKind`] has one row of policy. A region counts one piece of
//! work from begin to drop, panics included. Counters are atomics read by the
//! task; the task is poked only while it said it is interested (grace, or a
//! sleep timer that found the actor busy), so busy actors pay no wake-ups.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::actor::dispatch::PendingPermit;
use crate::clock::{Clock, Instant};

/// Kinds of tracked work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActorWorkKind {
    /// A client's action until its reply.
    Action,
    /// `keepAwake`, and async `onStateChange`.
    KeepAwake,
    /// Work of the runtime that must not be cut, such as a scheduled action.
    InternalKeepAwake,
    /// `waitUntil`: outlives the call that made it, does not hold off sleep.
    WaitUntil,
    /// A promise handed to the adapter's task set.
    RegisteredTask,
    /// An async listener of a raw WebSocket.
    WebSocketCallback,
    /// `onDisconnect`.
    DisconnectCallback,
    /// An HTTP request until its body ended.
    HttpRequest,
}

/// What a kind of work holds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkPolicy {
    /// Counter that `can_sleep` reads; `None` does not hold off idle sleep.
    pub idle_counter: Option<IdleCounter>,
    /// Grace waits for it.
    pub drains_grace: bool,
    /// Aborted when grace runs out; otherwise joined.
    pub aborted_at_deadline: bool,
    pub label: &'static str,
}

/// Counters that the idle decision reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleCounter {
    KeepAwake,
    InternalKeepAwake,
    WebSocketCallback,
    DisconnectCallback,
    HttpRequest,
}

impl ActorWorkKind {
    pub fn policy(self) -> WorkPolicy {
        let row = |idle_counter, aborted_at_deadline, label| WorkPolicy {
            idle_counter,
            drains_grace: true,
            aborted_at_deadline,
            label,
        };
        match self {
            Self::Action => row(Some(IdleCounter::InternalKeepAwake), true, "action"),
            Self::KeepAwake => row(Some(IdleCounter::KeepAwake), true, "keep_awake"),
            Self::InternalKeepAwake => row(
                Some(IdleCounter::InternalKeepAwake),
                false,
                "internal_keep_awake",
            ),
            Self::WaitUntil => row(None, true, "wait_until"),
            Self::RegisteredTask => row(None, true, "registered_task"),
            Self::WebSocketCallback => row(
                Some(IdleCounter::WebSocketCallback),
                true,
                "websocket_callback",
            ),
            Self::DisconnectCallback => row(
                Some(IdleCounter::DisconnectCallback),
                true,
                "disconnect_callback",
            ),
            Self::HttpRequest => row(Some(IdleCounter::HttpRequest), true, "http"),
        }
    }
}

/// Counts of everything that runs, as one readable value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkCounts {
    pub keep_awake: usize,
    pub internal_keep_awake: usize,
    pub websocket_callbacks: usize,
    pub disconnect_callbacks: usize,
    pub http_requests: usize,
    /// All work that grace drains.
    pub shutdown_tasks: usize,
    /// Hooks the task itself dispatched in grace and that have not answered.
    pub core_hooks: usize,
    /// Active user `run` handlers.
    pub run_handlers: usize,
    /// Parked queue receives.
    pub queue_waits: usize,
}

impl WorkCounts {
    /// True while a transaction that is open may be in use by others than the one
    /// piece of work that asks.
    pub(crate) fn may_own_transaction(&self) -> bool {
        self.shutdown_tasks + self.run_handlers + self.core_hooks > 1
    }
}

#[derive(Default)]
struct Counters {
    keep_awake: AtomicUsize,
    internal_keep_awake: AtomicUsize,
    websocket_callbacks: AtomicUsize,
    disconnect_callbacks: AtomicUsize,
    http_requests: AtomicUsize,
    shutdown_tasks: AtomicUsize,
    core_hooks: AtomicUsize,
    run_handlers: AtomicUsize,
    queue_waits: AtomicUsize,
}

/// A counted quantity without an idle policy of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gauge {
    CoreHook,
    RunHandler,
    QueueWait,
}

/// Owner of the counters and of the poke that tells the task about them.
pub(crate) struct WorkRegistry {
    clock: Clock,
    /// When something last ended, in microseconds of the clock: idleness counts
    /// from here, so the sleep timer need not be re-armed for each event.
    touched_us: AtomicU64,
    counters: Counters,
    activity: Activity,
    /// Set at teardown: new tracked work is refused.
    closed: AtomicBool,
    /// Cuts abortable work at the grace deadline.
    abort: CancellationToken,
    tasks: Mutex<tokio::task::JoinSet<()>>,
    /// Rings when the last piece of grace-draining work ends.
    drained: Notify,
}

/// "Something changed" from any thread to the one task.
#[derive(Default)]
struct Activity {
    dirty: AtomicBool,
    /// True while the task wants to be woken for changes.
    interested: AtomicBool,
    waker: AtomicWaker,
}

impl WorkRegistry {
    pub(crate) fn new(clock: Clock) -> Arc<Self> {
        Arc::new(Self {
            touched_us: AtomicU64::new(clock.now().as_micros()),
            clock,
            counters: Counters::default(),
            activity: Activity::default(),
            closed: AtomicBool::new(false),
            abort: CancellationToken::new(),
            tasks: Mutex::new(tokio::task::JoinSet::new()),
            drained: Notify::new(),
        })
    }

    pub(crate) fn counts(&self) -> WorkCounts {
        let load = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
        let c = &self.counters;
        WorkCounts {
            keep_awake: load(&c.keep_awake),
            internal_keep_awake: load(&c.internal_keep_awake),
            websocket_callbacks: load(&c.websocket_callbacks),
            disconnect_callbacks: load(&c.disconnect_callbacks),
            http_requests: load(&c.http_requests),
            shutdown_tasks: load(&c.shutdown_tasks),
            core_hooks: load(&c.core_hooks),
            run_handlers: load(&c.run_handlers),
            queue_waits: load(&c.queue_waits),
        }
    }

    fn idle_counter(&self, counter: IdleCounter) -> &AtomicUsize {
        match counter {
            IdleCounter::KeepAwake => &self.counters.keep_awake,
            IdleCounter::InternalKeepAwake => &self.counters.internal_keep_awake,
            IdleCounter::WebSocketCallback => &self.counters.websocket_callbacks,
            IdleCounter::DisconnectCallback => &self.counters.disconnect_callbacks,
            IdleCounter::HttpRequest => &self.counters.http_requests,
        }
    }

    fn gauge(&self, gauge: Gauge) -> &AtomicUsize {
        match gauge {
            Gauge::CoreHook => &self.counters.core_hooks,
            Gauge::RunHandler => &self.counters.run_handlers,
            Gauge::QueueWait => &self.counters.queue_waits,
        }
    }

    /// Start of the current idle stretch, if the actor is idle now.
    pub(crate) fn idle_since(&self) -> Instant {
        Instant::from_micros(self.touched_us.load(Ordering::SeqCst))
    }

    /// Notes activity and tells the task that a count changed, if it cares.
    pub(crate) fn poke(&self) {
        self.touched_us
            .store(self.clock.now().as_micros(), Ordering::SeqCst);
        if self.activity.interested.load(Ordering::SeqCst) {
            self.poke_always();
        }
    }

    /// Tells the task in any case.
    pub(crate) fn poke_always(&self) {
        self.activity.dirty.store(true, Ordering::SeqCst);
        self.activity.waker.wake();
    }

    /// The task's side: whether changes should wake it from now on. Whoever turns
    /// interest on looks at the counts afterwards, so no change is missed.
    pub(crate) fn set_interested(&self, interested: bool) {
        self.activity.interested.store(interested, Ordering::SeqCst);
    }

    /// The task's side: takes the signal or registers to be woken.
    pub(crate) fn poll_activity(&self, cx: &mut std::task::Context<'_>) -> bool {
        // Registered before the flag is read: a poke in between is seen.
        self.activity.waker.register(cx.waker());
        self.activity.dirty.swap(false, Ordering::SeqCst)
    }

    pub(crate) fn begin(self: &Arc<Self>, kind: ActorWorkKind) -> ActorWorkRegion {
        let policy = kind.policy();
        if let Some(counter) = policy.idle_counter {
            self.idle_counter(counter).fetch_add(1, Ordering::SeqCst);
        }
        if policy.drains_grace {
            self.counters.shutdown_tasks.fetch_add(1, Ordering::SeqCst);
        }
        ActorWorkRegion {
            registry: Arc::clone(self),
            policy,
            permit: None,
        }
    }

    pub(crate) fn count(self: &Arc<Self>, gauge: Gauge) -> CountGuard {
        self.gauge(gauge).fetch_add(1, Ordering::SeqCst);
        self.poke();
        CountGuard {
            registry: Arc::clone(self),
            gauge,
        }
    }

    /// Runs `future` as tracked work; false, and dropped unpolled, after
    /// teardown began.
    pub(crate) fn spawn<F>(self: &Arc<Self>, kind: ActorWorkKind, future: F) -> bool
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut tasks = self.tasks.lock();
        if self.closed.load(Ordering::SeqCst) {
            return false;
        }
        while tasks.try_join_next().is_some() {}
        let region = self.begin(kind);
        let abort = self.abort.clone();
        tasks.spawn(async move {
            let _region = region;
            if kind.policy().aborted_at_deadline {
                tokio::select! {
                    biased;
                    () = future => {}
                    () = abort.cancelled() => {
                        tracing::warn!(kind = kind.policy().label, "tracked work was cut at the shutdown deadline");
                    }
                }
            } else {
                future.await;
            }
        });
        true
    }

    /// Waits until nothing that grace drains is running.
    pub(crate) async fn shutdown_work_idle(&self) {
        loop {
            let drained = self.drained.notified();
            // `notified` is armed before the count is read: no end is missed.
            if self.counters.shutdown_tasks.load(Ordering::SeqCst) == 0 {
                return;
            }
            drained.await;
        }
    }

    /// Refuses new work, cuts abortable work if `deadline_reached`, joins the rest.
    pub(crate) async fn teardown(&self, deadline_reached: bool) {
        let mut tasks = {
            let mut tasks = self.tasks.lock();
            self.closed.store(true, Ordering::SeqCst);
            std::mem::take(&mut *tasks)
        };
        if deadline_reached {
            self.abort.cancel();
        }
        while tasks.join_next().await.is_some() {}
    }
}

/// One piece of work, counted until dropped.
#[must_use = "dropping a region ends it"]
pub struct ActorWorkRegion {
    registry: Arc<WorkRegistry>,
    policy: WorkPolicy,
    /// Place in the process that the work takes up.
    permit: Option<PendingPermit>,
}

impl ActorWorkRegion {
    pub(crate) fn carrying(mut self, permit: PendingPermit) -> Self {
        self.permit = Some(permit);
        self
    }
}

impl Drop for ActorWorkRegion {
    fn drop(&mut self) {
        if let Some(counter) = self.policy.idle_counter {
            self.registry
                .idle_counter(counter)
                .fetch_sub(1, Ordering::SeqCst);
        }
        if self.policy.drains_grace {
            let c = &self.registry.counters.shutdown_tasks;
            if c.fetch_sub(1, Ordering::SeqCst) == 1 {
                self.registry.drained.notify_waiters();
            }
        }
        self.registry.poke();
    }
}

impl std::fmt::Debug for ActorWorkRegion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ActorWorkRegion({})", self.policy.label)
    }
}

/// A gauge held up by one.
#[must_use = "dropping the guard lowers the count"]
pub struct CountGuard {
    registry: Arc<WorkRegistry>,
    gauge: Gauge,
}

impl Drop for CountGuard {
    fn drop(&mut self) {
        self.registry
            .gauge(self.gauge)
            .fetch_sub(1, Ordering::SeqCst);
        self.registry.poke();
    }
}
