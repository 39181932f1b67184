//! The async context of a caller inside this process, carried along with its
//! call, so that `AsyncLocalStorage` is the caller's inside the action.

use greenroom_core::actor::messages::Caller;

use crate::bridge::{Bridge, JsResult, Scope};

/// Names a context that the JavaScript side keeps.
#[derive(Clone, Debug)]
pub(crate) struct CallerContext {
    bridge: Bridge,
    number: f64,
}

impl CallerContext {
    /// Keeps the context of the running code. Released by
    /// [`CallerContext::release`], on the JavaScript thread.
    pub(crate) fn capture(scope: &Scope<'_>) -> JsResult<Self> {
        Ok(Self {
            bridge: scope.bridge().clone(),
            number: scope.keep_context()?,
        })
    }

    pub(crate) fn into_caller(self) -> Caller {
        Caller::new(self)
    }

    pub(crate) fn of(caller: &Caller) -> Option<Self> {
        caller.downcast::<Self>().cloned()
    }

    /// The context's number in this environment; 0 if it is from another.
    pub(crate) fn number(&self, scope: &Scope<'_>) -> f64 {
        if self.bridge.same_environment(scope.bridge()) {
            self.number
        } else {
            0.0
        }
    }

    pub(crate) fn release(&self, scope: &Scope<'_>) {
        if let Err(fault) = scope.forget_context(self.number) {
            let error = scope.error_of(fault);
            tracing::debug!(%error, "a caller's context was not released");
        }
    }
}
