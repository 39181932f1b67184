//! The directory of actors as this crate sees it: typed ids and keys.
//!
//! Forwards to [`greenroom_store::Directory`] and decides nothing.

use std::path::PathBuf;

use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use greenroom_store as store;
use greenroom_wire::{ActorId, ActorKey};
use serde_json::json;

/// A row of the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ActorRecord {
    pub(crate) id: ActorId,
    pub(crate) name: String,
    pub(crate) key: ActorKey,
    pub(crate) create_ts: i64,
    pub(crate) start_ts: Option<i64>,
    pub(crate) sleep_ts: Option<i64>,
    pub(crate) destroy_ts: Option<i64>,
    /// Until the actor's own database holds it.
    pub(crate) input: Option<Bytes>,
    pub(crate) error: Option<String>,
}

impl ActorRecord {
    pub(crate) fn is_destroyed(&self) -> bool {
        self.destroy_ts.is_some()
    }
}

impl TryFrom<store::ActorRecord> for ActorRecord {
    type Error = Error;

    fn try_from(row: store::ActorRecord) -> Result<Self> {
        let unreadable = |field: &str| {
            let reason = format!("{field} of {:?} is malformed", row.id);
            Error::with(
                &code::PROTOCOL_INVALID_PERSISTED_DATA,
                json!({ "label": "actor directory", "reason": reason }),
            )
        };
        Ok(Self {
            id: ActorId::parse(&row.id).ok_or_else(|| unreadable("id"))?,
            key: ActorKey::from_serialized(&row.key).map_err(|_| unreadable("key"))?,
            name: row.name,
            create_ts: row.create_ts,
            start_ts: row.start_ts,
            sleep_ts: row.sleep_ts,
            destroy_ts: row.destroy_ts,
            input: row.input.map(Bytes::from),
            error: row.error,
        })
    }
}

/// An actor to be created.
#[derive(Clone, Debug)]
pub(crate) struct NewActor {
    /// One that no actor has.
    pub(crate) id: ActorId,
    pub(crate) name: String,
    pub(crate) key: ActorKey,
    pub(crate) input: Option<Bytes>,
    pub(crate) create_ts: i64,
}

/// Of an actor that is about to start for the first time.
#[derive(Clone, Debug)]
pub(crate) struct Birth {
    /// Its first generation, counted already; `None` if somebody else has it.
    pub(crate) generation: Option<u32>,
    /// What must be on disk before anybody hears of the actor.
    pub(crate) commit: store::PendingCommit,
}

impl NewActor {
    fn into_row(self) -> store::NewActor {
        store::NewActor {
            id: self.id.to_string(),
            name: self.name,
            key: self.key.as_serialized().to_owned(),
            input: self.input.map(Vec::from),
            create_ts: self.create_ts,
        }
    }
}

#[derive(Clone)]
pub(crate) struct Directory(store::Directory);

impl Directory {
    pub(crate) async fn open(disk: store::Disk, path: PathBuf) -> Result<Self> {
        store::Directory::open_on(disk, path).await.map(Self)
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.0.is_busy()
    }

    pub(crate) async fn get_or_create(&self, new: NewActor) -> Result<(ActorRecord, bool)> {
        let (row, created) = self.0.get_or_create(new.into_row()).await?;
        Ok((row.try_into()?, created))
    }

    /// True if nobody has started or destroyed the actor since its creation, which
    /// counted `first`.
    pub(crate) async fn is_untouched(&self, id: &ActorId, first: u32) -> Result<bool> {
        let row = self.0.by_id(id.as_str()).await?;
        Ok(row.is_some_and(|row| row.generation == first && row.destroy_ts.is_none()))
    }

    /// The actor of this name and key, made if there is none, for who starts it at
    /// once: it may not be durable yet.
    pub(crate) async fn get_or_create_started(
        &self,
        new: NewActor,
    ) -> Result<(ActorRecord, Birth)> {
        let started = self.0.get_or_create_started(new.into_row()).await?;
        let birth = Birth {
            generation: started.created.then_some(started.record.generation),
            commit: started.commit,
        };
        Ok((started.record.try_into()?, birth))
    }

    pub(crate) async fn create(&self, new: NewActor) -> Result<ActorRecord> {
        self.0.create(new.into_row()).await?.try_into()
    }

    /// Also if destroyed.
    pub(crate) async fn by_id(&self, id: &ActorId) -> Result<Option<ActorRecord>> {
        let row = self.0.by_id(id.as_str()).await?;
        row.map(ActorRecord::try_from).transpose()
    }

    pub(crate) async fn by_key(&self, name: &str, key: &ActorKey) -> Result<Option<ActorRecord>> {
        let row = self.0.by_key(name, key.as_serialized()).await?;
        row.map(ActorRecord::try_from).transpose()
    }

    pub(crate) async fn list(&self, query: store::ListQuery) -> Result<Vec<ActorRecord>> {
        let rows = self.0.list(query).await?;
        rows.into_iter().map(ActorRecord::try_from).collect()
    }

    pub(crate) async fn set_alarm(&self, id: &ActorId, at_ms: Option<i64>) -> Result<()> {
        self.0.set_alarm(id.as_str(), at_ms).await
    }

    /// The earliest alarms, due or not, in order.
    pub(crate) async fn alarms(&self, limit: usize) -> Result<Vec<(ActorId, i64)>> {
        let alarms = self.0.due_alarms(i64::MAX, limit).await?;
        let readable = |(id, at): (String, i64)| ActorId::parse(&id).map(|id| (id, at));
        Ok(alarms.into_iter().filter_map(readable).collect())
    }

    /// # Errors
    /// `actor/not_found` for an actor that is destroyed.
    pub(crate) async fn next_generation(&self, id: &ActorId) -> Result<u32> {
        self.0.next_generation(id.as_str()).await
    }

    pub(crate) async fn note_started(&self, id: &ActorId, now: i64) -> Result<()> {
        self.0.note_started(id.as_str(), now).await
    }

    pub(crate) async fn note_slept(&self, id: &ActorId, now: i64) -> Result<()> {
        self.0.note_slept(id.as_str(), now).await
    }

    pub(crate) async fn note_initialized(&self, id: &ActorId) -> Result<()> {
        self.0.note_initialized(id.as_str()).await
    }

    pub(crate) async fn note_error(&self, id: &ActorId, error: Option<String>) -> Result<()> {
        self.0.note_error(id.as_str(), error).await
    }

    /// Frees the key. Durable when it answers.
    pub(crate) async fn mark_destroyed(&self, id: &ActorId, now: i64) -> Result<()> {
        self.0.mark_destroyed(id.as_str(), now).await.map(drop)
    }

    pub(crate) async fn close(&self) -> Result<()> {
        self.0.close().await
    }
}
