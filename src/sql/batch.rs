//! Batches in exact values. They cross the bridge flat, many statements in few
//! values, because each value that crosses costs about as much as a small statement.

use std::sync::Arc;

use greenroom_error::{Error, Result};
use greenroom_store::{ExecuteResult, SqlStatement, SqlValue};
use napi::bindgen_prelude::{Env, FromNapiValue, ToNapiValue, TypeName};
use napi::{Status, ValueType, sys};
use napi_derive::napi;

use super::input::SqlParams;
use super::output::{SAFE_MAX, exact, to_javascript};
use crate::bridge::{Buffer, JsResult, Scope, Value, enter};

/// Statements with their values.
#[napi(object, object_to_js = false)]
pub struct JsSqlBatch {
    pub texts: Vec<String>,
    /// Of each statement two 32-bit numbers in the machine's order: the place of its
    /// text, and how many values are its own.
    #[napi(ts_type = "Uint8Array")]
    pub shape: Buffer,
    /// Of all statements, one after the other.
    #[napi(ts_type = "Array<unknown>")]
    pub values: SqlParams,
}

impl JsSqlBatch {
    pub(super) fn into_statements(self) -> Result<Vec<SqlStatement>> {
        let wrong = |reason| Error::invalid_argument("shape", reason);
        let (numbers, rest) = self.shape.0.as_chunks::<4>();
        if !rest.is_empty() || numbers.len() % 2 != 0 {
            return Err(wrong("must be pairs of 32-bit numbers"));
        }
        let mut values = self.values.0.into_iter();
        let mut statements = Vec::with_capacity(numbers.len() / 2);
        for pair in numbers.chunks_exact(2) {
            let text = self.texts.get(u32::from_ne_bytes(pair[0]) as usize);
            let text = text.ok_or_else(|| wrong("names a text that is not there"))?;
            let count = u32::from_ne_bytes(pair[1]) as usize;
            if count > values.len() {
                return Err(wrong("takes more values than there are"));
            }
            let params = values.by_ref().take(count).collect();
            statements.push(SqlStatement::new(text, params));
        }
        if values.len() > 0 {
            return Err(wrong("leaves values over"));
        }
        Ok(statements)
    }
}

/// What the statements of a batch gave.
#[napi(object, object_from_js = false)]
pub struct JsSqlBatchResults {
    /// The lists of columns that occur, frozen.
    #[napi(ts_type = "Array<Array<string>>")]
    pub columns: ColumnLists,
    /// Of each statement four 64-bit floats in the machine's order: the place of its
    /// columns, how many cells are its own, its changes, and the last rowid. That is
    /// NaN if there is none, and infinite if it stands before the cells because no
    /// number holds it exactly.
    #[napi(ts_type = "Uint8Array")]
    pub facts: Facts,
    /// Of all statements, one after the other.
    #[napi(ts_type = "Array<unknown>")]
    pub cells: FlatCells,
}

/// Lists of column names.
pub struct ColumnLists(Vec<Arc<[String]>>);

/// Numbers as bytes.
pub struct Facts(Vec<u8>);

/// Cells of any number of rows.
pub struct FlatCells(Vec<SqlValue>);

impl From<Vec<ExecuteResult>> for JsSqlBatchResults {
    fn from(results: Vec<ExecuteResult>) -> Self {
        let mut columns: Vec<Arc<[String]>> = Vec::new();
        let mut facts = Vec::with_capacity(results.len() * 4 * size_of::<f64>());
        let mut cells = Vec::new();
        for result in results {
            let is_known = |last: &Arc<[String]>| Arc::ptr_eq(last, &result.columns);
            if !columns.last().is_some_and(is_known) {
                columns.push(result.columns);
            }
            let row_id = match result.last_insert_row_id {
                None => f64::NAN,
                Some(id) if id.unsigned_abs() <= SAFE_MAX => id as f64,
                Some(id) => {
                    cells.push(SqlValue::Integer(id));
                    f64::INFINITY
                }
            };
            let own = result.rows.cells().len();
            for fact in [
                (columns.len() - 1) as f64,
                own as f64,
                result.changes as f64,
                row_id,
            ] {
                facts.extend_from_slice(&fact.to_ne_bytes());
            }
            cells.extend(result.rows.into_cells());
        }
        Self {
            columns: ColumnLists(columns),
            facts: Facts(facts),
            cells: FlatCells(cells),
        }
    }
}

to_javascript! {
    ColumnLists = column_lists;
    Facts = facts;
    FlatCells = flat_cells;
}

fn column_lists<'s>(scope: &Scope<'s>, lists: &[Arc<[String]>]) -> JsResult<Value<'s>> {
    let array = scope.array(lists.len())?;
    for (at, list) in lists.iter().enumerate() {
        scope.nested(|inner| {
            let list = inner.shared_texts(list)?;
            inner.set_element(inner.value(array.into_raw()), at as u32, list)
        })?;
    }
    Ok(array)
}

fn facts<'s>(scope: &Scope<'s>, bytes: &[u8]) -> JsResult<Value<'s>> {
    scope.uint8_array(bytes)
}

/// Handles are let go of after so many cells.
const HANDLES_MAX: usize = 256;

fn flat_cells<'s>(scope: &Scope<'s>, cells: &[SqlValue]) -> JsResult<Value<'s>> {
    let array = scope.array(cells.len())?;
    for (number, some) in cells.chunks(HANDLES_MAX).enumerate() {
        scope.nested(|inner| {
            let array = inner.value(array.into_raw());
            for (at, cell) in some.iter().enumerate() {
                let index = (number * HANDLES_MAX + at) as u32;
                inner.set_element(array, index, exact(inner, cell)?)?;
            }
            Ok(())
        })?;
    }
    Ok(array)
}
