//! Actions, and `onBeforeActionResponse`.

use std::sync::Arc;

use bytes::Bytes;
use greenroom_core::{ActionDispatch, ScheduledFire};
use greenroom_error::{Error, Result, code};

use super::Hook;
use crate::actor::ActorShared;
use crate::actor_context::Invocation;
use crate::bridge::{JsRef, JsResult, Scope, Value};
use crate::caller_context::CallerContext;

impl ActorShared {
    /// Runs one action: the callback, then the response hook, each with the
    /// whole action timeout.
    pub(crate) async fn action(
        self: &Arc<Self>,
        call: &mut ActionDispatch,
        fire: Option<Box<ScheduledFire>>,
    ) -> Result<Bytes> {
        let Some(action) = self.callbacks.actions.get(&call.name) else {
            let message = format!("Action `{}` was not found.", call.name);
            return Err(Error::new(&code::ACTOR_ACTION_NOT_FOUND).with_message(message));
        };
        let parts = ActionParts {
            shared: Arc::clone(self),
            action: Arc::clone(action),
            invocation: Invocation::new(&call.incoming),
            caller: call.incoming.caller.as_ref().and_then(CallerContext::of),
            conn: call.conn.clone(),
            args: call.args.clone(),
            fire,
        };
        let called = self.bridge().call_with_token(
            "action",
            Some(call.cancelled.clone()),
            move |scope, id| parts.invoke(scope, id),
            |scope, value| scope.returned_bytes(value, "action"),
        );
        let output = self.within_action_timeout(called).await?;
        if !self.callbacks.has(Hook::OnBeforeActionResponse) {
            return Ok(output);
        }
        // On the heap: most actors have no such hook, and each call room for it.
        let replaced = Box::pin(self.before_response(call, output));
        self.within_action_timeout(replaced).await
    }

    async fn within_action_timeout<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let span = self.ctx.config().action_timeout;
        let timed = self.ctx.clock().timeout(span, work).await;
        timed.unwrap_or_else(|_| Err(Error::new(&code::ACTOR_ACTION_TIMED_OUT)))
    }

    async fn before_response(
        self: &Arc<Self>,
        call: &mut ActionDispatch,
        output: Bytes,
    ) -> Result<Bytes> {
        let hook = Hook::OnBeforeActionResponse;
        let (name, args) = (
            std::mem::take(&mut call.name),
            std::mem::take(&mut call.args),
        );
        let invocation = Invocation::new(&call.incoming);
        self.call_hook(
            hook,
            move |scope, shared| {
                scope.object(&[
                    (c"ctx", shared.invocation_handle(scope, invocation)?),
                    (c"name", scope.text(&name)?),
                    (c"args", scope.buffer(&args)?),
                    (c"output", scope.buffer(&output)?),
                ])
            },
            move |scope, value| scope.returned_bytes(value, hook.name()),
        )
        .await
    }
}

/// What the JavaScript thread needs to call an action.
struct ActionParts {
    shared: Arc<ActorShared>,
    action: Arc<JsRef>,
    invocation: Invocation,
    caller: Option<CallerContext>,
    conn: Option<greenroom_core::ConnHandle>,
    args: Bytes,
    fire: Option<Box<ScheduledFire>>,
}

impl ActionParts {
    fn invoke<'s>(self, scope: &Scope<'s>, id: crate::bridge::CallId) -> JsResult<Value<'s>> {
        let (ctx, conn) = match self.conn {
            Some(conn) => self.shared.client_handles(scope, self.invocation, conn)?,
            None => (
                self.shared.invocation_handle(scope, self.invocation)?,
                scope.null()?,
            ),
        };
        let fire = match &self.fire {
            Some(fire) => fire_object(scope, fire)?,
            None => scope.undefined()?,
        };
        let payload = [ctx, conn, scope.buffer(&self.args)?, fire];
        let context = self.caller.map_or(0.0, |caller| caller.number(scope));
        let called = scope.invoke_action(id, &self.action, payload, context);
        // User code has run up to its first pause, and not before: now the next
        // schedule may be claimed.
        drop(self.fire);
        called
    }
}

fn fire_object<'s>(scope: &Scope<'s>, fire: &ScheduledFire) -> JsResult<Value<'s>> {
    let name = match &fire.name {
        Some(name) => scope.text(name)?,
        None => scope.undefined()?,
    };
    scope.object(&[
        (c"kind", scope.text(fire.kind.label())?),
        (c"id", scope.text(&fire.id)?),
        (c"name", name),
        (c"scheduledAt", scope.number(fire.scheduled_at_ms as f64)?),
        (c"firedAt", scope.number(fire.fired_at_ms as f64)?),
    ])
}
