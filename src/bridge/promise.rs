//! Futures as JavaScript promises.

use std::future::Future;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use futures_util::FutureExt;
use greenroom_error::{Error, Result, code};
use napi::bindgen_prelude::{ToNapiValue, TypeName};
use napi::{ValueType, sys};
use parking_lot::Mutex;
use serde_json::json;

use super::fault::JsResult;
use super::inbox::Bridge;
use super::raw;
use super::scope::{Scope, Value};
use crate::runtime;

/// The promise an exported function returns.
pub struct Promise<T> {
    raw: sys::napi_value,
    resolves_to: PhantomData<T>,
}

impl<T> ToNapiValue for Promise<T> {
    unsafe fn to_napi_value(_: sys::napi_env, promise: Self) -> napi::Result<sys::napi_value> {
        Ok(promise.raw)
    }
}

impl<T> TypeName for Promise<T> {
    fn type_name() -> &'static str {
        "Promise"
    }
    fn value_type() -> ValueType {
        ValueType::Object
    }
}

/// Why a promise is rejected.
pub(crate) enum Rejection {
    /// An error of the table, encoded for the TypeScript layer.
    Structured(Error),
    /// A plain JavaScript error with this text.
    Plain(String),
}

impl From<Error> for Rejection {
    fn from(error: Error) -> Self {
        Self::Structured(error)
    }
}

impl Rejection {
    fn into_error<'s>(self, scope: &Scope<'s>) -> JsResult<Value<'s>> {
        match self {
            Self::Structured(error) => scope.error(&error),
            Self::Plain(text) => scope.plain_error(&text),
        }
    }
}

/// The right to settle a promise, on any thread, once.
struct Deferred(sys::napi_deferred);

// SAFETY: the pointer is only used on the environment's thread.
unsafe impl Send for Deferred {}

/// Runs `future` on the workers and hands its outcome out as a promise. Until it
/// is settled it keeps the process alive.
pub(crate) fn promise<T, E, F>(scope: &Scope<'_>, future: F) -> JsResult<Promise<T>>
where
    T: ToNapiValue + Send + 'static,
    E: Into<Rejection> + Send + 'static,
    F: Future<Output = Result<T, E>> + Send + 'static,
{
    promise_then(scope, future, |_| {})
}

/// The same, with something to do on the JavaScript thread when it is settled.
pub(crate) fn promise_then<T, E, F, D>(
    scope: &Scope<'_>,
    future: F,
    done: D,
) -> JsResult<Promise<T>>
where
    T: ToNapiValue + Send + 'static,
    E: Into<Rejection> + Send + 'static,
    F: Future<Output = Result<T, E>> + Send + 'static,
    D: for<'s> FnOnce(&Scope<'s>) + Send + 'static,
{
    promise_by(scope, |settler| {
        runtime::spawn(async move {
            let outcome = match AssertUnwindSafe(future).catch_unwind().await {
                Ok(outcome) => outcome.map_err(Into::into),
                Err(_) => Err(panicked()),
            };
            settler.settle_then(outcome, done);
        });
    })
}

/// A promise that `start` has settled, sooner or later and from any thread. Until
/// then it keeps the process alive.
pub(crate) fn promise_by<T>(
    scope: &Scope<'_>,
    start: impl FnOnce(Settler<T>),
) -> JsResult<Promise<T>>
where
    T: ToNapiValue + Send + 'static,
{
    let (deferred, promise) = raw::promise(scope.env)?;
    scope.hold_loop();
    start(Settler {
        deferred: Some(Deferred(deferred)),
        bridge: scope.bridge().clone(),
        resolves_to: PhantomData,
    });
    Ok(Promise {
        raw: promise,
        resolves_to: PhantomData,
    })
}

/// Settles one promise. Dropped unused, it rejects with `actor/dropped_reply`.
pub(crate) struct Settler<T: ToNapiValue + Send + 'static> {
    deferred: Option<Deferred>,
    bridge: Bridge,
    resolves_to: PhantomData<fn(T)>,
}

impl<T: ToNapiValue + Send + 'static> Settler<T> {
    pub(crate) fn settle(self, outcome: Result<T>) {
        self.settle_then(outcome.map_err(Rejection::from), |_| {});
    }

    fn settle_then<D>(mut self, outcome: Result<T, Rejection>, done: D)
    where
        D: for<'s> FnOnce(&Scope<'s>) + Send + 'static,
    {
        self.finish(outcome, done);
    }

    fn finish<D>(&mut self, outcome: Result<T, Rejection>, done: D)
    where
        D: for<'s> FnOnce(&Scope<'s>) + Send + 'static,
    {
        let Some(deferred) = self.deferred.take() else {
            return;
        };
        self.bridge.post(move |scope| {
            scope.release_loop();
            done(scope);
            let value = outcome.and_then(|value| {
                scope
                    .native(value)
                    .map_err(|fault| scope.error_of(fault).into())
            });
            settle(scope, deferred, value);
        });
    }
}

impl<T: ToNapiValue + Send + 'static> Drop for Settler<T> {
    fn drop(&mut self) {
        let dropped = Error::new(&code::ACTOR_DROPPED_REPLY);
        self.finish(Err(dropped.into()), |_| {});
    }
}

/// A future that the JavaScript thread drives itself: polled before this returns,
/// and again for each of its wake-ups. For work that goes to one other thread and
/// comes back, it saves the way over a worker; and what the first poll does is
/// done in the order of the calls.
pub(crate) fn promise_here<T, E, F>(scope: &Scope<'_>, future: F) -> JsResult<Promise<T>>
where
    T: ToNapiValue + Send + 'static,
    E: Into<Rejection> + Send + 'static,
    F: Future<Output = Result<T, E>> + Send + 'static,
{
    let (deferred, promise) = raw::promise(scope.env)?;
    scope.hold_loop();
    let driven = Arc::new(Driven {
        work: Mutex::new(Some((Box::pin(future), Deferred(deferred)))),
        bridge: scope.bridge().clone(),
    });
    Driven::drive(driven, scope);
    Ok(Promise {
        raw: promise,
        resolves_to: PhantomData,
    })
}

type Work<T, E> = (Pin<Box<dyn Future<Output = Result<T, E>> + Send>>, Deferred);

/// A future that is polled on the JavaScript thread only.
struct Driven<T, E> {
    work: Mutex<Option<Work<T, E>>>,
    bridge: Bridge,
}

impl<T, E> Wake for Driven<T, E>
where
    T: ToNapiValue + Send + 'static,
    E: Into<Rejection> + Send + 'static,
{
    fn wake(self: Arc<Self>) {
        let bridge = self.bridge.clone();
        bridge.post(move |scope| Driven::drive(self, scope));
    }
}

impl<T, E> Driven<T, E>
where
    T: ToNapiValue + Send + 'static,
    E: Into<Rejection> + Send + 'static,
{
    fn drive(this: Arc<Self>, scope: &Scope<'_>) {
        // Taken out for the poll: only this thread polls, one at a time, and a
        // wake-up in between is queued behind it.
        let Some((mut future, deferred)) = this.work.lock().take() else {
            return;
        };
        let waker = Waker::from(Arc::clone(&this));
        let polled = runtime::enter(|| {
            let poll = || future.as_mut().poll(&mut Context::from_waker(&waker));
            catch_unwind(AssertUnwindSafe(poll))
        });
        let outcome = match polled {
            Ok(Poll::Pending) => {
                *this.work.lock() = Some((future, deferred));
                return;
            }
            Ok(Poll::Ready(outcome)) => outcome.map_err(Into::into),
            Err(_) => Err(panicked()),
        };
        scope.release_loop();
        let value = outcome.and_then(|value| {
            scope
                .native(value)
                .map_err(|fault| scope.error_of(fault).into())
        });
        settle(scope, deferred, value);
    }
}

#[cold]
fn panicked() -> Rejection {
    let operation = json!({ "operation": "native call" });
    Error::with(&code::ACTOR_PANICKED, operation).into()
}

fn settle<'s>(scope: &Scope<'s>, deferred: Deferred, outcome: Result<Value<'s>, Rejection>) {
    let settled = match outcome {
        Ok(value) => raw::resolve(scope.env, deferred.0, value.raw),
        Err(rejection) => rejection
            .into_error(scope)
            .and_then(|reason| raw::reject(scope.env, deferred.0, reason.raw)),
    };
    if let Err(fault) = settled {
        let error = scope.error_of(fault);
        tracing::debug!(%error, "a promise could not be settled");
    }
}
