//! From a runtime event to the callbacks it means.

use std::sync::Arc;

use greenroom_core::actor::messages::QueueSendDispatch;
use greenroom_core::{
    ActionDispatch, ActorEvent, ActorWorkRegion, ConnHandle, Reply, Request, Response,
    ScheduledFire, SerializeStateReason, StateDelta, WebSocket,
};
use greenroom_error::Result;

use super::Adapter;
use super::ending;
use super::reply::Pending;
use crate::actor::ActorShared;
use crate::callbacks::Hook;

impl Adapter {
    pub(super) fn handle(&mut self, event: ActorEvent) {
        let shared = Arc::clone(&self.shared);
        match event {
            ActorEvent::Action {
                call,
                scheduled_fire,
            } => self.start(action(shared, call, scheduled_fire)),
            ActorEvent::HttpRequest { request, reply } => self.start(http(shared, request, reply)),
            ActorEvent::QueueSend(send) => self.start(queue_send(shared, send)),
            ActorEvent::WebSocketOpen {
                conn,
                ws,
                request,
                reply,
            } => self.start(websocket(shared, conn, ws, request, reply)),
            ActorEvent::SerializeState { reason, reply } => {
                self.serializing = Some(Box::pin(answer(reply, serialize(shared, reason))));
            }
            ActorEvent::RunGracefulCleanup { reason, reply } => {
                self.start(ending::graceful_cleanup(shared, reason, reply));
            }
            ActorEvent::DisconnectConn { conn_id, reply } => {
                self.start(ending::disconnect_conn(shared, conn_id, reply));
            }
            ActorEvent::RunWake { reply, .. } => {
                if shared.run.is_installed() && !shared.run.is_active() {
                    let restarted = shared.run.restart();
                    reply.send(restarted);
                } else {
                    reply.send(Ok(()));
                }
            }
            event => self.handle_connection(event),
        }
    }

    fn handle_connection(&mut self, event: ActorEvent) {
        let shared = Arc::clone(&self.shared);
        match event {
            ActorEvent::ConnectionPreflight {
                conn,
                params,
                request,
                reply,
            } => self.start(answer(reply, async move {
                shared.preflight(conn, params, request).await
            })),
            ActorEvent::ConnectionOpen {
                conn,
                request,
                reply,
            } => self.start(answer(reply, async move {
                shared.on_connect(conn, request).await
            })),
            ActorEvent::ConnectionClosed { conn, region } => {
                self.start(closed(shared, conn, region));
            }
            ActorEvent::SubscribeRequest {
                conn,
                event_name,
                reply,
            } => self.start(answer(reply, async move {
                shared.on_before_subscribe(conn, event_name).await
            })),
            event => self.handle_workflow(event),
        }
    }

    /// A dropped reply says that there is no workflow.
    fn handle_workflow(&mut self, event: ActorEvent) {
        let shared = Arc::clone(&self.shared);
        match event {
            ActorEvent::WorkflowHistoryRequested { reply }
                if shared.callbacks.has(Hook::GetWorkflowHistory) =>
            {
                self.start(answer(
                    reply,
                    async move { shared.workflow_history().await },
                ));
            }
            ActorEvent::WorkflowReplayRequested { entry_id, reply }
                if shared.callbacks.has(Hook::ReplayWorkflow) =>
            {
                self.start(answer(reply, async move {
                    shared.replay_workflow(entry_id).await
                }));
            }
            event => tracing::debug!(event = event.kind(), "event without a handler"),
        }
    }
}

async fn answer<T>(reply: Reply<T>, work: impl Future<Output = Result<T>>) {
    let reply = Pending::new(reply);
    let result = work.await;
    reply.send(result);
}

async fn action(
    shared: Arc<ActorShared>,
    mut call: Box<ActionDispatch>,
    fire: Option<Box<ScheduledFire>>,
) {
    let reply = Pending::new(std::mem::replace(&mut call.reply, Reply::ignored()));
    let result = shared.action(&mut call, fire).await;
    reply.send(result);
    // A schedule's region ends with the call, after the reply.
    drop(call);
}

async fn http(shared: Arc<ActorShared>, request: Box<Request>, reply: Reply<Response>) {
    answer(reply, async { shared.on_request(*request).await }).await;
}

async fn queue_send(shared: Arc<ActorShared>, mut send: Box<QueueSendDispatch>) {
    let reply = std::mem::replace(&mut send.reply, Reply::ignored());
    answer(reply, async { shared.on_queue_send(&mut send).await }).await;
}

async fn websocket(
    shared: Arc<ActorShared>,
    conn: ConnHandle,
    ws: WebSocket,
    request: Option<Box<Request>>,
    reply: Reply<()>,
) {
    answer(reply, async {
        shared.on_web_socket(conn, ws, request).await
    })
    .await;
}

/// `onDisconnect` of a connection that is gone already.
async fn closed(shared: Arc<ActorShared>, conn: ConnHandle, region: ActorWorkRegion) {
    if let Err(error) = shared.on_disconnect(conn, true).await {
        tracing::error!(actor_id = %shared.ctx.actor_id(), %error, "onDisconnect failed");
    }
    drop(region);
}

/// A save asks user code only if something asked for a save since the last one.
async fn serialize(
    shared: Arc<ActorShared>,
    reason: SerializeStateReason,
) -> Result<Vec<StateDelta>> {
    if reason == SerializeStateReason::Save {
        shared.ctx.wait_for_on_state_change_idle().await;
        // Taken before the call: a change during it counts for the next save.
        if !shared.ctx.take_dirty() {
            return Ok(Vec::new());
        }
    }
    shared.serialize_state(reason).await
}
