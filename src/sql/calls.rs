//! What every call has around its statements: bounds before, conversion after.

use std::future::Future;

use greenroom_core::SqlCallOptions;
use greenroom_error::Result;
use napi::bindgen_prelude::{Env, ToNapiValue};

use super::timeout;
use crate::bridge::{Promise, Settler, enter, promise, promise_by};
use crate::cancellation_token::CancellationToken;

/// Time-out in milliseconds and signal of one call.
#[derive(Clone, Copy, Default)]
pub(super) struct Bounds<'a>(
    pub(super) Option<f64>,
    pub(super) Option<&'a CancellationToken>,
);

impl Bounds<'_> {
    fn options(self) -> Result<SqlCallOptions> {
        Ok(SqlCallOptions {
            timeout: timeout(self.0)?,
            signal: self.1.map(CancellationToken::token),
        })
    }
}

/// Runs a call under its bounds and converts what it gives.
pub(super) fn call<T, U, F>(
    env: &Env,
    bounds: Bounds<'_>,
    run: impl FnOnce(SqlCallOptions) -> F,
) -> napi::Result<Promise<U>>
where
    U: From<T> + ToNapiValue + Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    try_call(env, bounds, |options| Ok(run(options)))
}

/// The same where the arguments may be wrong, which is then thrown.
pub(super) fn try_call<T, U, F>(
    env: &Env,
    bounds: Bounds<'_>,
    run: impl FnOnce(SqlCallOptions) -> Result<F>,
) -> napi::Result<Promise<U>>
where
    U: From<T> + ToNapiValue + Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    enter(env, |scope| {
        let running = run(bounds.options()?)?;
        promise(scope, async move { running.await.map(U::from) })
    })
}

/// Starts statements whose answer settles the promise from where it comes, without
/// the way over a worker.
pub(super) fn start<S, U>(
    env: &Env,
    bounds: Bounds<'_>,
    statement: Result<S>,
    start: impl FnOnce(S, SqlCallOptions, Settler<U>),
) -> napi::Result<Promise<U>>
where
    U: ToNapiValue + Send + 'static,
{
    enter(env, |scope| {
        let options = bounds.options()?;
        promise_by(scope, |settler| match statement {
            Ok(statement) => start(statement, options, settler),
            Err(error) => settler.settle(Err(error)),
        })
    })
}
