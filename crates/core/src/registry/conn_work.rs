//! Work of connections that outlive a request: their opening, their actions and
//! subscriptions, raw WebSockets.

use std::sync::Arc;

use bytes::Bytes;
use greenroom_error::{Error, code};

use super::handle::{ActionCall, ActorHandle};
use crate::actor::connection::{ConnHandle, ConnectOptions};
use crate::actor::messages::{ActionDispatch, DispatchCommand, Request};
use crate::reply::{Answer, reply};
use crate::websocket::WebSocket;

impl ActorHandle {
    /// Opens a connection that outlives this call: hooks first, then it is live.
    /// The error of a refusal says nothing about the client.
    pub async fn connect(&self, options: ConnectOptions) -> Answer<ConnHandle> {
        if let Some(error) = self.refusal() {
            return Answer::Refused(error);
        }
        let conn = match self.ctx().connect(options).await {
            Ok(conn) => conn,
            Err(error) => return self.finish(self.failed_connect(error)),
        };
        if let Err(error) = self.ctx().wait_output().await {
            self.ctx().connection_closed(conn.id());
            return self.finish(Answer::Done(Err(error)));
        }
        Answer::Done(Ok(conn))
    }

    /// True if work of this connection has to wait for the next generation. A
    /// connection that outlives a sleep is not served by an actor that asked for
    /// one: what it started now would be cut.
    fn holds_back(&self, conn: &ConnHandle) -> Option<Error> {
        if conn.is_hibernatable() && self.ctx().sleep_requested() {
            let error = Error::new(&code::ACTOR_STOPPING);
            return Some(self.ctx().attach_actor(error));
        }
        self.refusal()
    }

    /// An action on an existing connection. It is handed over before this
    /// returns: calls of one connection arrive in the order they are made.
    pub fn conn_action(
        self: &Arc<Self>,
        conn: &ConnHandle,
        call: ActionCall,
    ) -> impl Future<Output = Answer<Bytes>> + Send + use<> {
        let (answer, answered) = reply();
        match self.holds_back(conn) {
            Some(refusal) => answer.refuse(refusal),
            None => self
                .dispatch
                .send(DispatchCommand::Action(Box::new(ActionDispatch {
                    name: call.name,
                    args: call.args,
                    conn: Some(conn.clone()),
                    incoming: call.incoming,
                    cancelled: call.cancelled,
                    region: None,
                    reply: answer,
                }))),
        }
        let this = Arc::clone(self);
        async move {
            let span = this.ctx().config().action_timeout;
            let work = async {
                // Held until the answer leaves, as with every action.
                let (answer, _held) = answered.with_held().await;
                this.release(answer).await
            };
            let answer = this.within(span, work).await;
            this.finish(answer)
        }
    }

    /// Subscribes or unsubscribes an existing connection without asking user code.
    pub fn set_subscribed(&self, conn: &ConnHandle, event: &str, subscribe: bool) -> Answer<()> {
        if let Some(refusal) = self.holds_back(conn) {
            return Answer::Refused(refusal);
        }
        self.ctx().set_subscribed(conn, event, subscribe);
        Answer::Done(Ok(()))
    }

    /// Subscribes an existing connection to an event, if user code allows it.
    pub async fn subscribe(&self, conn: &ConnHandle, event: &str) -> Answer<()> {
        if let Some(refusal) = self.holds_back(conn) {
            return Answer::Refused(refusal);
        }
        let answer = match self.ctx().subscribe(conn, event).await {
            Ok(()) => Answer::Done(Ok(())),
            Err(error) => self.failed_connect(error),
        };
        self.finish(answer)
    }

    /// Hands a raw WebSocket to user code. Resolves when its handler is done, which
    /// may be when the socket closes.
    pub fn open_websocket(
        self: &Arc<Self>,
        conn: ConnHandle,
        ws: WebSocket,
        request: Option<Box<Request>>,
    ) -> impl Future<Output = Answer<()>> + Send + use<> {
        let (answer, answered) = reply();
        match self.refusal() {
            Some(refusal) => answer.refuse(refusal),
            None => self.dispatch.send(DispatchCommand::OpenWebSocket {
                conn,
                ws,
                request,
                reply: answer,
            }),
        }
        let this = Arc::clone(self);
        async move {
            let answer = answered.await;
            this.finish(answer)
        }
    }
}
