//! Bytes across the boundary, always by copy: JavaScript may change or transfer
//! its memory at any time, and so may we.

use bytes::Bytes;
use napi::bindgen_prelude::{FromNapiValue, ToNapiValue, TypeName, ValidateNapiValue};
use napi::{Status, ValueType, sys};

use super::environment::with_scope;
use super::fault::JsResult;
use super::scope::{Scope, Value};
use super::{environment, raw};

/// Node hands out slices of one block for buffers up to half its pool, which is
/// an order of magnitude cheaper than a block each.
const POOLED_MAX: usize = 4096;

/// A parameter or result: any `Buffer` or `Uint8Array` in, a `Buffer` out.
#[derive(Clone, Debug, Default)]
pub struct Buffer(pub Bytes);

impl From<Bytes> for Buffer {
    fn from(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

impl<'s> Scope<'s> {
    /// A `Buffer` with a copy of `bytes`.
    pub(crate) fn buffer(&self, bytes: &[u8]) -> JsResult<Value<'s>> {
        if bytes.is_empty() || bytes.len() > POOLED_MAX {
            return raw::buffer_copy(self.env, bytes).map(|v| self.value(v));
        }
        let length = self.number(bytes.len() as f64)?;
        let allocate = self.prelude(|p| p.allocate)?;
        let buffer = self.call(allocate, &[length])?;
        raw::fill(self.env, buffer.raw, bytes)?;
        Ok(buffer)
    }
}

impl TypeName for Buffer {
    fn type_name() -> &'static str {
        "Buffer"
    }
    fn value_type() -> ValueType {
        ValueType::Object
    }
}

impl ValidateNapiValue for Buffer {
    unsafe fn validate(
        env: sys::napi_env,
        value: sys::napi_value,
    ) -> napi::Result<sys::napi_value> {
        // SAFETY: the caller's; reading it is the validation.
        unsafe { Self::from_napi_value(env, value) }.map(|_| std::ptr::null_mut())
    }
}

impl FromNapiValue for Buffer {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> napi::Result<Self> {
        // SAFETY: generated glue calls this on the environment's thread inside
        // the scope of a native call.
        let side = unsafe { environment::find(env) }?;
        let bytes = with_scope(env, &side, |scope| scope.bytes(scope.value(value)))?;
        bytes
            .map(Self)
            .ok_or_else(|| napi::Error::new(Status::InvalidArg, "expected a Buffer or Uint8Array"))
    }
}

impl ToNapiValue for Buffer {
    unsafe fn to_napi_value(env: sys::napi_env, buffer: Self) -> napi::Result<sys::napi_value> {
        // SAFETY: as above.
        let side = unsafe { environment::find(env) }?;
        Ok(with_scope(env, &side, |scope| {
            scope.buffer(&buffer.0).map(|v| v.raw)
        })?)
    }
}
