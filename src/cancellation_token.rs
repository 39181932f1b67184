//! `CancellationToken`: one-way news that something is no longer wanted.

use napi::bindgen_prelude::{Env, This};
use napi_derive::napi;

use crate::bridge::{JsRef, JsResult, Scope, Value, enter, require_function};
use crate::runtime;

#[napi]
pub struct CancellationToken {
    token: tokio_util::sync::CancellationToken,
    origin: Origin,
    /// Fires when nothing is left that the token could be cancelled for.
    over: tokio_util::sync::CancellationToken,
}

/// Who may cancel it, and so where its listeners are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Only JavaScript cancels it. Listeners live as long as the token's object,
    /// so a token that is simply dropped leaves nothing behind.
    JavaScript,
    /// The runtime cancels it, at the end of a dispatch at the latest, or is over with it.
    Runtime,
}

/// The token of a call, for the bridge; that of a call that is over is cancelled.
pub(crate) fn make<'s>(
    scope: &Scope<'s>,
    token: Option<tokio_util::sync::CancellationToken>,
) -> JsResult<Value<'s>> {
    let token = token.unwrap_or_else(|| {
        let over = tokio_util::sync::CancellationToken::new();
        over.cancel();
        over
    });
    scope.native(CancellationToken::of_runtime(token))
}

impl CancellationToken {
    pub(crate) fn of_runtime(token: tokio_util::sync::CancellationToken) -> Self {
        Self::of_request(token, tokio_util::sync::CancellationToken::new())
    }

    /// Of a request that may end well, with which the token is not cancelled.
    pub(crate) fn of_request(
        token: tokio_util::sync::CancellationToken,
        over: tokio_util::sync::CancellationToken,
    ) -> Self {
        Self {
            token,
            origin: Origin::Runtime,
            over,
        }
    }

    /// For native work that ends when it is cancelled.
    pub(crate) fn token(&self) -> tokio_util::sync::CancellationToken {
        self.token.clone()
    }

    /// The same where a token is optional; without one, nothing is cancelled.
    pub(crate) fn signal(token: Option<&Self>) -> tokio_util::sync::CancellationToken {
        token.map(Self::token).unwrap_or_default()
    }
}

#[napi]
impl CancellationToken {
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self {
            token: tokio_util::sync::CancellationToken::new(),
            origin: Origin::JavaScript,
            over: tokio_util::sync::CancellationToken::new(),
        }
    }

    #[napi(catch_unwind)]
    pub fn aborted(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Cancels the token. Repeating it does nothing.
    #[napi(catch_unwind)]
    pub fn cancel(&self, env: Env, this: This<'_>) -> napi::Result<()> {
        if self.token.is_cancelled() {
            return Ok(());
        }
        self.token.cancel();
        if self.origin == Origin::Runtime {
            return Ok(());
        }
        enter(&env, |scope| scope.notify(scope.value(raw(&this))))
    }

    /// Calls `callback(null)` once, later, when the token is cancelled or because
    /// it already is; never for a request that has ended well.
    #[napi(catch_unwind, ts_args_type = "callback: (...args: any[]) => any")]
    pub fn on_cancelled(
        &self,
        env: Env,
        this: This<'_>,
        callback: napi::bindgen_prelude::Unknown<'_>,
    ) -> napi::Result<()> {
        enter(&env, |scope| {
            let callback = scope.value(napi::JsValue::raw(&callback));
            require_function(scope, callback, "callback")?;
            if self.origin == Origin::JavaScript {
                let owner = scope.value(raw(&this));
                scope.listen(owner, callback)?;
                return if self.token.is_cancelled() {
                    scope.notify(owner)
                } else {
                    Ok(())
                };
            }
            let callback = JsRef::new(scope, callback)?;
            let (token, bridge) = (self.token.clone(), scope.bridge().clone());
            let over = self.over.clone();
            runtime::spawn(async move {
                tokio::select! {
                    biased;
                    () = token.cancelled() => {}
                    () = over.cancelled() => return,
                }
                bridge.post(move |scope| {
                    scope.fire_and_forget(&callback, "onCancelled", |s| s.null())
                });
            });
            Ok(())
        })
    }
}

fn raw(this: &This<'_>) -> napi::sys::napi_value {
    napi::JsValue::raw(&this.object)
}
