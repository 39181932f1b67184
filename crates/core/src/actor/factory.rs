//! What makes an actor type: its options and the entry of its adapter.
//!
//! The adapter is the receive loop of the user's language. It gets everything it
//! needs in one [`ActorStart`], runs its preamble, reports ready, then takes
//! events until the channel closes.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use greenroom_error::Result;
use tokio::sync::mpsc;

use crate::actor::connection::ConnHandle;
use crate::actor::context::ActorContext;
use crate::actor::messages::ActorEvent;
use crate::config::ActorConfig;
use crate::figures::TypeFigures;
use crate::reply::Reply;

pub type EntryFuture = Pin<Box<dyn Future<Output = Result<()>> + Send>>;
type Entry = Box<dyn Fn(ActorStart) -> EntryFuture + Send + Sync>;

/// An actor type.
pub struct ActorFactory {
    config: ActorConfig,
    entry: Entry,
    figures: TypeFigures,
}

/// What one generation starts with.
pub struct ActorStart {
    pub ctx: ActorContext,
    /// CBOR of the creation input, if any.
    pub input: Option<Bytes>,
    /// No start of this actor has succeeded before.
    pub is_new: bool,
    /// Persisted state of an actor that is not new.
    pub snapshot: Option<Bytes>,
    /// Connections restored from hibernation; their state is already attached.
    pub hibernated: Vec<ConnHandle>,
    pub events: ActorEvents,
    /// Answered once the preamble has run. An error fails the start.
    pub startup_ready: Reply<()>,
}

/// The adapter's end of the event channel.
pub struct ActorEvents(mpsc::UnboundedReceiver<ActorEvent>);

impl ActorEvents {
    pub(crate) fn new(receiver: mpsc::UnboundedReceiver<ActorEvent>) -> Self {
        Self(receiver)
    }

    /// The next event; `None` when the generation ended.
    pub async fn recv(&mut self) -> Option<ActorEvent> {
        self.0.recv().await
    }

    /// An event that is already there.
    pub fn try_recv(&mut self) -> Option<ActorEvent> {
        self.0.try_recv().ok()
    }
}

impl ActorFactory {
    /// `entry` is called once per generation. A panic in it becomes
    /// `actor/panicked`.
    pub fn new<F, Fut>(config: ActorConfig, entry: F) -> Self
    where
        F: Fn(ActorStart) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<()>> + Send + 'static,
    {
        Self {
            config,
            figures: TypeFigures::default(),
            entry: Box::new(move |start| Box::pin(entry(start))),
        }
    }

    pub fn config(&self) -> &ActorConfig {
        &self.config
    }

    pub(crate) fn figures(&self) -> &TypeFigures {
        &self.figures
    }

    pub(crate) fn start(&self, start: ActorStart) -> EntryFuture {
        (self.entry)(start)
    }
}

impl std::fmt::Debug for ActorFactory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ActorFactory")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
