//! [`SqlTransaction`]: the handle to a transaction that owns the database.
//!
//! The store has no clock. Whoever begins a transaction arms its deadline and
//! calls [`TransactionDeadline::expire`]; what the expiry means is decided here.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use greenroom_error::{Error, Result, code};
use serde_json::json;

use super::coordinator::{Claim, Phase, Tx};
use super::cursor::{GuardSource, Page};
use super::handle::{Inner, UserSql, answered, reply_to};
use super::result_set::SqlCursor;
use super::value::{ExecuteResult, QueryResult, SqlRuns, SqlStatement};
use super::watch::Guard;
use crate::save::SaveBatch;

/// Longest name of a transaction, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// What a transaction is begun with.
#[derive(Clone, Debug)]
pub struct BeginOptions {
    /// Names the transaction in errors; not empty, unique among those of its time.
    pub key: String,
    /// For logs; at most 128 bytes, not empty.
    pub name: Option<String>,
    /// How long it may stay open. Only told in errors: see [`SqlTransaction::deadline`].
    pub timeout: Duration,
}

pub(super) fn checked(options: BeginOptions) -> Result<Tx> {
    let BeginOptions { key, name, timeout } = options;
    let reason = match &name {
        _ if key.is_empty() => "a transaction's key must not be empty",
        Some(name) if name.is_empty() => "a transaction's name must not be empty",
        Some(name) if name.len() > NAME_BYTES_MAX => {
            "a transaction's name must not be longer than 128 bytes"
        }
        _ if timeout.is_zero() => "a transaction's timeout must be positive",
        _ => {
            let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
            return Ok(Tx::new(key, name, timeout_ms));
        }
    };
    Err(Error::with(
        &code::SQLITE_TRANSACTION_INVALID_ARGUMENT,
        json!({ "message": reason }),
    ))
}

/// A transaction. After its end every use answers `sqlite/transaction_terminal`,
/// or `sqlite/transaction_expired` if its deadline ended it. Dropping the last
/// clone of a handle that has not ended rolls back.
#[derive(Clone)]
pub struct SqlTransaction(Arc<Handle>);

struct Handle {
    user: UserSql,
    tx: Arc<Tx>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        let phase = self.tx.phase();
        if phase == Phase::Open {
            let tx = Arc::clone(&self.tx);
            let abandon = move |session: &mut crate::session::Session<'_>| {
                tracing::warn!(key = %tx.key, name = tx.name.as_deref(), "rolled back a transaction whose handle was dropped");
                session.finish_transaction(Phase::RolledBack);
                Ok(())
            };
            self.user.0.ending(&self.tx, abandon, drop);
        }
    }
}

impl SqlTransaction {
    pub(super) fn new(user: UserSql, tx: Arc<Tx>) -> Self {
        Self(Arc::new(Handle { user, tx }))
    }

    pub fn key(&self) -> &str {
        &self.0.tx.key
    }

    /// Runs exactly one statement. `BEGIN`, `COMMIT`, `END` and `ROLLBACK` are
    /// refused; savepoints are not.
    pub async fn execute(
        &self,
        statement: SqlStatement,
        guard: Option<Guard>,
    ) -> Result<ExecuteResult> {
        answered(|reply| self.execute_then(statement, guard, reply_to(reply))).await
    }

    /// See [`UserSql::execute_then`].
    pub fn execute_then(
        &self,
        statement: SqlStatement,
        guard: Option<Guard>,
        reply: impl FnOnce(Result<ExecuteResult>) + Send + 'static,
    ) {
        self.0.user.0.statement(
            Claim::Inside(Arc::clone(&self.0.tx)),
            guard,
            move |session| session.runner(true)?.execute(&statement),
            reply,
        );
    }

    /// Runs a script; see [`UserSql::exec`].
    pub async fn exec(&self, script: String, guard: Option<Guard>) -> Result<QueryResult> {
        let claim = Claim::Inside(Arc::clone(&self.0.tx));
        self.0
            .user
            .0
            .call(claim, guard, move |session| {
                session.runner(true)?.script(&script)
            })
            .await
    }

    /// Runs the statements, all of them or none; the transaction stays open.
    pub async fn execute_batch(
        &self,
        statements: Vec<SqlStatement>,
        guard: Option<Guard>,
    ) -> Result<Vec<ExecuteResult>> {
        answered(|reply| self.execute_batch_then(statements, guard, reply_to(reply))).await
    }

    /// See [`UserSql::execute_batch_then`].
    pub fn execute_batch_then(
        &self,
        statements: Vec<SqlStatement>,
        guard: Option<Guard>,
        reply: impl FnOnce(Result<Vec<ExecuteResult>>) + Send + 'static,
    ) {
        self.0.user.0.statement(
            Claim::Inside(Arc::clone(&self.0.tx)),
            guard,
            move |session| session.runner(true)?.batch(&statements),
            reply,
        );
    }

    /// See [`UserSql::execute_runs`]; the transaction stays open.
    pub async fn execute_runs(&self, runs: SqlRuns, guard: Option<Guard>) -> Result<ExecuteResult> {
        let claim = Claim::Inside(Arc::clone(&self.0.tx));
        self.0
            .user
            .0
            .call(claim, guard, move |session| {
                session.runner(true)?.repeat(&runs)
            })
            .await
    }

    /// Opens a result; see [`UserSql::open_cursor`]. It outlives the transaction.
    pub async fn open_cursor(
        &self,
        statement: SqlStatement,
        guards: GuardSource,
        max_rows: usize,
    ) -> Result<(SqlCursor, Page)> {
        let claim = Claim::Inside(Arc::clone(&self.0.tx));
        SqlCursor::open(&self.0.user.0, claim, statement, guards, max_rows).await
    }

    /// Writes the runtime's rows as part of this transaction.
    pub async fn save(&self, batch: SaveBatch) -> Result<()> {
        batch.check()?;
        self.step(move |session| session.save_inside(&batch)).await
    }

    /// Makes the changes durable. On failure they are taken back, and the
    /// transaction has ended all the same.
    pub async fn commit(&self) -> Result<()> {
        self.0.tx.end_asked();
        self.step(|session| session.commit_transaction()).await
    }

    /// Takes the changes back. Succeeds without effect if SQLite has done so
    /// already, in the middle of a statement.
    pub async fn rollback(&self) -> Result<()> {
        self.0.tx.end_asked();
        let outcome = self
            .step(|session| {
                session.finish_transaction(Phase::RolledBack);
                Ok(())
            })
            .await;
        match outcome {
            Err(_) if self.0.tx.acknowledge_undone() => Ok(()),
            other => other,
        }
    }

    /// Runs a step that is not a user's statement.
    async fn step(
        &self,
        end: impl FnOnce(&mut crate::session::Session<'_>) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        answered(|reply| self.0.user.0.ending(&self.0.tx, end, reply_to(reply))).await
    }

    /// What whoever arms the deadline holds on to. Does not keep the transaction
    /// from being rolled back when its handles go.
    pub fn deadline(&self) -> TransactionDeadline {
        TransactionDeadline {
            user: Arc::downgrade(&self.0.user.0),
            tx: Arc::clone(&self.0.tx),
        }
    }
}

impl fmt::Debug for SqlTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlTransaction")
            .field("key", &self.0.tx.key)
            .field("phase", &self.0.tx.phase())
            .finish()
    }
}

/// The deadline's side of a transaction.
pub struct TransactionDeadline {
    user: Weak<Inner>,
    tx: Arc<Tx>,
}

impl TransactionDeadline {
    /// Completes when the transaction has ended by itself.
    pub async fn ended(&self) {
        let mut phase = self.tx.watch_phase();
        // An error would mean that the transaction is gone, which is an end.
        drop(phase.wait_for(|phase| phase.is_over()).await);
    }

    /// Rolls the transaction back. A commit that stands in line before this wins;
    /// without one, the statement of it that runs is stopped, and so are those that
    /// wait. Statements of users that waited for the transaction fail with
    /// `sqlite/transaction_expired`, because it may have waited for them.
    pub fn expire(self) {
        let Some(user) = self.user.upgrade() else {
            return;
        };
        self.tx.time_over();
        let tx = Arc::clone(&self.tx);
        let expire = move |session: &mut crate::session::Session<'_>| {
            tracing::warn!(key = %tx.key, name = tx.name.as_deref(), timeout_ms = tx.timeout_ms, "a transaction reached its deadline and was rolled back");
            session.expire_transaction();
            Ok(())
        };
        user.ending(&self.tx, expire, drop);
    }
}
