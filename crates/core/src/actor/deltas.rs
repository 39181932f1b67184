//! Writing what the adapter serialized: state, connections and workflow rows in
//! one transaction.
//!
//! Invariant D1: hibernation changes that were taken for a write and not written
//! are put back.
//! Invariant D2: a state never overwrites one that was serialized after it. Writes
//! get in line under a lock, and an older one that comes later is discarded.
//! Invariant D3: once a generation has let go of its storage, no write of it gets
//! there: the state on disk is that of the next one.
//! Invariant D4: a serialization without changes completes its revision only if
//! no state that was brought along is still on its way.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use greenroom_store::{ConnWrite, SaveBatch, WorkflowWrite};
use serde_json::json;

use crate::actor::conn_rows;
use crate::actor::connection::{ConnHandle, PendingHibernationChanges};
use crate::actor::context::ActorContext;
use crate::actor::messages::{StateDelta, WorkflowKvWrite};
use crate::host::HibernationId;

/// What became of a write that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Written {
    Yes,
    /// A state transaction came in between: the serialization is stale.
    Discarded,
}

/// When a serialization was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SaveStamp {
    /// Requests up to this one are covered by it.
    revision: u64,
    epoch: u64,
    /// The serialization came with the request instead of being asked for.
    brought: bool,
}

/// One write, made up but not written. To be ended by [`written`](Self::written)
/// or [`put_back`](Self::put_back).
#[must_use]
pub(crate) struct Prepared {
    batch: SaveBatch,
    state: Option<Bytes>,
    pending: PendingHibernationChanges,
    /// Which messages of whose the connection rows say were handled.
    handled: Vec<(HibernationId, u16)>,
    revision: u64,
}

impl Prepared {
    #[cfg(test)]
    pub(super) fn empty(revision: u64) -> Self {
        Self {
            batch: SaveBatch::default(),
            state: None,
            pending: PendingHibernationChanges::default(),
            handled: Vec::new(),
            revision,
        }
    }

    /// Covers up to this revision.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn batch(&self) -> SaveBatch {
        self.batch.clone()
    }

    /// Rows and bytes it will write.
    pub(super) fn weight(&self) -> (usize, usize) {
        self.batch.weight()
    }

    /// It is on disk: memory follows, and those who wait hear of it.
    pub(super) fn written(self, ctx: &ActorContext) {
        if let Some(state) = self.state {
            ctx.remember_state(state, self.revision);
        }
        for (socket, message_index) in self.handled {
            let host = ctx.host();
            host.ack_hibernating_message(ctx.actor(), socket, message_index);
        }
        let now = ctx.clock().now();
        ctx.with_book(|book| book.complete(self.revision, now));
    }

    /// It was not written (D1).
    pub(super) fn put_back(self, ctx: &ActorContext) {
        ctx.0.conns.restore_pending(self.pending);
    }
}

impl ActorContext {
    /// To be taken before the adapter is asked: what is requested meanwhile is
    /// not covered.
    pub(crate) fn save_stamp(&self) -> SaveStamp {
        SaveStamp {
            revision: self.with_book(|book| book.requested_revision()),
            epoch: self.transaction_epoch(),
            brought: false,
        }
    }

    /// The same for a serialization that the caller has made just now.
    pub(crate) fn brought_stamp(&self) -> SaveStamp {
        SaveStamp {
            revision: self.with_book(|book| book.bring()),
            epoch: self.transaction_epoch(),
            brought: true,
        }
    }

    /// Writes one revision: state deltas, due connection rows and workflow rows
    /// in one transaction. On failure nothing is written.
    pub(crate) async fn write_deltas(
        &self,
        deltas: Vec<StateDelta>,
        workflow: Vec<WorkflowKvWrite>,
        stamp: SaveStamp,
    ) -> Result<Written> {
        Ok(match self.commit_deltas(deltas, workflow, stamp).await? {
            Some(prepared) => {
                prepared.written(self);
                Written::Yes
            }
            None => Written::Discarded,
        })
    }

    /// The same, but nobody hears of it before the caller says that it is
    /// [`written`](Prepared::written). `None` for a stale serialization.
    pub(super) async fn commit_deltas(
        &self,
        deltas: Vec<StateDelta>,
        workflow: Vec<WorkflowKvWrite>,
        stamp: SaveStamp,
    ) -> Result<Option<Prepared>> {
        let _gate = self.0.state.save_gate.read().await;
        if self.transaction_epoch() != stamp.epoch {
            return Ok(None);
        }
        let mut prepared = self.prepare(deltas, workflow, stamp.revision)?;
        let batch = std::mem::take(&mut prepared.batch);
        let saved = if batch.is_empty() {
            let proven = stamp.brought || !self.has_brought_saves();
            Ok(if proven {
                Written::Yes
            } else {
                Written::Discarded
            })
        } else {
            let state = prepared.state.as_ref().map(|_| stamp.revision);
            self.save_in_order(batch, state).await
        };
        match saved {
            Ok(Written::Yes) => return Ok(Some(prepared)),
            Ok(Written::Discarded) | Err(_) => prepared.put_back(self),
        }
        saved.map(|_| None)
    }

    /// Writes a batch with the state of this revision, unless a newer state is in
    /// line already (D2).
    async fn save_in_order(&self, batch: SaveBatch, state: Option<u64>) -> Result<Written> {
        let mut saving = pin!(self.0.sql.save(batch));
        // The first poll puts the batch in line.
        let first = poll_fn(|cx| {
            let mut line = self.0.state.line.lock();
            if line.sealed {
                return Poll::Ready(Err(Error::new(&code::ACTOR_STOPPING)));
            }
            if state.is_some_and(|revision| revision < line.newest) {
                return Poll::Ready(Ok(None));
            }
            line.newest = state.unwrap_or(line.newest);
            Poll::Ready(Ok(Some(saving.as_mut().poll(cx))))
        });
        match first.await? {
            None => Ok(Written::Discarded),
            Some(Poll::Ready(saved)) => saved.map(|()| Written::Yes),
            Some(Poll::Pending) => saving.await.map(|()| Written::Yes),
        }
    }

    /// The same for a state transaction, which writes by itself.
    pub(super) fn prepare_deltas(&self, deltas: Vec<StateDelta>) -> Result<Prepared> {
        // One of its own: newer than any save that was asked for before.
        let revision = self.with_book(|book| book.bring());
        self.prepare(deltas, Vec::new(), revision)
    }

    fn prepare(
        &self,
        deltas: Vec<StateDelta>,
        workflow: Vec<WorkflowKvWrite>,
        revision: u64,
    ) -> Result<Prepared> {
        let pending = self.0.conns.take_pending();
        match self.make_batch(deltas, workflow, &pending, revision) {
            Ok((batch, state)) => Ok(Prepared {
                handled: batch.conns.iter().map(handled_of).collect(),
                batch,
                state,
                pending,
                revision,
            }),
            Err(error) => {
                self.0.conns.restore_pending(pending);
                Err(error)
            }
        }
    }

    /// Merges deltas with the connection rows that are due. A removal beats any
    /// update of the same connection.
    fn make_batch(
        &self,
        deltas: Vec<StateDelta>,
        workflow: Vec<WorkflowKvWrite>,
        pending: &PendingHibernationChanges,
        revision: u64,
    ) -> Result<(SaveBatch, Option<Bytes>)> {
        let mut state = None;
        let mut explicit = BTreeMap::new();
        let mut removed: BTreeSet<String> = pending.removed.clone();
        for delta in deltas {
            match delta {
                StateDelta::ActorState(bytes) => state = Some(bytes),
                StateDelta::ConnHibernation { conn, bytes } => {
                    explicit.insert(conn, bytes);
                }
                StateDelta::ConnHibernationRemoved(conn) => {
                    removed.insert(conn);
                }
            }
        }
        let mut conns = Vec::new();
        for (id, bytes) in &explicit {
            if !removed.contains(id) {
                let conn = self.hibernatable(id)?;
                conns.push(self.row_of(&conn, bytes.clone(), revision)?);
            }
        }
        for id in pending.updated.difference(&removed) {
            // The connection may be gone or was never hibernatable: nothing to write.
            if !explicit.contains_key(id)
                && let Ok(conn) = self.hibernatable(id)
            {
                let bytes = conn.state();
                conns.push(self.row_of(&conn, bytes, revision)?);
            }
        }
        let workflow = workflow.into_iter().map(|write| WorkflowWrite {
            key: write.key.to_vec(),
            value: write.value.to_vec(),
        });
        let batch = SaveBatch {
            state: state.clone(),
            conns,
            removed_conns: removed.into_iter().collect(),
            workflow: workflow.collect(),
            ..SaveBatch::default()
        };
        Ok((batch, state))
    }

    /// The connection's row. What this save may not say yet is for the next one.
    fn row_of(&self, conn: &ConnHandle, state: Bytes, revision: u64) -> Result<ConnWrite> {
        let row = conn_rows::to_row(conn, state, revision)?;
        if conn.has_more_handled() {
            self.0.conns.queue_update(conn.id());
        }
        Ok(row)
    }

    fn hibernatable(&self, id: &str) -> Result<ConnHandle> {
        let conn =
            self.0.conns.get(id).ok_or_else(|| {
                Error::with(&code::CONNECTION_NOT_FOUND, json!({ "conn_id": id }))
            })?;
        if conn.is_hibernatable() {
            Ok(conn)
        } else {
            Err(Error::with(
                &code::CONNECTION_NOT_HIBERNATABLE,
                json!({ "conn_id": id }),
            ))
        }
    }
}

fn handled_of(row: &ConnWrite) -> (HibernationId, u16) {
    let id = HibernationId {
        gateway_id: row.gateway_id,
        request_id: row.request_id,
    };
    (id, row.server_message_index)
}
