//! Connections of the actor's clients.

use std::collections::HashMap;

use bytes::Bytes;
use greenroom_core::{ConnectOptions, Request};
use greenroom_error::{Error, Result, code};
use napi::bindgen_prelude::{Env, Unknown};
use napi_derive::napi;
use serde_json::json;

use super::ActorContext;
use crate::bridge::{Buffer, JsRef, Promise, Rejection, enter, promise, require_function};
use crate::conn_handle::ConnHandle;

#[napi(object)]
pub struct JsHttpRequest {
    pub method: String,
    pub uri: String,
    pub headers: Option<HashMap<String, String>>,
    pub body: Option<Buffer>,
}

impl TryFrom<JsHttpRequest> for Request {
    type Error = Error;

    fn try_from(request: JsHttpRequest) -> Result<Self> {
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if request.method.is_empty() || !request.method.chars().all(is_token) {
            return Err(invalid("method", "is not an HTTP method"));
        }
        let is_printable = |c: char| !c.is_control() && c != ' ';
        if request.uri.is_empty() || !request.uri.chars().all(is_printable) {
            return Err(invalid("uri", "is not a path with an optional query"));
        }
        let headers = request.headers.unwrap_or_default().into_iter();
        Ok(Request {
            method: request.method,
            uri: request.uri,
            headers: headers
                .map(|(name, value)| (name.to_ascii_lowercase(), value))
                .collect(),
            body: request.body.map_or_else(Bytes::new, |body| body.0),
            ..Request::default()
        })
    }
}

fn invalid(field: &str, reason: &str) -> Error {
    Error::with(
        &code::PROTOCOL_INVALID_HTTP_REQUEST,
        json!({ "field": field, "reason": reason }),
    )
}

#[napi]
impl ActorContext {
    /// All live connections, ordered by id.
    #[napi(catch_unwind)]
    pub fn conns(&self) -> Vec<ConnHandle> {
        let conns = self.core().conns().into_iter();
        conns
            .map(|conn| ConnHandle::new(self.shared.clone(), conn))
            .collect()
    }

    /// Makes a connection that no transport belongs to, and runs its hooks.
    #[napi(catch_unwind)]
    pub fn connect_conn(
        &self,
        env: Env,
        params: Buffer,
        request: Option<JsHttpRequest>,
    ) -> napi::Result<Promise<ConnHandle>> {
        let shared = self.shared.clone();
        enter(&env, |scope| {
            promise(scope, async move {
                shared.check_live()?;
                let request = request.map(Request::try_from).transpose()?;
                let options = ConnectOptions {
                    params: params.0,
                    request: request.map(Box::new),
                    ..ConnectOptions::default()
                };
                let conn = shared.ctx.connect(options).await?;
                Ok::<_, Error>(ConnHandle::new(shared, conn))
            })
        })
    }

    /// Closes and forgets a connection without `onDisconnect`; an unknown id is
    /// fine.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn disconnect_conn(&self, env: Env, id: String) -> napi::Result<Promise<()>> {
        self.core().drop_conn(&id, "");
        enter(&env, |scope| {
            promise(scope, async { Ok::<_, Rejection>(()) })
        })
    }

    /// The same for each connection that the predicate, called with `{conn}`,
    /// says yes to.
    #[napi(
        catch_unwind,
        ts_args_type = "predicate: (...args: any[]) => any",
        ts_return_type = "Promise<void>"
    )]
    pub fn disconnect_conns(&self, env: Env, predicate: Unknown<'_>) -> napi::Result<Promise<()>> {
        enter(&env, |scope| {
            let predicate = scope.value(napi::JsValue::raw(&predicate));
            require_function(scope, predicate, "predicate")?;
            let predicate = std::sync::Arc::new(JsRef::new(scope, predicate)?);
            let shared = self.shared.clone();
            promise(scope, async move {
                for conn in shared.ctx.conns() {
                    let handle = ConnHandle::new(shared.clone(), conn.clone());
                    let predicate = predicate.clone();
                    let chosen = shared.bridge().call(
                        "disconnect predicate",
                        move |scope, id| {
                            let payload = scope.object(&[(c"conn", scope.native(handle)?)])?;
                            scope.invoke_single(id, &predicate, payload)
                        },
                        |scope, value| scope.truthy(value),
                    );
                    let chosen = chosen.await.map_err(|error| {
                        Error::invalid_state("disconnect predicate", error.message())
                    })?;
                    if chosen {
                        shared.ctx.drop_conn(conn.id(), "");
                    }
                }
                Ok::<_, Error>(())
            })
        })
    }

    /// Sends an event to every connection that subscribed to it. `args` is a
    /// CBOR array.
    #[napi(catch_unwind)]
    pub fn broadcast(&self, name: String, args: Buffer) {
        // An event that has to wait is sent on by a task.
        crate::runtime::enter(|| self.core().broadcast(&name, args.0));
    }
}
