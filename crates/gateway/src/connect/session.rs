//! A live connection: messages in, answers out, across generations.
//!
//! Invariant S1: messages are handed over in the order they arrived. Once a
//! generation refused one, no later one is given to it; when everything it took
//! is answered, the refused go to the next generation before anything new.
//! Invariant S2: a message is let go when it was answered, and an action is
//! answered once.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{FuturesUnordered, Stream};
use greenroom_core::{
    ActionCall, ActorHandle, ActorRef, Answer, ConnHandle, Incoming, LifecycleState,
};
use greenroom_error::{Error, Result, code};
use greenroom_wire::RayId;
use greenroom_wire::client_protocol::ToServer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::transport::ToClientWay;
use crate::live::ActorSource;
use crate::websocket::inbox::{Handled, Inbox, Message};
use crate::websocket::{
    ClientSocket, Farewell, MessageLog, SocketEvent, SocketHome, going_away, unreachable,
};

/// Actions of one connection that run at a time; more wait in the inbox.
const RUNNING_MAX: usize = 256;
/// Generations that may die over a message before it is answered with the error:
/// what kills every actor that looks at it must not wake another.
const CRASHES_MAX: u8 = 2;
/// Time in which the end of a generation follows the loss of its replies.
const NOTICE_TIME: Duration = Duration::from_secs(1);

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// An action that was handed over.
struct Ran {
    message: Message,
    id: u64,
    actor: ActorRef,
    answer: Answer<Bytes>,
    /// The generation ended without a word about it.
    died: bool,
}

/// What has to be over before the next message is looked at.
enum Step {
    /// The way to a generation that takes work.
    Found(Result<Arc<ActorHandle>>),
    /// User code's word on a subscription.
    Subscribed(Message, ActorRef, Answer<()>),
}

enum Happening {
    Ran(Ran),
    Step(Step),
    /// A message lies in the inbox.
    Message,
    Leave,
    Over,
}

/// A connection and the generation it was made in.
pub(super) struct Opened {
    pub(super) actor: Weak<ActorHandle>,
    pub(super) conn_id: String,
    pub(super) way: ToClientWay,
}

pub(super) struct Session<'a, S, H> {
    socket: &'a mut ClientSocket<S>,
    inbox: Inbox,
    home: &'a H,
    ray_id: &'a RayId,
    way: ToClientWay,
    conn_id: String,
    /// The generation that messages go to. Weak: a sleeping actor takes no memory
    /// because somebody is connected to it.
    actor: Weak<ActorHandle>,
    /// The generation that takes nothing more, until the next one is found.
    refused_by: Option<ActorRef>,
    refused: BTreeMap<u64, Message>,
    running: FuturesUnordered<Work<Ran>>,
    step: Option<Work<Step>>,
    handled: Handled,
    log: Option<Arc<dyn MessageLog>>,
    /// What the log was told last.
    waits: bool,
    /// User code is asked about a subscription.
    subscribing: bool,
    leaving: Pin<Box<WaitForCancellationFutureOwned>>,
    is_leaving: bool,
    /// The caller's word that it wants no answer any more, which this protocol has
    /// no message for.
    unending: CancellationToken,
}

impl<'a, S, H> Session<'a, S, H>
where
    S: AsyncRead + AsyncWrite + Unpin,
    H: SocketHome,
{
    pub(super) fn new(
        socket: &'a mut ClientSocket<S>,
        inbox: Inbox,
        home: &'a H,
        ray_id: &'a RayId,
        opened: Opened,
    ) -> Self {
        Self {
            socket,
            inbox,
            home,
            ray_id,
            way: opened.way,
            conn_id: opened.conn_id,
            actor: opened.actor,
            refused_by: None,
            refused: BTreeMap::new(),
            running: FuturesUnordered::new(),
            step: None,
            handled: Handled::default(),
            log: home.message_log(),
            waits: false,
            subscribing: false,
            leaving: Box::pin(home.leaving().clone().cancelled_owned()),
            is_leaving: false,
            unending: CancellationToken::new(),
        }
    }

    /// Runs until the socket is over; then the connection is closed, in whichever
    /// generation it lives, unless it goes on without this socket.
    pub(super) async fn run(mut self) {
        loop {
            self.hand_over();
            self.tell_if_it_waits(!self.running.is_empty() || self.subscribing);
            match poll_fn(|cx| self.poll_next(cx)).await {
                Happening::Ran(ran) => self.on_ran(ran),
                Happening::Step(step) => self.on_step(step),
                Happening::Message => {}
                Happening::Leave => self.is_leaving = true,
                Happening::Over => break,
            }
        }
        // Nothing that is sent from here on can arrive.
        self.way.outbox().close(Farewell::new(1000, ""));
        if !self.home.has_let_go()
            && let Some(actor) = self.home.live()
        {
            actor.ctx().connection_closed(&self.conn_id);
        }
    }

    /// Answers first, so that those that are ready leave together.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Happening> {
        if let Poll::Ready(Some(ran)) = Pin::new(&mut self.running).poll_next(cx) {
            return Poll::Ready(Happening::Ran(ran));
        }
        if let Some(step) = &mut self.step
            && let Poll::Ready(step) = step.as_mut().poll(cx)
        {
            self.step = None;
            return Poll::Ready(Happening::Step(step));
        }
        if !self.is_leaving && self.leaving.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Happening::Leave);
        }
        let read = self.inbox.has_room() && !self.is_leaving;
        self.socket.poll_event(cx, read).map(|event| match event {
            SocketEvent::Message { data, binary } => {
                self.inbox.push(data, binary);
                Happening::Message
            }
            SocketEvent::Over => Happening::Over,
        })
    }

    /// Hands over as much as may go now.
    fn hand_over(&mut self) {
        if self.is_leaving {
            if self.running.is_empty() && self.step.is_none() {
                let farewell = unreachable(&going_away(), self.ray_id);
                self.way.outbox().close(farewell);
            }
            return;
        }
        while self.step.is_none() && self.running.len() < RUNNING_MAX {
            if self.refused_by.is_some() {
                // In their order, and only when all are back (S1).
                if self.running.is_empty() {
                    let refused = std::mem::take(&mut self.refused);
                    self.inbox.put_back(refused.into_values());
                    self.seek();
                }
                return;
            }
            let Some(message) = self.inbox.pop() else {
                return;
            };
            match self.attached() {
                Some((actor, conn)) => self.take(message, actor, conn),
                None => {
                    self.inbox.put_back([message].into_iter());
                    self.seek();
                }
            }
        }
    }

    /// The generation and the connection in it, as long as both live.
    fn attached(&self) -> Option<(Arc<ActorHandle>, ConnHandle)> {
        let actor = self.actor.upgrade()?;
        let conn = actor.ctx().conn(&self.conn_id)?;
        (actor.ctx().lifecycle_state() != LifecycleState::Terminated).then_some((actor, conn))
    }

    fn seek(&mut self) {
        if self.inbox.is_empty() {
            // Nobody is woken for nothing.
            self.refused_by = None;
            return;
        }
        let mut source = self.home.seek();
        let refused_by = self.refused_by;
        self.step = Some(Box::pin(async move {
            Step::Found(source.acquire(refused_by).await)
        }));
    }

    fn take(&mut self, message: Message, actor: Arc<ActorHandle>, conn: ConnHandle) {
        self.handled.begin(message.number);
        // Before anybody can answer.
        self.tell_if_it_waits(true);
        if message.data.len() > actor.ctx().config().max_incoming_message_size as usize {
            let error = Error::new(&code::MESSAGE_INCOMING_TOO_LONG);
            return self.way.outbox().close_with(&error);
        }
        match ToServer::decode(message.data.clone(), self.way.encoding()) {
            Ok(ToServer::ActionRequest { id, name, args }) => {
                let call = ActionCall {
                    name,
                    args,
                    params: Bytes::new(),
                    head: None,
                    incoming: Incoming {
                        ray_id: Some(self.ray_id.as_str().to_owned()),
                        ..Incoming::default()
                    },
                    cancelled: self.unending.clone(),
                };
                let answer = actor.conn_action(&conn, call);
                self.running.push(Box::pin(async move {
                    let answer = answer.await;
                    Ran {
                        message,
                        id,
                        actor: actor.actor(),
                        died: has_died_over(&actor, &answer).await,
                        answer,
                    }
                }));
            }
            Ok(ToServer::SubscriptionRequest {
                event_name,
                subscribe,
            }) => self.subscribe(message, actor, conn, event_name, subscribe),
            Err(error) => self.way.outbox().close_with(&error),
        }
    }

    fn subscribe(
        &mut self,
        message: Message,
        actor: Arc<ActorHandle>,
        conn: ConnHandle,
        event: String,
        subscribe: bool,
    ) {
        let generation = actor.actor();
        if subscribe && actor.ctx().config().hooks.subscribe {
            self.subscribing = true;
            self.step = Some(Box::pin(async move {
                let answer = actor.subscribe(&conn, &event).await;
                Step::Subscribed(message, generation, answer)
            }));
        } else {
            let answer = actor.set_subscribed(&conn, &event, subscribe);
            self.on_step(Step::Subscribed(message, generation, answer));
        }
    }

    fn on_step(&mut self, step: Step) {
        self.subscribing = false;
        match step {
            Step::Found(Ok(actor)) if actor.ctx().conn(&self.conn_id).is_none() => {
                // It began without this connection, which a crash can cause.
                let error = Error::new(&code::CONNECTION_RESTORE_NOT_FOUND);
                self.way.outbox().close_with(&error);
            }
            Step::Found(Ok(actor)) => {
                self.actor = Arc::downgrade(&actor);
                self.refused_by = None;
            }
            Step::Found(Err(error)) => {
                let farewell = unreachable(&error, self.ray_id);
                self.way.outbox().close(farewell);
            }
            Step::Subscribed(message, _, Answer::Done(Ok(()))) => self.let_go(message.number),
            Step::Subscribed(message, actor, Answer::Refused(_)) => self.keep(message, actor),
            Step::Subscribed(_, _, Answer::Done(Err(error))) => {
                self.way.outbox().close_with(&error);
            }
        }
    }

    fn on_ran(&mut self, ran: Ran) {
        let Ran {
            mut message, id, ..
        } = ran;
        match ran.answer {
            // A full inbox says nothing about the generation.
            Answer::Refused(error) if error.is(&code::ACTOR_OVERLOADED) => {
                self.way.answer(id, Err(error));
                self.let_go(message.number);
            }
            Answer::Refused(_) => self.keep(message, ran.actor),
            Answer::Done(_) if ran.died && message.crashes + 1 < CRASHES_MAX => {
                message.crashes += 1;
                self.keep(message, ran.actor);
            }
            Answer::Done(result) => {
                self.way.answer(id, result);
                self.let_go(message.number);
            }
        }
    }

    /// A message was answered (S2).
    fn let_go(&mut self, number: u64) {
        if let (Some(messages), Some(log)) = (self.handled.end(number), &self.log) {
            log.handled(messages);
        }
    }

    fn tell_if_it_waits(&mut self, waits: bool) {
        if let Some(log) = self.log.as_ref().filter(|_| waits != self.waits) {
            self.waits = waits;
            log.waits_for_answers(waits);
        }
    }

    /// A message that this generation will not answer any more.
    fn keep(&mut self, message: Message, generation: ActorRef) {
        self.refused_by = Some(generation);
        self.refused.insert(message.number, message);
    }
}

/// True if the work was lost with its generation. A lost reply is noticed before
/// the loss of who should have given it.
async fn has_died_over(actor: &ActorHandle, answer: &Answer<Bytes>) -> bool {
    let lost = matches!(answer, Answer::Done(Err(e)) if e.is(&code::ACTOR_DROPPED_REPLY));
    let ending = actor.ctx().abort_signal();
    let clock = actor.ctx().clock();
    lost && clock.timeout(NOTICE_TIME, ending.cancelled()).await.is_ok()
}
