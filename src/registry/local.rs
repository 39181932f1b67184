//! Calls from inside the process, without a socket.

#![allow(
    clippy::too_many_arguments,
    reason = "JavaScript has no arguments by name, and a token cannot be part of an object"
)]

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use greenroom_core::{ActionCall, Incoming, QueueSendResult};
use greenroom_error::{Error, Result, code};
use greenroom_host_embedded::Target;
use greenroom_wire::{ActorId, ActorKey, cbor};
use napi::bindgen_prelude::Env;
use napi_derive::napi;

use super::{CoreRegistry, Registry};
use crate::bridge::{Buffer, Promise, enter, promise, promise_then};
use crate::caller_context::CallerContext;
use crate::cancellation_token::CancellationToken;
use crate::numbers;

/// An actor, by `actorId`, or by `name` and `key`.
#[napi(object)]
pub struct JsLocalTarget {
    pub actor_id: Option<String>,
    pub name: Option<String>,
    pub key: Option<Vec<String>>,
    /// What to do about an actor that does not exist. Default `get`.
    #[napi(ts_type = "'get' | 'getOrCreate'")]
    pub method: Option<String>,
    /// CBOR input of an actor that is created.
    pub input: Option<Buffer>,
}

#[napi(object)]
pub struct JsLocalCallOptions {
    /// CBOR connection parameters.
    pub params: Option<Buffer>,
    pub timeout_ms: Option<f64>,
}

#[napi(object)]
#[derive(Default)]
pub struct JsLocalQueueSendOptions {
    /// CBOR connection parameters.
    pub params: Option<Buffer>,
    /// Wait until the message is completed. Default false.
    pub wait: Option<bool>,
    /// How long, at most. Default: as long as an action may take.
    pub timeout_ms: Option<f64>,
}

#[napi(object)]
pub struct JsQueueSendResult {
    #[napi(ts_type = "'completed' | 'timedOut'")]
    pub status: String,
    /// CBOR of what the message was completed with.
    pub response: Option<Buffer>,
}

impl From<QueueSendResult> for JsQueueSendResult {
    fn from(result: QueueSendResult) -> Self {
        let (status, response) = match result {
            QueueSendResult::Completed { response } => ("completed", response),
            QueueSendResult::TimedOut => ("timedOut", None),
        };
        Self {
            status: status.to_owned(),
            response: response.map(Buffer),
        }
    }
}

impl TryFrom<JsLocalTarget> for Target {
    type Error = Error;

    fn try_from(target: JsLocalTarget) -> Result<Self> {
        if let Some(id) = target.actor_id {
            return Ok(Self::Id(id.parse()?));
        }
        let name = target
            .name
            .ok_or_else(|| Error::invalid_argument("target", "needs an actorId, or a name"))?;
        let key = ActorKey::new(target.key.unwrap_or_default())?;
        match target.method.as_deref() {
            None | Some("get") => Ok(Self::get(name, key)),
            Some("getOrCreate") => {
                let input = target.input.map(|input| input.0);
                Ok(Self::get_or_create(name, key, input))
            }
            Some(other) => {
                let reason = format!("must be 'get' or 'getOrCreate', not '{other}'");
                Err(Error::invalid_argument("target.method", reason))
            }
        }
    }
}

impl Registry {
    async fn local_action(
        &self,
        target: Target,
        call: ActionCall,
        timeout: Option<Duration>,
    ) -> Result<Buffer> {
        let host = self.embedded()?;
        // A caller that gives up cancels what it asked for.
        let _cancel_at_end = call.cancelled.clone().drop_guard();
        let acting = host.action(&target, &call);
        let output = match timeout {
            None => acting.await,
            Some(span) => {
                let timed = host.clock().timeout(span, acting).await;
                timed.unwrap_or_else(|_| Err(Error::new(&code::ACTOR_ACTION_TIMED_OUT)))
            }
        };
        output.map(Buffer)
    }
}

fn call(name: String, args: Bytes, params: Option<Buffer>, caller: CallerContext) -> ActionCall {
    ActionCall {
        name,
        args,
        params: params.map_or(Bytes::from_static(cbor::NULL), |params| params.0),
        head: None,
        incoming: Incoming {
            caller: Some(caller.into_caller()),
            ..Incoming::default()
        },
        cancelled: CancellationToken::signal(None),
    }
}

#[napi]
impl CoreRegistry {
    /// Runs an action and resolves to its output. `args` is a CBOR array.
    #[napi(catch_unwind)]
    pub fn local_action(
        &self,
        env: Env,
        target: JsLocalTarget,
        name: String,
        args: Buffer,
        options: Option<JsLocalCallOptions>,
    ) -> napi::Result<Promise<Buffer>> {
        let registry = Arc::clone(&self.0);
        enter(&env, |scope| {
            let (params, timeout_ms) = options.map_or((None, None), |o| (o.params, o.timeout_ms));
            let timeout = timeout_ms
                .map(|ms| numbers::count("timeoutMs", ms))
                .transpose()?;
            let timeout = timeout.map(|ms| Duration::from_millis(ms.into()));
            let caller = CallerContext::capture(scope)?;
            let call = call(name, args.0, params, caller.clone());
            let acting = async move {
                registry
                    .local_action(target.try_into()?, call, timeout)
                    .await
            };
            promise_then(scope, acting, move |scope| caller.release(scope))
        })
    }

    /// Sends a queue message. Cancelling the signal ends the wait for its
    /// completion; the message stays.
    #[napi(catch_unwind)]
    pub fn local_queue_send(
        &self,
        env: Env,
        target: JsLocalTarget,
        name: String,
        body: Buffer,
        options: Option<JsLocalQueueSendOptions>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<JsQueueSendResult>> {
        let registry = Arc::clone(&self.0);
        let options = options.unwrap_or_default();
        let cancelled = CancellationToken::signal(signal);
        enter(&env, |scope| {
            let wait = options.wait.unwrap_or(false);
            let timeout_ms = options
                .timeout_ms
                .map(|ms| numbers::millis("timeoutMs", ms))
                .transpose()?;
            let caller = CallerContext::capture(scope)?;
            let call = ActionCall {
                cancelled,
                ..call(name, body.0, options.params, caller.clone())
            };
            let sending = async move {
                let host = registry.embedded()?;
                let target = target.try_into()?;
                let sent = host.queue_send(&target, &call, wait, timeout_ms).await?;
                Ok::<_, Error>(JsQueueSendResult::from(sent))
            };
            promise_then(scope, sending, move |scope| caller.release(scope))
        })
    }

    /// The id behind a target; creates the actor if the target says so, and wakes
    /// nobody.
    #[napi(catch_unwind)]
    pub fn local_resolve(&self, env: Env, target: JsLocalTarget) -> napi::Result<Promise<String>> {
        let registry = Arc::clone(&self.0);
        enter(&env, |scope| {
            promise(scope, async move {
                let target = target.try_into()?;
                let id = registry.embedded()?.resolve(&target).await?;
                Ok::<_, Error>(id.to_string())
            })
        })
    }

    /// Creates an actor; rejects if the key is taken.
    #[napi(catch_unwind)]
    pub fn local_create(
        &self,
        env: Env,
        name: String,
        key: Vec<String>,
        input: Option<Buffer>,
    ) -> napi::Result<Promise<String>> {
        let registry = Arc::clone(&self.0);
        enter(&env, |scope| {
            promise(scope, async move {
                let key = ActorKey::new(key)?;
                let input = input.map(|input| input.0);
                let id = registry.embedded()?.create(&name, &key, input).await?;
                Ok::<_, Error>(id.to_string())
            })
        })
    }

    /// Destroys an actor and resolves when it is gone.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn local_destroy(&self, env: Env, actor_id: String) -> napi::Result<Promise<()>> {
        let registry = Arc::clone(&self.0);
        enter(&env, |scope| {
            promise(scope, async move {
                let id: ActorId = actor_id.parse()?;
                registry.embedded()?.destroy(&id).await
            })
        })
    }
}
