//! One socket, as the host remembers it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use greenroom_core::{ActorContext, ConnHandle, ConnTransport, HeldSocket, HibernationId};
use greenroom_error::{Error, code};
use greenroom_gateway::websocket::{Farewell, Outbox};
use parking_lot::Mutex;

/// What becomes of a socket when its generation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lasting {
    /// The next generation begins with it.
    Hibernates,
    /// It is closed.
    Ends,
}

pub(super) struct Held {
    pub(super) id: HibernationId,
    outbox: Outbox,
    connection: Mutex<Connection>,
    /// The newest generation that began with this connection.
    began: AtomicU32,
    session: AtomicWaker,
}

#[derive(Default)]
struct Connection {
    /// The generation that the socket was last handed to.
    generation: u32,
    lasting: Option<Lasting>,
    live: Option<(ConnHandle, Arc<dyn ConnTransport>)>,
}

impl Held {
    pub(super) fn new(id: HibernationId, outbox: Outbox) -> Arc<Self> {
        Arc::new(Self {
            id,
            outbox,
            connection: Mutex::default(),
            began: AtomicU32::new(0),
            session: AtomicWaker::new(),
        })
    }

    pub(super) fn entered(&self, generation: u32) {
        self.connection.lock().generation = generation;
    }

    pub(super) fn connected(&self, conn: &ConnHandle, transport: Arc<dyn ConnTransport>) {
        let mut connection = self.connection.lock();
        connection.lasting = Some(match conn.is_hibernatable() {
            true => Lasting::Hibernates,
            false => Lasting::Ends,
        });
        connection.live = Some((conn.clone(), transport));
    }

    pub(super) fn for_next_generation(&self) -> Option<HeldSocket> {
        let connection = self.connection.lock();
        if connection.lasting != Some(Lasting::Hibernates) || self.outbox.is_closed() {
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
                *conn = restored;
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

    pub(super) fn generation_ended(&self, generation: u32) {
        let connection = self.connection.lock();
        let ends = connection.lasting == Some(Lasting::Ends);
        let of_it = connection.generation <= generation;
        drop(connection);
        if ends && of_it {
            self.outbox.close_with(&Error::new(&code::ACTOR_STOPPED));
        }
    }

    pub(super) fn actor_destroyed(&self) {
        match self.connection.lock().lasting {
            Some(Lasting::Ends) => self.outbox.close_with(&Error::new(&code::ACTOR_STOPPED)),
            _ => self.outbox.close(Farewell::new(1000, "")),
        }
    }
}
