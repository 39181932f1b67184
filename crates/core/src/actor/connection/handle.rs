//! One connection: the handle that everybody holds, and the transport behind it.
//!
//! A handle knows neither the map of live connections nor hooks; changes that
//! concern those go through [`crate::ActorContext`].

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use parking_lot::{Mutex, RwLock};
use serde_json::json;

use super::fan_out::FanOut;
use super::progress::MessageProgress;
use crate::host::HibernationId;

/// Close code of a connection that ended as intended.
pub(super) const NORMAL_CLOSE: u16 = 1000;

/// An event on its way to clients; each encoding is made at most once, however
/// many connections get it.
pub struct OutboundEvent {
    pub name: String,
    /// CBOR array.
    pub args: Bytes,
    frames: [OnceLock<Option<Bytes>>; 3],
    fan_out: OnceLock<Option<Arc<FanOut>>>,
}

impl OutboundEvent {
    pub fn new(name: impl Into<String>, args: Bytes) -> Self {
        Self {
            name: name.into(),
            args,
            frames: [const { OnceLock::new() }; 3],
            fan_out: OnceLock::new(),
        }
    }

    /// Says how many will get it, before the first does.
    pub(super) fn set_audience(&self, recipients: usize) {
        self.fan_out.get_or_init(|| FanOut::of_audience(recipients));
    }

    /// How to wake the sockets of a large audience.
    pub fn fan_out(&self) -> Option<&Arc<FanOut>> {
        self.fan_out.get()?.as_ref()
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
    /// The actor stops and takes the connection along.
    fn actor_stopped(&self) {
        self.close(NORMAL_CLOSE, "");
    }
}

/// What is stored of a hibernatable connection beside its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HibernationMetadata {
    pub id: HibernationId,
    /// The last message of the client's that was handled, and all before it.
    pub server_message_index: u16,
    /// [`GIVEN_UP`](Self::GIVEN_UP), or nothing that is read.
    pub client_message_index: u16,
    pub request_path: String,
    /// Names in lower case.
    pub request_headers: Vec<(String, String)>,
}

impl HibernationMetadata {
    /// Says that of later messages some were let go of, whatever became of them: no
    /// other process can go on with the connection.
    pub const GIVEN_UP: u16 = u16::MAX;

    pub fn is_given_up(&self) -> bool {
        self.client_message_index == Self::GIVEN_UP
    }
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
    progress: Mutex<MessageProgress>,
    state: Mutex<Bytes>,
    subscriptions: RwLock<BTreeSet<String>>,
    transport: RwLock<Option<Arc<dyn ConnTransport>>>,
}

impl ConnHandle {
    pub(crate) fn new(id: String, params: Bytes, hibernation: Option<HibernationMetadata>) -> Self {
        Self::of(id, params, hibernation, MessageProgress::default())
    }

    fn of(
        id: String,
        params: Bytes,
        hibernation: Option<HibernationMetadata>,
        progress: MessageProgress,
    ) -> Self {
        Self(Arc::new(ConnInner {
            id,
            params,
            hibernatable: hibernation.is_some(),
            hibernation: Mutex::new(hibernation),
            progress: Mutex::new(progress),
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

    /// Everything up to this message of the client's was handled. Saves say so once
    /// [`ActorContext::save_messages_handled`] has allowed for it, and the last one of a
    /// generation in any case.
    ///
    /// [`ActorContext::save_messages_handled`]: crate::ActorContext::save_messages_handled
    pub fn message_handled(&self, message_index: u16) {
        self.0.progress.lock().handled(message_index);
    }

    /// Of messages up to this one that were not handled some are let go of. What is
    /// stored says so until it says, too, that everything up to this one was handled.
    pub fn messages_given_up(&self, message_index: u16) {
        if let Some(meta) = &mut *self.0.hibernation.lock() {
            let named = meta.server_message_index;
            if self.0.progress.lock().give_up(message_index, named) {
                meta.client_message_index = HibernationMetadata::GIVEN_UP;
            }
        }
    }

    /// Saves from this request on may say what was handled last. False if nothing
    /// is new.
    pub(super) fn count_handled_from(&self, revision: u64) -> bool {
        self.0.progress.lock().count_from(revision)
    }

    /// Whether a later save has to say more of it than those that were made up.
    pub(crate) fn has_more_handled(&self) -> bool {
        self.0.progress.lock().has_more()
    }

    /// What a save of this revision stores of the connection.
    pub(crate) fn hibernation_at(&self, revision: u64) -> Option<HibernationMetadata> {
        let mut meta = self.0.hibernation.lock();
        let mut progress = self.0.progress.lock();
        if let (Some(meta), Some(index)) = (&mut *meta, progress.at(revision)) {
            meta.server_message_index = index;
            if progress.named(index) {
                meta.client_message_index = 0;
            }
        }
        meta.clone()
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

    /// Changes one subscription; true if that changed anything. The index over
    /// the map is the caller's business.
    pub(super) fn set_subscribed(&self, event: &str, subscribe: bool) -> bool {
        let mut subscriptions = self.0.subscriptions.write();
        if subscribe {
            subscriptions.insert(event.to_owned())
        } else {
            subscriptions.remove(event)
        }
    }

    /// Replaces all subscriptions of a connection that is not in the map yet.
    pub(crate) fn replace_subscriptions(&self, events: impl IntoIterator<Item = String>) {
        *self.0.subscriptions.write() = events.into_iter().collect();
    }

    /// The connection as the next generation begins with it: what clients and user
    /// code know of it, and no transport.
    pub(crate) fn for_next_generation(&self) -> ConnHandle {
        let progress = MessageProgress::behind(self.0.progress.lock().given_up());
        let meta = self.hibernation();
        let next = Self::of(self.0.id.clone(), self.params(), meta, progress);
        next.replace_state(self.state());
        next.replace_subscriptions(self.subscriptions());
        next
    }

    pub fn attach_transport(&self, transport: Arc<dyn ConnTransport>) {
        *self.0.transport.write() = Some(transport);
    }

    /// True while there is somebody to send to. Never for the connection of a
    /// single request.
    pub fn has_transport(&self) -> bool {
        self.0.transport.read().is_some()
    }

    pub(super) fn take_transport(&self) -> Option<Arc<dyn ConnTransport>> {
        self.0.transport.write().take()
    }

    /// Sends one event regardless of subscriptions. Failures are logged.
    pub(crate) fn send(&self, event: &OutboundEvent) {
        let sent = match &*self.0.transport.read() {
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
