//! Prepared statements of the user, most recently used last.
//!
//! Belongs to one connection and must be emptied before that is closed. Only what reads
//! and writes rows is kept: SQLite asks what a statement may do when it prepares it, and
//! for `COMMIT`, a savepoint or a pragma the answer is another at another time.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::raw::RawStatement;
use super::text;

/// Statements kept per open database.
const CAPACITY: usize = 64;

/// Longer texts are prepared anew each time: they are rarely repeated, and 64 of
/// them would be much memory.
const TEXT_BYTES_MAX: usize = 16 * 1024;

#[derive(Default)]
pub(super) struct StatementCache {
    hasher: RandomState,
    statements: Vec<CachedStatement>,
}

/// A statement that is not running, and what is known of it.
pub(super) struct CachedStatement {
    hash: u64,
    sql: Box<str>,
    pub raw: RawStatement,
    /// Names as of the last run.
    columns: Arc<[String]>,
    /// It sets the count of changes.
    pub changes_rows: bool,
    /// It is more than a read, so results that are open on the same connection must be
    /// put aside first.
    pub disturbs_results: bool,
    /// What it may do is the same whenever it runs, so it need not be judged again.
    keepable: bool,
    /// It may want to fold the log in, for which no result may need it.
    pub concerns_log: bool,
}

impl CachedStatement {
    pub(super) fn new(sql: &str, raw: RawStatement) -> Self {
        let is_read_only = raw.is_read_only();
        Self {
            hash: 0,
            sql: sql.into(),
            raw,
            columns: Arc::default(),
            changes_rows: text::changes_rows(sql),
            disturbs_results: !is_read_only || !text::is_query(sql),
            keepable: text::is_about_rows(sql),
            concerns_log: !is_read_only && text::first_word(sql).eq_ignore_ascii_case("pragma"),
        }
    }

    pub(super) fn sql(&self) -> &str {
        &self.sql
    }

    /// The names of the columns, as they are after a step.
    pub(super) fn columns(&mut self) -> Arc<[String]> {
        let count = self.raw.column_count();
        let same = self.columns.len() == count
            && (0..count).all(|index| self.raw.has_column_name(index, &self.columns[index]));
        if !same {
            self.columns = (0..count)
                .map(|index| self.raw.column_name(index))
                .collect();
        }
        Arc::clone(&self.columns)
    }
}

impl StatementCache {
    /// Takes the statement of this text out, for one run.
    pub(super) fn take(&mut self, sql: &str) -> Option<CachedStatement> {
        if sql.len() > TEXT_BYTES_MAX || self.statements.is_empty() {
            return None;
        }
        let hash = self.hasher.hash_one(sql);
        let found = self
            .statements
            .iter()
            .rposition(|statement| statement.hash == hash && *statement.sql == *sql)?;
        Some(self.statements.remove(found))
    }

    /// Keeps a statement after its run, as the most recently used one.
    pub(super) fn put(&mut self, mut statement: CachedStatement) {
        if !statement.keepable || statement.sql.len() > TEXT_BYTES_MAX {
            return;
        }
        if statement.hash == 0 {
            statement.hash = self.hasher.hash_one(&*statement.sql);
        }
        if self.statements.len() >= CAPACITY {
            self.statements.remove(0);
        }
        self.statements.push(statement);
    }

    /// Lets go of every statement, so that the connection can be closed.
    pub(super) fn clear(&mut self) {
        self.statements = Vec::new();
    }
}
