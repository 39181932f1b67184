//! [`Scope`]: the right to touch JavaScript values, and making them.

use std::cell::Cell;
use std::ffi::CStr;
use std::marker::PhantomData;

use greenroom_error::{Error, bridge, code};
use napi::bindgen_prelude::ToNapiValue;
use napi::sys;
use serde_json::json;

use super::environment::Environment;
use super::fault::{Fault, JsResult};
use super::{Bridge, raw};

/// Text read from a thrown value is cut here, in bytes.
const THROWN_TEXT_MAX: usize = 64 * 1024;

/// The JavaScript thread, with an open handle scope.
pub(crate) struct Scope<'s> {
    pub(super) env: sys::napi_env,
    pub(super) side: &'s Environment,
    /// Handles die with the scope that made them, so its lifetime is exact.
    exact: PhantomData<Cell<&'s ()>>,
}

/// A JavaScript value of an open scope.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Value<'s> {
    pub(super) raw: sys::napi_value,
    scope: PhantomData<&'s ()>,
}

impl Value<'_> {
    /// For generated glue, which returns it from the running native call.
    pub(crate) fn into_raw(self) -> sys::napi_value {
        self.raw
    }
}

impl<'s> Scope<'s> {
    /// # Safety
    /// On the environment's thread, with a handle scope open that outlives `'s`.
    pub(super) unsafe fn new(env: sys::napi_env, side: &'s Environment) -> Self {
        Self {
            env,
            side,
            exact: PhantomData,
        }
    }

    /// A value of this scope, from Node or from generated glue.
    pub(crate) fn value(&self, raw: sys::napi_value) -> Value<'s> {
        Value {
            raw,
            scope: PhantomData,
        }
    }

    pub(crate) fn bridge(&self) -> &'s Bridge {
        self.side.bridge()
    }

    /// Runs `work` in a handle scope of its own, so that the handles it makes are
    /// gone after it: for loops of unknown length.
    pub(crate) fn nested<T>(
        &self,
        work: impl for<'i> FnOnce(&Scope<'i>) -> JsResult<T>,
    ) -> JsResult<T> {
        let handles = raw::open_scope(self.env)?;
        // SAFETY: a handle scope was just opened and is closed after `'i`; the
        // thread is this scope's.
        let outcome = work(&unsafe { Scope::new(self.env, self.side) });
        raw::close_scope(self.env, handles)?;
        outcome
    }

    pub(crate) fn undefined(&self) -> JsResult<Value<'s>> {
        raw::undefined(self.env).map(|v| self.value(v))
    }

    pub(crate) fn null(&self) -> JsResult<Value<'s>> {
        raw::null(self.env).map(|v| self.value(v))
    }

    pub(crate) fn boolean(&self, value: bool) -> JsResult<Value<'s>> {
        raw::boolean(self.env, value).map(|v| self.value(v))
    }

    pub(crate) fn number(&self, value: f64) -> JsResult<Value<'s>> {
        raw::double(self.env, value).map(|v| self.value(v))
    }

    pub(crate) fn text(&self, text: &str) -> JsResult<Value<'s>> {
        raw::text(self.env, text).map(|v| self.value(v))
    }

    pub(crate) fn bigint(&self, value: u64) -> JsResult<Value<'s>> {
        raw::bigint_u64(self.env, value).map(|v| self.value(v))
    }

    pub(crate) fn bigint_i64(&self, value: i64) -> JsResult<Value<'s>> {
        raw::bigint_i64(self.env, value).map(|v| self.value(v))
    }

    /// A BigInt of any length, least significant word first.
    pub(crate) fn bigint_words(&self, negative: bool, words: &[u64]) -> JsResult<Value<'s>> {
        raw::bigint_words(self.env, negative, words).map(|v| self.value(v))
    }

    pub(crate) fn new_array_buffer(&self, bytes: &[u8]) -> JsResult<Value<'s>> {
        raw::new_array_buffer(self.env, bytes).map(|v| self.value(v))
    }

    /// A `Uint8Array` with memory of its own.
    pub(crate) fn uint8_array(&self, bytes: &[u8]) -> JsResult<Value<'s>> {
        let buffer = raw::new_array_buffer(self.env, bytes)?;
        raw::uint8_array(self.env, bytes.len(), buffer).map(|v| self.value(v))
    }

    pub(crate) fn date(&self, ms: f64) -> JsResult<Value<'s>> {
        raw::date(self.env, ms).map(|v| self.value(v))
    }

    pub(crate) fn array(&self, length: usize) -> JsResult<Value<'s>> {
        raw::array(self.env, length).map(|v| self.value(v))
    }

    pub(crate) fn new_object(&self) -> JsResult<Value<'s>> {
        raw::object(self.env).map(|v| self.value(v))
    }

    /// An object with the given properties.
    pub(crate) fn object(&self, properties: &[(&CStr, Value<'s>)]) -> JsResult<Value<'s>> {
        let object = self.new_object()?;
        for (name, value) in properties {
            raw::set_named(self.env, object.raw, name, value.raw)?;
        }
        Ok(object)
    }

    pub(crate) fn set(&self, object: Value<'s>, key: Value<'s>, value: Value<'s>) -> JsResult<()> {
        raw::set(self.env, object.raw, key.raw, value.raw)
    }

    /// Defines an own property, whatever its name is.
    pub(crate) fn define(
        &self,
        object: Value<'s>,
        key: Value<'s>,
        value: Value<'s>,
    ) -> JsResult<()> {
        raw::define(self.env, object.raw, key.raw, value.raw)
    }

    pub(crate) fn set_element(&self, array: Value<'s>, at: u32, value: Value<'s>) -> JsResult<()> {
        raw::set_element(self.env, array.raw, at, value.raw)
    }

    /// Anything the generated glue can convert: class instances, plain structs.
    pub(crate) fn native<T: ToNapiValue>(&self, value: T) -> JsResult<Value<'s>> {
        // SAFETY: a scope is the proof that this is the right thread.
        let raw = unsafe { T::to_napi_value(self.env, value) }?;
        Ok(self.value(raw))
    }

    pub(crate) fn call(&self, function: Value<'s>, args: &[Value<'s>]) -> JsResult<Value<'s>> {
        let this = self.undefined()?;
        self.call_on(this, function, args)
    }

    pub(crate) fn call_on(
        &self,
        this: Value<'s>,
        function: Value<'s>,
        args: &[Value<'s>],
    ) -> JsResult<Value<'s>> {
        raw::call(self.env, this.raw, function.raw, raws(args)).map(|v| self.value(v))
    }

    pub(crate) fn construct(&self, class: Value<'s>, args: &[Value<'s>]) -> JsResult<Value<'s>> {
        raw::construct(self.env, class.raw, raws(args)).map(|v| self.value(v))
    }

    /// The JavaScript `Error` of a structured error.
    pub(crate) fn error(&self, error: &Error) -> JsResult<Value<'s>> {
        self.plain_error(&bridge::encode(error))
    }

    pub(crate) fn plain_error(&self, message: &str) -> JsResult<Value<'s>> {
        let code = self.text("GenericFailure")?;
        let message = self.text(message)?;
        raw::error(self.env, code.raw, message.raw).map(|v| self.value(v))
    }

    /// Makes an ordinary error of a fault; a pending exception is taken.
    pub(crate) fn error_of(&self, fault: Fault) -> Error {
        match fault {
            Fault::Error(error) => error,
            Fault::Plain(error) => Error::internal(error.reason.clone()),
            Fault::Pending => match raw::exception(self.env) {
                Ok(thrown) => self.thrown(self.value(thrown)),
                // A thread that is being terminated lets nothing be taken.
                Err(_) => unavailable("javascript", "the environment is closing"),
            },
        }
    }

    /// The error that a thrown or rejected value stands for. Reading it may run
    /// user code, which may throw again: that only costs the text.
    pub(crate) fn thrown(&self, value: Value<'s>) -> Error {
        let text = raw::to_text(self.env, value.raw)
            .and_then(|text| raw::get_text(self.env, text))
            .or_else(|_| self.discard().message_of(value));
        match text {
            Ok(mut text) => {
                // A structured error must stay whole to be understood.
                if text.len() > THROWN_TEXT_MAX && !text.contains(bridge::PREFIX) {
                    let cut = (0..=THROWN_TEXT_MAX)
                        .rev()
                        .find(|at| text.is_char_boundary(*at));
                    text.truncate(cut.unwrap_or(0));
                }
                bridge::decode(&text)
            }
            Err(_) => {
                self.discard();
                Error::internal("a value was thrown that has no text")
            }
        }
    }

    fn message_of(&self, value: Value<'s>) -> JsResult<String> {
        let message = raw::get_named(self.env, value.raw, c"message")?;
        raw::get_text(self.env, message)
    }

    /// Clears a pending exception, if any.
    pub(super) fn discard(&self) -> &Self {
        if raw::exception_pending(self.env) {
            let _ = raw::exception(self.env);
        }
        self
    }
}

/// `actor/js_callback_unavailable` for a callback that cannot be reached.
#[cold]
pub(super) fn unavailable(callback: &str, reason: &str) -> Error {
    Error::with(
        &code::ACTOR_JS_CALLBACK_UNAVAILABLE,
        json!({ "callback": callback, "reason": reason }),
    )
}

fn raws<'a>(values: &'a [Value<'_>]) -> &'a [sys::napi_value] {
    // SAFETY: `Value` is transparent over the handle.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
}
