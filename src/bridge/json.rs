//! JSON values on their way to JavaScript: error metadata, cells of rows.

use napi::bindgen_prelude::{FromNapiValue, ToNapiValue, TypeName};
use napi::{Status, ValueType, sys};
use serde_json::{Number, Value as JsonValue};

use super::environment::{find, with_scope};
use super::fault::JsResult;
use super::scope::{Scope, Value};

/// Largest integer that a JavaScript number holds exactly.
const SAFE_MAX: u64 = (1 << 53) - 1;

/// Any JSON value; integers beyond 53 bits become BigInts.
pub struct Json(pub JsonValue);

impl<'s> Scope<'s> {
    pub(crate) fn json(&self, value: &JsonValue) -> JsResult<Value<'s>> {
        match value {
            JsonValue::Null => self.null(),
            JsonValue::Bool(value) => self.boolean(*value),
            JsonValue::Number(number) => self.json_number(number),
            JsonValue::String(text) => self.text(text),
            JsonValue::Array(items) => {
                let array = self.array(items.len())?;
                for (at, item) in items.iter().enumerate() {
                    self.set_element(array, at as u32, self.json(item)?)?;
                }
                Ok(array)
            }
            JsonValue::Object(fields) => {
                let object = self.new_object()?;
                for (name, field) in fields {
                    self.define(object, self.text(name)?, self.json(field)?)?;
                }
                Ok(object)
            }
        }
    }

    fn json_number(&self, number: &Number) -> JsResult<Value<'s>> {
        match (number.as_u64(), number.as_i64()) {
            (Some(wide), _) if wide > SAFE_MAX => self.bigint(wide),
            (_, Some(wide)) if wide.unsigned_abs() > SAFE_MAX => self.bigint_i64(wide),
            _ => self.number(number.as_f64().unwrap_or(f64::NAN)),
        }
    }
}

impl TypeName for Json {
    fn type_name() -> &'static str {
        "any"
    }
    fn value_type() -> ValueType {
        ValueType::Unknown
    }
}

impl ToNapiValue for Json {
    unsafe fn to_napi_value(env: sys::napi_env, json: Self) -> napi::Result<sys::napi_value> {
        // SAFETY: generated glue calls this on the environment's thread.
        let side = unsafe { find(env) }?;
        Ok(with_scope(env, &side, |scope| {
            scope.json(&json.0).map(|v| v.raw)
        })?)
    }
}

impl FromNapiValue for Json {
    unsafe fn from_napi_value(_: sys::napi_env, _: sys::napi_value) -> napi::Result<Self> {
        Err(napi::Error::new(
            Status::InvalidArg,
            "this value only goes to JavaScript",
        ))
    }
}
