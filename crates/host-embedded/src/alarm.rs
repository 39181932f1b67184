//! One timer for the alarms of all actors.
//!
//! Alarms live in the directory, so they ring after a restart whether or not
//! anybody has asked for the actor. An alarm rings by starting the actor, or by
//! telling the live one; it is the actor that clears or moves it. Until it does,
//! the alarm is *handed over* and rings again only after a pause, so that an
//! actor that cannot start costs no busy loop.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use greenroom_core::Clock;
use greenroom_core::clock::Instant;
use greenroom_error::{Result, code};
use greenroom_wire::ActorId;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::resident::Phase;
use crate::shared::Shared;
use crate::target::Target;

/// Alarms that ring at the same time.
const RINGING_MAX: usize = 32;
/// Pause before an alarm that nobody cleared rings again; doubles.
const AGAIN_MIN: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(60);
/// Longest sleep of the timer on a real clock. Wall time may jump; this bounds how
/// late an alarm is then.
const SLEEP_MAX: Duration = Duration::from_secs(60);
/// Time an actor gets to react.
const RING_TIME: Duration = Duration::from_secs(60);

/// Wakes the timer when an alarm changes, and remembers what was handed over.
#[derive(Default)]
pub(crate) struct AlarmBell {
    notify: Notify,
    /// At most one entry per actor whose alarm is overdue.
    handed_over: Mutex<HashMap<ActorId, HandedOver>>,
}

struct HandedOver {
    at_ms: i64,
    pause: Duration,
    /// `None` while it is ringing.
    again: Option<Instant>,
}

impl AlarmBell {
    /// The stored alarm of an actor is another one now.
    pub(crate) fn changed(&self, id: ActorId, at_ms: Option<i64>) {
        let mut handed_over = self.handed_over.lock();
        if handed_over.get(&id).is_some_and(|h| Some(h.at_ms) != at_ms) {
            handed_over.remove(&id);
        }
        drop(handed_over);
        if at_ms.is_some() {
            self.notify.notify_one();
        }
    }

    /// Takes the right to ring; false while it is handed over.
    fn hand_over(&self, id: ActorId, at_ms: i64, now: Instant) -> bool {
        let mut handed_over = self.handed_over.lock();
        let entry = handed_over.entry(id).or_insert(HandedOver {
            at_ms,
            pause: AGAIN_MIN,
            again: Some(now),
        });
        if entry.at_ms != at_ms {
            entry.at_ms = at_ms;
            entry.pause = AGAIN_MIN;
            entry.again = entry.again.map(|_| now);
        }
        match entry.again {
            Some(again) if again <= now => {
                entry.again = None;
                true
            }
            _ => false,
        }
    }

    fn rang(&self, id: ActorId, now: Instant) {
        if let Some(entry) = self.handed_over.lock().get_mut(&id) {
            entry.again = Some(now + entry.pause);
            entry.pause = (entry.pause * 2).min(AGAIN_MAX);
        }
        self.notify.notify_one();
    }

    /// An actor came to rest: an alarm that rang while it was on its way there need
    /// not wait any longer.
    pub(crate) fn came_to_rest(&self, id: ActorId, now: Instant) {
        if let Some(entry) = self.handed_over.lock().get_mut(&id) {
            entry.again = entry.again.map(|_| now);
            self.notify.notify_one();
        }
    }

    /// Forgets what is not overdue any more, and finds when to look again.
    fn next_again(&self) -> Option<Instant> {
        let handed_over = self.handed_over.lock();
        handed_over.values().filter_map(|h| h.again).min()
    }

    fn keep_only(&self, due: &[(ActorId, i64)]) {
        let mut handed_over = self.handed_over.lock();
        handed_over
            .retain(|id, entry| entry.again.is_none() || due.iter().any(|(due, _)| due == id));
    }

    fn count(&self) -> usize {
        self.handed_over.lock().len()
    }
}

impl Shared {
    /// Runs until the host ends.
    pub(crate) async fn ring_alarms(self: Arc<Self>) {
        let mut ringing = JoinSet::new();
        loop {
            let pause = match self.ring_due(&mut ringing).await {
                Ok(pause) => pause,
                Err(error) if error.is(&code::SQLITE_CLOSED) => return,
                Err(error) => {
                    tracing::error!(%error, "alarms could not be read");
                    Some(AGAIN_MIN)
                }
            };
            tokio::select! {
                biased;
                () = self.ending.cancelled() => return,
                Some(_) = ringing.join_next(), if !ringing.is_empty() => {}
                () = self.bell.notify.notified() => {}
                () = sleep(self.clock(), pause) => {}
            }
        }
    }

    /// Rings what is due and finds out how long there is nothing to do.
    async fn ring_due(self: &Arc<Self>, ringing: &mut JoinSet<()>) -> Result<Option<Duration>> {
        let now_ms = self.clock().now_ms();
        // All that is overdue, and the first that is not.
        let limit = RINGING_MAX + self.bell.count() + 1;
        let mut due = self.directory.alarms(limit).await?;
        let later = due.iter().find(|(_, at_ms)| *at_ms > now_ms).copied();
        due.retain(|(_, at_ms)| *at_ms <= now_ms);
        self.bell.keep_only(&due);
        let now = self.clock().now();
        for (id, at_ms) in due {
            if ringing.len() >= RINGING_MAX {
                // The next one that ends wakes the timer.
                return Ok(None);
            }
            if self.bell.hand_over(id, at_ms, now) {
                let me = Arc::clone(self);
                ringing.spawn(async move {
                    me.ring(id).await;
                    me.bell.rang(id, me.clock().now());
                });
            }
        }
        let again = self.bell.next_again().map(|again| again.since(now));
        let later = later.map(|(_, at_ms)| Duration::from_millis(at_ms.abs_diff(now_ms)));
        let pause = again.into_iter().chain(later).min();
        Ok(match self.clock().is_manual() {
            true => pause,
            false => pause.map(|pause| pause.min(SLEEP_MAX)),
        })
    }

    async fn ring(&self, id: ActorId) {
        let Ok(resident) = self.find(&Target::Id(id)).await else {
            return;
        };
        let mut phases = resident.subscribe();
        let phase = phases.borrow_and_update().clone();
        let rung = match phase {
            Phase::Live(handle) => {
                self.look_after(&resident, &handle);
                let fired = self.registry.fire_alarm(handle.actor());
                self.clock().timeout(RING_TIME, fired).await
            }
            Phase::Asleep if resident.pause_left(self.clock()).is_none() => {
                self.begin_start(&resident);
                let started = async {
                    let _ = phases.wait_for(|p| !matches!(p, Phase::Starting)).await;
                    Ok(())
                };
                self.clock().timeout(RING_TIME, started).await
            }
            // On its way in or out, or just failed; the pause brings us back.
            _ => Ok(Ok(())),
        };
        match rung {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(actor_id = %id, %error, "an alarm was not taken"),
            Err(_) => tracing::warn!(actor_id = %id, "an alarm was not taken in time"),
        }
    }
}

async fn sleep(clock: &Clock, pause: Option<Duration>) {
    match pause {
        Some(pause) => clock.sleep(pause).await,
        None => std::future::pending().await,
    }
}
