//! What statements give: results in both dialects.

use std::sync::Arc;

use greenroom_store::{ExecuteResult, Page, QueryResult, Rows, SqlValue};
use napi::bindgen_prelude::{Env, FromNapiValue, ToNapiValue, TypeName};
use napi::{Status, ValueType, sys};
use napi_derive::napi;

use crate::bridge::{JsResult, Scope, Value, enter};

/// Largest integer that a JavaScript number holds exactly.
pub(super) const SAFE_MAX: u64 = (1 << 53) - 1;

#[napi(object, object_from_js = false)]
pub struct JsRunResult {
    pub changes: f64,
}

#[napi(object, object_from_js = false)]
pub struct JsQueryResult {
    #[napi(ts_type = "Array<string>")]
    pub columns: Columns,
    #[napi(ts_type = "Array<Array<any>>")]
    pub rows: Lists,
}

#[napi(object, object_from_js = false)]
pub struct NativeExecuteResult {
    #[napi(ts_type = "Array<string>")]
    pub columns: Columns,
    #[napi(ts_type = "Array<Array<any>>")]
    pub rows: Lists,
    pub changes: f64,
    pub last_insert_row_id: Option<f64>,
}

impl From<ExecuteResult> for NativeExecuteResult {
    fn from(result: ExecuteResult) -> Self {
        Self {
            columns: Columns(result.columns),
            rows: Lists(result.rows),
            changes: result.changes as f64,
            last_insert_row_id: result.last_insert_row_id.map(|id| id as f64),
        }
    }
}

impl From<QueryResult> for JsQueryResult {
    fn from(result: QueryResult) -> Self {
        Self {
            columns: Columns(result.columns),
            rows: Lists(result.rows),
        }
    }
}

impl From<ExecuteResult> for JsQueryResult {
    fn from(result: ExecuteResult) -> Self {
        QueryResult::from(result).into()
    }
}

impl From<ExecuteResult> for JsRunResult {
    fn from(result: ExecuteResult) -> Self {
        Self {
            changes: result.changes as f64,
        }
    }
}

/// Cells that are passed to a function one by one; more go in an array.
const FEW_CELLS: usize = 32;

/// A result in exact values: all cells in one array, row after row. The names of
/// the columns are frozen and may be shared by results of the same statement.
#[napi(object, object_from_js = false, object_to_js = false)]
pub struct JsSqlValues {
    #[napi(ts_type = "Array<string>")]
    pub columns: Columns,
    #[napi(ts_type = "Array<unknown>")]
    pub values: Cells,
    pub changes: f64,
    #[napi(ts_type = "number | bigint | null")]
    pub last_insert_row_id: Cell,
}

impl From<ExecuteResult> for JsSqlValues {
    fn from(result: ExecuteResult) -> Self {
        let row_id = result.last_insert_row_id;
        Self {
            columns: Columns(result.columns),
            values: Cells(result.rows),
            changes: result.changes as f64,
            last_insert_row_id: Cell(row_id.map_or(SqlValue::Null, SqlValue::Integer)),
        }
    }
}

impl From<QueryResult> for JsSqlValues {
    fn from(result: QueryResult) -> Self {
        Self {
            columns: Columns(result.columns),
            values: Cells(result.rows),
            changes: 0.0,
            last_insert_row_id: Cell(SqlValue::Null),
        }
    }
}

impl ToNapiValue for JsSqlValues {
    unsafe fn to_napi_value(env: sys::napi_env, result: Self) -> napi::Result<sys::napi_value> {
        enter(&Env::from_raw(env), |scope| {
            result.into_javascript(scope).map(Value::into_raw)
        })
    }
}

impl JsSqlValues {
    fn into_javascript<'s>(self, scope: &Scope<'s>) -> JsResult<Value<'s>> {
        let Self {
            columns: Columns(names),
            values: Cells(rows),
            changes,
            last_insert_row_id,
        } = self;
        let nothing = scope.undefined()?;
        let mut parts = [nothing; 4 + FEW_CELLS];
        parts[0] = scope.shared_texts(&names)?;
        parts[1] = scope.number(changes)?;
        parts[2] = exact(scope, &last_insert_row_id.0)?;
        let few = rows.cells();
        if few.len() > FEW_CELLS {
            parts[3] = cells(scope, &rows)?;
            return scope.rows(&parts[..4]);
        }
        for (part, cell) in parts[4..].iter_mut().zip(few) {
            *part = exact(scope, cell)?;
        }
        scope.rows(&parts[..4 + few.len()])
    }
}

/// Some rows of a result that is read page by page.
#[napi(object, object_from_js = false)]
pub struct JsSqlPage {
    #[napi(ts_type = "Array<unknown>")]
    pub values: Cells,
    /// No rows follow.
    pub done: bool,
}

impl From<Page> for JsSqlPage {
    fn from(page: Page) -> Self {
        Self {
            values: Cells(page.rows),
            done: page.is_last,
        }
    }
}

/// Names of columns.
pub struct Columns(pub(super) Arc<[String]>);

/// Rows as arrays, with cells as the published package has them.
pub struct Lists(Rows);

/// Cells as they are.
pub struct Cells(Rows);

/// One cell as it is.
pub struct Cell(SqlValue);

/// Makes a type one that only goes to JavaScript, by a function of a scope.
macro_rules! to_javascript {
    ($($type:ident = $convert:expr;)*) => {$(
        impl TypeName for $type {
            fn type_name() -> &'static str {
                "unknown"
            }
            fn value_type() -> ValueType {
                ValueType::Unknown
            }
        }

        impl ToNapiValue for $type {
            unsafe fn to_napi_value(env: sys::napi_env, value: Self) -> napi::Result<sys::napi_value> {
                enter(&Env::from_raw(env), |scope| {
                    $convert(scope, &value.0).map(Value::into_raw)
                })
            }
        }

        impl FromNapiValue for $type {
            unsafe fn from_napi_value(_: sys::napi_env, _: sys::napi_value) -> napi::Result<Self> {
                let reason = "this value only goes to JavaScript";
                Err(napi::Error::new(Status::InvalidArg, reason))
            }
        }
    )*};
}

pub(super) use to_javascript;

to_javascript! {
    Columns = Scope::texts;
    Lists = lists;
    Cells = cells;
    Cell = exact;
}

fn lists<'s>(scope: &Scope<'s>, rows: &Rows) -> JsResult<Value<'s>> {
    let list = scope.array(rows.len())?;
    for (at, row) in rows.iter().enumerate() {
        scope.nested(|inner| {
            let cells = inner.array(row.len())?;
            for (index, cell) in row.iter().enumerate() {
                inner.set_element(cells, index as u32, published(inner, cell)?)?;
            }
            inner.set_element(inner.value(list.into_raw()), at as u32, cells)
        })?;
    }
    Ok(list)
}

fn cells<'s>(scope: &Scope<'s>, rows: &Rows) -> JsResult<Value<'s>> {
    let list = scope.array(rows.len() * rows.width())?;
    let mut at = 0;
    for row in rows.iter() {
        scope.nested(|inner| {
            let list = inner.value(list.into_raw());
            for cell in row {
                inner.set_element(list, at, exact(inner, cell)?)?;
                at += 1;
            }
            Ok(())
        })?;
    }
    Ok(list)
}

pub(super) fn exact<'s>(scope: &Scope<'s>, cell: &SqlValue) -> JsResult<Value<'s>> {
    match cell {
        SqlValue::Null => scope.null(),
        SqlValue::Integer(value) if value.unsigned_abs() > SAFE_MAX => scope.bigint_i64(*value),
        SqlValue::Integer(value) => scope.number(*value as f64),
        SqlValue::Real(value) => scope.number(*value),
        SqlValue::Text(text) => scope.text(text),
        SqlValue::Blob(blob) => scope.uint8_array(blob),
    }
}

/// Blobs as arrays of numbers; null for what JSON has no number for.
fn published<'s>(scope: &Scope<'s>, cell: &SqlValue) -> JsResult<Value<'s>> {
    match cell {
        SqlValue::Real(value) if !value.is_finite() => scope.null(),
        SqlValue::Blob(blob) => {
            let bytes = scope.array(blob.len())?;
            for (at, byte) in blob.iter().enumerate() {
                scope.nested(|inner| {
                    let bytes = inner.value(bytes.into_raw());
                    inner.set_element(bytes, at as u32, inner.number((*byte).into())?)
                })?;
            }
            Ok(bytes)
        }
        _ => exact(scope, cell),
    }
}
