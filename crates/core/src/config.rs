//! Options of an actor type: limits, timeouts, display data.
//!
//! Defaults live here and nowhere else; the bridge and the TypeScript layer pass
//! only what the user set.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::actor::queue::QueuePolicy;

/// When a reply may leave the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// State is saved at [`ActorConfig::state_save_interval`]; replies do not wait.
    #[default]
    Interval,
    /// Replies and events of an action wait until the state it changed is on disk.
    Reply,
}

/// Which user hooks exist, so that absent ones cost no round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// `onBeforeConnect` or `createConnState`.
    pub preflight: bool,
    /// `onConnect`.
    pub open: bool,
    /// `onDisconnect`.
    pub closed: bool,
    /// `onBeforeSubscribe`.
    pub subscribe: bool,
}

/// A tab of an actor type's inspector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InspectorTab {
    pub id: String,
    pub label: Option<String>,
    pub icon: Option<String>,
    /// Folder of the tab's files; `None` for a built-in tab.
    pub source: Option<PathBuf>,
    pub hidden: bool,
}

/// Options of one actor type. Times are spans, sizes are bytes.
#[derive(Clone, Debug)]
pub struct ActorConfig {
    /// Display name, published in metadata.
    pub name: Option<String>,
    /// Display icon, published in metadata.
    pub icon: Option<String>,
    pub has_database: bool,
    pub has_state: bool,
    /// Raw WebSockets may outlive a sleep of the actor.
    pub can_hibernate_websocket: bool,
    /// Open hibernatable sockets do not keep the actor awake.
    pub hibernate_when_idle: bool,
    pub durability: Durability,
    /// Shortest time between two throttled state saves. Default 1 s.
    pub state_save_interval: Duration,
    pub create_state_timeout: Duration,
    pub on_create_timeout: Duration,
    pub create_vars_timeout: Duration,
    pub create_conn_state_timeout: Duration,
    pub on_before_connect_timeout: Duration,
    pub on_connect_timeout: Duration,
    pub on_migrate_timeout: Duration,
    pub on_wake_timeout: Duration,
    pub on_before_actor_start_timeout: Duration,
    /// Bound of one action. Default 60 s.
    pub action_timeout: Duration,
    /// Bound of one raw HTTP request up to its head, and of a queue send.
    pub on_request_timeout: Duration,
    /// How long one SQL statement of user code may run. Default 60 s.
    pub sql_statement_timeout: Duration,
    /// Idle time before the actor sleeps. Default 30 s.
    pub sleep_timeout: Duration,
    /// The actor never sleeps for being idle.
    pub no_sleep: bool,
    /// Time that hooks and running work get at sleep and destroy. Default 15 s.
    pub sleep_grace_period: Duration,
    pub connection_liveness_timeout: Duration,
    pub connection_liveness_interval: Duration,
    /// Queue length limit. Default 1000.
    pub max_queue_size: u32,
    /// Encoded size limit of a queue message. Default 64 KiB.
    pub max_queue_message_size: u32,
    /// Delivery of messages by queue name; queues without one are RivetKit's.
    pub queues: BTreeMap<String, QueuePolicy>,
    /// Limit of pending schedules. Default 1000.
    pub max_schedules: u32,
    /// Size limit of a framework request body or socket message. Default 64 KiB.
    pub max_incoming_message_size: u32,
    /// Size limit of a framework reply or event. Default 1 MiB.
    pub max_outgoing_message_size: u32,
    /// Requests of clients that may be pending in one actor. Default 10,000.
    pub max_pending_requests: u32,
    /// Declared action names, sorted; for display only.
    pub actions: Vec<String>,
    /// What the actor type changes about its inspector.
    pub inspector_tabs: Vec<InspectorTab>,
    pub hooks: Hooks,
}

impl Default for ActorConfig {
    fn default() -> Self {
        const SHORT: Duration = Duration::from_secs(5);
        const LONG: Duration = Duration::from_secs(30);
        Self {
            name: None,
            icon: None,
            has_database: false,
            has_state: false,
            can_hibernate_websocket: false,
            hibernate_when_idle: false,
            durability: Durability::Interval,
            state_save_interval: Duration::from_secs(1),
            create_state_timeout: SHORT,
            on_create_timeout: SHORT,
            create_vars_timeout: SHORT,
            create_conn_state_timeout: SHORT,
            on_before_connect_timeout: SHORT,
            on_connect_timeout: SHORT,
            on_migrate_timeout: LONG,
            on_wake_timeout: LONG,
            on_before_actor_start_timeout: SHORT,
            action_timeout: Duration::from_secs(60),
            on_request_timeout: Duration::from_secs(60),
            sql_statement_timeout: Duration::from_secs(60),
            sleep_timeout: LONG,
            no_sleep: false,
            sleep_grace_period: Duration::from_secs(15),
            connection_liveness_timeout: Duration::from_millis(2_500),
            connection_liveness_interval: SHORT,
            max_queue_size: 1_000,
            max_queue_message_size: 65_536,
            queues: BTreeMap::new(),
            max_schedules: 1_000,
            max_incoming_message_size: 65_536,
            max_outgoing_message_size: 1_048_576,
            max_pending_requests: 10_000,
            actions: Vec::new(),
            inspector_tabs: Vec::new(),
            hooks: Hooks::default(),
        }
    }
}

impl ActorConfig {
    /// Bound of everything that happens before a connection is visible.
    pub fn preflight_timeout(&self) -> Duration {
        self.on_before_connect_timeout + self.create_conn_state_timeout
    }
}
