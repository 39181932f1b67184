//! Connections of one actor: handles, the map of live ones, and what of them
//! survives sleep.
//!
//! Owns no socket: a transport hands itself in as [`ConnTransport`] and outlives
//! or predeceases the handle freely. Hooks of user code run in the adapter; this
//! file only asks for them.
//!
//! Invariant C1: a connection is in the map from the end of its preflight until
//! exactly one caller removed it; that caller alone reports it closed.
//! Invariant C2: hibernation changes that were taken for a save and not written
//! are put back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use parking_lot::{Mutex, RwLock};
use serde_json::json;

use crate::actor::context::ActorContext;
use crate::actor::messages::{ActorEvent, Request};
use crate::actor::output::Audience;
use crate::actor::save_book::RequestSaveOpts;
use crate::actor::work::ActorWorkKind;
use crate::host::HibernationId;
use crate::reply::reply;

/// An event on its way to clients; each encoding is made at most once, however
/// many connections get it.
pub struct OutboundEvent {
    pub name: String,
    /// CBOR array.
    pub args: Bytes,
    frames: [OnceLock<Option<Bytes>>; 3],
}

impl OutboundEvent {
    pub fn new(name: impl Into<String>, args: Bytes) -> Self {
        Self {
            name: name.into(),
            args,
            frames: [const { OnceLock::new() }; 3],
        }
    }

    /// The frame of encoding number `slot` (0..3), made by `encode` on first use;
    /// `None` when it cannot be encoded.
    pub fn frame(&self, slot: usize, encode: impl FnOnce(&Self) -> Option<Bytes>) -> Option<Bytes> {
        self.frames[slot].get_or_init(|| encode(self)).clone()
    }
}

/// The client side of a connection.
pub trait ConnTransport: Send + Sync + 'static {
    /// Queues an event. Must not block; a full outbox is the transport's policy.
    fn send_event(&self, event: &OutboundEvent) -> Result<()>;
    /// Queues a close after everything sent before. Idempotent.
    fn close(&self, code: u16, reason: &str);
}

/// What is stored of a hibernatable connection beside its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HibernationMetadata {
    pub id: HibernationId,
    pub server_message_index: u16,
    pub client_message_index: u16,
    pub request_path: String,
    /// Names in lower case.
    pub request_headers: Vec<(String, String)>,
}

/// A cheap handle to one connection. It stays readable after the connection is
/// gone.
#[derive(Clone)]
pub struct ConnHandle(Arc<ConnInner>);

struct ConnInner {
    id: String,
    params: Bytes,
    hibernatable: bool,
    hibernation: Mutex<Option<HibernationMetadata>>,
    state: Mutex<Bytes>,
    subscriptions: RwLock<BTreeSet<String>>,
    transport: RwLock<Option<Arc<dyn ConnTransport>>>,
}

impl ConnHandle {
    pub(crate) fn new(id: String, params: Bytes, hibernation: Option<HibernationMetadata>) -> Self {
        Self(Arc::new(ConnInner {
            id,
            params,
            hibernatable: hibernation.is_some(),
            hibernation: Mutex::new(hibernation),
            state: Mutex::new(Bytes::new()),
            subscriptions: RwLock::new(BTreeSet::new()),
            transport: RwLock::new(None),
        }))
    }

    pub fn id(&self) -> &str {
        &self.0.id
    }
    /// CBOR of the parameters the client connected with.
    pub fn params(&self) -> Bytes {
        self.0.params.clone()
    }
    /// CBOR of the connection state; empty until set.
    pub fn state(&self) -> Bytes {
        self.0.state.lock().clone()
    }
    pub fn is_hibernatable(&self) -> bool {
        self.0.hibernatable
    }
    pub fn hibernation(&self) -> Option<HibernationMetadata> {
        self.0.hibernation.lock().clone()
    }
    pub fn is_subscribed(&self, event: &str) -> bool {
        self.0.subscriptions.read().contains(event)
    }
    pub fn subscriptions(&self) -> Vec<String> {
        self.0.subscriptions.read().iter().cloned().collect()
    }

    pub(crate) fn replace_state(&self, state: Bytes) {
        *self.0.state.lock() = state;
    }

    /// Subscribes or unsubscribes; returns whether anything changed.
    pub fn set_subscribed(&self, event: &str, subscribe: bool) -> bool {
        let mut subscriptions = self.0.subscriptions.write();
        if subscribe {
            subscriptions.insert(event.to_owned())
        } else {
            subscriptions.remove(event)
        }
    }

    pub fn attach_transport(&self, transport: Arc<dyn ConnTransport>) {
        *self.0.transport.write() = Some(transport);
    }

    pub(crate) fn close_transport(&self, code: u16, reason: &str) {
        if let Some(transport) = self.0.transport.write().take() {
            transport.close(code, reason);
        }
    }

    /// Sends one event regardless of subscriptions. Failures are logged.
    pub(crate) fn send(&self, event: &OutboundEvent) {
        let transport = self.0.transport.read().clone();
        let sent = match transport {
            Some(transport) => transport.send_event(event),
            None => Err(Error::with(
                &code::CONNECTION_NOT_CONFIGURED,
                json!({ "component": "event sender" }),
            )),
        };
        if let Err(error) = sent {
            tracing::debug!(conn_id = self.id(), event = event.name, %error, "event not sent");
        }
    }
}

impl std::fmt::Debug for ConnHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ConnHandle({})", self.0.id)
    }
}

/// Hibernation rows that the next save must write or delete.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingHibernationChanges {
    pub updated: BTreeSet<String>,
    pub removed: BTreeSet<String>,
}

/// The connections of one generation.
#[derive(Default)]
pub(crate) struct ConnectionRoom {
    live: RwLock<BTreeMap<String, ConnHandle>>,
    pending: Mutex<PendingHibernationChanges>,
}

impl ConnectionRoom {
    pub(crate) fn take_pending(&self) -> PendingHibernationChanges {
        std::mem::take(&mut *self.pending.lock())
    }

    /// Puts back changes that a failed save took (C2). A removal that arrived
    /// meanwhile beats an older update.
    pub(crate) fn restore_pending(&self, taken: PendingHibernationChanges) {
        let mut pending = self.pending.lock();
        pending.removed.extend(taken.removed);
        pending.updated.extend(taken.updated);
        let PendingHibernationChanges { updated, removed } = &mut *pending;
        updated.retain(|id| !removed.contains(id));
    }

    pub(crate) fn get(&self, id: &str) -> Option<ConnHandle> {
        self.live.read().get(id).cloned()
    }
}

/// What a new connection brings.
#[derive(Default)]
pub struct ConnectOptions {
    /// CBOR parameters.
    pub params: Bytes,
    pub request: Option<Box<Request>>,
    pub hibernation: Option<HibernationMetadata>,
    pub transport: Option<Arc<dyn ConnTransport>>,
}

impl ActorContext {
    /// All live connections, ordered by id.
    pub fn conns(&self) -> Vec<ConnHandle> {
        self.0.conns.live.read().values().cloned().collect()
    }

    pub fn conn_count(&self) -> usize {
        self.0.conns.live.read().len()
    }

    pub(crate) fn blocking_connections(&self) -> usize {
        let live = self.0.conns.live.read();
        if self.config().hibernate_when_idle {
            live.values().filter(|conn| !conn.is_hibernatable()).count()
        } else {
            live.len()
        }
    }

    /// Runs the whole connection preamble: preflight hooks while invisible, then
    /// visible, then `onConnect`. Errors of hooks come out as they were thrown.
    pub async fn connect(&self, options: ConnectOptions) -> Result<ConnHandle> {
        let id = uuid::Uuid::new_v4().to_string();
        let conn = ConnHandle::new(id, options.params, options.hibernation);
        if let Some(transport) = options.transport {
            conn.attach_transport(transport);
        }
        let hooks = self.config().hooks;
        let head = || options.request.as_ref().map(|r| Box::new(r.head()));
        if hooks.preflight {
            let (answer, answered) = reply();
            self.send_actor_event(ActorEvent::ConnectionPreflight {
                conn: conn.clone(),
                params: conn.params(),
                request: head(),
                reply: answer,
            })?;
            let span = self.config().preflight_timeout();
            if let Some(state) = self
                .bounded(span, "onBeforeConnect", answered.result())
                .await?
            {
                conn.replace_state(state);
            }
        }
        self.insert_conn(conn.clone());
        if hooks.open
            && let Err(error) = self.run_on_connect(&conn, head()).await
        {
            // Never announced as open, so never announced as closed (C1).
            self.take_conn(conn.id());
            return Err(error);
        }
        if conn.is_hibernatable() {
            self.queue_hibernation_update(conn.id());
        }
        Ok(conn)
    }

    async fn run_on_connect(&self, conn: &ConnHandle, request: Option<Box<Request>>) -> Result<()> {
        let (answer, answered) = reply();
        self.send_actor_event(ActorEvent::ConnectionOpen {
            conn: conn.clone(),
            request,
            reply: answer,
        })?;
        let span = self.config().on_connect_timeout;
        self.bounded(span, "onConnect", answered.result()).await
    }

    fn insert_conn(&self, conn: ConnHandle) {
        let id = conn.id().to_owned();
        self.0.conns.live.write().insert(id, conn);
        self.0.work.poke();
    }

    /// Restores a connection from its rows at wake: no hook runs.
    pub(crate) fn restore_conn(&self, conn: ConnHandle) {
        self.insert_conn(conn);
    }

    /// Removes the connection; only one caller gets it (C1).
    pub(crate) fn take_conn(&self, id: &str) -> Option<ConnHandle> {
        let taken = self.0.conns.live.write().remove(id);
        if let Some(conn) = &taken {
            if conn.is_hibernatable() {
                self.queue_hibernation_removal(id);
            }
            self.0.work.poke();
        }
        taken
    }

    /// Closes the transport, removes the connection and runs `onDisconnect`. A
    /// connection that is already gone is left alone.
    pub fn disconnect(&self, conn: &ConnHandle, reason: Option<&str>) {
        conn.close_transport(1000, reason.unwrap_or(""));
        self.connection_closed(conn.id());
    }

    /// The transport is gone: removes the connection and runs `onDisconnect`.
    pub fn connection_closed(&self, id: &str) {
        let Some(conn) = self.take_conn(id) else {
            return;
        };
        if !self.config().hooks.closed {
            return;
        }
        let region = self.0.work.begin(ActorWorkKind::DisconnectCallback);
        let closed = ActorEvent::ConnectionClosed { conn, region };
        if self.send_actor_event(closed).is_err() {
            tracing::debug!(conn_id = id, "actor ended before onDisconnect could run");
        }
    }

    /// Closes the transport and forgets the connection without `onDisconnect`.
    pub fn drop_conn(&self, id: &str, reason: &str) {
        if let Some(conn) = self.take_conn(id) {
            conn.close_transport(1000, reason);
        }
    }

    pub fn set_conn_state(&self, conn: &ConnHandle, state: Bytes) {
        conn.replace_state(state);
        if conn.is_hibernatable() {
            self.queue_hibernation_update(conn.id());
        }
    }

    /// Sends an event to every connection subscribed to `name`.
    pub fn broadcast(&self, name: &str, args: Bytes) {
        if self.conn_count() > 0 {
            self.emit(OutboundEvent::new(name, args), Audience::Subscribers);
        }
    }

    /// Sends an event to one connection, subscribed or not.
    pub fn send_to(&self, conn: &ConnHandle, name: &str, args: Bytes) {
        self.emit(OutboundEvent::new(name, args), Audience::One(conn.clone()));
    }

    pub(crate) fn send_to_subscribers(&self, event: &OutboundEvent) {
        let live = self.0.conns.live.read();
        for conn in live.values().filter(|conn| conn.is_subscribed(&event.name)) {
            conn.send(event);
        }
    }

    /// Marks the connection's rows as due and asks for an ordinary save.
    pub(crate) fn queue_hibernation_update(&self, id: &str) {
        self.0.conns.pending.lock().updated.insert(id.to_owned());
        self.request_save(RequestSaveOpts::default());
    }

    /// The connection's rows must be deleted with the next save.
    pub fn queue_hibernation_removal(&self, id: &str) {
        let mut pending = self.0.conns.pending.lock();
        pending.updated.remove(id);
        pending.removed.insert(id.to_owned());
        drop(pending);
        self.request_save(RequestSaveOpts::default());
    }

    pub fn has_pending_hibernation_changes(&self) -> bool {
        let pending = self.0.conns.pending.lock();
        !pending.updated.is_empty() || !pending.removed.is_empty()
    }

    /// Ids whose rows are due for deletion. Reading does not take them: they go
    /// when a save that contains them is written.
    pub fn pending_hibernation_removals(&self) -> Vec<String> {
        self.0
            .conns
            .pending
            .lock()
            .removed
            .iter()
            .cloned()
            .collect()
    }

    /// Hibernatable connections whose rows are due.
    pub fn dirty_hibernatable_conns(&self) -> Vec<ConnHandle> {
        let pending = self.0.conns.pending.lock();
        let live = self.0.conns.live.read();
        pending
            .updated
            .iter()
            .filter_map(|id| live.get(id))
            .filter(|conn| conn.is_hibernatable())
            .cloned()
            .collect()
    }
}
