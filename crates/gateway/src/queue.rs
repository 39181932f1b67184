//! `POST /queue/{name}`.

use bytes::Bytes;
use greenroom_core::QueueSendResult;
use greenroom_error::Result;
use greenroom_wire::Encoding;
use greenroom_wire::client_protocol::{
    HttpQueueSendRequest, HttpQueueSendResponse, QueueSendStatus,
};

use crate::live::{ActorSource, LiveActor};
use crate::reply::{self, HttpReply};
use crate::serve::{Call, within_outgoing_limit};

pub(crate) async fn send<S: ActorSource>(
    call: Call<'_>,
    body: Bytes,
    encoding: Encoding,
    actor: &mut LiveActor<S>,
) -> Result<HttpReply> {
    // The name in the path wins over the one in the body.
    let HttpQueueSendRequest {
        body: message,
        name: _,
        wait,
        timeout_ms,
    } = HttpQueueSendRequest::decode(body.clone(), encoding)?;
    // Unlike an action, a queue message shows its request to the send hook.
    let call = call.with(message, Some(body));
    let abandoned = call.cancelled.clone().drop_guard();
    let result = loop {
        let sent = actor
            .handle()
            .queue_send(&call, wait.unwrap_or(false), timeout_ms);
        let answer = sent.await;
        if let Some(result) = actor.settle(answer).await {
            break result;
        }
    };
    abandoned.disarm();
    let response = match result? {
        QueueSendResult::Completed { response } => HttpQueueSendResponse {
            status: QueueSendStatus::Completed,
            response,
        },
        QueueSendResult::TimedOut => HttpQueueSendResponse {
            status: QueueSendStatus::TimedOut,
            response: None,
        },
    };
    let frame = response.encode(encoding)?;
    within_outgoing_limit(frame.len(), actor)?;
    Ok(reply::framework(encoding, frame))
}
