//! What statements are given: parameters in both dialects.

use std::ops::Range;

use greenroom_error::{Error, Result, code};
use greenroom_store::{SqlRuns, SqlStatement, SqlValue};
use napi::bindgen_prelude::{Env, FromNapiValue, TypeName, ValidateNapiValue};
use napi::{ValueType, sys};
use napi_derive::napi;
use serde_json::json;

use crate::bridge::{Buffer, JsResult, Kind, Scope, Value, enter};
use crate::numbers;

/// One bound value; `kind` says which property holds it. A property that is
/// missing stands for 0 or for nothing.
#[napi(object, object_to_js = false)]
pub struct JsBindParam {
    /// `null`, `int`, `float`, `text` or `blob`.
    pub kind: String,
    #[napi(ts_type = "number | bigint")]
    pub int_value: Option<Integer>,
    pub float_value: Option<f64>,
    pub text_value: Option<String>,
    pub blob_value: Option<Buffer>,
}

#[napi(object, object_to_js = false)]
pub struct JsSqliteBatchStatement {
    pub sql: String,
    pub params: Option<Vec<JsBindParam>>,
}

impl TryFrom<JsBindParam> for SqlValue {
    type Error = Error;

    fn try_from(param: JsBindParam) -> Result<Self> {
        Ok(match param.kind.as_str() {
            "null" => Self::Null,
            "int" => Self::Integer(param.int_value.map_or(Ok(0), |value| value.0)?),
            "float" => Self::Real(param.float_value.unwrap_or(0.0)),
            "text" => Self::Text(param.text_value.unwrap_or_default()),
            "blob" => Self::Blob(param.blob_value.unwrap_or_default().0),
            other => {
                let reason = format!("unsupported bind param kind `{other}`");
                return Err(Error::invalid_argument("kind", reason));
            }
        })
    }
}

pub(super) fn statement(sql: String, params: Option<Vec<JsBindParam>>) -> Result<SqlStatement> {
    let params = params.unwrap_or_default().into_iter();
    let params = params.map(SqlValue::try_from).collect::<Result<_>>()?;
    Ok(SqlStatement::new(sql, params))
}

pub(super) fn batch(statements: Vec<JsSqliteBatchStatement>) -> Result<Vec<SqlStatement>> {
    let statements = statements.into_iter();
    statements
        .map(|each| statement(each.sql, each.params))
        .collect()
}

/// A 64-bit integer out of a number, whose fraction is cut, or a bigint.
pub struct Integer(Result<i64>);

/// The text of a statement.
pub struct SqlText(pub(super) String);

/// Values by position, as they are: null, number, bigint, string, `Uint8Array`.
#[derive(Default)]
pub struct SqlParams(pub(super) Vec<SqlValue>);

impl SqlParams {
    pub(super) fn of(sql: SqlText, params: Option<Self>) -> SqlStatement {
        SqlStatement::new(sql.0, params.unwrap_or_default().0)
    }
}

/// One statement and the values of `count` runs, one run after the other.
#[napi(object, object_to_js = false)]
pub struct JsSqlRuns {
    pub sql: String,
    pub count: f64,
    #[napi(ts_type = "Array<unknown>")]
    pub values: SqlParams,
}

impl TryFrom<JsSqlRuns> for SqlRuns {
    type Error = Error;

    fn try_from(runs: JsSqlRuns) -> Result<Self> {
        let count = numbers::count("count", runs.count)? as usize;
        let values = runs.values.0;
        let is_even = values.len().checked_rem(count).unwrap_or(values.len()) == 0;
        if !is_even {
            let reason = "must be the same number for each run";
            return Err(Error::invalid_argument("values", reason));
        }
        Ok(Self {
            sql: runs.sql,
            count,
            values,
        })
    }
}

/// Makes a type one that only comes from JavaScript, by a function of a scope and a
/// value.
macro_rules! from_javascript {
    ($($type:ident: $name:literal, $kind:ident = $convert:expr;)*) => {$(
        impl TypeName for $type {
            fn type_name() -> &'static str {
                $name
            }
            fn value_type() -> ValueType {
                ValueType::$kind
            }
        }

        impl ValidateNapiValue for $type {}

        impl FromNapiValue for $type {
            unsafe fn from_napi_value(
                env: sys::napi_env,
                value: sys::napi_value,
            ) -> napi::Result<Self> {
                enter(&Env::from_raw(env), |scope| {
                    $convert(scope, scope.value(value)).map(Self)
                })
            }
        }
    )*};
}

from_javascript! {
    Integer: "number | bigint", Unknown = integer;
    SqlText: "string", String = Scope::string;
    SqlParams: "Array", Object = params;
}

fn integer<'s>(scope: &Scope<'s>, value: Value<'s>) -> JsResult<Result<i64>> {
    Ok(match scope.kind(value)? {
        Kind::BigInt => exact(scope, value, "intValue"),
        _ => Ok(numbers::truncated_i64(scope.f64(value)?)),
    })
}

/// Handles are let go of after so many values.
const HANDLES_MAX: u32 = 1024;

/// So few values need no scope of their own for their handles.
const FEW_HANDLES: u32 = 16;

fn params<'s>(scope: &Scope<'s>, list: Value<'s>) -> JsResult<Vec<SqlValue>> {
    let count = scope.length(list)?;
    let mut values = Vec::with_capacity(count as usize);
    if count <= FEW_HANDLES {
        add_params(scope, list, 0..count, &mut values)?;
        return Ok(values);
    }
    let mut at = 0;
    while at < count {
        let end = count.min(at + HANDLES_MAX);
        scope.nested(|inner| {
            let list = inner.value(list.into_raw());
            add_params(inner, list, at..end, &mut values)
        })?;
        at = end;
    }
    Ok(values)
}

fn add_params<'s>(
    scope: &Scope<'s>,
    list: Value<'s>,
    places: Range<u32>,
    values: &mut Vec<SqlValue>,
) -> JsResult<()> {
    for index in places {
        values.push(param(scope, scope.element(list, index)?, index)?);
    }
    Ok(())
}

fn param<'s>(scope: &Scope<'s>, value: Value<'s>, index: u32) -> JsResult<SqlValue> {
    Ok(match scope.kind(value)? {
        Kind::Null => SqlValue::Null,
        Kind::Number => number(scope.f64(value)?),
        Kind::Text => SqlValue::Text(scope.string(value)?),
        Kind::BigInt => SqlValue::Integer(exact(scope, value, &name(index))?),
        Kind::Object => match scope.bytes(value)? {
            Some(bytes) => SqlValue::Blob(bytes),
            None => return Err(unsupported(index).into()),
        },
        _ => return Err(unsupported(index).into()),
    })
}

/// Whole numbers that a JavaScript number holds exactly are integers.
fn number(value: f64) -> SqlValue {
    const SAFE_MAX: f64 = 9_007_199_254_740_991.0;
    if value.fract() == 0.0 && value.abs() <= SAFE_MAX {
        SqlValue::Integer(value as i64)
    } else {
        SqlValue::Real(value)
    }
}

fn exact<'s>(scope: &Scope<'s>, value: Value<'s>, name: &str) -> Result<i64> {
    match scope.bigint_as_i64(value) {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(invalid(name, "is a bigint of more than 64 bits")),
        Err(fault) => Err(scope.error_of(fault)),
    }
}

fn name(index: u32) -> String {
    format!("?{}", index + 1)
}

#[cold]
fn unsupported(index: u32) -> Error {
    let reason = "must be null, a number, string, bigint or Uint8Array";
    invalid(&name(index), reason)
}

#[cold]
fn invalid(name: &str, reason: &str) -> Error {
    Error::with(
        &code::SQLITE_INVALID_BIND_PARAMETER,
        json!({ "name": name, "reason": reason }),
    )
}
