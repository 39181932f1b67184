//! What goes into a user's statement and what comes out of it.
//!
//! Five kinds of value, exactly SQLite's. Nothing is converted here: what a
//! language makes of a 64-bit integer or of a blob is decided where the language
//! is known.

use std::sync::Arc;

use bytes::Bytes;

use super::text;

/// One value of SQLite.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlValue {
    Null,
    Integer(i64),
    /// A NaN that is bound becomes `NULL`, as SQLite stores none; infinities stay.
    Real(f64),
    /// May hold NUL. Stored text that is not UTF-8 is read with replacement
    /// characters.
    Text(String),
    Blob(Bytes),
}

impl SqlValue {
    /// Bytes this value binds: text and blobs by length, numbers 8, `NULL` none.
    pub fn bound_bytes(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::Integer(_) | Self::Real(_) => 8,
            Self::Text(text) => text.len(),
            Self::Blob(blob) => blob.len(),
        }
    }

    /// Bytes of memory this value keeps, for the bound on results.
    pub(super) fn footprint(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Text(text) => text.len(),
                Self::Blob(blob) => blob.len(),
                _ => 0,
            }
    }
}

/// One statement and the values of its parameters, by position.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SqlStatement {
    pub sql: String,
    /// As many as the statement has parameters.
    pub params: Vec<SqlValue>,
}

impl SqlStatement {
    pub fn new(sql: impl Into<String>, params: Vec<SqlValue>) -> Self {
        Self {
            sql: sql.into(),
            params,
        }
    }

    /// True if the statement would end a transaction: `COMMIT`, `END` or a
    /// `ROLLBACK` that is not one to a savepoint.
    pub fn ends_transaction(&self) -> bool {
        text::ends_transaction(&self.sql)
    }

    /// What the statement weighs in a budget: the bytes it binds, or those of
    /// its text if it binds nothing.
    pub fn budget_bytes(&self) -> usize {
        if self.params.is_empty() {
            self.sql.len()
        } else {
            self.params.iter().map(SqlValue::bound_bytes).sum()
        }
    }
}

/// One statement and the values of many runs, one run after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SqlRuns {
    pub sql: String,
    /// Runs.
    pub count: usize,
    /// The values of all runs; as many of each as the statement has parameters.
    pub values: Vec<SqlValue>,
}

impl SqlRuns {
    /// The values of one run.
    pub(super) fn values_of(&self, run: usize) -> &[SqlValue] {
        let width = self.values.len().checked_div(self.count).unwrap_or(0);
        &self.values[run * width..(run + 1) * width]
    }
}

/// Rows of one width, cell after cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    width: usize,
    cells: Vec<SqlValue>,
}

impl Rows {
    pub(super) fn new(width: usize) -> Self {
        Self {
            width,
            cells: Vec::new(),
        }
    }

    /// `row` must have as many cells as the rows are wide.
    pub(super) fn push(&mut self, row: impl Iterator<Item = SqlValue>) {
        self.cells.extend(row);
        debug_assert!(self.width > 0 && self.cells.len().is_multiple_of(self.width));
    }

    /// One row whose cells may fail; then none of them is kept.
    pub(super) fn try_push<E>(
        &mut self,
        row: impl Iterator<Item = Result<SqlValue, E>>,
    ) -> Result<(), E> {
        let start = self.cells.len();
        for cell in row {
            match cell {
                Ok(cell) => self.cells.push(cell),
                Err(error) => {
                    self.cells.truncate(start);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// One cell of a row; the others must follow.
    pub(super) fn push_cell(&mut self, cell: SqlValue) {
        self.cells.push(cell);
    }

    pub(super) fn cell_count(&self) -> usize {
        self.cells.len()
    }

    /// Bytes of memory of the cells from `start` on.
    pub(super) fn footprint_from(&self, start: usize) -> usize {
        self.cells[start..].iter().map(SqlValue::footprint).sum()
    }

    pub(super) fn footprint(&self) -> usize {
        self.footprint_from(0)
    }

    /// Cells per row.
    pub fn width(&self) -> usize {
        self.width
    }

    pub fn len(&self) -> usize {
        self.cells.len().checked_div(self.width).unwrap_or(0)
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[SqlValue]> {
        // Without columns there are no cells, so any chunk size will do.
        self.cells.chunks_exact(self.width.max(1))
    }

    /// All cells, row after row.
    pub fn cells(&self) -> &[SqlValue] {
        &self.cells
    }

    /// All cells, row after row.
    pub fn into_cells(self) -> Vec<SqlValue> {
        self.cells
    }
}

/// What one statement did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecuteResult {
    /// Names in order; they need not differ from each other. Runs of one
    /// statement share them.
    pub columns: Arc<[String]>,
    pub rows: Rows,
    /// Rows that the last `INSERT`, `UPDATE` or `DELETE` of this actor changed:
    /// this statement, or an earlier one if this one is none of these.
    pub changes: i64,
    /// Rowid of the last successful `INSERT`; `None` while `changes` is 0.
    pub last_insert_row_id: Option<i64>,
}

/// The rows of a query or of a script's last query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryResult {
    pub columns: Arc<[String]>,
    pub rows: Rows,
}

impl From<ExecuteResult> for QueryResult {
    fn from(result: ExecuteResult) -> Self {
        Self {
            columns: result.columns,
            rows: result.rows,
        }
    }
}
