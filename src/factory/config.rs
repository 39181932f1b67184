//! Options of an actor type, as JavaScript gives them.
//!
//! Defaults are the runtime's; this file checks what was given and converts it.

use std::time::Duration;

use greenroom_core::{ActorConfig, Durability};
use greenroom_error::{Error, Result};
use napi_derive::napi;

use super::inspector_tabs::{JsInspectorTabEntry, check_tabs};
use super::profiling::JsSqliteProfilingConfig;
use super::queues::{self, JsQueuePolicy};
use crate::numbers;

#[napi(object)]
pub struct JsActionDefinition {
    pub name: String,
}

/// All times are milliseconds, all sizes bytes.
#[napi(object)]
#[derive(Default)]
pub struct JsActorConfig {
    /// Display name.
    pub name: Option<String>,
    /// Display icon.
    pub icon: Option<String>,
    pub has_database: Option<bool>,
    pub remote_sqlite: Option<bool>,
    pub sqlite_profiling: Option<JsSqliteProfilingConfig>,
    pub enable_actor_runtime_socket: Option<bool>,
    pub has_state: Option<bool>,
    /// Raw WebSockets may outlive a sleep of the actor.
    pub can_hibernate_websocket: Option<bool>,
    /// Open hibernatable sockets do not keep the actor awake.
    pub hibernate_when_idle: Option<bool>,
    /// When replies leave: `interval` (at once) or `reply` (after the state they
    /// depend on is on disk).
    #[napi(ts_type = "'interval' | 'reply'")]
    pub durability: Option<String>,
    pub state_save_interval_ms: Option<f64>,
    pub create_state_timeout_ms: Option<f64>,
    pub on_create_timeout_ms: Option<f64>,
    pub create_vars_timeout_ms: Option<f64>,
    pub create_conn_state_timeout_ms: Option<f64>,
    pub on_before_connect_timeout_ms: Option<f64>,
    pub on_connect_timeout_ms: Option<f64>,
    pub on_migrate_timeout_ms: Option<f64>,
    pub on_wake_timeout_ms: Option<f64>,
    pub on_before_actor_start_timeout_ms: Option<f64>,
    pub action_timeout_ms: Option<f64>,
    pub on_request_timeout_ms: Option<f64>,
    pub sleep_timeout_ms: Option<f64>,
    /// The actor never sleeps for being idle.
    pub no_sleep: Option<bool>,
    pub sleep_grace_period_ms: Option<f64>,
    pub connection_liveness_timeout_ms: Option<f64>,
    pub connection_liveness_interval_ms: Option<f64>,
    pub max_queue_size: Option<f64>,
    pub max_schedules: Option<f64>,
    pub max_queue_message_size: Option<f64>,
    /// Queues whose messages are leased; all others are not.
    pub queues: Option<Vec<JsQueuePolicy>>,
    pub max_incoming_message_size: Option<f64>,
    pub max_outgoing_message_size: Option<f64>,
    /// Requests that may be pending in one actor.
    pub max_pending_requests: Option<f64>,
    /// For display only.
    pub actions: Option<Vec<JsActionDefinition>>,
    pub inspector_tabs: Option<Vec<JsInspectorTabEntry>>,
}

fn set_time(target: &mut Duration, name: &str, given: Option<f64>) -> Result<()> {
    if let Some(ms) = given {
        *target = Duration::from_millis(numbers::count(name, ms)?.into());
    }
    Ok(())
}

fn set_count(target: &mut u32, name: &str, given: Option<f64>) -> Result<()> {
    if let Some(count) = given {
        *target = numbers::count(name, count)?;
    }
    Ok(())
}

impl JsActorConfig {
    /// The runtime's options, except for its hooks.
    pub(super) fn check(self) -> Result<ActorConfig> {
        if let Some(profiling) = &self.sqlite_profiling {
            profiling.check()?;
        }
        let mut config = ActorConfig::default();
        self.set_timeouts(&mut config)?;
        self.set_limits(&mut config)?;
        config.durability = self.durability()?;
        config.name = self.name;
        config.icon = self.icon;
        config.has_database = self.has_database.unwrap_or(config.has_database);
        config.has_state = self.has_state.unwrap_or(config.has_state);
        config.no_sleep = self.no_sleep.unwrap_or(config.no_sleep);
        if let Some(hibernate) = self.can_hibernate_websocket {
            config.can_hibernate_websocket = hibernate;
        }
        if let Some(hibernate) = self.hibernate_when_idle {
            config.hibernate_when_idle = hibernate;
        }
        config.queues = queues::check(self.queues.unwrap_or_default())?;
        let actions = self.actions.unwrap_or_default().into_iter();
        config.actions = actions.map(|action| action.name).collect();
        config.inspector_tabs = check_tabs(self.inspector_tabs.unwrap_or_default())?;
        Ok(config)
    }

    fn durability(&self) -> Result<Durability> {
        match self.durability.as_deref() {
            None | Some("interval") => Ok(Durability::Interval),
            Some("reply") => Ok(Durability::Reply),
            Some(other) => {
                let reason = format!("must be 'interval' or 'reply', not '{other}'");
                Err(Error::invalid_argument("durability", reason))
            }
        }
    }

    fn set_timeouts(&self, c: &mut ActorConfig) -> Result<()> {
        // A request has the time of an action unless it was given its own.
        set_time(
            &mut c.on_request_timeout,
            "actionTimeoutMs",
            self.action_timeout_ms,
        )?;
        set_time(
            &mut c.action_timeout,
            "actionTimeoutMs",
            self.action_timeout_ms,
        )?;
        set_time(
            &mut c.on_request_timeout,
            "onRequestTimeoutMs",
            self.on_request_timeout_ms,
        )?;
        set_time(
            &mut c.state_save_interval,
            "stateSaveIntervalMs",
            self.state_save_interval_ms,
        )?;
        set_time(
            &mut c.sleep_timeout,
            "sleepTimeoutMs",
            self.sleep_timeout_ms,
        )?;
        set_time(
            &mut c.sleep_grace_period,
            "sleepGracePeriodMs",
            self.sleep_grace_period_ms,
        )?;
        set_time(
            &mut c.connection_liveness_timeout,
            "connectionLivenessTimeoutMs",
            self.connection_liveness_timeout_ms,
        )?;
        set_time(
            &mut c.connection_liveness_interval,
            "connectionLivenessIntervalMs",
            self.connection_liveness_interval_ms,
        )?;
        self.set_hook_timeouts(c)
    }

    fn set_hook_timeouts(&self, c: &mut ActorConfig) -> Result<()> {
        set_time(
            &mut c.create_state_timeout,
            "createStateTimeoutMs",
            self.create_state_timeout_ms,
        )?;
        set_time(
            &mut c.on_create_timeout,
            "onCreateTimeoutMs",
            self.on_create_timeout_ms,
        )?;
        set_time(
            &mut c.create_vars_timeout,
            "createVarsTimeoutMs",
            self.create_vars_timeout_ms,
        )?;
        set_time(
            &mut c.create_conn_state_timeout,
            "createConnStateTimeoutMs",
            self.create_conn_state_timeout_ms,
        )?;
        set_time(
            &mut c.on_before_connect_timeout,
            "onBeforeConnectTimeoutMs",
            self.on_before_connect_timeout_ms,
        )?;
        set_time(
            &mut c.on_connect_timeout,
            "onConnectTimeoutMs",
            self.on_connect_timeout_ms,
        )?;
        set_time(
            &mut c.on_migrate_timeout,
            "onMigrateTimeoutMs",
            self.on_migrate_timeout_ms,
        )?;
        set_time(
            &mut c.on_wake_timeout,
            "onWakeTimeoutMs",
            self.on_wake_timeout_ms,
        )?;
        set_time(
            &mut c.on_before_actor_start_timeout,
            "onBeforeActorStartTimeoutMs",
            self.on_before_actor_start_timeout_ms,
        )
    }

    fn set_limits(&self, c: &mut ActorConfig) -> Result<()> {
        let table: [(&mut u32, &str, Option<f64>); 6] = [
            (&mut c.max_queue_size, "maxQueueSize", self.max_queue_size),
            (&mut c.max_schedules, "maxSchedules", self.max_schedules),
            (
                &mut c.max_queue_message_size,
                "maxQueueMessageSize",
                self.max_queue_message_size,
            ),
            (
                &mut c.max_incoming_message_size,
                "maxIncomingMessageSize",
                self.max_incoming_message_size,
            ),
            (
                &mut c.max_outgoing_message_size,
                "maxOutgoingMessageSize",
                self.max_outgoing_message_size,
            ),
            (
                &mut c.max_pending_requests,
                "maxPendingRequests",
                self.max_pending_requests,
            ),
        ];
        table
            .into_iter()
            .try_for_each(|(target, name, given)| set_count(target, name, given))
    }
}
