//! Everything that travels to and from an actor task.
//!
//! - [`LifecycleCommand`]: registry → task, trusted, must be answered.
//! - [`DispatchCommand`]: client work, must be answered.
//! - [`LifecycleEvent`]: subsystem → task, coalesced signals.
//! - [`ActorEvent`]: task → adapter of the user's language.
//!
//! Large variants are boxed: tokio allocates channel blocks of 32 slots, and an
//! idle actor should not pay kilobytes for slots it never fills.

use std::any::Any;
use std::sync::Arc;

use bytes::Bytes;
use greenroom_error::Result;
use tokio::sync::mpsc;

use crate::actor::connection::ConnHandle;
use crate::actor::schedule::{BusyGuard, NotBegun};
use crate::actor::work::ActorWorkRegion;
use crate::reply::Reply;
use crate::websocket::WebSocket;

/// Why an instance leaves memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShutdownKind {
    /// It will wake again: state, schedules and hibernatable sockets stay.
    Sleep,
    /// It is gone for good.
    Destroy,
}

impl ShutdownKind {
    pub fn label(self) -> &'static str {
        match self {
            Self::Sleep => "sleep",
            Self::Destroy => "destroy",
        }
    }
}

/// Registry → task.
#[derive(Debug)]
pub enum LifecycleCommand {
    /// Runs the start sequence; the reply comes when the actor takes work.
    Start { reply: Reply<()> },
    /// Begins grace; the reply comes when everything is closed.
    Stop {
        reason: ShutdownKind,
        reply: Reply<()>,
    },
    /// The host's alarm rang.
    FireAlarm { reply: Reply<()> },
    /// Ends at once, without grace, hooks or a final save.
    Abandon,
}

impl LifecycleCommand {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Start { .. } => "start",
            Self::Stop { .. } => "stop",
            Self::FireAlarm { .. } => "fire_alarm",
            Self::Abandon => "abandon",
        }
    }
}

/// Trace and request identity that a call brings along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Incoming {
    pub ray_id: Option<String>,
    pub traceparent: Option<String>,
    pub tracestate: Option<String>,
    /// Luggage of a caller inside this process.
    pub caller: Option<Caller>,
}

/// Something a caller inside this process sends along with its call for the
/// adapter; opaque to everybody between.
#[derive(Clone)]
pub struct Caller(Arc<dyn Any + Send + Sync>);

impl Caller {
    pub fn new(luggage: impl Any + Send + Sync) -> Self {
        Self(Arc::new(luggage))
    }

    pub fn downcast<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl PartialEq for Caller {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
impl Eq for Caller {}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Caller")
    }
}

impl From<Incoming> for greenroom_store::Trace {
    fn from(incoming: Incoming) -> Self {
        Self {
            ray_id: incoming.ray_id,
            traceparent: incoming.traceparent,
            tracestate: incoming.tracestate,
        }
    }
}

/// An HTTP request as user code sees it, or the one that opened a connection.
#[derive(Debug, Default)]
pub struct Request {
    pub method: String,
    /// Path and query inside the actor.
    pub uri: String,
    /// Names in lower case, in order of arrival.
    pub headers: Vec<(String, String)>,
    /// The whole body, or its first part when `stream` follows.
    pub body: Bytes,
    /// The rest of a body that is still arriving.
    pub stream: Option<BodyStream>,
    /// Fires when the requester went away.
    pub cancelled: tokio_util::sync::CancellationToken,
    /// Counts a request to user code as running work, from acceptance; to be
    /// passed on to its [`Response`].
    pub region: Option<ActorWorkRegion>,
}

impl Request {
    /// The head without body or stream.
    pub fn head(&self) -> Request {
        Request {
            method: self.method.clone(),
            uri: self.uri.clone(),
            headers: self.headers.clone(),
            body: Bytes::new(),
            stream: None,
            cancelled: self.cancelled.clone(),
            region: None,
        }
    }

    /// First value of a header, by lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Chunks of a body; `Err` aborts it with a reason. The channel is bounded: that
/// is the back-pressure.
pub type BodyStream = mpsc::Receiver<Result<Bytes, String>>;

/// What a user's request handler answered.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    /// Set when the body follows in chunks; `body` is then empty.
    pub stream: Option<BodyStream>,
    /// That of the request: to be dropped when the body has ended.
    pub region: Option<ActorWorkRegion>,
}

/// One action call.
#[derive(Debug)]
pub struct ActionDispatch {
    pub name: String,
    /// CBOR array.
    pub args: Bytes,
    pub conn: Option<ConnHandle>,
    pub incoming: Incoming,
    /// Fires when the caller no longer wants the answer.
    pub cancelled: tokio_util::sync::CancellationToken,
    /// Counts a schedule's call as running work until it is dropped; that of a
    /// client is counted by its reply, until the answer leaves.
    pub region: Option<ActorWorkRegion>,
    /// CBOR value.
    pub reply: Reply<Bytes>,
}

/// One message sent to a queue from outside.
#[derive(Debug)]
pub struct QueueSendDispatch {
    pub name: String,
    pub body: Bytes,
    pub conn: ConnHandle,
    pub request: Request,
    pub wait: bool,
    pub timeout_ms: Option<u64>,
    pub incoming: Incoming,
    pub reply: Reply<QueueSendResult>,
}

/// Answer to a queue send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueSendResult {
    Completed { response: Option<Bytes> },
    TimedOut,
}

/// Client work.
#[derive(Debug)]
pub enum DispatchCommand {
    Action(Box<ActionDispatch>),
    QueueSend(Box<QueueSendDispatch>),
    Http {
        request: Box<Request>,
        reply: Reply<Response>,
    },
    OpenWebSocket {
        conn: ConnHandle,
        ws: WebSocket,
        request: Option<Box<Request>>,
        reply: Reply<()>,
    },
    WorkflowHistory {
        reply: Reply<Option<Bytes>>,
    },
    WorkflowReplay {
        entry_id: Option<String>,
        reply: Reply<Option<Bytes>>,
    },
}

impl DispatchCommand {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Action(_) => "action",
            Self::QueueSend(_) => "queue_send",
            Self::Http { .. } => "http",
            Self::OpenWebSocket { .. } => "open_websocket",
            Self::WorkflowHistory { .. } => "workflow_history",
            Self::WorkflowReplay { .. } => "workflow_replay",
        }
    }

    /// Answers that nothing ran.
    pub fn refuse(self, error: greenroom_error::Error) {
        match self {
            Self::Action(action) => action.reply.refuse(error),
            Self::QueueSend(send) => send.reply.refuse(error),
            Self::Http { reply, .. } => reply.refuse(error),
            Self::OpenWebSocket { reply, .. } => reply.refuse(error),
            Self::WorkflowHistory { reply } | Self::WorkflowReplay { reply, .. } => {
                reply.refuse(error);
            }
        }
    }
}

/// One key of the workflow engine's storage, without its table prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowKvWrite {
    pub key: Bytes,
    pub value: Bytes,
}

/// Subsystem → task.
#[derive(Debug)]
pub enum LifecycleEvent {
    SaveRequested {
        immediate: bool,
    },
    WorkflowFlushRequested {
        writes: Vec<WorkflowKvWrite>,
        reply: Reply<()>,
    },
    InspectorSerializeRequested,
    InspectorAttachmentsChanged,
    SleepTick,
    /// What the actor is to be woken for has changed.
    AlarmChanged(BusyGuard),
    /// A state transaction let go of the save exclusion; held saves go on.
    StateTransactionFinished,
}

impl LifecycleEvent {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SaveRequested { .. } => "save_requested",
            Self::WorkflowFlushRequested { .. } => "workflow_flush_requested",
            Self::InspectorSerializeRequested => "inspector_serialize_requested",
            Self::InspectorAttachmentsChanged => "inspector_attachments_changed",
            Self::SleepTick => "sleep_tick",
            Self::AlarmChanged(_) => "alarm_changed",
            Self::StateTransactionFinished => "state_transaction_finished",
        }
    }
}

/// Why the adapter is asked for its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SerializeStateReason {
    /// To persist it: the adapter consumes its dirty bit.
    Save,
    /// To show it: the dirty bit stays.
    Inspector,
}

impl SerializeStateReason {
    pub fn label(self) -> &'static str {
        match self {
            Self::Save => "save",
            Self::Inspector => "inspector",
        }
    }
}

/// One change to persist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateDelta {
    /// The whole user state.
    ActorState(Bytes),
    /// User state of a hibernatable connection.
    ConnHibernation { conn: String, bytes: Bytes },
    /// The connection's rows go away.
    ConnHibernationRemoved(String),
}

impl StateDelta {
    pub fn payload_len(&self) -> usize {
        match self {
            Self::ActorState(bytes) | Self::ConnHibernation { bytes, .. } => bytes.len(),
            Self::ConnHibernationRemoved(_) => 0,
        }
    }
}

/// Which kind of stored schedule fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleKind {
    At,
    Cron,
    Every,
}

impl ScheduleKind {
    pub fn label(self) -> &'static str {
        match self {
            Self::At => "at",
            Self::Cron => "cron",
            Self::Every => "every",
        }
    }
}

/// What fired a scheduled action.
#[derive(Debug)]
pub struct ScheduledFire {
    pub kind: ScheduleKind,
    pub id: String,
    /// Job name of recurring schedules; equals `id` there.
    pub name: Option<String>,
    pub scheduled_at_ms: i64,
    pub fired_at_ms: i64,
    /// To be dropped once user code has been called: the next schedule is claimed
    /// then, not earlier.
    pub not_begun: NotBegun,
}

/// Task → adapter. The adapter takes events in order and may answer in any.
#[derive(Debug)]
pub enum ActorEvent {
    Action {
        call: Box<ActionDispatch>,
        scheduled_fire: Option<Box<ScheduledFire>>,
    },
    HttpRequest {
        request: Box<Request>,
        reply: Reply<Response>,
    },
    QueueSend(Box<QueueSendDispatch>),
    WebSocketOpen {
        conn: ConnHandle,
        ws: WebSocket,
        request: Option<Box<Request>>,
        reply: Reply<()>,
    },
    /// `onBeforeConnect`, then `createConnState`; the connection is invisible.
    /// The answer is the connection's state, if it has one.
    ConnectionPreflight {
        conn: ConnHandle,
        params: Bytes,
        request: Option<Box<Request>>,
        reply: Reply<Option<Bytes>>,
    },
    /// `onConnect`; the connection is visible.
    ConnectionOpen {
        conn: ConnHandle,
        request: Option<Box<Request>>,
        reply: Reply<()>,
    },
    /// `onDisconnect`; the connection is gone from the map. The region holds up
    /// sleep and grace until the hook has run.
    ConnectionClosed {
        conn: ConnHandle,
        region: ActorWorkRegion,
    },
    SubscribeRequest {
        conn: ConnHandle,
        event_name: String,
        reply: Reply<()>,
    },
    SerializeState {
        reason: SerializeStateReason,
        reply: Reply<Vec<StateDelta>>,
    },
    /// `onSleep` or `onDestroy`.
    RunGracefulCleanup {
        reason: ShutdownKind,
        reply: Reply<()>,
    },
    /// Grace: `onDisconnect`, then close the transport and remove.
    DisconnectConn {
        conn_id: String,
        reply: Reply<()>,
    },
    WorkflowHistoryRequested {
        reply: Reply<Option<Bytes>>,
    },
    WorkflowReplayRequested {
        entry_id: Option<String>,
        reply: Reply<Option<Bytes>>,
    },
    /// The deadline of `setRunWakeAt` passed: make sure the run handler runs.
    RunWake {
        wake_at_ms: i64,
        wake_revision: u64,
        reply: Reply<()>,
    },
}

impl ActorEvent {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Action { .. } => "action",
            Self::HttpRequest { .. } => "http_request",
            Self::QueueSend(_) => "queue_send",
            Self::WebSocketOpen { .. } => "websocket_open",
            Self::ConnectionPreflight { .. } => "connection_preflight",
            Self::ConnectionOpen { .. } => "connection_open",
            Self::ConnectionClosed { .. } => "connection_closed",
            Self::SubscribeRequest { .. } => "subscribe_request",
            Self::SerializeState { .. } => "serialize_state",
            Self::RunGracefulCleanup { .. } => "run_graceful_cleanup",
            Self::DisconnectConn { .. } => "disconnect_conn",
            Self::WorkflowHistoryRequested { .. } => "workflow_history_requested",
            Self::WorkflowReplayRequested { .. } => "workflow_replay_requested",
            Self::RunWake { .. } => "run_wake",
        }
    }
}
