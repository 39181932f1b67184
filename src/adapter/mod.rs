//! The receive loop of one actor generation: runtime events in, user callbacks
//! out.
//!
//! Order of callbacks, what runs at the same time and what waits is decided
//! here; how a callback is called is not (`callbacks`).
//!
//! Invariant A1: while state is being serialized no other event is taken.
//! Work that already runs goes on.
//! Invariant A2: the loop serves events during the preamble and during shutdown
//! hooks alike, because both may ask for a save and wait for it.
//! Invariant A3: whoever is still waiting for a reply when the loop ends hears
//! `actor/stopping`.

mod dispatch;
mod ending;
mod preamble;
mod reply;
mod run_handler;

use std::pin::Pin;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use greenroom_core::{ActorEvent, ActorEvents, ActorStart};
use greenroom_error::Result;

use crate::actor::ActorShared;
use crate::callbacks::Callbacks;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The entry of every actor type defined in JavaScript.
pub(crate) async fn run(callbacks: Arc<Callbacks>, start: ActorStart) -> Result<()> {
    let shared = ActorShared::new(start.ctx.clone(), callbacks);
    let adapter = Adapter {
        ending: ending::EndGuard(Arc::clone(&shared)),
        shared,
        events: start.events,
        running: FuturesUnordered::new(),
        serializing: None,
    };
    let preamble = preamble::Preamble {
        input: start.input,
        is_new: start.is_new,
        snapshot: start.snapshot,
        startup_ready: start.startup_ready,
    };
    adapter.run(preamble).await;
    Ok(())
}

struct Adapter {
    shared: Arc<ActorShared>,
    events: ActorEvents,
    /// Everything under way, the preamble and the `run` handler included.
    running: FuturesUnordered<Work>,
    /// The serialization that holds up further events (A1).
    serializing: Option<Work>,
    /// Cleans up however the loop ends, aborts and panics included.
    ending: ending::EndGuard,
}

/// What the loop woke up for.
enum Step {
    Event(ActorEvent),
    Progress,
    Closed,
}

impl Adapter {
    async fn run(mut self, preamble: preamble::Preamble) {
        self.shared.tasks.open();
        let shared = Arc::clone(&self.shared);
        self.running.push(Box::pin(preamble.run(shared)));
        loop {
            match self.next().await {
                Step::Event(event) => self.handle(event),
                Step::Progress => {}
                Step::Closed => break,
            }
        }
        self.finish().await;
    }

    async fn next(&mut self) -> Step {
        let taking = self.serializing.is_none();
        let serializing = async {
            match &mut self.serializing {
                Some(work) => work.await,
                None => std::future::pending().await,
            }
        };
        let step = tokio::select! {
            biased;
            () = serializing => None,
            Some(()) = self.running.next() => return Step::Progress,
            event = self.events.recv(), if taking => Some(event),
        };
        match step {
            None => {
                self.serializing = None;
                Step::Progress
            }
            Some(Some(event)) => Step::Event(event),
            Some(None) => Step::Closed,
        }
    }

    fn start(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.running.push(Box::pin(work));
    }
}
