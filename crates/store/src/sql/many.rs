//! Runs several statements of a user: a script, a batch, or one for many values.
//!
//! A script is text with any number of statements and no values; each stands on
//! its own unless a transaction is open. A batch is a list of single statements
//! that stand or fall together, and so are the runs of one statement.

use std::ffi::CStr;

use greenroom_error::{Error, Result};
use serde_json::json;

use super::cache::CachedStatement;
use super::raw::Lifetime;
use super::runner::{RESULT_BYTES_MAX, Runner, c_text, result_too_large};
use super::text;
use super::value::{ExecuteResult, QueryResult, Rows, SqlRuns, SqlStatement};

impl Runner<'_> {
    /// Runs the statements of `sql` one after the other and returns the rows of
    /// the last one that has columns. Stops at the first failure; what ran
    /// before it stands, unless a transaction takes it back.
    pub(super) fn script(&mut self, sql: &str) -> Result<QueryResult> {
        let text = c_text(sql)?;
        let mut answer = QueryResult::default();
        let mut at = 0;
        let mut number = 0;
        while !text::is_blank(&sql[at..]) {
            let result = self.script_step(&text.as_c_str()[at..], &sql[at..], &mut at);
            match result {
                Ok(Some(result)) if !result.columns.is_empty() => answer = result.into(),
                Ok(_) => {}
                Err(error) => return Err(at_statement(error, number)),
            }
            number += 1;
            if self.inside && self.conn.is_autocommit() && !text::is_blank(&sql[at..]) {
                return Err(at_statement(transaction_lost(), number));
            }
        }
        Ok(answer)
    }

    fn script_step(
        &mut self,
        text: &CStr,
        sql: &str,
        at: &mut usize,
    ) -> Result<Option<ExecuteResult>> {
        self.check_interrupted()?;
        let prepared = self.prepare("exec", text, sql, Lifetime::Once)?;
        let Some(raw) = prepared.statement else {
            // SQLite found nothing where we saw text: there is nothing to come.
            *at += sql.len();
            return Ok(None);
        };
        *at += prepared.length;
        let mut statement = CachedStatement::new(&sql[..prepared.length], raw);
        self.run("exec", &mut statement, &[]).map(Some)
    }

    /// Runs the statements in one transaction, or in a savepoint if one is open
    /// already. A failure takes all of them back.
    pub(super) fn batch(&mut self, statements: &[SqlStatement]) -> Result<Vec<ExecuteResult>> {
        self.atomically(|runner| runner.batch_body(statements))
    }

    /// Runs one statement once per row of values, all of them or none. The answer
    /// is that of the last run, with the changes of all and without rows.
    pub(super) fn repeat(&mut self, runs: &SqlRuns) -> Result<ExecuteResult> {
        self.atomically(|runner| runner.repeat_body(runs))
    }

    /// Does `work` in a transaction of its own, or in a savepoint of the open one.
    fn atomically<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let nested = !self.conn.is_autocommit();
        let (begin, commit) = if nested {
            ("SAVEPOINT sqlite_batch", "RELEASE sqlite_batch")
        } else {
            ("BEGIN IMMEDIATE", "COMMIT")
        };
        self.control(begin)?;
        let was_inside = std::mem::replace(&mut self.inside, true);
        self.watch.set_batch(true);
        let outcome = work(self);
        self.watch.set_batch(false);
        self.inside = was_inside;
        let outcome = outcome.and_then(|done| self.control(commit).map(|()| done));
        if outcome.is_err() && !self.conn.is_autocommit() {
            if nested {
                self.control("ROLLBACK TO sqlite_batch")?;
                self.control(commit)?;
            } else {
                self.control("ROLLBACK")?;
            }
        }
        outcome
    }

    fn batch_body(&mut self, statements: &[SqlStatement]) -> Result<Vec<ExecuteResult>> {
        let mut held = None;
        let outcome = self.batch_with(&mut held, statements);
        if let Some(cached) = held {
            self.statements.put(cached);
        }
        outcome
    }

    /// The statement that ran last stays in `held`: most batches repeat one text.
    fn batch_with(
        &mut self,
        held: &mut Option<CachedStatement>,
        statements: &[SqlStatement],
    ) -> Result<Vec<ExecuteResult>> {
        let mut results = Vec::with_capacity(statements.len());
        let mut bytes = 0;
        for (number, statement) in statements.iter().enumerate() {
            let result = self
                .batch_step(held, statement)
                .map_err(|error| in_batch(error, number))?;
            check_in_transaction(self, number)?;
            bytes += result.rows.footprint();
            if bytes > RESULT_BYTES_MAX {
                return Err(result_too_large());
            }
            results.push(result);
        }
        Ok(results)
    }

    fn batch_step(
        &mut self,
        held: &mut Option<CachedStatement>,
        statement: &SqlStatement,
    ) -> Result<ExecuteResult> {
        let SqlStatement { sql, params } = statement;
        self.check_interrupted()?;
        if held.as_ref().is_none_or(|cached| cached.sql() != sql) {
            if let Some(cached) = held.take() {
                self.statements.put(cached);
            }
            *held = self.prepared("batch", sql)?;
        }
        match held {
            Some(cached) => self.run("batch", cached, params),
            None => self.without_statement(params),
        }
    }

    fn repeat_body(&mut self, runs: &SqlRuns) -> Result<ExecuteResult> {
        let Some(mut cached) = self.prepared("batch", &runs.sql)? else {
            return Ok(ExecuteResult::default());
        };
        let outcome = self.repeat_prepared(&mut cached, runs);
        self.statements.put(cached);
        outcome
    }

    fn repeat_prepared(
        &mut self,
        cached: &mut CachedStatement,
        runs: &SqlRuns,
    ) -> Result<ExecuteResult> {
        let mut answer = ExecuteResult::default();
        let mut changes = 0;
        for number in 0..runs.count {
            self.check_interrupted()?;
            let params = runs.values_of(number);
            answer = self
                .run("batch", cached, params)
                .map_err(|error| in_batch(error, number))?;
            check_in_transaction(self, number)?;
            if cached.changes_rows {
                changes += answer.changes;
            }
        }
        Ok(ExecuteResult {
            changes,
            rows: Rows::default(),
            ..answer
        })
    }
}

fn check_in_transaction(runner: &Runner<'_>, number: usize) -> Result<()> {
    if runner.conn.is_autocommit() {
        return Err(in_batch(transaction_lost(), number));
    }
    Ok(())
}

fn transaction_lost() -> Error {
    Error::internal("the transaction was rolled back by SQLite; the rest was not run")
}

fn at_statement(error: Error, number: usize) -> Error {
    let mut metadata = error.metadata().cloned().unwrap_or_else(|| json!({}));
    metadata["statement_index"] = json!(number);
    error.with_metadata(metadata)
}

fn in_batch(error: Error, number: usize) -> Error {
    let mut error = at_statement(error, number);
    if let Some(text) = error.metadata().and_then(|all| all["error"].as_str()) {
        let text = format!("execute sqlite batch statement {number}: {text}");
        let mut metadata = error.metadata().cloned().unwrap_or_default();
        metadata["error"] = json!(text);
        error = error.with_metadata(metadata);
    }
    error
}
