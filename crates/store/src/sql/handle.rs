//! [`UserSql`]: the database in the hands of the actor's own code.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use greenroom_error::Result;
use tokio::sync::oneshot;

use super::coordinator::{Claim, Tx};
use super::cursor::{GuardSource, Page};
use super::job::{SqlTask, Terms, Ticket};
use super::result_set::SqlCursor;
use super::transaction::{self, BeginOptions, SqlTransaction};
use super::value::{ExecuteResult, QueryResult, SqlRuns, SqlStatement};
use super::watch::{Access, Guard};
use crate::failure::{closed, withdrawn};
use crate::session::Session;
use crate::slot::{Admission, Job, Slot};

/// Users' access to one actor's database, for one life of the actor.
///
/// Statements run in the order of the calls. Once called, a method is carried
/// out even if its future is dropped. At most 128 calls wait; more answer
/// `sqlite/transaction_queue_full`. Statements that SQLite refuses answer
/// `core/internal_error` with its text in `metadata.error`; those that are not
/// allowed here, `sqlite/forbidden`.
#[derive(Clone)]
pub struct UserSql(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) slot: Arc<Slot>,
    access: Arc<Access>,
    was_used: AtomicBool,
    waiting: Arc<AtomicUsize>,
}

/// Calls its argument with the answer, on the thread that runs SQLite.
pub(super) fn reply_to<T: Send + 'static>(
    sender: oneshot::Sender<Result<T>>,
) -> impl FnOnce(Result<T>) + Send + 'static {
    // A caller that has gone misses the answer; the work stands all the same.
    move |outcome| drop(sender.send(outcome))
}

/// Asks, and resolves with the answer; without one the database is gone.
pub(super) fn answered<T>(
    ask: impl FnOnce(oneshot::Sender<Result<T>>),
) -> impl Future<Output = Result<T>> {
    let (reply, answer) = oneshot::channel();
    ask(reply);
    async move { answer.await.unwrap_or_else(|_| Err(closed())) }
}

impl UserSql {
    pub(crate) fn new(slot: Arc<Slot>) -> Self {
        Self(Arc::new(Inner {
            slot,
            access: Arc::default(),
            was_used: AtomicBool::new(false),
            waiting: Arc::default(),
        }))
    }

    /// Runs exactly one statement; text after it is an error.
    pub async fn execute(
        &self,
        statement: SqlStatement,
        guard: Option<Guard>,
    ) -> Result<ExecuteResult> {
        answered(|reply| self.execute_then(statement, guard, reply_to(reply))).await
    }

    /// [`execute`](Self::execute) for callers that have a better way home than a
    /// future. `reply` is called exactly once, maybe before this returns, and
    /// must be quick.
    pub fn execute_then(
        &self,
        statement: SqlStatement,
        guard: Option<Guard>,
        reply: impl FnOnce(Result<ExecuteResult>) + Send + 'static,
    ) {
        self.0.statement(
            Claim::Shared,
            guard,
            move |session| session.runner(false)?.execute(&statement),
            reply,
        );
    }

    /// Runs the statements of a script and returns the rows of the last one that
    /// has columns. A failure stops it; `metadata.statement_index` tells where.
    pub async fn exec(&self, script: String, guard: Option<Guard>) -> Result<QueryResult> {
        self.0
            .call(Claim::Shared, guard, move |session| {
                session.runner(false)?.script(&script)
            })
            .await
    }

    /// Runs the statements in one transaction: all of them or none.
    pub async fn execute_batch(
        &self,
        statements: Vec<SqlStatement>,
        guard: Option<Guard>,
    ) -> Result<Vec<ExecuteResult>> {
        answered(|reply| self.execute_batch_then(statements, guard, reply_to(reply))).await
    }

    /// [`execute_batch`](Self::execute_batch) as [`execute_then`](Self::execute_then).
    pub fn execute_batch_then(
        &self,
        statements: Vec<SqlStatement>,
        guard: Option<Guard>,
        reply: impl FnOnce(Result<Vec<ExecuteResult>>) + Send + 'static,
    ) {
        self.0.statement(
            Claim::Shared,
            guard,
            move |session| session.runner(false)?.batch(&statements),
            reply,
        );
    }

    /// Runs one statement once per row of values in one transaction: all runs or
    /// none. The answer has the changes of all and no rows.
    pub async fn execute_runs(&self, runs: SqlRuns, guard: Option<Guard>) -> Result<ExecuteResult> {
        self.0
            .call(Claim::Shared, guard, move |session| {
                session.runner(false)?.repeat(&runs)
            })
            .await
    }

    /// Opens the result of a query that does not write, and reads its first page
    /// of at most `max_rows` rows. `guards` makes the guard of each page.
    pub async fn open_cursor(
        &self,
        statement: SqlStatement,
        guards: GuardSource,
        max_rows: usize,
    ) -> Result<(SqlCursor, Page)> {
        SqlCursor::open(&self.0, Claim::Shared, statement, guards, max_rows).await
    }

    /// Does `work` when no transaction has the database for itself.
    pub(crate) async fn outside_transactions<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Session<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.0.call(Claim::Shared, None, work).await
    }

    /// Begins a transaction that has the database for itself until it ends: all
    /// other statements of the actor wait, its saves too. Waits for its turn. If
    /// the future is dropped, or the handle without an end, it is rolled back.
    pub async fn begin_transaction(&self, options: BeginOptions) -> Result<SqlTransaction> {
        if self.0.access.winding_down.load(Ordering::Acquire) {
            return Err(withdrawn());
        }
        let tx = Arc::new(transaction::checked(options)?);
        let handle = SqlTransaction::new(self.clone(), Arc::clone(&tx));
        let begin =
            move |session: &mut Session<'_>| session.begin_transaction(&tx).map(|()| handle);
        self.0.call(Claim::Begin, None, begin).await
    }

    /// Rolls back a transaction that is open, with a warning in the log, whether
    /// a handle owns it or not. Statements before this in line run first. Once
    /// this life is closed, what is open belongs to the next one and is left alone.
    pub async fn end_transactions(&self) -> Result<()> {
        self.end_transactions_if(|| true).await
    }

    /// The same if `unowned` says so when its turn has come. Since nothing else
    /// runs on the database meanwhile, whoever begins work after that question
    /// finds the transaction gone, and not their own.
    pub async fn end_transactions_if(
        &self,
        unowned: impl FnOnce() -> bool + Send + 'static,
    ) -> Result<()> {
        let access = Arc::clone(&self.0.access);
        self.roll_back_if(move || !access.closed.load(Ordering::Acquire) && unowned())
            .await
    }

    async fn roll_back_if(&self, wanted: impl FnOnce() -> bool + Send + 'static) -> Result<()> {
        // What stands in line may be a BEGIN, so "used" includes that.
        if !self.0.was_used.load(Ordering::Acquire) {
            return Ok(());
        }
        let (reply, answer) = oneshot::channel();
        let job = Job::Task(Box::new(move |session| {
            if wanted() {
                session.end_transactions();
            }
            drop(reply.send(Ok(())));
        }));
        self.0.slot.submit(job, Admission::Always)?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Stops the statements that run or wait, ends transactions and lets none begin:
    /// nothing may hold up the last save. Later statements of their own still
    /// run.
    pub async fn wind_down(&self) -> Result<()> {
        self.0.access.winding_down.store(true, Ordering::Release);
        self.0.access.stop_jobs();
        self.end_transactions().await
    }

    /// Refuses further calls with `sqlite/transaction_closed`, stops the
    /// statement that runs, drops those that wait and rolls back what is open.
    /// The runtime's own access goes on.
    pub async fn close(&self) -> Result<()> {
        if self.0.access.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.roll_back_if(|| true).await
    }
}

impl Inner {
    pub(super) fn access(&self) -> Arc<Access> {
        Arc::clone(&self.access)
    }

    /// Does something small on the lane that nobody waits for.
    pub(super) fn quietly(&self, work: impl FnOnce(&mut Session<'_>) + Send + 'static) {
        // A store that has ended has nothing left to do it to.
        drop(
            self.slot
                .submit(Job::Task(Box::new(work)), Admission::Always),
        );
    }

    /// Puts a user's job in line.
    pub(super) fn statement<T, W, R>(&self, claim: Claim, guard: Option<Guard>, work: W, reply: R)
    where
        T: Send + 'static,
        W: FnOnce(&mut Session<'_>) -> Result<T> + Send + 'static,
        R: FnOnce(Result<T>) + Send + 'static,
    {
        let waiting = match &claim {
            // Its own count: it must get through when others fill the line.
            Claim::Inside(tx) => tx.waiting(),
            Claim::Shared | Claim::Begin | Claim::Result => &self.waiting,
        };
        let ticket = match self.check_open().and_then(|()| Ticket::take(waiting)) {
            Ok(ticket) => ticket,
            Err(error) => return reply(Err(error)),
        };
        let terms = Terms {
            claim,
            guard,
            number: self.access.number(),
            access: Arc::clone(&self.access),
            is_ending: false,
            ticket: Some(ticket),
        };
        self.submit(terms, work, reply);
    }

    /// Puts the end of a transaction in line; always admitted.
    pub(super) fn ending<T, W, R>(&self, tx: &Arc<Tx>, work: W, reply: R)
    where
        T: Send + 'static,
        W: FnOnce(&mut Session<'_>) -> Result<T> + Send + 'static,
        R: FnOnce(Result<T>) + Send + 'static,
    {
        let terms = Terms {
            claim: Claim::Inside(Arc::clone(tx)),
            guard: None,
            number: self.access.number(),
            access: Arc::clone(&self.access),
            is_ending: true,
            ticket: None,
        };
        self.submit(terms, work, reply);
    }

    fn submit<T, W, R>(&self, terms: Terms, work: W, reply: R)
    where
        T: Send + 'static,
        W: FnOnce(&mut Session<'_>) -> Result<T> + Send + 'static,
        R: FnOnce(Result<T>) + Send + 'static,
    {
        self.was_used.store(true, Ordering::Release);
        let job = Job::Sql(SqlTask::boxed(terms, work, reply));
        // A job that is refused here is dropped, which answers `sqlite/closed`.
        drop(self.slot.submit(job, Admission::Always));
    }

    pub(super) async fn call<T, W>(&self, claim: Claim, guard: Option<Guard>, work: W) -> Result<T>
    where
        T: Send + 'static,
        W: FnOnce(&mut Session<'_>) -> Result<T> + Send + 'static,
    {
        answered(|reply| self.statement(claim, guard, work, reply_to(reply))).await
    }

    fn check_open(&self) -> Result<()> {
        if self.access.closed.load(Ordering::Acquire) {
            return Err(withdrawn());
        }
        Ok(())
    }
}

impl fmt::Debug for UserSql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserSql")
            .field("path", &self.0.slot.path())
            .field("access", &self.0.access)
            .finish()
    }
}
