//! The directory's thread: takes all calls in line, runs them in one
//! transaction, answers.
//!
//! A turn without durable writes is committed without a sync; the next durable
//! commit takes it along. A turn of reads alone opens no transaction.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use greenroom_error::{Error, Result, code};
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::{mpsc, oneshot};

use super::sql;
use crate::disk::Disk;
use crate::failure::{IoResult, SqlResult, closed, storage_failed};
use crate::group_commit::{self, Aftermath, Unit};
use crate::pending_commit::CommitEnd;

/// Calls in line, and calls that share a commit at most.
const LINE: usize = 256;

/// When a call is answered, and what it does to the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Changes nothing.
    Read,
    /// A change, answered as soon as it is made; durable some time later.
    AtOnce,
    /// A change, answered as soon as it is made and then synced.
    Promised,
    /// A change, answered after the sync.
    WhenDurable,
}

#[derive(Clone)]
pub(super) struct Writer {
    line: mpsc::Sender<Message>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
    leap: Leap,
    /// Calls that somebody waits for.
    awaited: Arc<AtomicUsize>,
}

struct Awaited<'a>(&'a AtomicUsize);

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How many generations to leave out from now on. Grows by a whole line when a
/// turn could not be committed, because numbers of that turn may have been
/// answered and must not be given again.
#[derive(Clone, Default)]
pub(super) struct Leap(Arc<AtomicU32>);

impl Leap {
    pub(super) fn now(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn grow(&self) {
        self.0.fetch_add(LINE as u32, Ordering::Relaxed);
    }
}

enum Message {
    Call(Box<dyn Call>),
    Close(oneshot::Sender<Result<()>>),
}

trait Call: Unit {
    fn answer(&self) -> Answer;
}

impl Writer {
    pub(super) async fn start(disk: Disk, path: PathBuf) -> Result<Self> {
        let (line, calls) = mpsc::channel(LINE);
        let (ready, opened) = oneshot::channel();
        let leap = Leap::default();
        let for_thread = leap.clone();
        let thread = std::thread::Builder::new()
            .name("gr-directory".to_owned())
            .spawn(move || match open(&disk, &path).map_err(not_an_actor) {
                Ok(conn) => {
                    let _ = ready.send(Ok(()));
                    serve(conn, calls, &for_thread);
                }
                Err(error) => {
                    let _ = ready.send(Err(error));
                }
            })
            .file("start the directory's thread")?;
        opened.await.unwrap_or_else(|_| Err(panicked()))?;
        Ok(Self {
            line,
            thread: Arc::new(Mutex::new(Some(thread))),
            leap,
            awaited: Arc::default(),
        })
    }

    pub(super) fn is_busy(&self) -> bool {
        self.awaited.load(Ordering::SeqCst) > 0
    }

    pub(super) fn leap(&self) -> Leap {
        self.leap.clone()
    }

    pub(super) async fn run<T: Send + 'static>(
        &self,
        answer: Answer,
        f: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.submit(answer, None, f).await
    }

    /// Runs a change that is committed like a durable one and answered as soon as
    /// it is made; `end` tells of the commit.
    pub(super) async fn run_promised<T: Send + 'static>(
        &self,
        f: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
        end: CommitEnd,
    ) -> Result<T> {
        self.submit(Answer::Promised, Some(end), f).await
    }

    async fn submit<T: Send + 'static>(
        &self,
        answer: Answer,
        end: Option<CommitEnd>,
        f: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, result) = oneshot::channel();
        let call = Pending {
            answer,
            work: Some(f),
            value: None,
            reply: Some(reply),
            end,
        };
        self.awaited.fetch_add(1, Ordering::SeqCst);
        let _awaited = Awaited(&self.awaited);
        let message = Message::Call(Box::new(call));
        self.line.send(message).await.map_err(|_| closed())?;
        result.await.unwrap_or_else(|_| Err(panicked()))
    }

    pub(super) async fn close(&self) -> Result<()> {
        let (reply, closed) = oneshot::channel();
        if self.line.send(Message::Close(reply)).await.is_err() {
            return Ok(());
        }
        // A dropped reply means that another close came first.
        let outcome = closed.await.unwrap_or(Ok(()));
        let thread = self.thread.lock().take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the directory's thread ended by a panic");
        }
        outcome
    }
}

fn open(disk: &Disk, path: &Path) -> Result<Connection> {
    let folder = path.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder).file("create the data folder")?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = disk.connect(path, flags).sql("open the directory")?;
    sql::prepare(&conn)?;
    // The data folder may be as new as the file in it, so its names and its own
    // are made durable once per start.
    disk.sync_folder(folder).file("sync the data folder")?;
    if let Some(above) = folder.parent()
        && let Err(error) = disk.sync_folder(above)
    {
        // One may use a folder without the right to read the one above it.
        tracing::debug!(%error, "could not sync the folder above the data folder");
    }
    Ok(conn)
}

fn serve(conn: Connection, mut calls: mpsc::Receiver<Message>, leap: &Leap) {
    let mut group = Vec::new();
    let mut closing = None;
    while closing.is_none() {
        let Some(first) = calls.blocking_recv() else {
            break;
        };
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                Message::Call(call) => group.push(call),
                Message::Close(reply) => closing = Some(reply),
            }
            let room = group.len() < LINE && closing.is_none();
            next = room.then(|| calls.try_recv().ok()).flatten();
        }
        run_group(&conn, std::mem::take(&mut group), leap);
    }
    // From here on senders see that nobody listens.
    drop(calls);
    let outcome = sql::finish(conn).map_err(not_an_actor);
    match (closing, outcome) {
        (Some(reply), outcome) => drop(reply.send(outcome)),
        (None, Err(error)) => tracing::warn!(%error, "could not close the directory cleanly"),
        (None, Ok(())) => {}
    }
}

fn run_group(conn: &Connection, group: Vec<Box<dyn Call>>, leap: &Leap) {
    let any = |wanted| group.iter().any(|call| call.answer() == wanted);
    let durable = any(Answer::WhenDurable) || any(Answer::Promised);
    let relaxed = any(Answer::AtOnce);
    if !durable && !relaxed {
        return group_commit::run_reads(conn, group);
    }
    if let Err(error) = sql::set_sync(conn, durable) {
        return group_commit::fail_all(group, &error);
    }
    if group_commit::commit(conn, group) == Aftermath::Suspect {
        leap.grow();
        tracing::warn!(
            "the directory could not be written; its calls were answered with the error"
        );
    }
}

/// The directory's corruption concerns the host, not one actor.
fn not_an_actor(error: Error) -> Error {
    if error.is(&code::ACTOR_CORRUPT) {
        storage_failed(format!("the directory of actors: {error}")).with_source(error)
    } else {
        error
    }
}

fn panicked() -> Error {
    Error::internal("the directory's thread ended")
}

struct Pending<T, F> {
    answer: Answer,
    work: Option<F>,
    value: Option<T>,
    reply: Option<oneshot::Sender<Result<T>>>,
    /// Of a promised change.
    end: Option<CommitEnd>,
}

impl<T, F> Pending<T, F> {
    fn reply(&mut self, result: Result<T>) {
        if let Some(reply) = self.reply.take() {
            // The caller may have gone; what it asked for is done all the same.
            let _ = reply.send(result.map_err(not_an_actor));
        }
    }
}

impl<T, F> Unit for Pending<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T> + Send,
{
    fn run(&mut self, conn: &Connection) -> Result<()> {
        let Some(work) = self.work.take() else {
            return Ok(());
        };
        let value = work(conn)?;
        if matches!(self.answer, Answer::AtOnce | Answer::Promised) {
            self.reply(Ok(value));
        } else {
            self.value = Some(value);
        }
        Ok(())
    }

    fn settle(mut self: Box<Self>, outcome: Result<()>) {
        if let Some(end) = self.end.take() {
            let copy = outcome.as_ref().copied().map_err(Error::duplicate);
            end.tell(copy.map_err(not_an_actor));
        }
        match (outcome, self.value.take()) {
            (Ok(()), Some(value)) => self.reply(Ok(value)),
            (Ok(()), None) => {}
            (Err(error), _) if self.reply.is_none() => {
                tracing::warn!(%error, "a change of the directory that was answered early was lost");
            }
            (Err(error), _) => self.reply(Err(error)),
        }
    }
}

impl<T, F> Call for Pending<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T> + Send,
{
    fn answer(&self) -> Answer {
        self.answer
    }
}
