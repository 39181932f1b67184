//! The actor's state as bytes: what is in memory, and who asks for its saving.
//!
//! The adapter owns the live object. After start, state flows one way: adapter →
//! [`StateDelta`]s → one SQLite transaction. Deltas are written by
//! [`crate::actor::deltas`]; *when* to save is the task's business
//! ([`crate::actor::task`]), who waits is [`crate::actor::save_book`]'s.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use greenroom_store::{ActorRow, SaveBatch};
use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, OwnedRwLockWriteGuard};

use crate::actor::context::ActorContext;
use crate::actor::deltas::Written;
use crate::actor::messages::{LifecycleEvent, StateDelta, WorkflowKvWrite};
use crate::actor::save_book::{Patience, RequestSaveOpts, SaveBook};
use crate::actor::work::{ActorWorkKind, ActorWorkRegion};
use crate::reply::reply;

/// State of one generation.
#[derive(Default)]
pub(crate) struct StateRoom {
    /// Last persisted, or initial, user state.
    current: RwLock<Current>,
    /// Locked while a write of state gets in line (D2, D3).
    pub(super) line: Mutex<Line>,
    /// Saves under way that brought their state along.
    brought: AtomicUsize,
    input: RwLock<Option<Bytes>>,
    has_initialized: AtomicBool,
    book: Mutex<SaveBook>,
    /// Bumped whenever a state transaction makes older serializations worthless.
    transaction_epoch: AtomicU64,
    /// Shared by writes of state, exclusive to a state transaction.
    pub(super) save_gate: Arc<tokio::sync::RwLock<()>>,
    on_state_change: Mutex<Vec<ActorWorkRegion>>,
    on_state_change_running: AtomicUsize,
    on_state_change_idle: Notify,
    /// Set by the adapter's dirty hook; see [`ActorContext::take_dirty`].
    dirty: AtomicBool,
}

/// The line of writes of state.
#[derive(Default)]
pub(super) struct Line {
    /// Revision of the newest state on its way to disk, or there.
    pub newest: u64,
    /// Nothing more gets in line: the generation is over.
    pub sealed: bool,
}

/// One save that brought its state along, until dropped.
struct Brought<'a>(&'a AtomicUsize);

impl<'a> Brought<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Brought<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Default)]
struct Current {
    state: Bytes,
    revision: u64,
}

impl StateRoom {
    pub(crate) fn new(input: Option<Bytes>) -> Self {
        Self {
            input: RwLock::new(input),
            ..Self::default()
        }
    }
}

impl ActorContext {
    /// CBOR of the last persisted, or initial, state; empty if there is none.
    pub fn state(&self) -> Bytes {
        self.0.state.current.read().state.clone()
    }

    pub fn input(&self) -> Option<Bytes> {
        self.0.state.input.read().clone()
    }

    pub fn has_initialized(&self) -> bool {
        self.0.state.has_initialized.load(Ordering::SeqCst)
    }

    pub(crate) fn load_state(&self, initialized: bool, input: Option<Bytes>, state: Bytes) {
        self.0.state.current.write().state = state;
        *self.0.state.input.write() = input;
        self.0
            .state
            .has_initialized
            .store(initialized, Ordering::SeqCst);
    }

    /// Replaces the in-memory state during the preamble: the initial state of a
    /// new actor, or one made anew for an empty snapshot. Not for use after start.
    pub fn set_initial_state(&self, state: Bytes) {
        self.0.state.current.write().state = state;
    }

    /// Marks the actor initialised and writes its rows at once. Repeating is free.
    pub async fn persist_initialized(&self) -> Result<()> {
        if self.0.state.has_initialized.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let written = self.persist_actor_rows().await;
        if written.is_err() {
            self.0.state.has_initialized.store(false, Ordering::SeqCst);
        }
        written
    }

    /// Writes the actor row and the whole state, for core's own changes.
    pub async fn persist_actor_rows(&self) -> Result<()> {
        let _gate = self.0.state.save_gate.read().await;
        let batch = SaveBatch {
            actor: Some(ActorRow {
                has_initialized: self.has_initialized(),
                input: self.input().map(|input| input.to_vec()),
            }),
            state: Some(self.state()),
            inspector_token: self.inspector_token().map(str::to_owned),
            ..SaveBatch::default()
        };
        self.0.sql.save(batch).await
    }

    /// Marks the state dirty and asks for a save at the throttle, at once, or
    /// within a time. Never fails: without a task there is only a log line.
    pub fn request_save(&self, opts: RequestSaveOpts) {
        self.request_save_revision(opts);
    }

    fn request_save_revision(&self, opts: RequestSaveOpts) -> u64 {
        self.0.state.dirty.store(true, Ordering::SeqCst);
        self.changed_for_inspectors(|revisions| &mut revisions.state);
        self.ask_for_save(opts)
    }

    /// The same for rows of core's own: the state is not taken for changed.
    pub(crate) fn request_save_of_rows(&self) {
        self.ask_for_save(RequestSaveOpts::default());
    }

    fn ask_for_save(&self, opts: RequestSaveOpts) -> u64 {
        let now = self.0.clock.now();
        let requested = self.0.state.book.lock().request(opts, now);
        if requested.notify
            && !self.send_lifecycle_event(LifecycleEvent::SaveRequested {
                immediate: opts.immediate,
            })
        {
            tracing::warn!(actor_id = %self.actor_id(), "save requested after the actor ended");
        }
        requested.revision
    }

    /// The same request, then waits until it is durable. Fails with
    /// `actor/not_configured` after teardown and `actor/stopping` when the actor
    /// ends without writing it.
    pub async fn request_save_and_wait(&self, opts: RequestSaveOpts) -> Result<()> {
        if self.save_channel_closed() {
            return Err(Error::not_configured("lifecycle events"));
        }
        let revision = self.request_save_revision(opts);
        self.wait_saved(revision, Patience::Retries).await
    }

    /// Makes every change requested so far durable; immediate when none is. Fails
    /// with `actor/outcome_unknown` as soon as one attempt fails.
    pub(crate) async fn save_pending_changes(&self) -> Result<()> {
        let revision = {
            let book = self.0.state.book.lock();
            if book.completed_revision() >= book.requested_revision() {
                return Ok(());
            }
            book.requested_revision()
        };
        self.hurry_save();
        self.wait_saved(revision, Patience::OneAttempt).await
    }

    /// Has what was requested saved now instead of at the throttle.
    pub(crate) fn hurry_save(&self) {
        let news = self.0.state.book.lock().hurry();
        match news {
            Some(false) => {}
            Some(true) => {
                self.send_lifecycle_event(LifecycleEvent::SaveRequested { immediate: true });
            }
            // A state that was brought along is on its way. If that fails, this
            // request is what its waiters rely on.
            None => self.request_save(RequestSaveOpts::IMMEDIATE),
        }
    }

    pub(crate) async fn wait_saved(&self, revision: u64, patience: Patience) -> Result<()> {
        let outcome = self.0.state.book.lock().wait(revision, patience);
        outcome
            .await
            .unwrap_or_else(|_| Err(Error::new(&code::ACTOR_STOPPING)))
    }

    fn save_channel_closed(&self) -> bool {
        use crate::actor::lifecycle::LifecycleState as S;
        matches!(self.lifecycle_state(), S::Terminated)
    }

    /// Consumes the dirty bit: true if a save was requested since the last time.
    /// The adapter calls it before it serializes for a save, so that a change
    /// during serialization sets it again.
    pub fn take_dirty(&self) -> bool {
        self.0.state.dirty.swap(false, Ordering::SeqCst)
    }

    pub(crate) fn mark_dirty(&self) {
        self.0.state.dirty.store(true, Ordering::SeqCst);
    }

    pub(crate) fn with_book<T>(&self, read: impl FnOnce(&mut SaveBook) -> T) -> T {
        read(&mut self.0.state.book.lock())
    }

    pub(crate) fn transaction_epoch(&self) -> u64 {
        self.0.state.transaction_epoch.load(Ordering::SeqCst)
    }

    pub(crate) fn bump_transaction_epoch(&self) {
        self.0
            .state
            .transaction_epoch
            .fetch_add(1, Ordering::SeqCst);
    }

    /// Waits for writes of state in flight and holds up later ones.
    pub(crate) async fn lock_save_gate(&self) -> OwnedRwLockWriteGuard<()> {
        Arc::clone(&self.0.state.save_gate).write_owned().await
    }

    /// The state that was just written becomes the one in memory, unless a newer
    /// one was written before this was heard of.
    pub(super) fn remember_state(&self, state: Bytes, revision: u64) {
        let mut current = self.0.state.current.write();
        if revision >= current.revision {
            *current = Current { state, revision };
        }
    }

    /// Writes deltas at once, outside the save throttle: first polled in the order
    /// in which they were serialized, they reach the disk in that order. Deltas
    /// that a state transaction has made worthless are asked for again.
    pub async fn save_state(&self, deltas: Vec<StateDelta>) -> Result<()> {
        let brought = Brought::new(&self.0.state.brought);
        let whole = deltas
            .iter()
            .any(|delta| matches!(delta, StateDelta::ActorState(_)));
        // Seen before anything waits: these deltas are of now.
        let in_transaction =
            self.state_transaction_holds_up_saves() || self.explicit_transaction_holds_up_saves();
        let was_dirty = whole && self.take_dirty();
        let stamp = self.brought_stamp();
        let written = if in_transaction {
            Ok(Written::Discarded)
        } else {
            self.write_deltas(deltas, Vec::new(), stamp).await
        };
        if was_dirty && !matches!(written, Ok(Written::Yes)) {
            self.mark_dirty();
        }
        drop(brought);
        match written? {
            Written::Yes => Ok(()),
            Written::Discarded => self.request_save_and_wait(RequestSaveOpts::IMMEDIATE).await,
        }
    }

    /// True while a state that was brought along is not known to be on disk: an
    /// adapter with nothing to add then proves nothing.
    pub(super) fn has_brought_saves(&self) -> bool {
        self.0.state.brought.load(Ordering::SeqCst) > 0
    }

    /// No later write of state gets to the disk (D3).
    pub(crate) fn seal_state(&self) {
        self.0.state.line.lock().sealed = true;
    }

    /// Asks the task to commit workflow writes together with the state, in order
    /// with other saves.
    pub async fn save_state_and_workflow_batch(&self, writes: Vec<WorkflowKvWrite>) -> Result<()> {
        if writes.is_empty() {
            return Ok(());
        }
        let (answer, answered) = reply();
        let flush = LifecycleEvent::WorkflowFlushRequested {
            writes,
            reply: answer,
        };
        if self.save_channel_closed() || !self.send_lifecycle_event(flush) {
            return Err(Error::not_configured("lifecycle events"));
        }
        let written = answered.result().await;
        self.changed_for_inspectors(|revisions| &mut revisions.workflow);
        written
    }

    /// An `onStateChange` callback began: it keeps the actor awake and holds up
    /// the next serialization.
    pub fn begin_on_state_change(&self) {
        let region = self.begin_work(ActorWorkKind::KeepAwake);
        self.0.state.on_state_change.lock().push(region);
        self.0
            .state
            .on_state_change_running
            .fetch_add(1, Ordering::SeqCst);
    }

    pub fn end_on_state_change(&self) {
        let Some(_region) = self.0.state.on_state_change.lock().pop() else {
            tracing::warn!(actor_id = %self.actor_id(), "onStateChange ended more often than it began");
            return;
        };
        let running = &self.0.state.on_state_change_running;
        if running.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.state.on_state_change_idle.notify_waiters();
        }
    }

    /// Waits until no `onStateChange` callback runs.
    pub async fn wait_for_on_state_change_idle(&self) {
        loop {
            let idle = self.0.state.on_state_change_idle.notified();
            if self.0.state.on_state_change_running.load(Ordering::SeqCst) == 0 {
                return;
            }
            idle.await;
        }
    }
}
