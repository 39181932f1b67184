//! State transactions: user SQL and the actor's state in one commit.
//!
//! While one is open no save of state runs, because what would be serialized may
//! yet be taken back. Serializations that were begun on one side of its begin or
//! end are worthless on the other: each is stamped with the epoch, which both
//! bump, and one whose stamp is old is discarded and asked for again.
//!
//! Invariant T1: the save gate is held exclusively from before the SQL `BEGIN`
//! until after the SQL end is in line, so no write of state comes in between.
//! Invariant T2: each transaction is finished exactly once, whoever comes first:
//! its commit, its rollback, the drop of its handles, its deadline, or the end of
//! the generation.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use greenroom_error::{Error, Result};
use greenroom_store::{ExecuteResult, SqlStatement, SqlTransaction};
use parking_lot::Mutex;
use tokio::sync::OwnedRwLockWriteGuard;

use crate::actor::connection::ConnHandle;
use crate::actor::context::ActorContext;
use crate::actor::messages::{LifecycleEvent, StateDelta};
use crate::actor::save_book::RequestSaveOpts;
use crate::actor::sql::{self, SqlCallOptions};

/// Statements of one state transaction, those of its state included.
const STATEMENTS_MAX: usize = 128;
/// Bytes that its statements bind.
const BYTES_MAX: usize = 512 * 1024;

/// State transactions of one generation.
#[derive(Default)]
pub(crate) struct StateTransactions {
    /// Open ones and those that wait for their turn; saves wait for all of them.
    wanted: AtomicUsize,
    /// The open one.
    open: Mutex<Weak<Shared>>,
}

/// A transaction over the database and the state together. Rolled back when its
/// last clone is dropped.
#[derive(Clone)]
pub struct StateTransaction(Arc<Shared>);

struct Shared {
    ctx: ActorContext,
    tx: SqlTransaction,
    timeout: Duration,
    spent: Mutex<Spent>,
    /// `None` once finished.
    open: Mutex<Option<Open>>,
}

#[derive(Clone, Copy, Default)]
struct Spent {
    statements: usize,
    bytes: usize,
}

/// What is held while the transaction is open, and how it is given back.
struct Open {
    ctx: ActorContext,
    _wanted: Wanted,
    gate: Option<OwnedRwLockWriteGuard<()>>,
    /// State of hibernatable connections as it was at the begin.
    conns: Vec<(ConnHandle, Bytes)>,
}

struct Wanted(ActorContext);

impl Wanted {
    fn new(ctx: &ActorContext) -> Self {
        let wanted = &ctx.0.user_sql.state_transactions.wanted;
        wanted.fetch_add(1, Ordering::SeqCst);
        Self(ctx.clone())
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        let wanted = &self.0.0.user_sql.state_transactions.wanted;
        wanted.fetch_sub(1, Ordering::SeqCst);
        self.0
            .send_lifecycle_event(LifecycleEvent::StateTransactionFinished);
    }
}

impl Open {
    /// What was changed in memory since the begin is taken back.
    fn restore(&mut self) {
        for (conn, state) in self.conns.drain(..) {
            conn.replace_state(state);
        }
        // The adapter's dirty bit may have been consumed for what is lost now.
        self.ctx.request_save(RequestSaveOpts::default());
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.ctx.bump_transaction_epoch();
        // Before the task hears of the end, which `wanted` tells it.
        self.gate = None;
    }
}

impl ActorContext {
    /// True while saves of state must wait for a state transaction.
    pub(crate) fn state_transaction_holds_up_saves(&self) -> bool {
        let wanted = &self.0.user_sql.state_transactions.wanted;
        wanted.load(Ordering::SeqCst) > 0
    }

    /// Begins a state transaction, after those that were asked for before.
    /// Default time-out 60 s.
    pub async fn begin_state_transaction(
        &self,
        timeout: Option<Duration>,
    ) -> Result<StateTransaction> {
        let wanted = Wanted::new(self);
        let gate = self.lock_save_gate().await;
        self.bump_transaction_epoch();
        let hibernatable = self.conns().into_iter().filter(ConnHandle::is_hibernatable);
        let open = Open {
            ctx: self.clone(),
            _wanted: wanted,
            gate: Some(gate),
            conns: hibernatable
                .map(|conn| (conn.clone(), conn.state()))
                .collect(),
        };
        let (tx, timeout) = sql::begin(self, timeout, None).await?;
        let shared = Arc::new(Shared {
            ctx: self.clone(),
            tx,
            timeout,
            spent: Mutex::default(),
            open: Mutex::new(Some(open)),
        });
        *self.0.user_sql.state_transactions.open.lock() = Arc::downgrade(&shared);
        shared.finish_at_deadline();
        Ok(StateTransaction(shared))
    }

    /// Finishes the open one, if any: its memory side at once, its SQL side with
    /// the end of the user's transactions, which the caller brings about.
    pub(crate) fn close_state_transactions(&self) {
        let open = self.0.user_sql.state_transactions.open.lock().upgrade();
        if let Some(shared) = open {
            shared.abandon();
        }
    }
}

impl Shared {
    fn take_open(&self) -> Result<Open> {
        let open = self.open.lock().take();
        open.ok_or_else(|| {
            let error = Error::internal("actor state transaction is already finalized");
            self.ctx.attach_to_sql(error)
        })
    }

    fn check_open(&self) -> Result<()> {
        if self.open.lock().is_some() {
            return Ok(());
        }
        self.take_open().map(drop)
    }

    fn abandon(&self) {
        let open = self.open.lock().take();
        if let Some(mut open) = open {
            open.restore();
        }
    }

    /// The deadline rolls the SQL side back by itself; the memory side follows.
    fn finish_at_deadline(self: &Arc<Self>) {
        let (shared, deadline) = (Arc::downgrade(self), self.tx.deadline());
        tokio::spawn(async move {
            deadline.ended().await;
            if let Some(shared) = shared.upgrade() {
                shared.abandon();
            }
        });
    }

    async fn commit(&self, deltas: Vec<StateDelta>) -> Result<()> {
        let mut open = self.take_open()?;
        let outcome = self.write_and_commit(deltas).await;
        if outcome.is_err() {
            // Fails if the transaction has ended already, which is as good.
            drop(self.tx.rollback().await);
            open.restore();
        }
        outcome.map_err(|error| self.ctx.attach_to_sql(error))
    }

    async fn write_and_commit(&self, deltas: Vec<StateDelta>) -> Result<()> {
        let prepared = self.ctx.prepare_deltas(deltas)?;
        let (rows, bytes) = prepared.weight();
        let spent = *self.spent.lock();
        let (statements, bytes) = (spent.statements + rows, spent.bytes + bytes);
        if statements > STATEMENTS_MAX || bytes > BYTES_MAX {
            prepared.put_back(&self.ctx);
            return Err(Error::internal(format!(
                "state transaction exceeds transaction budget: {statements} statements and \
                 {bytes} bytes, the limits are {STATEMENTS_MAX} and {BYTES_MAX}"
            )));
        }
        let written = match self.tx.save(prepared.batch()).await {
            Ok(()) => self.tx.commit().await,
            Err(error) => Err(error),
        };
        match written {
            Ok(()) => {
                prepared.written(&self.ctx);
                Ok(())
            }
            Err(error) => {
                prepared.put_back(&self.ctx);
                Err(error)
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // `tx` is dropped after this and rolls back. Later saves stand behind
        // that in line, or are parked until it has run.
        self.abandon();
    }
}

impl StateTransaction {
    /// Runs one statement. `COMMIT`, `END` and `ROLLBACK` are refused.
    pub async fn execute(
        &self,
        statement: SqlStatement,
        options: SqlCallOptions,
    ) -> Result<ExecuteResult> {
        let shared = &self.0;
        shared.check_open()?;
        if statement.ends_transaction() {
            let error = Error::internal(
                "transaction terminators are not allowed in an actor state transaction",
            );
            return Err(shared.ctx.attach_to_sql(error));
        }
        {
            let mut spent = shared.spent.lock();
            spent.statements += 1;
            spent.bytes = spent.bytes.saturating_add(statement.budget_bytes());
        }
        let guard = shared.ctx.statement_guard(options, shared.timeout);
        let result = shared.tx.execute(statement, Some(guard)).await;
        result.map_err(|error| shared.ctx.attach_to_sql(error))
    }

    /// Writes the deltas and commits everything at once. On failure everything is
    /// taken back. At most 128 statements and 512 KiB in all.
    pub async fn commit(&self, deltas: Vec<StateDelta>) -> Result<()> {
        // On its own, so that a caller who leaves cannot cut it in half.
        let shared = Arc::clone(&self.0);
        let commit = tokio::spawn(async move { shared.commit(deltas).await });
        commit.await.unwrap_or_else(|_| {
            Err(Error::internal(
                "the commit of a state transaction panicked",
            ))
        })
    }

    /// Takes everything back.
    pub async fn rollback(&self) -> Result<()> {
        let mut open = self.0.take_open()?;
        open.restore();
        let result = self.0.tx.rollback().await;
        result.map_err(|error| self.0.ctx.attach_to_sql(error))
    }
}
