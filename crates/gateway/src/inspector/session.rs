//! One inspection: requests in, answers and news out.
//!
//! Requests run side by side, a few at a time; more wait unread. News of one kind
//! come one after the other, and changes that happen meanwhile are told together.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, Stream};
use greenroom_core::{ActorHandle, InspectorRevisions, LifecycleState};
use greenroom_error::{Error, code};
use greenroom_wire::inspector_protocol::ToClient;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::Framing;
use super::answers;
use super::views;
use crate::websocket::inbox::Inbox;
use crate::websocket::{
    ClientSocket, Farewell, Outbox, SocketEvent, SocketHome, WireFrame, going_away,
};

/// Requests of one inspector that run at a time.
const RUNNING_MAX: usize = 16;
/// Changes within this time are told as one.
const NEWS_PAUSE: Duration = Duration::from_millis(50);

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

enum Happening {
    Answer(Option<ToClient>),
    News(News),
    Message,
    /// The generation begins to end, or the host does.
    Leave(Error),
    Over,
}

/// What changed, and what is to be said about it.
struct News {
    told: InspectorRevisions,
    messages: Vec<ToClient>,
    changes: watch::Receiver<InspectorRevisions>,
}

pub(super) struct Session<'a, S> {
    socket: &'a mut ClientSocket<S>,
    inbox: Inbox,
    actor: Arc<ActorHandle>,
    framing: Framing,
    runtime_routes: bool,
    running: FuturesUnordered<Work<Option<ToClient>>>,
    news: Option<Work<Option<News>>>,
    leaving: Pin<Box<WaitForCancellationFutureOwned>>,
    ending: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl<'a, S: AsyncRead + AsyncWrite + Unpin> Session<'a, S> {
    pub(super) fn new<H: SocketHome>(
        socket: &'a mut ClientSocket<S>,
        inbox: Inbox,
        home: &H,
        (actor, framing): (Arc<ActorHandle>, Framing),
        runtime_routes: bool,
    ) -> Self {
        Self {
            socket,
            inbox,
            framing,
            runtime_routes,
            running: FuturesUnordered::new(),
            news: None,
            leaving: Box::pin(home.leaving().clone().cancelled_owned()),
            ending: Box::pin(actor.ctx().abort_signal().cancelled_owned()),
            actor,
        }
    }

    pub(super) async fn run(mut self) {
        // Before the first look, so that no change falls between.
        let changes = self.actor.ctx().attach_inspector();
        let told = *changes.borrow();
        let init = views::init(self.actor.ctx());
        match self.socket.during(&mut self.inbox, init).await {
            Some(Ok(init)) => self.send(&ToClient::Init(Box::new(init))),
            Some(Err(error)) => {
                tracing::warn!(%error, "an inspector was shown nothing");
                let error = Error::new(&code::INSPECTOR_INIT_ERROR).with_source(error);
                return self.socket.outbox().close_with(&error);
            }
            None => return,
        }
        self.await_news(told, changes);
        loop {
            self.take_requests();
            match poll_fn(|cx| self.poll_next(cx)).await {
                Happening::Answer(answer) => {
                    if let Some(answer) = answer {
                        self.send(&answer);
                    }
                }
                Happening::News(news) => {
                    news.messages.iter().for_each(|message| self.send(message));
                    self.await_news(news.told, news.changes);
                }
                Happening::Message => {}
                Happening::Leave(error) => self.socket.outbox().close_with(&error),
                Happening::Over => return,
            }
        }
    }

    fn outbox(&self) -> &Outbox {
        self.socket.outbox()
    }

    /// An outbox that is full or closed says so by itself.
    fn send(&self, message: &ToClient) {
        let frame = WireFrame::new(self.framing.encode(message), true);
        if let Err(error) = self.outbox().push(frame) {
            tracing::debug!(%error, "an inspector was not told");
        }
    }

    fn await_news(
        &mut self,
        told: InspectorRevisions,
        mut changes: watch::Receiver<InspectorRevisions>,
    ) {
        let actor = Arc::clone(&self.actor);
        self.news = Some(Box::pin(async move {
            changes.wait_for(|now| *now != told).await.ok()?;
            actor.ctx().clock().sleep(NEWS_PAUSE).await;
            let now = *changes.borrow_and_update();
            let messages = views::changed(actor.ctx(), told, now).await;
            Some(News {
                told: now,
                messages,
                changes,
            })
        }));
    }

    fn take_requests(&mut self) {
        while self.running.len() < RUNNING_MAX
            && !self.outbox().is_closed()
            && let Some(message) = self.inbox.pop()
        {
            if !message.binary {
                let refusal = Farewell::of_error(&Error::new(&code::WS_PROTOCOL_ERROR));
                return self.outbox().close(refusal);
            }
            match self.framing.decode(message.data) {
                Ok(request) => {
                    let answering =
                        answers::answer(Arc::clone(&self.actor), request, self.runtime_routes);
                    self.running.push(Box::pin(answering));
                }
                Err(message) => self.send(&ToClient::Error { message }),
            }
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Happening> {
        if !self.outbox().is_closed() {
            if self.leaving.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Happening::Leave(going_away()));
            }
            if self.ending.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Happening::Leave(self.ended()));
            }
        }
        if let Poll::Ready(Some(answer)) = Pin::new(&mut self.running).poll_next(cx) {
            return Poll::Ready(Happening::Answer(answer));
        }
        if let Some(news) = &mut self.news
            && let Poll::Ready(told) = news.as_mut().poll(cx)
        {
            self.news = None;
            if let Some(news) = told {
                return Poll::Ready(Happening::News(news));
            }
        }
        let open = !self.outbox().is_closed();
        if open && !self.inbox.is_empty() && self.running.len() < RUNNING_MAX {
            return Poll::Ready(Happening::Message);
        }
        let event = self.socket.poll_event(cx, self.inbox.has_room());
        event.map(|event| match event {
            SocketEvent::Message { data, binary } => {
                self.inbox.push(data, binary);
                Happening::Message
            }
            SocketEvent::Over => Happening::Over,
        })
    }

    fn ended(&self) -> Error {
        let destroyed = self.actor.ctx().lifecycle_state() == LifecycleState::DestroyGrace
            || self.actor.ctx().destroy_requested();
        match destroyed {
            true => Error::new(&code::ACTOR_DESTROYING),
            false => Error::new(&code::ACTOR_STOPPED),
        }
    }
}
