//! [`ActorContext`]: the handle through which everything reaches one generation
//! of one actor.
//!
//! A clone is one reference count. The fields of each subsystem form one private
//! struct in that subsystem's file, built whole here; the behaviour sits in `impl
//! ActorContext` blocks beside it. There is no setter after construction.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use greenroom_error::{ActorSpecifier, Error, Result, code};
use greenroom_store::Database;
use greenroom_wire::{ActorId, ActorKey};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::mpsc;

use crate::actor::connection::ConnectionRoom;
use crate::actor::factory::ActorFactory;
use crate::actor::inspector::InspectorRoom;
use crate::actor::intents::IntentRoom;
use crate::actor::messages::{ActorEvent, LifecycleEvent};
use crate::actor::output::OutputGate;
use crate::actor::queue::QueueRoom;
use crate::actor::run_wake::RunWakeRoom;
use crate::actor::schedule::ScheduleRoom;
use crate::actor::sql::SqlRoom;
use crate::actor::state::StateRoom;
use crate::actor::storage_turns::StorageTurns;
use crate::actor::work::{
    ActorWorkKind, ActorWorkRegion, CountGuard, Gauge, WorkCounts, WorkRegistry,
};
use crate::clock::Clock;
use crate::config::ActorConfig;
use crate::figures::TypeFigures;
use crate::host::{ActorRef, Host};

/// Shared handle to one generation of one actor.
#[derive(Clone)]
pub struct ActorContext(pub(crate) Arc<ActorContextInner>);

pub(crate) struct ActorContextInner {
    pub(crate) identity: Identity,
    factory: Arc<ActorFactory>,
    pub(crate) clock: Clock,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) sql: Database,
    pub(crate) user_sql: SqlRoom,
    /// Task's inbox of internal signals.
    lifecycle_events: mpsc::UnboundedSender<LifecycleEvent>,
    /// Adapter's inbox; `None` once closed. Sync and never held across an await.
    actor_events: Mutex<Option<mpsc::UnboundedSender<ActorEvent>>>,
    pub(crate) intents: IntentRoom,
    pub(crate) work: Arc<WorkRegistry>,
    pub(crate) state: StateRoom,
    pub(crate) conns: ConnectionRoom,
    pub(crate) queue: QueueRoom,
    pub(crate) schedule: ScheduleRoom,
    pub(crate) run_wake: RunWakeRoom,
    pub(crate) storage_turns: StorageTurns,
    pub(crate) output: OutputGate,
    pub(crate) inspector: InspectorRoom,
}

/// Who the actor is; immutable.
#[derive(Clone, Debug)]
pub struct Identity {
    pub actor: ActorRef,
    pub name: String,
    pub key: ActorKey,
    pub region: String,
}

/// What a context is built from.
pub(crate) struct ContextParts {
    pub identity: Identity,
    pub factory: Arc<ActorFactory>,
    pub clock: Clock,
    pub host: Arc<dyn Host>,
    pub sql: Database,
    /// Creation input the host knows; storage overrides it.
    pub input: Option<Bytes>,
    pub work: Arc<WorkRegistry>,
    pub lifecycle_events: mpsc::UnboundedSender<LifecycleEvent>,
    pub actor_events: mpsc::UnboundedSender<ActorEvent>,
}

impl ActorContext {
    pub(crate) fn new(parts: ContextParts) -> Self {
        let queue = QueueRoom::new(parts.factory.config());
        Self(Arc::new(ActorContextInner {
            identity: parts.identity,
            factory: parts.factory,
            work: parts.work,
            clock: parts.clock,
            host: parts.host,
            user_sql: SqlRoom::new(&parts.sql),
            sql: parts.sql,
            lifecycle_events: parts.lifecycle_events,
            actor_events: Mutex::new(Some(parts.actor_events)),
            intents: IntentRoom::default(),
            state: StateRoom::new(parts.input),
            conns: ConnectionRoom::default(),
            queue,
            schedule: ScheduleRoom::default(),
            run_wake: RunWakeRoom::default(),
            storage_turns: StorageTurns::default(),
            output: OutputGate::default(),
            inspector: InspectorRoom::default(),
        }))
    }

    pub fn actor(&self) -> ActorRef {
        self.0.identity.actor
    }
    pub fn actor_id(&self) -> ActorId {
        self.0.identity.actor.actor_id
    }
    pub fn generation(&self) -> u32 {
        self.0.identity.actor.generation
    }
    pub fn name(&self) -> &str {
        &self.0.identity.name
    }
    pub fn key(&self) -> &ActorKey {
        &self.0.identity.key
    }
    pub fn region(&self) -> &str {
        &self.0.identity.region
    }
    pub fn config(&self) -> &ActorConfig {
        self.0.factory.config()
    }

    /// What is counted of this actor's type.
    pub(crate) fn type_figures(&self) -> &TypeFigures {
        self.0.factory.figures()
    }
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }
    /// The actor's database: user tables and runtime tables.
    pub fn sql(&self) -> &Database {
        &self.0.sql
    }
    pub fn host(&self) -> &Arc<dyn Host> {
        &self.0.host
    }

    /// True if both handles name the same generation object.
    pub fn same_instance(&self, other: &ActorContext) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub fn specifier(&self) -> ActorSpecifier {
        ActorSpecifier {
            actor_id: self.actor_id().to_string(),
            generation: self.generation(),
            key: Some(self.key().to_string()),
        }
    }

    /// Names this actor in the error unless it already names one.
    pub fn attach_actor(&self, error: Error) -> Error {
        error.with_actor(self.specifier())
    }

    /// Begins a piece of tracked work.
    pub fn begin_work(&self, kind: ActorWorkKind) -> ActorWorkRegion {
        self.0.work.begin(kind)
    }

    /// Runs a future as tracked work; false, and not run, after teardown began.
    pub fn spawn_work<F>(&self, kind: ActorWorkKind, future: F) -> bool
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.0.work.spawn(kind, future)
    }

    /// Counts an active user `run` handler.
    pub fn run_handler_guard(&self) -> CountGuard {
        self.0.work.count(Gauge::RunHandler)
    }

    /// Counts a parked queue receive.
    pub fn queue_wait_guard(&self) -> CountGuard {
        self.0.work.count(Gauge::QueueWait)
    }

    pub fn work_counts(&self) -> WorkCounts {
        self.0.work.counts()
    }

    /// Bounds a hook: expiry is `actor/callback_timed_out` naming it.
    pub async fn bounded<T>(
        &self,
        span: Duration,
        callback: &str,
        future: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        match self.0.clock.timeout(span, future).await {
            Ok(result) => result,
            Err(_) => Err(Error::with(
                &code::ACTOR_CALLBACK_TIMED_OUT,
                json!({ "callback_name": callback, "duration_ms": span.as_millis() as u64 }),
            )),
        }
    }

    pub(crate) fn send_actor_event(&self, event: ActorEvent) -> Result<()> {
        let kind = event.kind();
        let sender = self.0.actor_events.lock();
        let sent = sender.as_ref().is_some_and(|s| s.send(event).is_ok());
        if sent {
            Ok(())
        } else {
            tracing::debug!(actor_id = %self.actor_id(), event = kind, "actor event inbox is closed");
            Err(Error::not_configured("actor event inbox"))
        }
    }

    /// Ends the adapter's event stream once it has taken what is queued.
    pub(crate) fn close_actor_events(&self) {
        self.0.actor_events.lock().take();
    }

    /// Signals the task; false when the task has ended.
    pub(crate) fn send_lifecycle_event(&self, event: LifecycleEvent) -> bool {
        self.0.lifecycle_events.send(event).is_ok()
    }
}

impl std::fmt::Debug for ActorContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ActorContext")
            .field("actor_id", &self.0.identity.actor.actor_id)
            .field("generation", &self.0.identity.actor.generation)
            .field("name", &self.0.identity.name)
            .finish_non_exhaustive()
    }
}
