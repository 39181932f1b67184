//! The output gate: what must be on disk before an answer or an event leaves.
//!
//! A new actor's first writes are held in memory and made durable as one commit
//! while its first requests already run; their answers wait here. With
//! `Durability::Reply`, answers and events also wait for the state they were made
//! from. Failure is sticky: once the startup commit has failed, every later
//! answer fails with it.
//!
//! Invariant O1: events leave in the order they were sent, and an answer leaves
//! after every event that was sent before it.
//! Invariant O2: an event whose state was not written never leaves.

use std::collections::VecDeque;

use greenroom_error::{Error, Result};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::actor::connection::{ConnHandle, OutboundEvent};
use crate::actor::context::ActorContext;
use crate::actor::save_book::Patience;
use crate::config::Durability;

/// State of the startup commit.
#[derive(Debug, Default)]
enum Startup {
    /// Nothing to wait for.
    #[default]
    Settled,
    InFlight,
    Failed(Error),
}

/// Where an event goes.
pub(crate) enum Audience {
    One(ConnHandle),
    /// Whoever is subscribed when it leaves.
    Subscribers,
}

struct Held {
    /// State revision that must be durable first.
    revision: u64,
    event: OutboundEvent,
    audience: Audience,
}

/// Events that wait, and how far delivery has come.
#[derive(Default)]
struct Outbox {
    held: VecDeque<Held>,
    sent: u64,
    /// True while a pump task empties the outbox.
    pumping: bool,
}

/// One per generation.
pub(crate) struct OutputGate {
    startup: watch::Sender<Startup>,
    outbox: Mutex<Outbox>,
    /// Number of events that have left or been dropped.
    delivered: watch::Sender<u64>,
}

impl Default for OutputGate {
    fn default() -> Self {
        Self {
            startup: watch::Sender::new(Startup::Settled),
            outbox: Mutex::new(Outbox::default()),
            delivered: watch::Sender::new(0),
        }
    }
}

impl OutputGate {
    pub(crate) fn begin_startup_commit(&self) {
        self.startup.send_replace(Startup::InFlight);
    }

    pub(crate) fn finish_startup_commit(&self, result: Result<()>) {
        self.startup.send_replace(match result {
            Ok(()) => Startup::Settled,
            Err(error) => Startup::Failed(error),
        });
    }

    /// True when nothing holds answers back; the common case, without an await.
    fn is_open(&self) -> bool {
        matches!(*self.startup.borrow(), Startup::Settled)
    }

    async fn startup_settled(&self) -> Result<()> {
        let mut startup = self.startup.subscribe();
        let settled = startup
            .wait_for(|state| !matches!(state, Startup::InFlight))
            .await;
        match settled.as_deref() {
            Ok(Startup::Failed(error)) => Err(error.duplicate()),
            // The sender lives in the context this borrows.
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

impl ActorContext {
    /// Waits until everything that an answer given now relies on is durable.
    pub(crate) async fn wait_output(&self) -> Result<()> {
        if self.output_is_free() {
            return Ok(());
        }
        // On the heap: hardly any call waits here, and each has room for it.
        Box::pin(self.wait_for_output()).await
    }

    /// True if nothing of this actor's waits for a save or the start.
    fn output_is_free(&self) -> bool {
        self.0.output.is_open() && self.config().durability == Durability::Interval
    }

    async fn wait_for_output(&self) -> Result<()> {
        if !self.0.output.is_open() {
            self.0.output.startup_settled().await?;
        }
        if self.config().durability == Durability::Reply {
            let sent = self.0.output.outbox.lock().sent;
            self.save_pending_changes().await?;
            let mut delivered = self.0.output.delivered.subscribe();
            // The sender lives in the context this borrows.
            let _ = delivered.wait_for(|count| *count >= sent).await;
        }
        Ok(())
    }

    /// Sends an event now, or once the state it was made from is durable.
    pub(crate) fn emit(&self, event: OutboundEvent, audience: Audience) {
        if self.config().durability == Durability::Interval {
            self.deliver(&event, &audience);
            return;
        }
        let (requested, completed) =
            self.with_book(|book| (book.requested_revision(), book.completed_revision()));
        let mut outbox = self.0.output.outbox.lock();
        outbox.sent += 1;
        if outbox.held.is_empty() && !outbox.pumping && completed >= requested {
            let sent = outbox.sent;
            // Under the lock, so that a later event cannot overtake (O1).
            self.deliver(&event, &audience);
            self.0.output.delivered.send_replace(sent);
            return;
        }
        outbox.held.push_back(Held {
            revision: requested,
            event,
            audience,
        });
        if !outbox.pumping {
            outbox.pumping = true;
            let ctx = self.clone();
            tokio::spawn(async move { ctx.pump_outbox().await });
        }
        drop(outbox);
        self.hurry_save();
    }

    async fn pump_outbox(&self) {
        loop {
            let next = {
                let mut outbox = self.0.output.outbox.lock();
                let next = outbox.held.pop_front();
                outbox.pumping = next.is_some();
                next
            };
            let Some(held) = next else { return };
            match self.wait_saved(held.revision, Patience::Retries).await {
                Ok(()) => self.deliver(&held.event, &held.audience),
                Err(error) => {
                    tracing::warn!(actor_id = %self.actor_id(), event = held.event.name, %error, "event dropped: its state was not written");
                }
            }
            self.0.output.delivered.send_modify(|count| *count += 1);
        }
    }

    fn deliver(&self, event: &OutboundEvent, audience: &Audience) {
        match audience {
            Audience::One(conn) => conn.send(event),
            Audience::Subscribers => self.send_to_subscribers(event),
        }
    }
}
