//! When the next save is asked for, as the last one comes back from the disk.

use std::time::Duration;

use futures_util::FutureExt;

use crate::actor::deltas::Written;
use crate::actor::lifecycle::LifecycleState;
use crate::actor::messages::{ActorEvent, WorkflowKvWrite};
use crate::actor::persistence::PendingPersistence;
use crate::actor::save_book::{Patience, RequestSaveOpts};
use crate::actor::task_fixture::Rig;
use crate::reply::reply;

const IMMEDIATE: RequestSaveOpts = RequestSaveOpts::IMMEDIATE;

/// An actor of which a change is on disk after so long, unsaid, while the next
/// one waits to be saved.
fn between_two_saves(took: Duration) -> (Rig, impl Fn() -> bool) {
    let mut rig = Rig::in_state(LifecycleState::Started);
    let now = rig.ctx.clock().now();
    let (first, waits) = rig.ctx.with_book(|book| {
        let first = book.request(IMMEDIATE, now).revision;
        (first, book.wait(first, Patience::OneAttempt))
    });
    rig.ctx.with_book(|book| book.request(IMMEDIATE, now));
    rig.task.persistence.running = Some(PendingPersistence::committed(first, took));
    let waits = std::cell::RefCell::new(waits);
    (rig, move || waits.borrow_mut().try_recv().is_ok())
}

/// Handles what has happened, and tells whether the adapter was asked for a state.
async fn step(rig: &mut Rig) -> bool {
    let wake = std::future::poll_fn(|cx| rig.task.poll_next(cx)).await;
    assert!(rig.task.handle(wake).await.is_none());
    let asked = rig.task.persistence.running.is_some();
    let events = rig.take_adapter_events();
    let serializations = events
        .iter()
        .filter(|event| matches!(event, ActorEvent::SerializeState { .. }));
    assert_eq!(serializations.count(), usize::from(asked));
    asked
}

#[tokio::test]
async fn on_a_quick_disk_the_next_save_is_asked_for_in_the_step_that_answers_the_last() {
    let (mut rig, answered) = between_two_saves(Duration::from_micros(20));
    assert!(step(&mut rig).await);
    assert!(answered());
}

#[tokio::test]
async fn on_a_slow_disk_the_next_save_waits_for_those_of_the_last_to_join() {
    let (mut rig, answered) = between_two_saves(Duration::from_millis(5));
    assert!(!step(&mut rig).await);
    assert!(answered());
    // It is due by itself.
    assert!(step(&mut rig).await);
}

#[tokio::test]
async fn a_workflow_flush_is_not_kept_waiting_by_saves_that_follow_each_other() {
    let (mut rig, _) = between_two_saves(Duration::ZERO);
    let (answer, flushed) = reply();
    let write = WorkflowKvWrite {
        key: bytes::Bytes::from_static(b"k"),
        value: bytes::Bytes::from_static(b"v"),
    };
    rig.task
        .persistence
        .workflow_queue
        .push_back((vec![write], answer));
    assert!(step(&mut rig).await);
    assert!(rig.task.persistence.workflow_queue.is_empty());
    drop(flushed);
}

#[tokio::test]
async fn a_save_that_nothing_follows_asks_for_nothing() {
    let mut rig = Rig::in_state(LifecycleState::Started);
    rig.task.persistence.running = Some(PendingPersistence::finished(Ok(Written::Yes)));
    assert!(!step(&mut rig).await);
    assert!(step(&mut rig).now_or_never().is_none());
}
