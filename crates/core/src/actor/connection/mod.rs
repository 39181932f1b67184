//! Connections of one actor: handles, the map of live ones, who hears which
//! event, and what of them survives sleep.
//!
//! Owns no socket: a transport hands itself in as [`ConnTransport`] and outlives
//! or predeceases the handle freely. Hooks of user code run in the adapter; this
//! file only asks for them.
//!
//! Invariant C1: a connection is in the map from the end of its preflight until
//! exactly one caller removed it; that caller alone reports it closed.
//! Invariant C2: hibernation changes that were taken for a save and not written
//! are put back.
//! Invariant C3: the index of subscribers names exactly the connections of the
//! map, each under exactly the events it is subscribed to.

use std::sync::Arc;

use bytes::Bytes;
use greenroom_error::{Error, Result};

use crate::actor::context::ActorContext;
use crate::actor::lifecycle::LifecycleState;
use crate::actor::messages::{ActorEvent, Request};
use crate::actor::output::Audience;
use crate::actor::save_book::RequestSaveOpts;
use crate::actor::work::{ActorWorkKind, ActorWorkRegion};
use crate::reply::reply;

mod fan_out;
mod handle;
mod progress;
mod room;

pub use fan_out::{FanOut, Turn};
pub use handle::{ConnHandle, ConnTransport, HibernationMetadata, OutboundEvent};
pub use progress::is_ahead;
pub(crate) use room::{ConnectionRoom, PendingHibernationChanges};

use handle::NORMAL_CLOSE;

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
        self.0.conns.all()
    }

    /// One live connection.
    pub fn conn(&self, id: &str) -> Option<ConnHandle> {
        self.0.conns.get(id)
    }

    pub fn conn_count(&self) -> usize {
        self.0.conns.count()
    }

    pub(crate) fn blocking_connections(&self) -> usize {
        if self.config().hibernate_when_idle {
            self.0.conns.count_of_unhibernatable()
        } else {
            self.0.conns.count()
        }
    }

    /// Runs the whole connection preamble: preflight hooks while invisible, then
    /// visible, then `onConnect`. Errors of hooks come out as they were thrown.
    pub async fn connect(&self, options: ConnectOptions) -> Result<ConnHandle> {
        let id = uuid::Uuid::new_v4().to_string();
        let conn = ConnHandle::new(id, options.params, options.hibernation);
        let _coming = self.coming_in()?;
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
        self.type_figures().connected();
        Ok(conn)
    }

    /// An actor does not fall asleep over somebody who is just coming in; one that
    /// is being put away takes nobody.
    fn coming_in(&self) -> Result<ActorWorkRegion> {
        let coming = self.begin_work(ActorWorkKind::InternalKeepAwake);
        // Counted before asked (I1).
        if self.is_door_closed() {
            return Err(Error::not_configured("actor event inbox"));
        }
        Ok(coming)
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
        self.0.conns.insert(conn);
        self.conns_changed();
        self.0.work.poke();
    }

    /// Restores a connection from its rows at wake: no hook runs.
    pub(crate) fn restore_conn(&self, conn: ConnHandle) {
        self.insert_conn(conn);
    }

    /// Removes the connection; only one caller gets it (C1).
    pub(crate) fn take_conn(&self, id: &str) -> Option<ConnHandle> {
        let taken = self.0.conns.remove(id);
        if let Some(conn) = &taken {
            if conn.is_hibernatable() {
                self.queue_hibernation_removal(id);
            }
            self.conns_changed();
            self.0.work.poke();
        }
        taken
    }

    fn conns_changed(&self) {
        self.changed_for_inspectors(|revisions| &mut revisions.connections);
    }

    /// Closes the transport, removes the connection and runs `onDisconnect`. A
    /// connection that is already gone is left alone.
    pub fn disconnect(&self, conn: &ConnHandle, reason: Option<&str>) {
        if let Some(transport) = conn.take_transport() {
            transport.close(NORMAL_CLOSE, reason.unwrap_or(""));
        }
        self.connection_closed(conn.id());
    }

    /// The transport is gone: removes the connection and runs `onDisconnect`.
    pub fn connection_closed(&self, id: &str) {
        let Some(conn) = self.take_conn(id) else {
            return;
        };
        // Whoever keeps the handle does not keep what was never sent.
        drop(conn.take_transport());
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
        let Some(transport) = self.take_conn(id).and_then(|conn| conn.take_transport()) else {
            return;
        };
        if reason.is_empty() && self.lifecycle_state() != LifecycleState::Started {
            transport.actor_stopped();
        } else {
            transport.close(NORMAL_CLOSE, reason);
        }
    }

    /// Subscribes a connection to an event, if user code allows it.
    ///
    /// # Errors
    /// What `onBeforeSubscribe` threw; `actor/callback_timed_out`.
    pub async fn subscribe(&self, conn: &ConnHandle, event: &str) -> Result<()> {
        if self.config().hooks.subscribe {
            let _coming = self.coming_in()?;
            let (answer, answered) = reply();
            self.send_actor_event(ActorEvent::SubscribeRequest {
                conn: conn.clone(),
                event_name: event.to_owned(),
                reply: answer,
            })?;
            let span = self.config().on_before_connect_timeout;
            self.bounded(span, "onBeforeSubscribe", answered.result())
                .await?;
        }
        self.set_subscribed(conn, event, true);
        Ok(())
    }

    /// Subscribes or unsubscribes without asking user code.
    pub fn set_subscribed(&self, conn: &ConnHandle, event: &str, subscribe: bool) {
        let changed = self.0.conns.set_subscribed(conn, event, subscribe);
        if changed {
            self.conns_changed();
        }
        if changed && conn.is_hibernatable() {
            self.queue_hibernation_update(conn.id());
        }
    }

    pub fn set_conn_state(&self, conn: &ConnHandle, state: Bytes) {
        conn.replace_state(state);
        self.conns_changed();
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
        self.0.conns.send_to_subscribers(event);
    }

    /// What was handled of the connection's messages, and answered, is stored with the
    /// next save.
    pub fn save_messages_handled(&self, conn: &ConnHandle) {
        // What was requested until now may be with the adapter already (G1).
        let next = self.with_book(|book| book.requested_revision()) + 1;
        if conn.count_handled_from(next) {
            self.0.conns.queue_update(conn.id());
            self.request_save_of_rows();
        }
    }

    /// The same for everything that was handled, in a save that is asked for now.
    pub(crate) fn settle_messages_handled(&self) {
        let revision = self.with_book(|book| book.bring());
        for conn in self.conns() {
            if conn.is_hibernatable() && conn.count_handled_from(revision) {
                self.0.conns.queue_update(conn.id());
            }
        }
    }

    /// Marks the connection's rows as due and asks for an ordinary save.
    pub fn queue_hibernation_update(&self, id: &str) {
        self.0.conns.queue_update(id);
        self.request_save(RequestSaveOpts::default());
    }

    /// The connection's rows must be deleted with the next save.
    pub fn queue_hibernation_removal(&self, id: &str) {
        self.0.conns.queue_removal(id);
        self.request_save(RequestSaveOpts::default());
    }

    pub fn has_pending_hibernation_changes(&self) -> bool {
        self.0.conns.has_pending()
    }

    /// Ids whose rows are due for deletion. Reading does not take them: they go
    /// when a save that contains them is written.
    pub fn pending_hibernation_removals(&self) -> Vec<String> {
        self.0.conns.pending_removals()
    }

    /// Hibernatable connections whose rows are due.
    pub fn dirty_hibernatable_conns(&self) -> Vec<ConnHandle> {
        self.0.conns.pending_updates()
    }
}
