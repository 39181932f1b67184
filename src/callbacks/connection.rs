//! Connections: before, open, closed, subscribing.

use std::sync::Arc;

use bytes::Bytes;
use greenroom_core::{ConnHandle, Request};
use greenroom_error::Result;

use super::{Hook, ignore};
use crate::actor::ActorShared;
use crate::bridge::{JsResult, Scope, Value};
use crate::http::request_object;

/// `{ctx, conn?, params?, request?}`, with what is there.
fn payload<'s>(
    scope: &Scope<'s>,
    shared: &Arc<ActorShared>,
    conn: Option<ConnHandle>,
    params: Option<&[u8]>,
    request: Option<Request>,
) -> JsResult<Value<'s>> {
    let mut properties = vec![(c"ctx", shared.plain_handle(scope)?)];
    if let Some(conn) = conn {
        let conn = crate::conn_handle::ConnHandle::new(Arc::clone(shared), conn);
        properties.push((c"conn", scope.native(conn)?));
    }
    if let Some(params) = params {
        properties.push((c"params", scope.buffer(params)?));
    }
    if let Some(request) = request {
        properties.push((c"request", request_object(scope, request)?));
    }
    scope.object(&properties)
}

impl ActorShared {
    /// `onBeforeConnect`, then `createConnState`: the state of the connection to
    /// be, if there is any.
    pub(crate) async fn preflight(
        self: &Arc<Self>,
        conn: ConnHandle,
        params: Bytes,
        request: Option<Box<Request>>,
    ) -> Result<Option<Bytes>> {
        if self.callbacks.has(Hook::OnBeforeConnect) {
            let (params, request) = (params.clone(), request.as_ref().map(|r| r.head()));
            let called = self.call_hook(
                Hook::OnBeforeConnect,
                move |scope, shared| payload(scope, shared, None, Some(&params), request),
                ignore,
            );
            let span = self.ctx.config().on_before_connect_timeout;
            let name = Hook::OnBeforeConnect.name();
            self.ctx.bounded(span, name, called).await?;
        }
        if !self.callbacks.has(Hook::CreateConnState) {
            return Ok(None);
        }
        let name = Hook::CreateConnState.name();
        let called = self.call_hook(
            Hook::CreateConnState,
            move |scope, shared| {
                let request = request.map(|request| *request);
                payload(scope, shared, Some(conn), Some(&params), request)
            },
            move |scope, value| scope.returned_bytes(value, name),
        );
        let span = self.ctx.config().create_conn_state_timeout;
        self.ctx.bounded(span, name, called).await.map(Some)
    }

    pub(crate) async fn on_connect(
        self: &Arc<Self>,
        conn: ConnHandle,
        request: Option<Box<Request>>,
    ) -> Result<()> {
        if !self.callbacks.has(Hook::OnConnect) {
            return Ok(());
        }
        let called = self.call_hook(
            Hook::OnConnect,
            move |scope, shared| {
                payload(
                    scope,
                    shared,
                    Some(conn),
                    None,
                    request.map(|request| *request),
                )
            },
            ignore,
        );
        let span = self.ctx.config().on_connect_timeout;
        self.ctx.bounded(span, Hook::OnConnect.name(), called).await
    }

    /// Bounded by the connect timeout, except during shutdown, whose deadline
    /// bounds everything.
    pub(crate) async fn on_disconnect(
        self: &Arc<Self>,
        conn: ConnHandle,
        bounded: bool,
    ) -> Result<()> {
        if !self.callbacks.has(Hook::OnDisconnectFinal) {
            return Ok(());
        }
        let called = self.call_hook(
            Hook::OnDisconnectFinal,
            move |scope, shared| payload(scope, shared, Some(conn), None, None),
            ignore,
        );
        if !bounded {
            return called.await;
        }
        let span = self.ctx.config().on_connect_timeout;
        self.ctx.bounded(span, "onDisconnect", called).await
    }

    pub(crate) async fn on_before_subscribe(
        self: &Arc<Self>,
        conn: ConnHandle,
        event_name: String,
    ) -> Result<()> {
        if !self.callbacks.has(Hook::OnBeforeSubscribe) {
            return Ok(());
        }
        let called = self.call_hook(
            Hook::OnBeforeSubscribe,
            move |scope, shared| {
                let ctx = shared.plain_handle(scope)?;
                let conn = crate::conn_handle::ConnHandle::new(Arc::clone(shared), conn);
                scope.object(&[
                    (c"ctx", ctx),
                    (c"conn", scope.native(conn)?),
                    (c"eventName", scope.text(&event_name)?),
                ])
            },
            ignore,
        );
        let span = self.ctx.config().on_before_connect_timeout;
        let name = Hook::OnBeforeSubscribe.name();
        self.ctx.bounded(span, name, called).await
    }
}
