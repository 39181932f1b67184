//! Answers as a head and a row of events.

use bytes::Bytes;
use greenroom_error::{Error, Result};
use greenroom_gateway::{HttpReply, ReplyBody};
use http_body_util::BodyExt;
use tokio_util::sync::CancellationToken;

use super::JsServerlessResponseHead;
use crate::bridge::{Bridge, JsRef, JsResult, Scope, Value};
use crate::runtime;

/// Where the events of one answer go.
pub(super) struct EventSink {
    bridge: Bridge,
    callback: std::sync::Arc<JsRef>,
    cancelled: CancellationToken,
}

enum StreamEvent {
    Chunk(Bytes),
    End(Option<Error>),
}

impl StreamEvent {
    fn object<'s>(self, scope: &Scope<'s>) -> JsResult<Value<'s>> {
        match self {
            Self::Chunk(chunk) => scope.object(&[
                (c"kind", scope.text("chunk")?),
                (c"chunk", scope.buffer(&chunk)?),
            ]),
            Self::End(None) => scope.object(&[(c"kind", scope.text("end")?)]),
            Self::End(Some(error)) => {
                let error = scope.object(&[
                    (c"group", scope.text(error.group())?),
                    (c"code", scope.text(error.code())?),
                    (c"message", scope.text(error.message())?),
                ])?;
                scope.object(&[(c"kind", scope.text("end")?), (c"error", error)])
            }
        }
    }
}

impl EventSink {
    pub(super) fn new(bridge: Bridge, callback: JsRef, cancelled: CancellationToken) -> Self {
        Self {
            bridge,
            callback: callback.into(),
            cancelled,
        }
    }

    /// Resolves when whoever listens has taken the event.
    async fn tell(&self, event: StreamEvent) -> Result<()> {
        let callback = std::sync::Arc::clone(&self.callback);
        let called = self.bridge.call(
            "onStreamEvent",
            move |scope, id| scope.invoke(id, &callback, event.object(scope)?),
            |_, _| Ok(()),
        );
        called.await
    }

    async fn tell_all(&self, mut body: ReplyBody) -> Result<()> {
        while let Some(frame) = body.frame().await {
            match frame.map(http_body::Frame::into_data) {
                Ok(Ok(chunk)) => self.tell(StreamEvent::Chunk(chunk)).await?,
                Ok(Err(_trailers)) => {}
                Err(error) => {
                    let error = Error::internal(error.to_string());
                    return self.tell(StreamEvent::End(Some(error))).await;
                }
            }
        }
        self.tell(StreamEvent::End(None)).await
    }

    async fn run(self, body: ReplyBody) {
        let telling = self.tell_all(body);
        let told = tokio::select! {
            told = telling => told,
            () = self.cancelled.cancelled() => return,
        };
        if let Err(error) = told {
            tracing::debug!(%error, "nobody took the rest of a serverless answer");
        }
    }
}

/// The head of an answer; its body is on the way as events.
pub(super) fn hand_over(reply: HttpReply, events: EventSink) -> JsServerlessResponseHead {
    let (head, body) = reply.into_parts();
    let headers = head.headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), value)
    });
    runtime::spawn(events.run(body));
    JsServerlessResponseHead {
        status: head.status.as_u16().into(),
        headers: headers.collect(),
    }
}
