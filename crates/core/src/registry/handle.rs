//! [`ActorHandle`]: what clients' work is handed to.
//!
//! Every method answers with an [`Answer`]: refused work never reached user code
//! and may be sent to the next generation.

use std::time::Duration;

use bytes::Bytes;
use greenroom_error::{Error, code};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::actor::DispatchSender;
use crate::actor::connection::{ConnHandle, ConnectOptions};
use crate::actor::context::ActorContext;
use crate::actor::messages::{
    ActionDispatch, DispatchCommand, Incoming, LifecycleCommand, QueueSendDispatch,
    QueueSendResult, Request, Response,
};
use crate::host::ActorRef;
use crate::reply::{Answer, reply};

/// One live generation, as the outside holds it.
pub struct ActorHandle {
    ctx: ActorContext,
    lifecycle: mpsc::UnboundedSender<LifecycleCommand>,
    pub(super) dispatch: DispatchSender,
}

/// An action asked for from outside.
#[derive(Clone, Debug, Default)]
pub struct ActionCall {
    pub name: String,
    /// CBOR array.
    pub args: Bytes,
    /// CBOR connection parameters of the transient connection.
    pub params: Bytes,
    /// Head of the request that carried the call, for connection hooks.
    pub head: Option<RequestHead>,
    pub incoming: Incoming,
    /// Fires when the caller gives up.
    pub cancelled: CancellationToken,
}

/// Method, URI and headers of a request.
#[derive(Clone, Debug, Default)]
pub struct RequestHead {
    pub method: String,
    pub uri: String,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

impl RequestHead {
    fn to_request(&self, cancelled: &CancellationToken) -> Box<Request> {
        Box::new(Request {
            method: self.method.clone(),
            uri: self.uri.clone(),
            headers: self.headers.clone(),
            body: self.body.clone(),
            stream: None,
            cancelled: cancelled.clone(),
            region: None,
        })
    }
}

impl ActorHandle {
    pub(super) fn new(
        ctx: ActorContext,
        lifecycle: mpsc::UnboundedSender<LifecycleCommand>,
        dispatch: DispatchSender,
    ) -> Self {
        Self {
            ctx,
            lifecycle,
            dispatch,
        }
    }

    pub fn ctx(&self) -> &ActorContext {
        &self.ctx
    }

    pub fn actor(&self) -> ActorRef {
        self.ctx.actor()
    }

    /// A command to an ended task is dropped, and its reply with it.
    pub(super) fn send_lifecycle(&self, command: LifecycleCommand) {
        let _ = self.lifecycle.send(command);
    }

    pub(super) fn refusal(&self) -> Option<Error> {
        let error = self.ctx.refusal()?;
        Some(self.ctx.attach_actor(error))
    }

    pub(super) fn finish<T>(&self, answer: Answer<T>) -> Answer<T> {
        match answer {
            Answer::Done(Err(error)) => Answer::Done(Err(self.ctx.attach_actor(error))),
            Answer::Refused(error) => Answer::Refused(self.ctx.attach_actor(error)),
            done => done,
        }
    }

    /// Runs an action over a transient connection: connection hooks, the action,
    /// the reply; `onDisconnect` follows without holding the reply up. The whole
    /// call is bounded by the action timeout; the handler itself goes on.
    pub async fn action(&self, call: &ActionCall) -> Answer<Bytes> {
        if let Some(error) = self.refusal() {
            return Answer::Refused(error);
        }
        let span = self.ctx.config().action_timeout;
        let answer = self.within(span, self.action_unbounded(call)).await;
        self.finish(answer)
    }

    pub(super) async fn within<T>(
        &self,
        span: Duration,
        work: impl Future<Output = Answer<T>>,
    ) -> Answer<T> {
        let timed = self.ctx.clock().timeout(span, work).await;
        timed.unwrap_or_else(|_| Answer::Done(Err(Error::new(&code::ACTOR_ACTION_TIMED_OUT))))
    }

    async fn action_unbounded(&self, call: &ActionCall) -> Answer<Bytes> {
        let head = call.head.as_ref();
        let connected = self
            .ctx
            .connect(ConnectOptions {
                params: call.params.clone(),
                request: head.map(|head| head.to_request(&call.cancelled)),
                ..ConnectOptions::default()
            })
            .await;
        let conn = match connected {
            Ok(conn) => TransientConn(&self.ctx, conn),
            Err(error) => return self.failed_connect(error),
        };
        let (answer, answered) = reply();
        self.dispatch
            .send(DispatchCommand::Action(Box::new(ActionDispatch {
                name: call.name.clone(),
                args: call.args.clone(),
                conn: Some(conn.1.clone()),
                incoming: call.incoming.clone(),
                cancelled: call.cancelled.clone(),
                region: None,
                reply: answer,
            })));
        // Held until the answer leaves: what it relies on may not be on disk yet.
        let (answer, _held) = answered.with_held().await;
        drop(conn);
        self.release(answer).await
    }

    /// A connect that found the adapter closed ran nothing.
    pub(super) fn failed_connect<T>(&self, error: Error) -> Answer<T> {
        match self.refusal() {
            Some(refusal) if error.is(&code::ACTOR_NOT_CONFIGURED) => Answer::Refused(refusal),
            _ => Answer::Done(Err(error)),
        }
    }

    /// Holds a successful answer until what it relies on is durable.
    pub(super) async fn release<T>(&self, answer: Answer<T>) -> Answer<T> {
        match answer {
            Answer::Done(Ok(value)) => Answer::Done(self.ctx.wait_output().await.map(|()| value)),
            other => other,
        }
    }

    /// Hands a raw HTTP request to user code; resolves with the response's head.
    pub async fn http(&self, request: Box<Request>) -> Answer<Response> {
        if let Some(error) = self.refusal() {
            return Answer::Refused(error);
        }
        let (answer, answered) = reply();
        self.dispatch.send(DispatchCommand::Http {
            request,
            reply: answer,
        });
        let span = self.ctx.config().on_request_timeout;
        let answer = self.within(span, answered).await;
        let answer = self.release(answer).await;
        self.finish(answer)
    }

    /// Sends a queue message over a transient connection. A generation that is
    /// leaving takes none: its receivers have gone, and what it stored would wait
    /// for somebody to wake the actor.
    pub async fn queue_send(
        &self,
        call: &ActionCall,
        wait: bool,
        timeout_ms: Option<u64>,
    ) -> Answer<QueueSendResult> {
        let leaving = || {
            self.ctx
                .aborted()
                .then(|| Error::new(&code::ACTOR_STOPPING))
        };
        if let Some(error) = self.refusal().or_else(leaving) {
            return self.finish(Answer::Refused(error));
        }
        let span = self.ctx.config().action_timeout;
        let work = self.queue_send_unbounded(call, wait, timeout_ms);
        let answer = self.within(span, work).await;
        self.finish(answer)
    }

    async fn queue_send_unbounded(
        &self,
        call: &ActionCall,
        wait: bool,
        timeout_ms: Option<u64>,
    ) -> Answer<QueueSendResult> {
        let head = call.head.clone().unwrap_or_default();
        let connected = self
            .ctx
            .connect(ConnectOptions {
                params: call.params.clone(),
                request: Some(head.to_request(&call.cancelled)),
                ..ConnectOptions::default()
            })
            .await;
        let conn = match connected {
            Ok(conn) => TransientConn(&self.ctx, conn),
            Err(error) => return self.failed_connect(error),
        };
        let (answer, answered) = reply();
        self.dispatch
            .send(DispatchCommand::QueueSend(Box::new(QueueSendDispatch {
                name: call.name.clone(),
                body: call.args.clone(),
                conn: conn.1.clone(),
                request: *head.to_request(&call.cancelled),
                wait,
                timeout_ms,
                incoming: call.incoming.clone(),
                reply: answer,
            })));
        // Held until the answer leaves: what it relies on may not be on disk yet.
        let (answer, _held) = answered.with_held().await;
        drop(conn);
        self.release(answer).await
    }
}

/// A connection that lives as long as one request, however that ends.
struct TransientConn<'a>(&'a ActorContext, ConnHandle);

impl Drop for TransientConn<'_> {
    fn drop(&mut self) {
        self.0.connection_closed(self.1.id());
    }
}
