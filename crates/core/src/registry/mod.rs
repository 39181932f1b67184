//! Instances of actors in this process, keyed by id and generation.
//!
//! The host says start, stop and alarm; the registry runs the tasks, answers who
//! is where, and hands client work to the live generation. It decides nothing
//! about placement and never starts an actor by itself.
//!
//! Invariant R1: a stop names a generation and only ever reaches that one. A stop
//! that arrives during its start waits for it; one for a generation that is
//! unknown or gone completes at once.
//! Invariant R2: an instance is published as Active only after its start
//! succeeded, and leaves the map only when its task has ended.

mod conn_work;
mod handle;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use greenroom_wire::{ActorId, ActorKey};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::{mpsc, watch};

use crate::actor::context::{ActorContext, ContextParts, Identity};
use crate::actor::factory::{ActorEvents, ActorFactory};
use crate::actor::messages::{LifecycleCommand, ShutdownKind};
use crate::actor::task::{ActorTask, Inboxes};
use crate::actor::work::WorkRegistry;
use crate::actor::{ProcessPending, dispatch_channel};
use crate::clock::Clock;
use crate::figures::{LiveFigures, TypeReport};
use crate::host::{ActorRef, Host, StopReason};
use crate::reply::reply;

pub use handle::{ActionCall, ActorHandle, RequestHead};

/// What a start needs.
pub struct StartActor {
    pub actor: ActorRef,
    pub name: String,
    pub key: ActorKey,
    /// CBOR creation input; used only until the actor has been initialised.
    pub input: Option<Bytes>,
}

/// Where an actor stands in this process.
pub enum Lookup {
    /// Not here.
    Absent,
    /// On its way up: wait with [`RegistryDispatcher::changed`].
    Starting,
    Active(Arc<ActorHandle>),
    /// On its way out; a sleeping one may still take work during grace.
    Stopping(Arc<ActorHandle>, ShutdownKind),
}

impl Lookup {
    /// The instance that is here, on its way out included.
    pub fn instance(self) -> Option<Arc<ActorHandle>> {
        match self {
            Self::Active(handle) | Self::Stopping(handle, _) => Some(handle),
            Self::Absent | Self::Starting => None,
        }
    }
}

#[derive(Clone)]
enum Phase {
    Starting,
    Active(Arc<ActorHandle>),
    Stopping(Arc<ActorHandle>, ShutdownKind),
    Gone,
}

struct Instance {
    generation: u32,
    phase: watch::Sender<Phase>,
}

/// All instances of one registry.
pub struct RegistryDispatcher {
    factories: HashMap<String, Arc<ActorFactory>>,
    /// Generations of each id, oldest first; almost always one.
    instances: Mutex<HashMap<ActorId, Vec<Instance>>>,
    clock: Clock,
    region: String,
    pending: Arc<ProcessPending>,
}

/// Client work that may be pending in one registry.
const PENDING_MAX: usize = 100_000;

impl RegistryDispatcher {
    pub fn new(
        factories: HashMap<String, Arc<ActorFactory>>,
        clock: Clock,
        region: String,
    ) -> Arc<Self> {
        Arc::new(Self {
            factories,
            instances: Mutex::new(HashMap::new()),
            clock,
            region,
            pending: ProcessPending::new(PENDING_MAX),
        })
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    pub fn factory(&self, name: &str) -> Option<&Arc<ActorFactory>> {
        self.factories.get(name)
    }

    /// Registered actor names with their factories, in no order.
    pub fn factories(&self) -> impl Iterator<Item = (&str, &Arc<ActorFactory>)> {
        self.factories.iter().map(|(name, f)| (name.as_str(), f))
    }

    /// Instances that are starting, active or stopping.
    pub fn instance_count(&self) -> usize {
        self.instances.lock().values().map(Vec::len).sum()
    }

    /// What is counted of each registered type, and seen of its actors now.
    pub fn type_reports(&self) -> Vec<TypeReport> {
        let mut live: HashMap<String, LiveFigures> = HashMap::new();
        for handle in self.live_handles() {
            let ctx = handle.ctx();
            live.entry(ctx.name().to_owned()).or_default().add(ctx);
        }
        let report = |(name, factory): (&str, &Arc<ActorFactory>)| {
            let live = live.get(name).copied().unwrap_or_default();
            TypeReport::of(name, factory.figures(), live)
        };
        let mut reports: Vec<_> = self.factories().map(report).collect();
        reports.sort_by(|one, other| one.name.cmp(&other.name));
        reports
    }

    fn live_handles(&self) -> Vec<Arc<ActorHandle>> {
        let instances = self.instances.lock();
        let phases = instances
            .values()
            .flatten()
            .map(|each| each.phase.borrow().clone());
        let handle = |phase| match phase {
            Phase::Active(handle) | Phase::Stopping(handle, _) => Some(handle),
            Phase::Starting | Phase::Gone => None,
        };
        phases.filter_map(handle).collect()
    }

    /// Ids with an instance in this process.
    pub fn instance_refs(&self) -> Vec<ActorRef> {
        let instances = self.instances.lock();
        let refs = instances.iter().flat_map(|(id, generations)| {
            generations.iter().map(|instance| ActorRef {
                actor_id: *id,
                generation: instance.generation,
            })
        });
        refs.collect()
    }

    /// The newest generation of an id.
    pub fn lookup(&self, actor_id: &ActorId) -> Lookup {
        let instances = self.instances.lock();
        let newest = instances.get(actor_id).and_then(|g| g.last());
        match newest.map(|instance| instance.phase.borrow().clone()) {
            None | Some(Phase::Gone) => Lookup::Absent,
            Some(Phase::Starting) => Lookup::Starting,
            Some(Phase::Active(handle)) => Lookup::Active(handle),
            Some(Phase::Stopping(handle, kind)) => Lookup::Stopping(handle, kind),
        }
    }

    /// Resolves when the newest generation's phase changes after this call; at
    /// once if there is no instance. A caller that looks up after the call and
    /// then waits misses nothing.
    pub fn changed(&self, actor_id: &ActorId) -> impl Future<Output = ()> + Send + use<> {
        let receiver = {
            let instances = self.instances.lock();
            let newest = instances.get(actor_id).and_then(|g| g.last());
            newest.map(|instance| instance.phase.subscribe())
        };
        async move {
            if let Some(mut receiver) = receiver {
                // An error means the instance is gone, which is a change.
                let _ = receiver.changed().await;
            }
        }
    }

    /// Starts one generation and resolves when it takes work; an older one that is
    /// still stopping is waited for. Fails with the start's own error; nothing of
    /// the instance is then left.
    pub async fn start_actor(
        self: &Arc<Self>,
        host: Arc<dyn Host>,
        start: StartActor,
    ) -> Result<Arc<ActorHandle>> {
        let actor = start.actor;
        let factory = self.factories.get(&start.name).cloned().ok_or_else(|| {
            Error::with(
                &code::ACTOR_NOT_REGISTERED,
                json!({ "actor_name": start.name }),
            )
        })?;
        let sql = host.open_storage(actor)?;
        while let Some(older) = self.claim(actor)? {
            self.gone(older).await;
        }
        // No await until the task is spawned: from then on the task's end, and
        // nothing else, frees the entry, even if this future is dropped.
        let (task, handle) = self.build(start, factory, host, sql);
        let handle = Arc::new(handle);
        let (answer, answered) = reply();
        handle.send_lifecycle(LifecycleCommand::Start { reply: answer });
        let join = tokio::spawn(task.run());
        let registry = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(error) = join.await {
                tracing::error!(actor_id = %actor.actor_id, %error, "actor task panicked");
            }
            // Whatever ended it, an ended task is no instance (R2).
            registry.remove(actor);
        });
        if let Err(error) = answered.result().await {
            self.gone(actor).await;
            return Err(error);
        }
        self.publish(actor, Phase::Active(Arc::clone(&handle)));
        Ok(handle)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "commands come from the registry alone, signals are coalesced, and events \
                  follow from dispatch, which is bounded"
    )]
    fn build(
        &self,
        start: StartActor,
        factory: Arc<ActorFactory>,
        host: Arc<dyn Host>,
        sql: greenroom_store::Database,
    ) -> (ActorTask, ActorHandle) {
        let (lifecycle, lifecycle_inbox) = mpsc::unbounded_channel();
        let (lifecycle_events, events_inbox) = mpsc::unbounded_channel();
        let (actor_events, adapter_inbox) = mpsc::unbounded_channel();
        let work = WorkRegistry::new(self.clock.clone());
        let capacity = factory.config().max_pending_requests as usize;
        let process = Arc::clone(&self.pending);
        let (dispatch, dispatch_inbox) = dispatch_channel(capacity, Arc::clone(&work), process);
        let ctx = ActorContext::new(ContextParts {
            identity: Identity {
                actor: start.actor,
                name: start.name,
                key: start.key,
                region: self.region.clone(),
            },
            factory: Arc::clone(&factory),
            clock: self.clock.clone(),
            host,
            sql,
            input: start.input,
            work,
            lifecycle_events,
            actor_events,
        });
        let inboxes = Inboxes {
            lifecycle: lifecycle_inbox,
            events: events_inbox,
            dispatch: dispatch_inbox,
            adapter: ActorEvents::new(adapter_inbox),
        };
        let task = ActorTask::new(ctx.clone(), factory, inboxes);
        (task, ActorHandle::new(ctx, lifecycle, dispatch))
    }

    /// Takes the id for one generation. Not before every older one is gone: two
    /// would share a database, and the older one closes it. That one is returned.
    fn claim(&self, actor: ActorRef) -> Result<Option<ActorRef>> {
        let mut instances = self.instances.lock();
        let generations = instances.entry(actor.actor_id).or_default();
        if generations
            .last()
            .is_some_and(|newest| newest.generation >= actor.generation)
        {
            return Err(Error::with(
                &code::ACTOR_INVALID_OPERATION,
                json!({ "operation": "start", "reason": "this or a newer generation exists" }),
            ));
        }
        if let Some(older) = generations.first() {
            return Ok(Some(ActorRef {
                generation: older.generation,
                ..actor
            }));
        }
        generations.push(Instance {
            generation: actor.generation,
            phase: watch::Sender::new(Phase::Starting),
        });
        Ok(None)
    }

    /// Publishes a phase of a generation that is still in the map.
    fn publish(&self, actor: ActorRef, phase: Phase) {
        let instances = self.instances.lock();
        if let Some(instance) = find(&instances, actor) {
            instance.phase.send_replace(phase);
        }
    }

    fn remove(&self, actor: ActorRef) {
        let mut instances = self.instances.lock();
        if let Some(generations) = instances.get_mut(&actor.actor_id) {
            generations.retain(|instance| {
                let keep = instance.generation != actor.generation;
                if !keep {
                    instance.phase.send_replace(Phase::Gone);
                }
                keep
            });
            if generations.is_empty() {
                instances.remove(&actor.actor_id);
            }
        }
    }

    /// Stops one generation and resolves when nothing of it is left (R1). The
    /// crash report, if the actor left one, comes back with it.
    pub async fn stop_actor(&self, actor: ActorRef, reason: StopReason) -> Result<Option<String>> {
        let kind = reason.shutdown_kind();
        let Some(handle) = self.await_started(actor).await else {
            return Ok(None);
        };
        if kind == ShutdownKind::Destroy {
            handle.ctx().mark_destroy_requested();
        }
        self.mark_stopping(actor, &handle, kind);
        let (answer, answered) = reply();
        handle.send_lifecycle(LifecycleCommand::Stop {
            reason: kind,
            reply: answer,
        });
        let result = answered.result().await;
        self.gone(actor).await;
        let report = handle.ctx().take_stop_error();
        // A task that ended by itself drops the reply: it has stopped all the same.
        match result {
            Err(error) if !error.is(&code::ACTOR_DROPPED_REPLY) => Err(error),
            _ => Ok(report),
        }
    }

    /// Ends one generation as a crash of the process would: no grace, no hooks, no
    /// final save, or no further attempt at it. What was acknowledged stays. Resolves
    /// when nothing of it is left in memory.
    pub async fn abandon_actor(&self, actor: ActorRef) {
        let Some(handle) = self.await_started(actor).await else {
            return;
        };
        self.mark_stopping(actor, &handle, ShutdownKind::Sleep);
        handle.ctx().mark_abandoned();
        handle.send_lifecycle(LifecycleCommand::Abandon);
        self.gone(actor).await;
    }

    fn mark_stopping(&self, actor: ActorRef, handle: &Arc<ActorHandle>, kind: ShutdownKind) {
        let instances = self.instances.lock();
        let Some(instance) = find(&instances, actor) else {
            return;
        };
        instance.phase.send_if_modified(|phase| {
            let active = matches!(phase, Phase::Active(_));
            if active {
                *phase = Phase::Stopping(Arc::clone(handle), kind);
            }
            active
        });
    }

    /// The handle once the start has finished; `None` if the generation is not
    /// here or its start failed.
    async fn await_started(&self, actor: ActorRef) -> Option<Arc<ActorHandle>> {
        let mut phase = self.subscribe(actor)?;
        let settled = phase.wait_for(|p| !matches!(p, Phase::Starting)).await;
        match settled.as_deref() {
            Ok(Phase::Active(handle) | Phase::Stopping(handle, _)) => Some(Arc::clone(handle)),
            _ => None,
        }
    }

    /// Resolves when the generation has left the map.
    async fn gone(&self, actor: ActorRef) {
        if let Some(mut phase) = self.subscribe(actor) {
            let _ = phase.wait_for(|p| matches!(p, Phase::Gone)).await;
        }
    }

    fn subscribe(&self, actor: ActorRef) -> Option<watch::Receiver<Phase>> {
        let instances = self.instances.lock();
        find(&instances, actor).map(|instance| instance.phase.subscribe())
    }

    /// The host's alarm for one generation rang. Unknown generations are ignored:
    /// the next start looks at due work by itself.
    pub async fn fire_alarm(&self, actor: ActorRef) -> Result<()> {
        let Some(handle) = self.await_started(actor).await else {
            return Ok(());
        };
        let (answer, answered) = reply();
        handle.send_lifecycle(LifecycleCommand::FireAlarm { reply: answer });
        match answered.result().await {
            // Too late for this generation: what is due is the next one's.
            Err(error) if error.is(&code::ACTOR_DROPPED_REPLY) && !handle.ctx().started() => Ok(()),
            answer => answer,
        }
    }
}

fn find(instances: &HashMap<ActorId, Vec<Instance>>, actor: ActorRef) -> Option<&Instance> {
    let generations = instances.get(&actor.actor_id)?;
    generations
        .iter()
        .find(|i| i.generation == actor.generation)
}
