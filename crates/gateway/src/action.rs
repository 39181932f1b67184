//! `POST /action/{name}`.

use bytes::Bytes;
use greenroom_error::Result;
use greenroom_wire::Encoding;
use greenroom_wire::client_protocol::{HttpActionRequest, HttpActionResponse};

use crate::live::{ActorSource, LiveActor};
use crate::reply::{self, HttpReply};
use crate::serve::{Call, within_outgoing_limit};

pub(crate) async fn run<S: ActorSource>(
    call: Call<'_>,
    body: Bytes,
    encoding: Encoding,
    actor: &mut LiveActor<S>,
) -> Result<HttpReply> {
    let HttpActionRequest { args } = HttpActionRequest::decode(body.clone(), encoding)?;
    let hooks = actor.handle().ctx().config().hooks;
    let call = call.with(args, (hooks.preflight || hooks.open).then_some(body));
    let abandoned = call.cancelled.clone().drop_guard();
    let output = loop {
        let answer = actor.handle().action(&call).await;
        if let Some(result) = actor.settle(answer).await {
            break result;
        }
    };
    abandoned.disarm();
    let frame = HttpActionResponse { output: output? }.encode(encoding)?;
    within_outgoing_limit(frame.len(), actor)?;
    Ok(reply::framework(encoding, frame))
}
