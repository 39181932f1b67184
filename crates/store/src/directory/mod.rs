//! The directory of actors: which exist, under which name and key, when they
//! were last awake and when they want to be woken.
//!
//! It is one SQLite file of the embedded host with a thread of its own. All
//! calls that wait at the same time share one commit and are answered after it,
//! so creating many actors at once costs few syncs. Generations and notes are
//! answered, or not waited for, before they are durable: losing them in a crash
//! does no harm, because the process they describe is gone too. A creation may be
//! answered before it is durable, too, to whoever waits for its [`PendingCommit`]
//! before anybody hears of the actor.
//!
//! The directory wakes nobody and reads no clock; its host does.

mod listing;
mod record;
mod sql;
mod writer;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use greenroom_error::{Error, Result, code};
use rusqlite::Connection;
use serde_json::json;

use crate::disk::Disk;
use crate::pending_commit::PendingCommit;
pub use record::{ActorRecord, ListQuery, NewActor};
use writer::{Answer, Writer};

/// What the first start of an actor counts.
const FIRST_GENERATION: u32 = 1;

/// An actor that is about to be started, and may not be on disk yet.
#[derive(Debug)]
pub struct Started {
    pub record: ActorRecord,
    pub created: bool,
    pub commit: PendingCommit,
}

/// A handle to the directory; clones share the file and its thread.
///
/// At most 256 calls are in line; further ones wait for a place. After
/// [`close`](Self::close) every call answers `sqlite/closed`. Calls about an
/// actor that does not exist, or is destroyed, answer `actor/not_found`.
#[derive(Clone)]
pub struct Directory {
    writer: Writer,
}

impl Directory {
    /// True while somebody waits for a call.
    pub fn is_busy(&self) -> bool {
        self.writer.is_busy()
    }

    /// Opens the file, creating it and its folder if needed. It must be on a
    /// disk of this machine, and no other process may have it open.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Self::open_on(Disk::real(), path).await
    }

    /// As [`open`](Self::open), on a disk whose failures may be directed.
    pub async fn open_on(disk: Disk, path: impl Into<PathBuf>) -> Result<Self> {
        let writer = Writer::start(disk, path.into()).await?;
        Ok(Self { writer })
    }

    /// The live actor of this name and key, created from `new` if there is
    /// none. The flag tells whether it was. Concurrent calls create one actor.
    pub async fn get_or_create(&self, new: NewActor) -> Result<(ActorRecord, bool)> {
        self.durable(move |conn| match sql::by_key(conn, &new.name, &new.key)? {
            Some(found) => Ok((found, false)),
            None => Ok((sql::insert(conn, new, 0)?, true)),
        })
        .await
    }

    /// As [`get_or_create`](Self::get_or_create), for who starts the actor at once:
    /// answered before it is durable, with what tells of that. One that was
    /// created has its first generation already, 1.
    ///
    /// What the actor says to anybody has to wait for the commit, which may fail;
    /// the actor is then in no directory.
    pub async fn get_or_create_started(&self, new: NewActor) -> Result<Started> {
        let (commit, end) = PendingCommit::begin();
        let find = move |conn: &Connection| match sql::by_key(conn, &new.name, &new.key)? {
            Some(found) => Ok((found, false)),
            None => Ok((sql::insert(conn, new, FIRST_GENERATION)?, true)),
        };
        let (record, created) = self.writer.run_promised(find, end).await?;
        Ok(Started {
            record,
            created,
            commit,
        })
    }

    /// Creates an actor. `actor/duplicate_key` with the existing actor's id if
    /// the key is taken by a live one.
    pub async fn create(&self, new: NewActor) -> Result<ActorRecord> {
        self.durable(move |conn| match sql::by_key(conn, &new.name, &new.key)? {
            Some(found) => Err(Error::with(
                &code::ACTOR_DUPLICATE_KEY,
                json!({ "existing_actor_id": found.id, "key": new.key }),
            )),
            None => sql::insert(conn, new, 0),
        })
        .await
    }

    /// The actor of this id, also if destroyed.
    pub async fn by_id(&self, id: impl Into<String>) -> Result<Option<ActorRecord>> {
        let id = id.into();
        self.read(move |conn| sql::by_id(conn, &id)).await
    }

    /// The live actor of this name and key.
    pub async fn by_key(
        &self,
        name: impl Into<String>,
        key: impl Into<String>,
    ) -> Result<Option<ActorRecord>> {
        let (name, key) = (name.into(), key.into());
        self.read(move |conn| sql::by_key(conn, &name, &key)).await
    }

    /// Actors that match, newest first.
    pub async fn list(&self, query: ListQuery) -> Result<Vec<ActorRecord>> {
        self.read(move |conn| listing::list(conn, &query)).await
    }

    /// Names that any actor has or had, in order, after `after`.
    pub async fn names(&self, after: Option<String>, limit: usize) -> Result<Vec<String>> {
        self.read(move |conn| listing::names(conn, after.as_deref(), limit))
            .await
    }

    /// Sets or clears the time at which the actor wants to be woken.
    pub async fn set_alarm(&self, id: impl Into<String>, alarm: Option<i64>) -> Result<()> {
        let id = id.into();
        self.durable(move |conn| sql::set_alarm(conn, &id, alarm))
            .await
    }

    /// Live actors whose alarm is at or before `now`, earliest first, with the
    /// time it was set for. Reading does not clear an alarm.
    pub async fn due_alarms(&self, now: i64, limit: usize) -> Result<Vec<(String, i64)>> {
        self.read(move |conn| sql::due_alarms(conn, now, limit))
            .await
    }

    /// The earliest alarm of all live actors.
    pub async fn earliest_alarm(&self) -> Result<Option<i64>> {
        self.read(sql::earliest_alarm).await
    }

    /// Counts the actor's generation up and answers the new one; the first is 1.
    /// Answered before it is durable: a number is never given twice within one
    /// process, and after a crash nothing of an older generation is left.
    pub async fn next_generation(&self, id: impl Into<String>) -> Result<u32> {
        let (id, leap) = (id.into(), self.writer.leap());
        self.relaxed(move |conn| sql::next_generation(conn, &id, leap.now()))
            .await
    }

    /// The actor runs: it has a start time from now on and does not sleep.
    /// Answered before it is durable.
    pub async fn note_started(&self, id: impl Into<String>, now: i64) -> Result<()> {
        let id = id.into();
        self.relaxed(move |conn| sql::note_started(conn, &id, now))
            .await
    }

    /// The actor sleeps since `now`. Answered before it is durable.
    pub async fn note_slept(&self, id: impl Into<String>, now: i64) -> Result<()> {
        let id = id.into();
        self.relaxed(move |conn| sql::note_slept(conn, &id, now))
            .await
    }

    /// The actor's own database holds its input now, durably; this copy goes.
    /// Answered before it is durable.
    pub async fn note_initialized(&self, id: impl Into<String>) -> Result<()> {
        let id = id.into();
        self.relaxed(move |conn| sql::note_initialized(conn, &id))
            .await
    }

    /// Sets or clears what is wrong with the actor. Answered before it is
    /// durable.
    pub async fn note_error(&self, id: impl Into<String>, error: Option<String>) -> Result<()> {
        let id = id.into();
        self.relaxed(move |conn| sql::note_error(conn, &id, error.as_deref()))
            .await
    }

    /// Marks the actor destroyed and frees its key. False if it already was.
    pub async fn mark_destroyed(&self, id: impl Into<String>, now: i64) -> Result<bool> {
        let id = id.into();
        self.durable(move |conn| sql::mark_destroyed(conn, &id, now))
            .await
    }

    /// Forgets actors destroyed before `before`, at most `limit` of them.
    /// Answers how many.
    pub async fn forget_destroyed(&self, before: i64, limit: usize) -> Result<usize> {
        self.durable(move |conn| sql::forget_destroyed(conn, before, limit))
            .await
    }

    /// Finishes what is in line, folds the log into the file and closes it.
    pub async fn close(&self) -> Result<()> {
        self.writer.close().await
    }

    async fn read<T: Send + 'static>(
        &self,
        f: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.writer.run(Answer::Read, f).await
    }

    async fn durable<T: Send + 'static>(
        &self,
        f: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.writer.run(Answer::WhenDurable, f).await
    }

    async fn relaxed<T: Send + 'static>(
        &self,
        f: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.writer.run(Answer::AtOnce, f).await
    }
}
