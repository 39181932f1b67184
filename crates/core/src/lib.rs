//! The runtime: one task per live actor, a registry of instances, and the seam to
//! whatever hosts them.
//!
//! Knows neither HTTP nor JavaScript. Hosts implement [`host::Host`] and drive
//! [`registry::RegistryDispatcher`]; languages provide an
//! [`actor::factory::ActorFactory`] whose adapter takes
//! [`actor::messages::ActorEvent`]s.

pub mod actor;
pub mod clock;
pub mod config;
pub mod figures;
pub mod host;
pub mod registry;
pub mod reply;
mod secret;
pub mod websocket;

pub use actor::connection::{
    ConnHandle, ConnTransport, ConnectOptions, FanOut, HibernationMetadata, OutboundEvent, Turn,
    is_ahead,
};
pub use actor::context::ActorContext;
pub use actor::factory::{ActorEvents, ActorFactory, ActorStart};
pub use actor::inspection::Revisions as InspectorRevisions;
pub use actor::kv::KvListOptions;
pub use actor::lifecycle::LifecycleState;
pub use actor::messages::{
    ActionDispatch, ActorEvent, Incoming, QueueSendResult, Request, Response, ScheduledFire,
    SerializeStateReason, ShutdownKind, StateDelta, WorkflowKvWrite,
};
pub use actor::queue::{Backoff, LetterChoice, Outgoing, QueueMessage, QueuePolicy, Receive};
pub use actor::save_book::RequestSaveOpts;
pub use actor::schedule::{
    CronJob, JobCadence, JobFire, NewJob, NotBegun, ScheduledCall, ScheduledEvent,
};
pub use actor::sql::{ActorSql, SqlCallOptions};
pub use actor::sql_handles::{ActorCursor, ActorTransaction};
pub use actor::state_transaction::StateTransaction;
pub use actor::work::{ActorWorkKind, ActorWorkRegion, CountGuard};
pub use clock::{Clock, Instant, ManualClock};
pub use config::{ActorConfig, Durability, Hooks, InspectorTab};
pub use host::{ActorRef, ClientEndpoint, HeldSocket, HibernationId, Host, HostFuture, StopReason};
pub use registry::{ActionCall, ActorHandle, Lookup, RegistryDispatcher, StartActor};
pub use reply::{Answer, Reply, ReplyReceiver};
pub use secret::same_secret;
pub use websocket::{Receipt, WebSocket, WebSocketEvent, WebSocketTransport};
