//! One socket, as this process remembers it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use greenroom_core::{
    ActorContext, Clock, ConnHandle, ConnTransport, HeldSocket, HibernationId, Instant,
};
use greenroom_error::{Error, code};
use greenroom_gateway::websocket::{Farewell, MessageLog, Outbox};
use greenroom_wire::ActorId;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::given::{Incoming, KnownSocket, NewSocket, Resumed};
use super::progress::Progress;
use super::voice::Voice;
use crate::envoy::ToGateway;

/// What becomes of a socket when its generation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lasting {
    /// The next generation begins with it.
    Hibernates,
    /// It is closed.
    Ends,
}

pub(crate) struct EngineSocket {
    pub(crate) id: HibernationId,
    pub(crate) actor_id: ActorId,
    path: String,
    headers: HashMap<String, String>,
    is_hibernatable: bool,
    outbox: Outbox,
    voice: Voice,
    /// Fires when there is a way, or the client has left.
    reachable: CancellationToken,
    incoming: mpsc::Sender<Incoming>,
    progress: Mutex<Progress>,
    /// Something may be due.
    news: Notify,
    /// Something may be late, or is no more.
    arrival: Notify,
    /// Whether the session waits for answers.
    waits: watch::Sender<bool>,
    resumed: Option<Resumed>,
    clock: Clock,
    connection: Mutex<Connection>,
    /// The newest generation that began with this connection.
    began: AtomicU32,
    session: AtomicWaker,
    let_go: AtomicBool,
    /// Fires when this end is to go without a word.
    gone: CancellationToken,
    /// Fires when it is to go once what was said has left.
    parting: CancellationToken,
    /// Fires when nothing more leaves.
    parted: CancellationToken,
}

#[derive(Default)]
struct Connection {
    /// The generation that the socket was last handed to.
    generation: u32,
    lasting: Option<Lasting>,
    live: Option<(ConnHandle, Arc<dyn ConnTransport>)>,
}

/// A token, cancelled already if so.
fn latch(is_cancelled: bool) -> CancellationToken {
    let token = CancellationToken::new();
    if is_cancelled {
        token.cancel();
    }
    token
}

impl EngineSocket {
    pub(super) fn new(
        actor_id: ActorId,
        new: NewSocket,
        outbox: Outbox,
        incoming: mpsc::Sender<Incoming>,
        clock: Clock,
    ) -> Arc<Self> {
        Arc::new(Self {
            id: new.id,
            actor_id,
            path: new.path,
            headers: new.headers,
            is_hibernatable: new.is_hibernatable,
            outbox,
            reachable: latch(new.way.is_some()),
            voice: Voice::new(new.way, clock.clone()),
            incoming,
            progress: Mutex::new(Progress::new(new.resumed.as_ref().map(|r| r.last_message))),
            news: Notify::new(),
            arrival: Notify::new(),
            waits: watch::Sender::new(false),
            resumed: new.resumed,
            clock,
            connection: Mutex::default(),
            began: AtomicU32::new(0),
            session: AtomicWaker::new(),
            let_go: AtomicBool::new(false),
            gone: CancellationToken::new(),
            parting: CancellationToken::new(),
            parted: CancellationToken::new(),
        })
    }

    /// What there is of a connection that began in another process.
    pub(super) fn resumed(&self) -> Option<Resumed> {
        self.resumed.clone()
    }

    pub(super) fn is_hibernatable(&self) -> bool {
        self.is_hibernatable
    }

    pub(super) fn reachable(&self) -> &CancellationToken {
        &self.reachable
    }

    pub(super) fn parting(&self) -> &CancellationToken {
        &self.parting
    }

    pub(super) fn parted(&self) -> &CancellationToken {
        &self.parted
    }

    /// Resolves when something may have become due.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }

    /// Resolves when something may be late, or is no more.
    pub(super) async fn arrival(&self) {
        self.arrival.notified().await;
    }

    pub(super) fn is_due(&self) -> bool {
        self.is_hibernatable && self.progress.lock().is_due()
    }

    /// What is due is taken care of; what the engine has to hear once more is said.
    pub(super) fn take_due(&self) {
        let again = self.progress.lock().take_due();
        self.acknowledge(again);
    }

    /// The connection gets to know how far its messages have come.
    pub(super) fn tell_handled(&self, conn: &ConnHandle) {
        if let Some(index) = self.progress.lock().storable() {
            conn.message_handled(index);
        }
    }

    /// When the oldest message arrived that the engine was not told to forget.
    pub(crate) fn waits_since(&self) -> Option<Instant> {
        let progress = self.progress.lock();
        self.is_hibernatable.then(|| progress.waits_since())?
    }

    /// The last such message that arrived by then.
    pub(super) fn arrived_by(&self, then: impl Fn(Instant) -> bool) -> Option<u16> {
        self.progress.lock().arrived_by(then)
    }

    /// It is stored that everything up to this message was handled.
    pub(super) fn stored(&self, index: u16) {
        let new = self.progress.lock().stored(index);
        self.acknowledge(new);
        self.arrival.notify_one();
    }

    /// Acknowledges what arrived up to this message, whatever becomes of it.
    pub(crate) fn give_up(&self, index: u16) {
        let new = self.progress.lock().give_up(index);
        self.acknowledge(new);
    }

    fn acknowledge(&self, index: Option<u16>) {
        if let Some(index) = index {
            self.voice.acknowledge(index);
        }
    }

    /// Resolves when the session has seen all answers to what it handed over.
    pub(super) async fn settled(&self) {
        let mut waits = self.waits.subscribe();
        // The sender lives as long as this.
        let _ = waits.wait_for(|waits| !waits).await;
    }

    /// The connection's id, once there is one.
    pub(super) fn conn_id(&self) -> Option<String> {
        let connection = self.connection.lock();
        let (conn, _) = connection.live.as_ref()?;
        Some(conn.id().to_owned())
    }

    pub(super) fn headers(&self) -> &HashMap<String, String> {
        &self.headers
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    pub(crate) fn gone(&self) -> &CancellationToken {
        &self.gone
    }

    /// Hands over what the client did. False if it was not taken: the client is
    /// too far ahead, and its socket is closed for that.
    pub(crate) fn incoming(&self, incoming: Incoming) -> bool {
        let (index, is_close) = match &incoming {
            Incoming::Message { index, .. } => (Some(*index), false),
            Incoming::Close { .. } => (None, true),
        };
        let taken = self.incoming.try_send(incoming).is_ok();
        if let Some(index) = index.filter(|_| taken) {
            self.progress.lock().arrived(index, self.clock.now());
            self.arrival.notify_one();
        }
        if is_close {
            // Of one that was never handed over, too: the session ends with it.
            self.reachable.cancel();
        }
        if !taken && is_close {
            self.gone.cancel();
        } else if !taken {
            let error = Error::new(&code::CONNECTION_SLOW_CONSUMER);
            self.outbox.close_with(&error);
        }
        taken
    }

    /// A generation begins, and what is said from here on is said by it: the engine
    /// gives nothing of that to a client that it has not handed over yet.
    pub(super) fn await_hand_over(&self) {
        if self.goes_on() {
            self.voice.await_hand_over();
        }
    }

    /// Until when nothing is to be said to the client; `None` if it may be.
    pub(super) fn awaits_until(&self) -> Option<Instant> {
        self.voice.awaits_until()
    }

    pub(super) fn send(&self, data: &Bytes, binary: bool) {
        self.voice.send(data, binary);
    }

    /// When the client will have heard what was said to it; `None` if nothing was.
    pub(super) fn heard_by(&self) -> Option<Instant> {
        self.voice.heard_by()
    }

    /// Whether something waits here that the client is to hear.
    pub(super) fn holds_words(&self) -> bool {
        self.outbox.holds_frames() || self.awaits_until().is_some()
    }

    /// Closes the client, unless it is somebody else's.
    pub(super) fn close(&self, code: u16, reason: String) {
        if self.gone.is_cancelled() {
            return;
        }
        self.voice.close(code, reason);
    }

    /// The engine has handed the client over. False if this process is done with the
    /// socket.
    pub(crate) fn set_way(&self, way: ToGateway) -> bool {
        if self.is_leaving() {
            return false;
        }
        self.voice.set_way(way);
        self.reachable.cancel();
        self.progress.lock().repeat();
        self.news.notify_one();
        true
    }

    /// Whether this process is done with the socket.
    pub(super) fn is_leaving(&self) -> bool {
        self.gone.is_cancelled() || self.parting.is_cancelled()
    }

    /// This process is done with the socket once what it said has left; the client
    /// is not told. Resolves then.
    pub(super) async fn part(&self) {
        self.let_go.store(true, Ordering::SeqCst);
        self.parting.cancel();
        self.parted.cancelled().await;
    }

    /// This process is done with the socket; the client is not told.
    pub(crate) fn forget(&self) {
        self.let_go.store(true, Ordering::SeqCst);
        self.gone.cancel();
    }

    /// The same for one whose client the engine keeps for whoever is next.
    pub(crate) fn forget_if_held(&self) {
        if self.connection.lock().lasting == Some(Lasting::Hibernates) {
            self.forget();
        }
    }

    /// Whether the connection goes on without this session.
    pub(super) fn has_let_go(&self) -> bool {
        self.let_go.load(Ordering::SeqCst)
    }

    #[cfg(test)]
    pub(crate) fn lasts_in_tests(&self) {
        self.connection.lock().lasting = Some(Lasting::Hibernates);
    }

    pub(super) fn generation(&self) -> u32 {
        self.connection.lock().generation
    }

    /// Whether a generation after this socket's next one begins.
    pub(super) fn is_stale(&self, generation: u32) -> bool {
        let connection = self.connection.lock();
        connection.lasting.is_some() && connection.generation.saturating_add(1) < generation
    }

    pub(super) fn entered(&self, generation: u32) {
        self.connection.lock().generation = generation;
    }

    pub(super) fn connected(&self, conn: &ConnHandle, transport: Arc<dyn ConnTransport>) {
        let mut connection = self.connection.lock();
        let lasts = self.is_hibernatable && conn.is_hibernatable();
        connection.lasting = Some(match lasts {
            true => Lasting::Hibernates,
            false => Lasting::Ends,
        });
        connection.live = Some((conn.clone(), transport));
    }

    fn hibernates(&self, connection: &Connection) -> bool {
        connection.lasting == Some(Lasting::Hibernates)
            && !self.outbox.is_closed()
            && !self.gone.is_cancelled()
    }

    /// Whether it goes on when the actor wakes: it hibernates, or it came in the last
    /// moments of a generation and waits for one that takes it.
    fn goes_on(&self) -> bool {
        let connection = self.connection.lock();
        let waits = connection.lasting.is_none() && self.is_hibernatable;
        self.hibernates(&connection)
            || waits && !self.outbox.is_closed() && !self.gone.is_cancelled()
    }

    pub(super) fn known(&self) -> Option<KnownSocket> {
        self.goes_on().then(|| KnownSocket {
            id: self.id,
            last_message: self.progress.lock().last(),
            path: self.path.clone(),
            headers: self.headers.clone(),
        })
    }

    pub(super) fn for_next_generation(&self) -> Option<HeldSocket> {
        let connection = self.connection.lock();
        if !self.hibernates(&connection) {
            return None;
        }
        let (conn, transport) = connection.live.as_ref()?;
        Some(HeldSocket {
            id: self.id,
            conn: Some(conn.clone()),
            transport: Arc::clone(transport),
        })
    }

    pub(super) fn generation_began(&self, ctx: &ActorContext) {
        let mut connection = self.connection.lock();
        if connection.lasting != Some(Lasting::Hibernates) {
            return;
        }
        let Some((conn, _)) = &mut connection.live else {
            return;
        };
        match ctx.conn(conn.id()) {
            // From here on its subscriptions are what the client knows.
            Some(restored) => {
                self.progress.lock().renew();
                self.tell_handled(&restored);
                self.news.notify_one();
                *conn = restored;
                connection.generation = ctx.generation();
                drop(connection);
                self.began.store(ctx.generation(), Ordering::SeqCst);
                self.session.wake();
            }
            None => {
                drop(connection);
                let error = Error::new(&code::CONNECTION_RESTORE_NOT_FOUND);
                self.outbox.close_with(&error);
            }
        }
    }

    pub(super) fn poll_began(&self, cx: &mut Context<'_>, generation: u32) -> Poll<()> {
        self.session.register(cx.waker());
        match self.began.load(Ordering::SeqCst) > generation {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    /// The generation is over and the actor sleeps. True if the socket is held for
    /// the next one.
    pub(super) fn generation_ended(&self, generation: u32) -> bool {
        let connection = self.connection.lock();
        let hibernates = self.hibernates(&connection);
        let ends = connection.lasting == Some(Lasting::Ends) && connection.generation <= generation;
        drop(connection);
        if ends {
            self.outbox.close_with(&Error::new(&code::ACTOR_STOPPED));
        }
        hibernates
    }

    pub(super) fn actor_destroyed(&self) {
        match self.connection.lock().lasting {
            Some(Lasting::Ends) => self.outbox.close_with(&Error::new(&code::ACTOR_STOPPED)),
            _ => self.outbox.close(Farewell::new(1000, "")),
        }
    }
}

impl MessageLog for EngineSocket {
    fn handled(&self, messages: u64) {
        self.progress.lock().handled(messages);
        // Seen by the last save of the generation, which nobody asks for here.
        if let Some((conn, _)) = self.connection.lock().live.as_ref() {
            self.tell_handled(conn);
        }
        self.news.notify_one();
    }

    fn waits_for_answers(&self, waits: bool) {
        self.waits.send_replace(waits);
    }
}
