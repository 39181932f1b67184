//! The handle to one actor's database.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use greenroom_error::{Error, Result};
use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use crate::figures::DatabaseFigures;
use crate::group_commit::Unit;
use crate::save::SaveBatch;
use crate::session::Session;
use crate::slot::{Admission, Job, Slot};
use crate::sql::UserSql;
use crate::startup::Startup;

/// One actor's database. Cheap to clone; holds no file open by itself.
///
/// Calls run in the order in which their futures are first polled. Once in line
/// a call is carried out even if its caller goes away. At most 128 calls wait;
/// more answer `actor/overloaded`. After [`Store::close`](crate::Store::close)
/// every call answers `sqlite/closed`.
#[derive(Clone)]
pub struct Database(Arc<Slot>);

impl Database {
    pub(crate) fn new(slot: Arc<Slot>) -> Self {
        Self(slot)
    }

    /// The file, or a name for what is kept elsewhere.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// What is known of the database now; `None` until it is first opened.
    pub fn figures(&self) -> Option<DatabaseFigures> {
        self.0.figures.read()
    }

    /// Opens the database, brings its schema up to date and reads everything a
    /// start needs. A database that does not exist is created, *corked*: what is
    /// written to it is held back until [`commit_startup`](Self::commit_startup).
    ///
    /// Errors: `actor/storage_corrupt` for a damaged file,
    /// `protocol/invalid_persisted_data` for a newer schema or damaged rows,
    /// `host/storage_failed` for the disk.
    pub async fn start(&self) -> Result<Startup> {
        self.run(Admission::Always, |session| session.start()).await
    }

    /// Makes everything written since a bootstrapping [`start`](Self::start)
    /// durable at once. A crash before this is answered leaves no file, so the
    /// next start is a first one again. Does nothing on other databases.
    ///
    /// If a transaction is open, this waits for its end. A failure leaves the
    /// database corked, and the call may be repeated.
    pub async fn commit_startup(&self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        let job = Job::Task(Box::new(move |session| session.uncork_when_possible(reply)));
        self.0.submit(job, Admission::Always)?;
        answer.await.unwrap_or_else(|_| Err(panicked()))
    }

    /// Writes the batch in one transaction. `Ok` means durable, except on a
    /// corked database, where it means held until `commit_startup`. Batches that
    /// wait in a row share a commit. `Err` means that nothing was written, but
    /// for a failed sync, after which the outcome is unknown until the next save.
    pub async fn save(&self, batch: SaveBatch) -> Result<()> {
        batch.check()?;
        if batch.is_empty() {
            return Ok(());
        }
        self.write(move |conn| batch.apply(conn)).await
    }

    /// Access for the actor's own code, for one life of the actor.
    pub fn user_sql(&self) -> UserSql {
        UserSql::new(Arc::clone(&self.0))
    }

    /// Tells whether a transaction is open that was begun by an ordinary `BEGIN`
    /// of the user. While it is, saves wait.
    pub fn subscribe_explicit_transaction(&self) -> watch::Receiver<bool> {
        self.0.explicit_transaction.subscribe()
    }

    /// Closes the database and lets go of its files, after the calls before
    /// this one. A transaction left open is rolled back, with a warning in the
    /// log. What a corked database holds is made durable. Later use opens it
    /// again.
    pub async fn close(&self) -> Result<()> {
        self.run(Admission::Always, |session| session.close()).await
    }

    /// Closes the database and deletes its files. A later call other than
    /// [`start`](Self::start) answers `sqlite/closed`.
    pub async fn remove(&self) -> Result<()> {
        self.run(Admission::Always, |session| session.remove())
            .await
    }

    /// Runs `f` with the connection, alone. The caller owns the transaction, if
    /// it wants one; one left open stays open.
    #[cfg(test)]
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        f: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.run(Admission::Bounded, |session| f(&mut session.file()?.conn))
            .await
    }

    /// Runs `f` inside a transaction that it may share with other writes, and
    /// answers after the commit. `f` must not end the transaction.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        f: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let unit = WriteUnit {
            work: Some(f),
            value: None,
            reply,
        };
        self.0
            .submit(Job::Write(Box::new(unit)), Admission::Bounded)?;
        answer.await.unwrap_or_else(|_| Err(panicked()))
    }

    /// Runs `f` with the connection, alone and after the calls before it. `f`
    /// must not change anything.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        f: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.run(Admission::Bounded, |session| f(&session.file()?.conn))
            .await
    }

    pub(crate) async fn run_always<T: Send + 'static>(
        &self,
        f: impl FnOnce(&mut Session<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.run(Admission::Always, f).await
    }

    async fn run<T: Send + 'static>(
        &self,
        admission: Admission,
        f: impl FnOnce(&mut Session<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let job = Job::Task(Box::new(move |session| {
            // The caller may have gone; the work is done all the same.
            let _ = reply.send(f(session));
        }));
        self.0.submit(job, admission)?;
        answer.await.unwrap_or_else(|_| Err(panicked()))
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Database").field(&self.0.path()).finish()
    }
}

/// A reply is dropped unsent only by a job that panicked.
fn panicked() -> Error {
    Error::internal("the database job panicked")
}

struct WriteUnit<T, F> {
    work: Option<F>,
    value: Option<T>,
    reply: oneshot::Sender<Result<T>>,
}

impl<T, F> Unit for WriteUnit<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T> + Send,
{
    fn run(&mut self, conn: &Connection) -> Result<()> {
        if let Some(work) = self.work.take() {
            self.value = Some(work(conn)?);
        }
        Ok(())
    }

    fn settle(self: Box<Self>, outcome: Result<()>) {
        let Self { value, reply, .. } = *self;
        // The caller may have gone; the write stands all the same.
        let _ = reply.send(outcome.and_then(|()| value.ok_or_else(panicked)));
    }
}
