//! SQL of the actor's own code, as one generation offers it.
//!
//! The store runs statements and coordinates transactions. Here is what depends
//! on the actor: the clock behind deadlines and time limits, the end of the
//! generation, and the actor's name on errors.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use greenroom_error::{Error, Result, code};
use greenroom_store::{
    BeginOptions, Database, DatabaseFigures, ExecuteResult, Guard, GuardSource, Interruption, Page,
    QueryResult, SqlRuns, SqlStatement, SqlTransaction, UserSql,
};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::actor::context::ActorContext;
use crate::actor::messages::LifecycleEvent;
use crate::actor::sql_handles::{ActorCursor, ActorTransaction};
use crate::actor::state_transaction::StateTransactions;
use crate::clock::Instant;

/// How long a transaction may stay open when its caller does not say.
pub const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(60);

/// SQL of one generation.
pub(crate) struct SqlRoom {
    pub(crate) user: UserSql,
    pub(crate) state_transactions: StateTransactions,
    /// A task waits for the end of an explicit transaction to re-arm saves.
    awaiting_autocommit: AtomicBool,
    /// Text of the last failure of the storage below SQLite, until it is asked for.
    last_storage_error: Mutex<Option<String>>,
}

impl SqlRoom {
    pub(crate) fn new(database: &Database) -> Self {
        Self {
            user: database.user_sql(),
            state_transactions: StateTransactions::default(),
            awaiting_autocommit: AtomicBool::new(false),
            last_storage_error: Mutex::default(),
        }
    }
}

/// What one statement is run under.
#[derive(Clone, Debug, Default)]
pub struct SqlCallOptions {
    /// How long it may run. Default:
    /// [`sql_statement_timeout`](crate::ActorConfig::sql_statement_timeout).
    pub timeout: Option<Duration>,
    /// Stops it, or keeps it from beginning.
    pub signal: Option<CancellationToken>,
}

/// The database in the hands of user code. Cheap to clone.
///
/// Errors name the actor. Those that SQLite reports are `core/internal_error`
/// with its text in `metadata.error`.
#[derive(Clone, Debug)]
pub struct ActorSql(ActorContext);

impl ActorContext {
    /// SQL for user code, as opposed to [`sql`](Self::sql), the runtime's own.
    pub fn user_sql(&self) -> ActorSql {
        ActorSql(self.clone())
    }

    /// True while a transaction is open that was begun by an ordinary `BEGIN`;
    /// its end is then reported to the task, which saves.
    pub(crate) fn explicit_transaction_holds_up_saves(&self) -> bool {
        let mut explicit = self.0.sql.subscribe_explicit_transaction();
        if !*explicit.borrow_and_update() {
            return false;
        }
        if !self
            .0
            .user_sql
            .awaiting_autocommit
            .swap(true, Ordering::SeqCst)
        {
            let ctx = self.clone();
            tokio::spawn(async move {
                // An error means that the database is gone, which ends it, too.
                drop(explicit.wait_for(|open| !open).await);
                ctx.0
                    .user_sql
                    .awaiting_autocommit
                    .store(false, Ordering::SeqCst);
                ctx.send_lifecycle_event(LifecycleEvent::StateTransactionFinished);
            });
        }
        true
    }

    /// Ends what user code has open and lets it open nothing more: the last save
    /// must not wait for it.
    pub(crate) async fn wind_down_user_sql(&self) {
        self.close_state_transactions();
        if let Err(error) = self.0.user_sql.user.wind_down().await {
            // The store has ended, and with it every transaction.
            tracing::debug!(actor_id = %self.actor_id(), %error, "no transactions to end");
        }
    }

    /// Takes the database away from user code, then closes it.
    pub(crate) async fn close_database(&self) -> Result<()> {
        self.close_state_transactions();
        if let Err(error) = self.0.user_sql.user.close().await {
            tracing::debug!(actor_id = %self.actor_id(), %error, "user SQL was closed already");
        }
        self.sql().close().await
    }

    /// The actor's name on an error, and in the text of one that SQLite reported.
    pub(crate) fn attach_to_sql(&self, error: Error) -> Error {
        if error.is(&code::HOST_STORAGE_FAILED) {
            *self.0.user_sql.last_storage_error.lock() = Some(error.message().to_owned());
        }
        let text = error
            .metadata()
            .filter(|_| error.is(&code::INTERNAL))
            .and_then(|metadata| metadata["error"].as_str());
        let Some(text) = text else {
            return self.attach_actor(error);
        };
        let chain = format!(
            "actor {} generation {} key {}\n\nCaused by:\n    {text}",
            self.actor_id(),
            self.generation(),
            self.key()
        );
        let mut metadata = error.metadata().cloned().unwrap_or_default();
        metadata["error"] = chain.into();
        self.attach_actor(error.with_metadata(metadata))
    }

    /// Guards of the pages of one result.
    pub(super) fn page_guards(&self, options: SqlCallOptions, least: Duration) -> GuardSource {
        let ctx = self.clone();
        Arc::new(move || ctx.statement_guard(options.clone(), least))
    }

    /// Watches a statement that begins at the first look.
    pub(crate) fn statement_guard(&self, options: SqlCallOptions, least: Duration) -> Guard {
        let SqlCallOptions { timeout, signal } = options;
        let limit = timeout.unwrap_or_else(|| self.config().sql_statement_timeout.max(least));
        let ctx = self.clone();
        // Hooks of a destroy run statements, too; those that ran before it stop.
        let before_abort = !ctx.abort_signal().is_cancelled();
        let mut began: Option<Instant> = None;
        Box::new(move || {
            if signal.as_ref().is_some_and(CancellationToken::is_cancelled) {
                return Some(Interruption::Aborted);
            }
            let destroyed =
                before_abort && ctx.destroy_requested() && ctx.abort_signal().is_cancelled();
            if destroyed || ctx.shutdown_deadline().is_cancelled() {
                return Some(Interruption::Closing);
            }
            let now = ctx.clock().now();
            let ran = now.since(*began.get_or_insert(now));
            (ran >= limit).then_some(Interruption::TimedOut(limit))
        })
    }
}

impl ActorSql {
    pub fn ctx(&self) -> &ActorContext {
        &self.0
    }

    fn user(&self) -> &UserSql {
        &self.0.0.user_sql.user
    }

    fn guard(&self, options: SqlCallOptions) -> Option<Guard> {
        Some(self.0.statement_guard(options, Duration::ZERO))
    }

    /// Runs exactly one statement; text after it is an error.
    pub async fn execute(
        &self,
        statement: SqlStatement,
        options: SqlCallOptions,
    ) -> Result<ExecuteResult> {
        let result = self.user().execute(statement, self.guard(options)).await;
        result.map_err(|error| self.0.attach_to_sql(error))
    }

    /// [`execute`](Self::execute) with a callback instead of a future; it is
    /// called once, on a thread of the store, and must be quick.
    pub fn execute_then(
        &self,
        statement: SqlStatement,
        options: SqlCallOptions,
        reply: impl FnOnce(Result<ExecuteResult>) + Send + 'static,
    ) {
        let ctx = self.0.clone();
        self.user()
            .execute_then(statement, self.guard(options), move |result| {
                reply(result.map_err(|error| ctx.attach_to_sql(error)));
            });
    }

    /// Runs a script and returns the rows of its last query.
    pub async fn exec(&self, script: String, options: SqlCallOptions) -> Result<QueryResult> {
        let result = self.user().exec(script, self.guard(options)).await;
        result.map_err(|error| self.0.attach_to_sql(error))
    }

    /// Runs the statements in one transaction: all of them or none.
    pub async fn execute_batch(
        &self,
        statements: Vec<SqlStatement>,
        options: SqlCallOptions,
    ) -> Result<Vec<ExecuteResult>> {
        let guard = self.guard(options);
        let results = self.user().execute_batch(statements, guard).await;
        results.map_err(|error| self.0.attach_to_sql(error))
    }

    /// [`execute_batch`](Self::execute_batch) as [`execute_then`](Self::execute_then).
    pub fn execute_batch_then(
        &self,
        statements: Vec<SqlStatement>,
        options: SqlCallOptions,
        reply: impl FnOnce(Result<Vec<ExecuteResult>>) + Send + 'static,
    ) {
        let ctx = self.0.clone();
        self.user()
            .execute_batch_then(statements, self.guard(options), move |results| {
                reply(results.map_err(|error| ctx.attach_to_sql(error)));
            });
    }

    /// Runs one statement once per row of values in one transaction: all runs or
    /// none. The answer has the changes of all and no rows.
    pub async fn execute_runs(
        &self,
        runs: SqlRuns,
        options: SqlCallOptions,
    ) -> Result<ExecuteResult> {
        let result = self.user().execute_runs(runs, self.guard(options)).await;
        result.map_err(|error| self.0.attach_to_sql(error))
    }

    /// Opens the result of a query, to be read page by page; each page may take
    /// as long as a statement. Answers with its first page of at most `max_rows`.
    pub async fn open_cursor(
        &self,
        statement: SqlStatement,
        options: SqlCallOptions,
        max_rows: usize,
    ) -> Result<(ActorCursor, Page)> {
        let guards = self.0.page_guards(options, Duration::ZERO);
        let opened = self.user().open_cursor(statement, guards, max_rows).await;
        ActorCursor::new(&self.0, opened)
    }

    /// Begins a transaction that owns the database until it ends, or until
    /// `timeout` has passed since it began. Default 60 s.
    pub async fn begin_transaction(
        &self,
        timeout: Option<Duration>,
        name: Option<String>,
    ) -> Result<ActorTransaction> {
        let ctx = self.0.clone();
        let (tx, timeout) = begin(&ctx, timeout, name).await?;
        Ok(ActorTransaction::new(ctx, tx, timeout))
    }

    /// What is known of the database now; `None` until it is first opened.
    pub fn figures(&self) -> Option<DatabaseFigures> {
        self.0.sql().figures()
    }

    /// What the storage below SQLite last complained about; told once.
    pub fn take_last_storage_error(&self) -> Option<String> {
        self.0.0.user_sql.last_storage_error.lock().take()
    }

    /// Lets go of what user code has left open: a transaction is rolled back,
    /// unless other work than the caller's is running, which it may belong to.
    /// Later statements still run, until the generation ends.
    pub async fn let_go(&self) -> Result<()> {
        let work = Arc::clone(&self.0.0.work);
        let unowned = move || !work.counts().may_own_transaction();
        self.user().end_transactions_if(unowned).await
    }
}

/// Begins a transaction and arms its deadline.
pub(super) async fn begin(
    ctx: &ActorContext,
    timeout: Option<Duration>,
    name: Option<String>,
) -> Result<(SqlTransaction, Duration)> {
    let timeout = timeout.unwrap_or(TRANSACTION_TIMEOUT);
    let options = BeginOptions {
        key: uuid::Uuid::new_v4().to_string(),
        name,
        timeout,
    };
    let begun = ctx.0.user_sql.user.begin_transaction(options).await;
    let tx = begun.map_err(|error| ctx.attach_to_sql(error))?;
    let (deadline, clock) = (tx.deadline(), ctx.clock().clone());
    tokio::spawn(async move {
        tokio::select! {
            biased;
            () = deadline.ended() => {}
            () = clock.sleep(timeout) => deadline.expire(),
        }
    });
    Ok((tx, timeout))
}
