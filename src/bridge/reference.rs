//! JavaScript values that outlive a scope.

use std::ptr::NonNull;

use napi::sys;

use super::fault::JsResult;
use super::inbox::Bridge;
use super::raw;
use super::scope::{Scope, Value};

/// Keeps a JavaScript value alive. May travel between threads; it is read and
/// released on its own. After its environment began to close it is simply
/// forgotten: Node frees what is left.
pub(crate) struct JsRef {
    bridge: Bridge,
    reference: RawRef,
}

/// Finds a JavaScript value again as long as somebody else keeps it alive.
pub(crate) struct WeakJsRef(JsRef);

struct RawRef(NonNull<sys::napi_ref__>);

// SAFETY: the pointer is only used on the environment's thread.
unsafe impl Send for RawRef {}
unsafe impl Sync for RawRef {}

impl JsRef {
    /// `value` must be an object or function.
    pub(crate) fn new<'s>(scope: &Scope<'s>, value: Value<'s>) -> JsResult<Self> {
        Self::with_count(scope, value, 1)
    }

    fn with_count<'s>(scope: &Scope<'s>, value: Value<'s>, count: u32) -> JsResult<Self> {
        let reference = raw::reference(scope.env, value.raw, count)?;
        let reference = NonNull::new(reference)
            .ok_or_else(|| greenroom_error::Error::internal("Node-API gave no reference"))?;
        Ok(Self {
            bridge: scope.bridge().clone(),
            reference: RawRef(reference),
        })
    }

    /// The value. Must be asked for in its own environment.
    pub(crate) fn get<'s>(&self, scope: &Scope<'s>) -> JsResult<Value<'s>> {
        self.find(scope)?.ok_or_else(|| {
            greenroom_error::Error::internal("a kept JavaScript value is gone").into()
        })
    }

    fn find<'s>(&self, scope: &Scope<'s>) -> JsResult<Option<Value<'s>>> {
        if !self.bridge.same_environment(scope.bridge()) {
            let reason = "the value belongs to another environment";
            return Err(greenroom_error::Error::invalid_state("reference", reason).into());
        }
        let value = raw::deref(scope.env, self.reference.0.as_ptr())?;
        Ok((!value.is_null()).then(|| scope.value(value)))
    }
}

impl WeakJsRef {
    pub(crate) fn new<'s>(scope: &Scope<'s>, value: Value<'s>) -> JsResult<Self> {
        JsRef::with_count(scope, value, 0).map(Self)
    }

    /// The value, unless it has been collected.
    pub(crate) fn get<'s>(&self, scope: &Scope<'s>) -> JsResult<Option<Value<'s>>> {
        self.0.find(scope)
    }
}

impl Drop for JsRef {
    fn drop(&mut self) {
        let reference = RawRef(self.reference.0);
        // Not at once, even on the right thread: Node may be in the middle of a
        // collection. A closed bridge drops the closure and with it the pointer.
        self.bridge.post(move |scope| {
            let reference = reference;
            let _ = raw::delete_reference(scope.env, reference.0.as_ptr());
        });
    }
}

impl std::fmt::Debug for JsRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JsRef")
    }
}
