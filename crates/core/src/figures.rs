//! What is counted of the actors of one type, and what is seen of them now.
//!
//! Counters belong to the type and outlive its actors; they are touched where an
//! actor starts, stops, is connected to or queues a message, not on the way of an
//! action. Gauges are read from the actors that live when somebody asks. How it
//! looks to a scraper is a gateway's business.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::actor::context::ActorContext;
use crate::actor::lifecycle::LifecycleState;
use crate::actor::messages::ShutdownKind;

/// Upper bounds of the times of starts, in seconds.
pub const START_BOUNDS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];
/// Upper bounds of other times, in seconds.
pub const TIME_BOUNDS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// A distribution of times.
#[derive(Clone, Debug)]
pub struct Histogram {
    pub bounds: &'static [f64],
    /// How many were within each bound and above the one before; the last entry is
    /// of those above all bounds.
    pub counts: Vec<u64>,
    pub sum_seconds: f64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            counts: vec![0; bounds.len() + 1],
            sum_seconds: 0.0,
        }
    }

    fn record(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        let at = self.bounds.partition_point(|bound| *bound < seconds);
        self.counts[at] += 1;
        self.sum_seconds += seconds;
    }

    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// A part of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StartPhase {
    /// Until the stored actor is in memory.
    LoadPersisted,
    /// Hooks of user code.
    RuntimePreamble,
    /// From the command to the first moment at which work is taken.
    Total,
}

impl StartPhase {
    pub fn label(self) -> &'static str {
        match self {
            Self::LoadPersisted => "load_persisted",
            Self::RuntimePreamble => "runtime_preamble",
            Self::Total => "total",
        }
    }
}

/// Which starts are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StartKind {
    pub phase: StartPhase,
    /// `None` where it was not known by then.
    pub is_new: Option<bool>,
    pub succeeded: bool,
}

/// Counters of one actor type.
#[derive(Debug, Default)]
pub struct TypeFigures {
    started: AtomicU64,
    stopped: AtomicU64,
    connections: AtomicU64,
    queue_sent: AtomicU64,
    queue_received: AtomicU64,
    starts: Mutex<BTreeMap<StartKind, Histogram>>,
    /// Grace, by the reason of the stop.
    graces: Mutex<BTreeMap<&'static str, Histogram>>,
    graces_cut: Mutex<BTreeMap<&'static str, u64>>,
}

impl TypeFigures {
    pub(crate) fn actor_started(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn actor_stopped(&self) {
        self.stopped.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn connected(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn message_sent(&self) {
        self.queue_sent.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn messages_received(&self, count: usize) {
        self.queue_received
            .fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn start_took(&self, kind: StartKind, time: Duration) {
        let mut starts = self.starts.lock();
        let histogram = starts.entry(kind);
        histogram
            .or_insert_with(|| Histogram::new(START_BOUNDS))
            .record(time);
    }

    pub(crate) fn grace_took(&self, reason: ShutdownKind, time: Duration) {
        let mut graces = self.graces.lock();
        let histogram = graces.entry(reason.label());
        histogram
            .or_insert_with(|| Histogram::new(TIME_BOUNDS))
            .record(time);
    }

    pub(crate) fn grace_was_cut(&self, reason: ShutdownKind) {
        *self.graces_cut.lock().entry(reason.label()).or_default() += 1;
    }
}

/// What is seen of the actors of one type that live now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveFigures {
    pub actors: usize,
    pub connections: usize,
    pub http_requests: usize,
    pub keep_awake: usize,
    pub internal_keep_awake: usize,
    pub websocket_callbacks: usize,
    pub disconnect_callbacks: usize,
    pub queue_waits: usize,
    pub shutdown_tasks: usize,
    /// Stored messages, as far as they are known in memory.
    pub queued: u64,
}

impl LiveFigures {
    pub(crate) fn add(&mut self, ctx: &ActorContext) {
        let work = ctx.work_counts();
        self.actors += 1;
        self.connections += ctx.conn_count();
        self.http_requests += work.http_requests;
        self.keep_awake += work.keep_awake;
        self.internal_keep_awake += work.internal_keep_awake;
        self.websocket_callbacks += work.websocket_callbacks;
        self.disconnect_callbacks += work.disconnect_callbacks;
        self.queue_waits += work.queue_waits;
        self.queued += ctx.queue_len();
        if matches!(
            ctx.lifecycle_state(),
            LifecycleState::SleepGrace | LifecycleState::DestroyGrace
        ) {
            self.shutdown_tasks += work.shutdown_tasks;
        }
    }
}

/// Everything about one actor type at one moment.
#[derive(Clone, Debug)]
pub struct TypeReport {
    pub name: String,
    pub live: LiveFigures,
    pub started: u64,
    pub stopped: u64,
    pub connections: u64,
    pub queue_sent: u64,
    pub queue_received: u64,
    pub starts: BTreeMap<StartKind, Histogram>,
    pub graces: BTreeMap<&'static str, Histogram>,
    pub graces_cut: BTreeMap<&'static str, u64>,
}

impl TypeReport {
    pub(crate) fn of(name: &str, figures: &TypeFigures, live: LiveFigures) -> Self {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Self {
            name: name.to_owned(),
            live,
            started: read(&figures.started),
            stopped: read(&figures.stopped),
            connections: read(&figures.connections),
            queue_sent: read(&figures.queue_sent),
            queue_received: read(&figures.queue_received),
            starts: figures.starts.lock().clone(),
            graces: figures.graces.lock().clone(),
            graces_cut: figures.graces_cut.lock().clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_counted_in_the_first_bound_that_holds_it() {
        let mut histogram = Histogram::new(&[0.1, 1.0]);
        for millis in [50, 100, 101, 5_000] {
            histogram.record(Duration::from_millis(millis));
        }
        assert_eq!(histogram.counts, [2, 1, 1]);
        assert_eq!(histogram.count(), 4);
        assert!((histogram.sum_seconds - 5.251).abs() < 1e-9);
    }
}
