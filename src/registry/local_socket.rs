//! `LocalSocket`: a client's WebSocket inside the process.

use std::sync::Arc;

use greenroom_host_embedded::{LocalSocket as HostSocket, LocalSocketEvent};
use napi::bindgen_prelude::{Env, Unknown};
use napi_derive::napi;
use parking_lot::Mutex;

use super::CoreRegistry;
use crate::bridge::{Buffer, JsRef, JsResult, Scope, Value, enter, require_function, to_napi};

/// The client's end of a socket that goes to an actor of this process.
#[napi]
pub struct LocalSocket(Mutex<Option<HostSocket>>);

#[napi]
impl LocalSocket {
    /// Sends a message; text must be UTF-8. A socket that is too far behind is
    /// closed.
    #[napi(catch_unwind)]
    pub fn send(&self, data: Buffer, binary: bool) {
        let mut socket = self.0.lock();
        if socket
            .as_ref()
            .is_some_and(|socket| !socket.send(data.0, binary))
        {
            *socket = None;
        }
    }

    /// Closes the socket; its last event follows.
    #[napi(catch_unwind)]
    pub fn close(&self, code: Option<u16>, reason: Option<String>) {
        if let Some(socket) = self.0.lock().take() {
            socket.close(code.unwrap_or(1000), reason.as_deref().unwrap_or(""));
        }
    }
}

#[napi]
impl CoreRegistry {
    /// Opens a WebSocket to an actor, as a client of the port would with this path
    /// and these subprotocols. Like any socket it keeps the process alive while it
    /// is open. The listener gets `{kind: "message", data}` and, last,
    /// `{kind: "close", code, reason}`.
    #[napi(
        catch_unwind,
        ts_args_type = "path: string, protocols: string, listener: (...args: any[]) => any"
    )]
    pub fn local_socket(
        &self,
        env: Env,
        path: String,
        protocols: String,
        listener: Unknown<'_>,
    ) -> napi::Result<LocalSocket> {
        enter(&env, |scope| {
            let listener = scope.value(napi::JsValue::raw(&listener));
            require_function(scope, listener, "listener")?;
            let listener = Arc::new(JsRef::new(scope, listener)?);
            let bridge = scope.bridge().clone();
            let on_event = move |event| {
                let listener = listener.clone();
                let is_last = matches!(event, LocalSocketEvent::Close { .. });
                bridge.post(move |scope| {
                    scope.fire_and_forget(&listener, "local socket event", |scope| {
                        event_object(scope, event)
                    });
                    if is_last {
                        scope.release_loop();
                    }
                });
            };
            let host = self.0.embedded().map_err(|error| to_napi(&error))?;
            scope.hold_loop();
            let socket = host.open_socket(&path, &protocols, on_event);
            Ok(LocalSocket(Mutex::new(Some(socket))))
        })
    }
}

fn event_object<'s>(scope: &Scope<'s>, event: LocalSocketEvent) -> JsResult<Value<'s>> {
    match event {
        LocalSocketEvent::Message { data, binary } => {
            let content = if binary {
                scope.buffer(&data)?
            } else {
                scope.text(&String::from_utf8_lossy(&data))?
            };
            scope.object(&[(c"kind", scope.text("message")?), (c"data", content)])
        }
        LocalSocketEvent::Close { code, reason } => scope.object(&[
            (c"kind", scope.text("close")?),
            (c"code", scope.number(code.into())?),
            (c"reason", scope.text(&reason)?),
        ]),
    }
}
