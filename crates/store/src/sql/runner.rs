//! Runs one statement of a user on a connection.
//!
//! Knows SQLite and its answers. Whose turn it is, and which transaction a
//! statement belongs to, is decided before it comes here.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use greenroom_error::{Error, Result, code};
use rusqlite::Connection;
use serde_json::json;

use super::cache::{CachedStatement, StatementCache};
use super::cursor::Cursors;
use super::failure::{self, forbidden, interrupted, invalid_parameter};
use super::policy::{self, Situation};
use super::raw::{self, Failure, Lifetime};
use super::text;
use super::value::{ExecuteResult, Rows, SqlStatement, SqlValue};
use super::watch::Watch;

/// Bytes of one text or blob, and of one statement's text.
pub(crate) const VALUE_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Bytes of memory that the rows of one answer may keep.
pub(super) const RESULT_BYTES_MAX: usize = 256 * 1024 * 1024;

/// What SQLite's counters would say if the runtime did not write in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    pub changes: i64,
    pub last_insert_row_id: i64,
}

/// A connection in a user's hands.
pub(super) struct Runner<'a> {
    pub conn: &'a Connection,
    pub statements: &'a mut StatementCache,
    pub cursors: &'a mut Cursors,
    pub counters: &'a mut Counters,
    pub watch: &'a Watch,
    /// Set once a failure leaves open what reached the disk.
    pub suspect: &'a mut bool,
    /// A handle owns the open transaction.
    pub inside: bool,
}

impl Runner<'_> {
    /// Runs exactly one statement.
    pub(super) fn execute(&mut self, statement: &SqlStatement) -> Result<ExecuteResult> {
        let verb = "execute";
        let SqlStatement { sql, params } = statement;
        self.check_interrupted()?;
        let Some(mut cached) = self.prepared(verb, sql)? else {
            return self.without_statement(params);
        };
        let outcome = self.run(verb, &mut cached, params);
        // A statement that failed to run is as good as before.
        self.statements.put(cached);
        outcome
    }

    pub(super) fn without_statement(&self, params: &[SqlValue]) -> Result<ExecuteResult> {
        check_params(params, 0)?;
        Ok(ExecuteResult {
            changes: self.counters.changes,
            ..ExecuteResult::default()
        })
    }

    /// The statement of `sql`; `None` if it has none. `verb` names the caller's method
    /// in the texts of errors.
    pub(super) fn prepared(&mut self, verb: &str, sql: &str) -> Result<Option<CachedStatement>> {
        if let Some(cached) = self.statements.take(sql) {
            return Ok(Some(cached));
        }
        let text = c_text(sql)?;
        let prepared = self.prepare(verb, &text, sql, Lifetime::Long)?;
        if !text::is_blank(&sql[prepared.length..]) {
            return Err(Error::internal(format!(
                "sqlite {verb} only supports a single statement"
            )));
        }
        Ok(prepared.statement.map(|raw| CachedStatement::new(sql, raw)))
    }

    pub(super) fn prepare(
        &mut self,
        verb: &str,
        text: &CStr,
        sql: &str,
        lifetime: Lifetime,
    ) -> Result<raw::Prepared> {
        self.set_situation(false);
        let mut prepared = raw::prepare(self.conn, text, lifetime)
            .map_err(|failure| self.fail(failure, &format!("prepare sqlite {verb} statement")))?;
        prepared.length = prepared.length.min(sql.len());
        let own_text = &sql[..prepared.length];
        if let Some(reason) = policy::judge_text(own_text) {
            return Err(forbidden(reason));
        }
        Ok(prepared)
    }

    fn set_situation(&self, vacuuming: bool) {
        self.watch.set_situation(Situation {
            handle_owns_transaction: self.inside,
            vacuuming,
            ..Situation::default()
        });
    }

    pub(super) fn run(
        &mut self,
        verb: &str,
        cached: &mut CachedStatement,
        params: &[SqlValue],
    ) -> Result<ExecuteResult> {
        check_params(params, cached.raw.parameter_count())?;
        if cached.disturbs_results {
            self.cursors.leave_main(self.conn, self.watch);
        }
        if cached.concerns_log {
            self.cursors.put_aside(self.conn, self.watch);
        }
        self.set_situation(is_vacuum(cached));
        let collected = self.collect(cached, params);
        cached.raw.clear();
        match collected {
            Ok((columns, rows)) => {
                self.count(cached);
                Ok(ExecuteResult {
                    columns,
                    rows,
                    changes: self.counters.changes,
                    last_insert_row_id: self.last_insert_row_id(),
                })
            }
            Err(Stop::Failed(failure)) => {
                Err(self.fail(failure, &format!("run sqlite {verb} statement")))
            }
            Err(Stop::TooLarge) => Err(result_too_large()),
        }
    }

    /// Binds, steps to the end and copies every row.
    fn collect(
        &self,
        cached: &mut CachedStatement,
        params: &[SqlValue],
    ) -> Result<(Arc<[String]>, Rows), Stop> {
        // SAFETY: the caller clears the statement while `params` is borrowed.
        unsafe { cached.raw.bind(self.conn, params) }?;
        let mut more = cached.raw.step(self.conn)?;
        let columns = cached.columns();
        let mut rows = Rows::new(columns.len());
        let mut budget = RESULT_BYTES_MAX;
        while more {
            // Cell by cell: one row may hold as much as two thousand values can.
            for index in 0..columns.len() {
                let cell = cached.raw.cell(self.conn, index)?;
                budget = budget.checked_sub(cell.footprint()).ok_or(Stop::TooLarge)?;
                rows.push_cell(cell);
            }
            more = cached.raw.step(self.conn)?;
        }
        Ok((columns, rows))
    }

    fn count(&mut self, cached: &CachedStatement) {
        if cached.changes_rows && !cached.raw.is_read_only() {
            self.counters.changes = raw::changes(self.conn);
            self.counters.last_insert_row_id = self.conn.last_insert_rowid();
        }
    }

    fn last_insert_row_id(&self) -> Option<i64> {
        (self.counters.changes > 0).then_some(self.counters.last_insert_row_id)
    }

    /// Runs a statement that is ours and not the user's, `BEGIN` or the like.
    pub(super) fn control(&mut self, sql: &'static str) -> Result<()> {
        self.cursors.leave_main(self.conn, self.watch);
        self.watch.set_situation(Situation {
            is_ours: true,
            ..Situation::default()
        });
        let run = |conn: &Connection| conn.prepare_cached(sql)?.execute([]);
        run(self.conn)
            .map(drop)
            .map_err(|error| self.fail(Failure::from(error), &format!("run sqlite {sql}")))
    }

    pub(super) fn check_interrupted(&self) -> Result<()> {
        self.watch
            .check()
            .map_or(Ok(()), |reason| Err(interrupted(reason)))
    }

    /// The structured form of a failure, with the reason if we caused it.
    pub(super) fn fail(&mut self, failure: Failure, doing: &str) -> Error {
        *self.suspect |= failure::leaves_doubt(&failure);
        self.watch.explain(&failure, doing)
    }
}

/// Why rows could not be collected.
enum Stop {
    Failed(Failure),
    TooLarge,
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

fn is_vacuum(cached: &CachedStatement) -> bool {
    text::first_word(cached.sql()).eq_ignore_ascii_case("vacuum")
}

/// `sql` for SQLite, which ends texts with NUL.
pub(super) fn c_text(sql: &str) -> Result<CString> {
    CString::new(sql).map_err(|_| Error::internal("the sqlite text contains a NUL byte"))
}

pub(super) fn check_params(params: &[SqlValue], expected: usize) -> Result<()> {
    if params.len() != expected {
        let name = format!("?{}", expected.min(params.len()) + 1);
        let reason = format!(
            "the statement has {expected} parameters and {} values were given",
            params.len()
        );
        return Err(invalid_parameter(&name, &reason));
    }
    for (index, value) in params.iter().enumerate() {
        let bytes = value.bound_bytes();
        if bytes > VALUE_BYTES_MAX {
            let reason = format!("it has {bytes} bytes, the limit is {VALUE_BYTES_MAX}");
            return Err(invalid_parameter(&format!("?{}", index + 1), &reason));
        }
    }
    Ok(())
}

pub(super) fn result_too_large() -> Error {
    Error::with(
        &code::SQLITE_RESULT_TOO_LARGE,
        json!({ "limit": RESULT_BYTES_MAX }),
    )
}
