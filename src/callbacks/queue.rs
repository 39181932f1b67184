//! `onQueueSend`: a message for a queue came from outside.

use std::sync::Arc;

use greenroom_core::QueueSendResult;
use greenroom_core::actor::messages::QueueSendDispatch;
use greenroom_error::{Error, Result, code};

use super::Hook;
use crate::actor::ActorShared;
use crate::actor_context::Invocation;
use crate::bridge::{JsResult, Scope, Value};
use crate::http::request_object;

impl ActorShared {
    /// Takes the dispatch apart, but leaves its reply.
    pub(crate) async fn on_queue_send(
        self: &Arc<Self>,
        send: &mut QueueSendDispatch,
    ) -> Result<QueueSendResult> {
        let conn = send.conn.clone();
        let request = std::mem::take(&mut send.request);
        let (name, body) = (
            std::mem::take(&mut send.name),
            std::mem::take(&mut send.body),
        );
        let (wait, timeout_ms) = (send.wait, send.timeout_ms);
        let invocation = Invocation::new(&send.incoming);
        let token = request.cancelled.child_token();
        let _cancel_at_end = token.clone().drop_guard();
        let called = self.call_hook(
            Hook::OnQueueSend,
            move |scope, shared| {
                let conn = crate::conn_handle::ConnHandle::new(Arc::clone(shared), conn);
                let token = crate::cancellation_token::CancellationToken::of_runtime(token);
                let timeout = match timeout_ms {
                    Some(ms) => scope.bigint(ms)?,
                    None => scope.null()?,
                };
                scope.object(&[
                    (c"ctx", shared.invocation_handle(scope, invocation)?),
                    (c"conn", scope.native(conn)?),
                    (c"request", request_object(scope, request)?),
                    (c"name", scope.text(&name)?),
                    (c"body", scope.buffer(&body)?),
                    (c"wait", scope.boolean(wait)?),
                    (c"timeoutMs", timeout),
                    (c"cancelToken", scope.native(token)?),
                ])
            },
            read_result,
        );
        let span = self.ctx.config().on_request_timeout;
        let timed = self.ctx.clock().timeout(span, called).await;
        timed.unwrap_or_else(|_| Err(Error::new(&code::ACTOR_ACTION_TIMED_OUT)))
    }
}

fn read_result<'s>(scope: &Scope<'s>, value: Value<'s>) -> JsResult<QueueSendResult> {
    let status = scope.string(scope.named(value, c"status")?)?;
    match status.as_str() {
        "completed" => {
            let response = scope.named(value, c"response")?;
            let response = if scope.kind(response)?.is_nothing() {
                None
            } else {
                Some(scope.returned_bytes(response, Hook::OnQueueSend.name())?)
            };
            Ok(QueueSendResult::Completed { response })
        }
        "timedOut" => Ok(QueueSendResult::TimedOut),
        other => {
            let reason = format!("invalid status `{other}`");
            Err(Error::invalid_state("queue send status", reason).into())
        }
    }
}
