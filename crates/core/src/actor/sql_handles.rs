//! What user code holds of its database besides the database: a transaction that
//! owns it for a while, and a result that is read page by page.

use std::sync::Arc;
use std::time::Duration;

use greenroom_error::Result;
use greenroom_store::{
    ExecuteResult, Guard, Page, QueryResult, SqlCursor, SqlRuns, SqlStatement, SqlTransaction,
};

use crate::actor::context::ActorContext;
use crate::actor::sql::SqlCallOptions;

/// A transaction of user code. Rolled back when its last clone is dropped.
#[derive(Clone, Debug)]
pub struct ActorTransaction {
    ctx: ActorContext,
    tx: SqlTransaction,
    timeout: Duration,
}

impl ActorTransaction {
    pub(super) fn new(ctx: ActorContext, tx: SqlTransaction, timeout: Duration) -> Self {
        Self { ctx, tx, timeout }
    }

    /// Statements may take what the transaction may, if that is longer.
    fn guard(&self, options: SqlCallOptions) -> Option<Guard> {
        Some(self.ctx.statement_guard(options, self.timeout))
    }

    pub async fn execute(
        &self,
        statement: SqlStatement,
        options: SqlCallOptions,
    ) -> Result<ExecuteResult> {
        let result = self.tx.execute(statement, self.guard(options)).await;
        result.map_err(|error| self.ctx.attach_to_sql(error))
    }

    /// See [`ActorSql::execute_then`].
    pub fn execute_then(
        &self,
        statement: SqlStatement,
        options: SqlCallOptions,
        reply: impl FnOnce(Result<ExecuteResult>) + Send + 'static,
    ) {
        let ctx = self.ctx.clone();
        self.tx
            .execute_then(statement, self.guard(options), move |result| {
                reply(result.map_err(|error| ctx.attach_to_sql(error)));
            });
    }

    /// Runs the statements, all of them or none; the transaction stays open.
    pub async fn execute_batch(
        &self,
        statements: Vec<SqlStatement>,
        options: SqlCallOptions,
    ) -> Result<Vec<ExecuteResult>> {
        let guard = self.guard(options);
        let results = self.tx.execute_batch(statements, guard).await;
        results.map_err(|error| self.ctx.attach_to_sql(error))
    }

    /// See [`ActorSql::execute_batch_then`].
    pub fn execute_batch_then(
        &self,
        statements: Vec<SqlStatement>,
        options: SqlCallOptions,
        reply: impl FnOnce(Result<Vec<ExecuteResult>>) + Send + 'static,
    ) {
        let ctx = self.ctx.clone();
        self.tx
            .execute_batch_then(statements, self.guard(options), move |results| {
                reply(results.map_err(|error| ctx.attach_to_sql(error)));
            });
    }

    /// See [`ActorSql::execute_runs`]; the transaction stays open.
    pub async fn execute_runs(
        &self,
        runs: SqlRuns,
        options: SqlCallOptions,
    ) -> Result<ExecuteResult> {
        let result = self.tx.execute_runs(runs, self.guard(options)).await;
        result.map_err(|error| self.ctx.attach_to_sql(error))
    }

    /// See [`ActorSql::open_cursor`]. The result outlives the transaction.
    pub async fn open_cursor(
        &self,
        statement: SqlStatement,
        options: SqlCallOptions,
        max_rows: usize,
    ) -> Result<(ActorCursor, Page)> {
        let guards = self.ctx.page_guards(options, self.timeout);
        let opened = self.tx.open_cursor(statement, guards, max_rows).await;
        ActorCursor::new(&self.ctx, opened)
    }

    pub async fn exec(&self, script: String, options: SqlCallOptions) -> Result<QueryResult> {
        let result = self.tx.exec(script, self.guard(options)).await;
        result.map_err(|error| self.ctx.attach_to_sql(error))
    }

    /// A failed commit is a rollback.
    pub async fn commit(&self) -> Result<()> {
        let result = self.tx.commit().await;
        result.map_err(|error| self.ctx.attach_to_sql(error))
    }

    pub async fn rollback(&self) -> Result<()> {
        let result = self.tx.rollback().await;
        result.map_err(|error| self.ctx.attach_to_sql(error))
    }
}

/// A result that is read page by page. It shows the database as it was when it
/// was opened. Dropping it lets go of what was not read.
#[derive(Debug)]
pub struct ActorCursor {
    ctx: ActorContext,
    cursor: SqlCursor,
}

impl ActorCursor {
    pub(super) fn new(
        ctx: &ActorContext,
        opened: Result<(SqlCursor, Page)>,
    ) -> Result<(Self, Page)> {
        let (cursor, page) = opened.map_err(|error| ctx.attach_to_sql(error))?;
        let ctx = ctx.clone();
        Ok((Self { ctx, cursor }, page))
    }

    pub fn columns(&self) -> &Arc<[String]> {
        self.cursor.columns()
    }

    /// The next rows, at most `max_rows` and about a megabyte; an empty last page
    /// after the end.
    pub async fn next_page(&self, max_rows: usize) -> Result<Page> {
        let page = self.cursor.next_page(max_rows).await;
        page.map_err(|error| self.ctx.attach_to_sql(error))
    }
}
