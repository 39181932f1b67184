//! `onWebSocket`: a raw socket opened.

use std::sync::Arc;

use greenroom_core::{ConnHandle, Request, WebSocket};
use greenroom_error::Result;

use super::{Hook, ignore};
use crate::actor::ActorShared;
use crate::http::request_object;

impl ActorShared {
    /// Unbounded: the callback may live as long as its socket.
    pub(crate) async fn on_web_socket(
        self: &Arc<Self>,
        conn: ConnHandle,
        ws: WebSocket,
        request: Option<Box<Request>>,
    ) -> Result<()> {
        if !self.callbacks.has(Hook::OnWebSocket) {
            // The socket stays open and silent; what it says interests nobody.
            ws.detach();
            return Ok(());
        }
        self.call_hook(
            Hook::OnWebSocket,
            move |scope, shared| {
                let conn = crate::conn_handle::ConnHandle::new(Arc::clone(shared), conn);
                let mut properties = vec![
                    (c"ctx", shared.plain_handle(scope)?),
                    (c"conn", scope.native(conn)?),
                    (c"ws", scope.native(crate::websocket::WebSocket::new(ws))?),
                ];
                if let Some(request) = request {
                    properties.push((c"request", request_object(scope, *request)?));
                }
                scope.object(&properties)
            },
            ignore,
        )
        .await
    }
}
