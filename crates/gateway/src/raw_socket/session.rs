//! A live raw socket: messages to user code, across generations if it may.
//!
//! Invariant W1: messages are delivered in the order they arrived, to one
//! generation at a time, and what it did not take to the next before anything new.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use greenroom_core::{ActorHandle, ActorRef, Answer, ConnHandle, LifecycleState, WebSocket};
use greenroom_error::{Error, Result, code};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::side::{Side, Untaken};
use crate::live::ActorSource;
use crate::websocket::inbox::Inbox;
use crate::websocket::{
    ClientSocket, Outbox, SocketEvent, SocketHome, SocketRequest, going_away, unreachable,
};

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

enum Happening {
    /// User code's handler is done with opening the socket.
    Handled(ActorRef, Answer<()>),
    /// The way to a generation that takes work.
    Found(Result<Arc<ActorHandle>>),
    /// A generation began with this connection.
    Began,
    /// A message lies in the inbox, or there is room for one.
    Message,
    Leave,
    Over,
}

/// The generation that has the socket now.
struct Attached {
    actor: Weak<ActorHandle>,
    generation: ActorRef,
    ws: WebSocket,
}

pub(super) struct Session<'a, H> {
    inbox: Inbox,
    home: &'a H,
    request: &'a SocketRequest,
    conn_id: String,
    hibernates: bool,
    untaken: Arc<Untaken>,
    attached: Option<Attached>,
    /// Handlers that are still opening the socket; one, but for a moment.
    handlers: Vec<(ActorRef, Work<Answer<()>>)>,
    seeking: Option<Work<Result<Arc<ActorHandle>>>>,
    leaving: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl<'a, H: SocketHome> Session<'a, H> {
    pub(super) fn new(
        inbox: Inbox,
        home: &'a H,
        request: &'a SocketRequest,
        conn: &ConnHandle,
    ) -> Self {
        let untaken = Untaken::new(home.message_log(), 0);
        let hibernates = conn.is_hibernatable();
        Self::of(inbox, home, request, (conn.id(), hibernates), untaken)
    }

    /// The session of a socket of which another process had so many messages. The
    /// generation that is about to begin gets it.
    pub(super) fn resumed(
        home: &'a H,
        request: &'a SocketRequest,
        conn_id: &str,
        messages: u64,
    ) -> Self {
        let untaken = Untaken::new(home.message_log(), messages);
        let inbox = Inbox::behind(messages);
        Self::of(inbox, home, request, (conn_id, true), untaken)
    }

    fn of(
        inbox: Inbox,
        home: &'a H,
        request: &'a SocketRequest,
        (conn_id, hibernates): (&str, bool),
        untaken: Untaken,
    ) -> Self {
        Self {
            inbox,
            home,
            request,
            conn_id: conn_id.to_owned(),
            hibernates,
            untaken: Arc::new(untaken),
            attached: None,
            handlers: Vec::new(),
            seeking: None,
            leaving: Box::pin(home.leaving().clone().cancelled_owned()),
        }
    }

    /// Runs until the socket is over; then user code hears of it, and the
    /// connection is closed. Begins in this generation, or waits for one.
    pub(super) async fn run<S>(
        mut self,
        mut socket: ClientSocket<S>,
        begins: Option<(Arc<ActorHandle>, ConnHandle)>,
    ) where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        if let Some((actor, conn)) = begins {
            self.attach(socket.outbox(), &actor, conn);
        }
        loop {
            self.deliver();
            let happening = poll_fn(|cx| self.poll_next(&mut socket, cx)).await;
            match happening {
                Happening::Handled(generation, answer) => {
                    self.on_handled(socket.outbox(), generation, answer);
                }
                Happening::Found(found) => {
                    self.seeking = None;
                    self.on_found(socket.outbox(), found);
                }
                Happening::Began => {
                    if let Some(actor) = self.home.live() {
                        self.on_found(socket.outbox(), Ok(actor));
                    }
                }
                Happening::Message => {}
                Happening::Leave => {
                    let farewell = unreachable(&going_away(), &self.request.ray_id);
                    socket.outbox().close(farewell);
                }
                Happening::Over => break,
            }
        }
        let closed = socket.finish().await;
        if let Some(attached) = &self.attached {
            attached.ws.deliver_close(closed.code, closed.reason);
        }
        if !self.home.has_let_go()
            && let Some(actor) = self.home.live()
        {
            actor.ctx().connection_closed(&self.conn_id);
        }
    }

    fn poll_next<S>(
        &mut self,
        socket: &mut ClientSocket<S>,
        cx: &mut Context<'_>,
    ) -> Poll<Happening>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        if !socket.outbox().is_closed() && self.leaving.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Happening::Leave);
        }
        for at in 0..self.handlers.len() {
            if let Poll::Ready(answer) = self.handlers[at].1.as_mut().poll(cx) {
                let (generation, _) = self.handlers.swap_remove(at);
                return Poll::Ready(Happening::Handled(generation, answer));
            }
        }
        if let Some(seeking) = &mut self.seeking {
            if let Poll::Ready(found) = seeking.as_mut().poll(cx) {
                return Poll::Ready(Happening::Found(found));
            }
        } else if self.hibernates && self.home.poll_began(cx, self.generation()).is_ready() {
            return Poll::Ready(Happening::Began);
        }
        let room = self.untaken.poll_room(cx).is_ready();
        if room && self.seeking.is_none() && !self.inbox.is_empty() {
            return Poll::Ready(Happening::Message);
        }
        let read = room && self.inbox.has_room();
        socket.poll_event(cx, read).map(|event| match event {
            SocketEvent::Message { data, binary } => {
                self.inbox.push(data, binary);
                Happening::Message
            }
            SocketEvent::Over => Happening::Over,
        })
    }

    /// The generation that has the socket, or had it last.
    fn generation(&self) -> u32 {
        let attached = self.attached.as_ref();
        attached.map_or(0, |attached| attached.generation.generation)
    }

    /// Gives the socket to a generation, with what the last one left (W1).
    fn attach(&mut self, outbox: &Outbox, actor: &Arc<ActorHandle>, conn: ConnHandle) {
        let generation = actor.actor();
        let left = self.untaken.begin(generation.generation);
        if let Some(before) = self.attached.take() {
            before.ws.detach();
        }
        self.inbox.put_back(left.into_values());
        let ws = WebSocket::new(Side {
            outbox: outbox.clone(),
            untaken: Arc::clone(&self.untaken),
            generation: generation.generation,
        });
        let request = Some(Box::new(self.request.to_request()));
        let handler = actor.open_websocket(conn, ws.clone(), request);
        self.handlers.push((generation, Box::pin(handler)));
        self.attached = Some(Attached {
            actor: Arc::downgrade(actor),
            generation,
            ws,
        });
    }

    /// Delivers as much as may go now.
    fn deliver(&mut self) {
        while self.seeking.is_none() && self.untaken.has_room() && !self.inbox.is_empty() {
            if !self.takes_messages() {
                if self.hibernates {
                    self.seek();
                } else {
                    // The close is on its way; nobody is left to hear this.
                    self.inbox = Inbox::default();
                }
                return;
            }
            if let (Some(message), Some(attached)) = (self.inbox.pop(), &self.attached) {
                let index = self.hibernates.then_some(message.number as u16);
                self.untaken.given(message.clone());
                let ws = &attached.ws;
                ws.deliver(message.number, message.data, message.binary, index);
            }
        }
    }

    /// True if the generation that has the socket is one to give messages to. An
    /// actor that is about to sleep gets them after its wake.
    fn takes_messages(&self) -> bool {
        let attached = self.attached.as_ref();
        let Some(actor) = attached.and_then(|attached| attached.actor.upgrade()) else {
            return false;
        };
        let ctx = actor.ctx();
        ctx.lifecycle_state() != LifecycleState::Terminated
            && !(self.hibernates && (ctx.sleep_requested() || ctx.refusal().is_some()))
    }

    fn seek(&mut self) {
        let mut source = self.home.seek();
        let alive = self.attached.as_ref().map(|attached| attached.generation);
        self.seeking = Some(Box::pin(async move { source.acquire(alive).await }));
    }

    fn on_found(&mut self, outbox: &Outbox, found: Result<Arc<ActorHandle>>) {
        let actor = match found {
            Ok(actor) => actor,
            Err(error) => return outbox.close(unreachable(&error, &self.request.ray_id)),
        };
        if actor.actor().generation <= self.generation() {
            return;
        }
        match actor.ctx().conn(&self.conn_id) {
            Some(conn) => self.attach(outbox, &actor, conn),
            None => outbox.close_with(&Error::new(&code::CONNECTION_RESTORE_NOT_FOUND)),
        }
    }

    fn on_handled(&mut self, outbox: &Outbox, generation: ActorRef, answer: Answer<()>) {
        let attached = self.attached.as_ref();
        let Some(attached) = attached.filter(|attached| attached.generation == generation) else {
            return;
        };
        let actor = attached.actor.upgrade();
        let is_up = actor.is_some_and(|a| a.ctx().lifecycle_state() == LifecycleState::Started);
        match answer {
            Answer::Done(Ok(())) => {}
            Answer::Done(Err(error)) if is_up => outbox.close_with(&error),
            // Cut with its generation; the next one opens the socket anew, or the
            // socket is closed.
            Answer::Done(Err(_)) | Answer::Refused(_) if self.hibernates => {
                if matches!(answer, Answer::Refused(_)) && self.seeking.is_none() {
                    self.seek();
                }
            }
            Answer::Done(Err(_)) | Answer::Refused(_) => {
                outbox.close_with(&Error::new(&code::ACTOR_STOPPED));
            }
        }
    }
}
