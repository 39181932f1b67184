//! `WebSocket`: a raw socket between a client and user code.

use greenroom_core::WebSocketEvent;
use napi::bindgen_prelude::{Env, Unknown};
use napi_derive::napi;

use crate::bridge::{
    Buffer, JsRef, JsResult, Promise, Rejection, Scope, Value, enter, promise, require_function,
    to_napi,
};

#[napi]
pub struct WebSocket(greenroom_core::WebSocket);

impl WebSocket {
    pub(crate) fn new(socket: greenroom_core::WebSocket) -> Self {
        Self(socket)
    }
}

#[napi]
impl WebSocket {
    /// Sends a message; text must be UTF-8. A transport that is gone is only
    /// logged.
    #[napi(catch_unwind)]
    pub fn send(&self, data: Buffer, binary: bool) -> napi::Result<()> {
        match self.0.send(data.0, binary) {
            Err(error) if error.is(&greenroom_error::code::NAPI_INVALID_ARGUMENT) => {
                Err(to_napi(&error))
            }
            Err(error) => {
                tracing::debug!(%error, "a WebSocket message was not sent");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Closes the socket after what was sent before. Never rejects.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn close(
        &self,
        env: Env,
        code: Option<u16>,
        reason: Option<String>,
    ) -> napi::Result<Promise<()>> {
        self.0.close(code, reason);
        enter(&env, |scope| {
            promise(scope, async { Ok::<_, Rejection>(()) })
        })
    }

    /// Replaces the listener; events that came before there was one are
    /// delivered first.
    #[napi(catch_unwind, ts_args_type = "callback: (...args: any[]) => any")]
    pub fn set_event_callback(&self, env: Env, callback: Unknown<'_>) -> napi::Result<()> {
        enter(&env, |scope| {
            let callback = scope.value(napi::JsValue::raw(&callback));
            require_function(scope, callback, "callback")?;
            let callback = std::sync::Arc::new(JsRef::new(scope, callback)?);
            let bridge = scope.bridge().clone();
            self.0.set_event_sink(Box::new(move |event| {
                let callback = callback.clone();
                bridge.post(move |scope| {
                    scope.fire_and_forget(&callback, "WebSocket event", |scope| {
                        event_object(scope, event)
                    });
                });
            }));
            Ok(())
        })
    }
}

fn event_object<'s>(scope: &Scope<'s>, event: WebSocketEvent) -> JsResult<Value<'s>> {
    match event {
        WebSocketEvent::Message {
            data,
            binary,
            message_index,
            receipt,
        } => {
            receipt.taken();
            let content = if binary {
                scope.buffer(&data)?
            } else {
                scope.text(&String::from_utf8_lossy(&data))?
            };
            let mut properties = vec![
                (c"kind", scope.text("message")?),
                (c"data", content),
                (c"binary", scope.boolean(binary)?),
            ];
            if let Some(index) = message_index {
                properties.push((c"messageIndex", scope.number(index.into())?));
            }
            scope.object(&properties)
        }
        WebSocketEvent::Close {
            code,
            reason,
            was_clean,
        } => scope.object(&[
            (c"kind", scope.text("close")?),
            (c"code", scope.number(code.into())?),
            (c"reason", scope.text(&reason)?),
            (c"wasClean", scope.boolean(was_clean)?),
        ]),
    }
}
