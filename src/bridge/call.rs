//! Calling user callbacks and waiting for what they return.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use greenroom_error::{Error, Result};
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::fault::JsResult;
use super::inbox::Bridge;
use super::reference::JsRef;
use super::scope::{Scope, Value, unavailable};

/// What to do when a callback's promise settles.
pub(super) type Settle = Box<dyn for<'s> FnOnce(&Scope<'s>, Result<Value<'s>>)>;

/// A callback that returned a promise.
pub(super) struct Pending {
    pub(super) settle: Settle,
    pub(super) token: Option<CallToken>,
}

/// The cancellation token of a call, made when its callback asks for it. It is
/// cancelled with the caller's, and when the call is over, however it ends.
pub(super) struct CallToken {
    callers: CancellationToken,
    made: Option<DropGuard>,
}

impl CallToken {
    pub(super) fn get(&mut self) -> CancellationToken {
        let made = self
            .made
            .take()
            .map_or_else(|| self.callers.child_token(), DropGuard::disarm);
        self.made = Some(made.clone().drop_guard());
        made
    }
}

/// The number of a call under way, for the helpers that report its end.
#[derive(Clone, Copy)]
pub(crate) struct CallId(pub(super) u64);

/// The outcome of a callback that was posted to the JavaScript thread. Dropping
/// it gives the call up: a callback that has not begun is not begun any more,
/// and a late result is dropped.
pub(crate) struct Called<T> {
    bridge: Bridge,
    callback: &'static str,
    id: u64,
    /// `None` once answered.
    outcome: Option<oneshot::Receiver<Result<T>>>,
}

impl Bridge {
    /// Calls a user callback. On the JavaScript thread, `begin` makes the call,
    /// through one of the `invoke` helpers of [`Scope`]; `read` converts what it
    /// returned or its promise resolved to. Whatever is thrown on the way is the
    /// error.
    pub(crate) fn call<T, B, R>(&self, callback: &'static str, begin: B, read: R) -> Called<T>
    where
        T: Send + 'static,
        B: for<'s> FnOnce(&Scope<'s>, CallId) -> JsResult<Value<'s>> + Send + 'static,
        R: for<'s> FnOnce(&Scope<'s>, Value<'s>) -> JsResult<T> + Send + 'static,
    {
        self.call_with_token(callback, None, begin, read)
    }

    /// The same for a callback that may ask for its cancellation token, which the
    /// caller's cancels.
    pub(crate) fn call_with_token<T, B, R>(
        &self,
        callback: &'static str,
        callers: Option<CancellationToken>,
        begin: B,
        read: R,
    ) -> Called<T>
    where
        T: Send + 'static,
        B: for<'s> FnOnce(&Scope<'s>, CallId) -> JsResult<Value<'s>> + Send + 'static,
        R: for<'s> FnOnce(&Scope<'s>, Value<'s>) -> JsResult<T> + Send + 'static,
    {
        let (answer, outcome) = oneshot::channel();
        let id = self.next_id();
        self.post(move |scope| {
            if answer.is_closed() {
                return;
            }
            let settle: Settle = Box::new(move |scope, outcome| {
                let result = outcome
                    .and_then(|value| read(scope, value).map_err(|fault| scope.error_of(fault)));
                let _ = answer.send(result);
            });
            let token = callers.map(|callers| CallToken {
                callers,
                made: None,
            });
            // Known before the call, which may ask for the token.
            scope.side.add_call(id, Pending { settle, token });
            let begun = begin(scope, CallId(id)).and_then(|v| Ok((v, scope.is_pending_marker(v)?)));
            let outcome = match begun {
                Ok((_, true)) => return,
                Ok((value, false)) => Ok(value),
                Err(fault) => Err(scope.error_of(fault)),
            };
            if let Some(pending) = scope.side.take_call(id) {
                (pending.settle)(scope, outcome);
            }
        });
        Called {
            bridge: self.clone(),
            callback,
            id,
            outcome: Some(outcome),
        }
    }
}

impl<'s> Scope<'s> {
    /// Calls `callback(null, payload)`.
    pub(crate) fn invoke(
        &self,
        id: CallId,
        callback: &JsRef,
        payload: Value<'s>,
    ) -> JsResult<Value<'s>> {
        let invoke = self.prelude(|p| p.invoke)?;
        let id = self.number(id.0 as f64)?;
        self.call(invoke, &[id, callback.get(self)?, payload])
    }

    /// Calls `callback(payload)`.
    pub(crate) fn invoke_single(
        &self,
        id: CallId,
        callback: &JsRef,
        payload: Value<'s>,
    ) -> JsResult<Value<'s>> {
        let watch = self.prelude(|p| p.watch)?;
        let result = self.call(callback.get(self)?, &[payload])?;
        self.call(watch, &[self.number(id.0 as f64)?, result])
    }

    /// Calls an action with the parts of its payload, in the async context kept
    /// under `context`.
    pub(crate) fn invoke_action(
        &self,
        id: CallId,
        callback: &JsRef,
        payload: [Value<'s>; 4],
        context: f64,
    ) -> JsResult<Value<'s>> {
        let action = self.prelude(|p| p.action)?;
        let [ctx, conn, args, scheduled_fire] = payload;
        let id = self.number(id.0 as f64)?;
        let context = self.number(context)?;
        let callback = callback.get(self)?;
        let args = [id, callback, ctx, conn, args, scheduled_fire, context];
        self.call(action, &args)
    }

    /// Calls `callback(payload)` of which nobody awaits anything; what it throws
    /// is logged.
    pub(crate) fn fire_and_forget(
        &self,
        callback: &JsRef,
        name: &'static str,
        payload: impl FnOnce(&Self) -> JsResult<Value<'s>>,
    ) {
        let called = callback
            .get(self)
            .and_then(|function| self.call(function, &[payload(self)?]));
        if let Err(fault) = called {
            let error = self.error_of(fault);
            tracing::error!(%error, callback = name, "a listener threw");
        }
    }

    /// Calls `done` when a promise that user code handed in settles. Fails if it
    /// is no promise.
    pub(crate) fn when_settled(
        &self,
        promise: Value<'s>,
        done: impl FnOnce(Result<()>) + 'static,
    ) -> JsResult<()> {
        let id = self.bridge().next_id();
        let watch = self.prelude(|p| p.watch)?;
        let watched = self.call(watch, &[self.number(id as f64)?, promise])?;
        if !self.is_pending_marker(watched)? {
            let error = napi::Error::new(napi::Status::InvalidArg, "Failed to call then method");
            return Err(error.into());
        }
        let pending = Pending {
            settle: Box::new(move |_, outcome| done(outcome.map(drop))),
            token: None,
        };
        self.side.add_call(id, pending);
        Ok(())
    }
}

impl<T> Future for Called<T> {
    type Output = Result<T>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        let Some(outcome) = &mut self.outcome else {
            return Poll::Pending;
        };
        let answer = std::task::ready!(Pin::new(outcome).poll(cx));
        self.outcome = None;
        Poll::Ready(answer.unwrap_or_else(|_| Err(self.unavailable())))
    }
}

impl<T> Called<T> {
    #[cold]
    fn unavailable(&self) -> Error {
        unavailable(self.callback, "the environment is closing")
    }
}

impl<T> Drop for Called<T> {
    fn drop(&mut self) {
        let Some(outcome) = &mut self.outcome else {
            return;
        };
        outcome.close();
        let id = self.id;
        // Without this, a callback whose promise never settles would keep its
        // entry for ever.
        self.bridge
            .post(move |scope| drop(scope.side.take_call(id)));
    }
}
