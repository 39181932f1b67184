//! Reading JavaScript values.

use std::ffi::CStr;

use bytes::Bytes;
use greenroom_error::Error;
use napi::bindgen_prelude::FromNapiValue;
use napi::sys;

use super::fault::JsResult;
use super::raw;
use super::scope::{Scope, Value};

/// What `typeof` says, with null told from objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Undefined,
    Null,
    Boolean,
    Number,
    Text,
    Symbol,
    Object,
    Function,
    BigInt,
    /// A native pointer of somebody.
    External,
}

impl Kind {
    pub(crate) fn is_nothing(self) -> bool {
        matches!(self, Self::Undefined | Self::Null)
    }
}

/// Element type of a typed array and where its bytes are.
pub(crate) struct View {
    /// One of `sys::TypedarrayType`, or of a future Node.
    pub element: i32,
    pub bytes: Bytes,
}

impl<'s> Scope<'s> {
    pub(crate) fn kind(&self, value: Value<'s>) -> JsResult<Kind> {
        use sys::ValueType as T;
        Ok(match raw::type_of(self.env, value.raw)? {
            T::napi_undefined => Kind::Undefined,
            T::napi_null => Kind::Null,
            T::napi_boolean => Kind::Boolean,
            T::napi_number => Kind::Number,
            T::napi_string => Kind::Text,
            T::napi_symbol => Kind::Symbol,
            T::napi_object => Kind::Object,
            T::napi_function => Kind::Function,
            T::napi_bigint => Kind::BigInt,
            _ => Kind::External,
        })
    }

    pub(crate) fn f64(&self, value: Value<'s>) -> JsResult<f64> {
        raw::get_double(self.env, value.raw)
    }

    /// A bigint's value; `None` if it has more than 64 bits.
    pub(crate) fn bigint_as_i64(&self, value: Value<'s>) -> JsResult<Option<i64>> {
        let (number, is_exact) = raw::get_bigint_i64(self.env, value.raw)?;
        Ok(is_exact.then_some(number))
    }

    pub(crate) fn bool(&self, value: Value<'s>) -> JsResult<bool> {
        raw::get_bool(self.env, value.raw)
    }

    /// JavaScript's own notion of truth.
    pub(crate) fn truthy(&self, value: Value<'s>) -> JsResult<bool> {
        raw::get_bool(self.env, raw::to_boolean(self.env, value.raw)?)
    }

    pub(crate) fn string(&self, value: Value<'s>) -> JsResult<String> {
        raw::get_text(self.env, value.raw)
    }

    /// Text of any value, as `String(value)`; may run user code.
    pub(crate) fn to_text(&self, value: Value<'s>) -> JsResult<String> {
        raw::get_text(self.env, raw::to_text(self.env, value.raw)?)
    }

    pub(crate) fn date_ms(&self, value: Value<'s>) -> JsResult<f64> {
        raw::get_date(self.env, value.raw)
    }

    pub(crate) fn named(&self, object: Value<'s>, name: &CStr) -> JsResult<Value<'s>> {
        raw::get_named(self.env, object.raw, name).map(|v| self.value(v))
    }

    pub(crate) fn get(&self, object: Value<'s>, key: Value<'s>) -> JsResult<Value<'s>> {
        raw::get(self.env, object.raw, key.raw).map(|v| self.value(v))
    }

    pub(crate) fn element(&self, array: Value<'s>, at: u32) -> JsResult<Value<'s>> {
        raw::element(self.env, array.raw, at).map(|v| self.value(v))
    }

    pub(crate) fn length(&self, array: Value<'s>) -> JsResult<u32> {
        raw::length(self.env, array.raw)
    }

    /// Own enumerable string keys, as an array.
    pub(crate) fn own_keys(&self, object: Value<'s>) -> JsResult<Value<'s>> {
        raw::own_keys(self.env, object.raw).map(|v| self.value(v))
    }

    pub(crate) fn prototype(&self, object: Value<'s>) -> JsResult<Value<'s>> {
        raw::prototype(self.env, object.raw).map(|v| self.value(v))
    }

    pub(crate) fn has_own(&self, object: Value<'s>, name: &CStr) -> JsResult<bool> {
        let name = self.text(&name.to_string_lossy())?;
        raw::has_own(self.env, object.raw, name.raw)
    }

    pub(crate) fn is_array(&self, value: Value<'s>) -> JsResult<bool> {
        raw::is_array(self.env, value.raw)
    }

    pub(crate) fn is_date(&self, value: Value<'s>) -> JsResult<bool> {
        raw::is_date(self.env, value.raw)
    }

    pub(crate) fn is_error(&self, value: Value<'s>) -> JsResult<bool> {
        raw::is_error(self.env, value.raw)
    }

    pub(crate) fn is_array_buffer(&self, value: Value<'s>) -> JsResult<bool> {
        raw::is_array_buffer(self.env, value.raw)
    }

    pub(crate) fn is_typed_array(&self, value: Value<'s>) -> JsResult<bool> {
        raw::is_typed_array(self.env, value.raw)
    }

    pub(crate) fn same(&self, a: Value<'s>, b: Value<'s>) -> JsResult<bool> {
        raw::strict_equals(self.env, a.raw, b.raw)
    }

    pub(crate) fn instance_of(&self, value: Value<'s>, class: Value<'s>) -> JsResult<bool> {
        raw::instance_of(self.env, value.raw, class.raw)
    }

    /// A value of `globalThis`.
    pub(crate) fn global(&self, name: &CStr) -> JsResult<Value<'s>> {
        let global = raw::global(self.env)?;
        self.named(self.value(global), name)
    }

    /// Anything the generated glue can read.
    pub(crate) fn read<T: FromNapiValue>(&self, value: Value<'s>) -> JsResult<T> {
        // SAFETY: a scope is the proof that this is the right thread.
        Ok(unsafe { T::from_napi_value(self.env, value.raw) }?)
    }

    /// A copy of the bytes of a `Buffer` or `Uint8Array`; `None` for any other
    /// value.
    pub(crate) fn bytes(&self, value: Value<'s>) -> JsResult<Option<Bytes>> {
        self.with_bytes(value, Bytes::copy_from_slice)
    }

    /// Looks at the bytes of a `Buffer` or `Uint8Array` in place.
    pub(crate) fn with_bytes<T>(
        &self,
        value: Value<'s>,
        look: impl FnOnce(&[u8]) -> T,
    ) -> JsResult<Option<T>> {
        if !self.is_typed_array(value)? {
            return Ok(None);
        }
        let (element, bytes) = raw::view(self.env, value.raw)?;
        if element != sys::TypedarrayType::uint8_array {
            return Ok(None);
        }
        // SAFETY: JavaScript cannot run, and so not resize or detach the
        // buffer, before `look` returns: it gets no scope.
        Ok(Some(look(unsafe { raw::slice(bytes) })))
    }

    /// A copy of any typed array's bytes.
    pub(crate) fn view(&self, value: Value<'s>) -> JsResult<View> {
        let (element, bytes) = raw::view(self.env, value.raw)?;
        Ok(View {
            element,
            // SAFETY: as in `with_bytes`.
            bytes: Bytes::copy_from_slice(unsafe { raw::slice(bytes) }),
        })
    }

    /// A copy of an `ArrayBuffer`'s bytes.
    pub(crate) fn array_buffer(&self, value: Value<'s>) -> JsResult<Bytes> {
        let bytes = raw::array_buffer(self.env, value.raw)?;
        // SAFETY: as in `with_bytes`.
        Ok(Bytes::copy_from_slice(unsafe { raw::slice(bytes) }))
    }

    /// The bytes a callback must return.
    pub(crate) fn returned_bytes(&self, value: Value<'s>, callback: &str) -> JsResult<Bytes> {
        self.bytes(value)?.ok_or_else(|| {
            let state = format!("callback {callback}");
            Error::invalid_state(&state, "must return a Buffer or Uint8Array").into()
        })
    }
}
