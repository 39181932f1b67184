//! What a save says of the messages that clients of hibernatable connections sent.

mod fixture;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use fixture::{World, ask};
use greenroom_core::actor::connection::HibernationMetadata;
use greenroom_core::*;

async fn connected(ctx: &ActorContext) -> ConnHandle {
    let hibernation = HibernationMetadata {
        id: HibernationId {
            gateway_id: [1; 4],
            request_id: [2; 4],
        },
        server_message_index: 0,
        client_message_index: 0,
        request_path: "/connect".into(),
        request_headers: Vec::new(),
    };
    let options = ConnectOptions {
        hibernation: Some(hibernation),
        ..ConnectOptions::default()
    };
    ctx.connect(options).await.expect("connect")
}

/// Everything that was asked for is on disk.
async fn saved(ctx: &ActorContext) {
    let opts = RequestSaveOpts::IMMEDIATE;
    ctx.request_save_and_wait(opts).await.expect("saved");
}

/// What the host has heard since the last time.
fn stored(world: &World) -> Vec<u16> {
    std::mem::take(&mut *world.host.stored.lock())
}

#[tokio::test]
async fn the_host_hears_what_was_handled_when_it_is_stored_and_not_before() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    let conn = connected(ctx).await;
    saved(ctx).await;
    assert_eq!(stored(&world), [0], "its first rows");
    conn.message_handled(1);
    conn.message_handled(2);
    saved(ctx).await;
    assert!(stored(&world).is_empty(), "nobody asked for a save");
    ctx.save_messages_handled(&conn);
    assert!(stored(&world).is_empty());
    saved(ctx).await;
    assert_eq!(stored(&world), [2]);
    ctx.save_messages_handled(&conn);
    saved(ctx).await;
    assert!(stored(&world).is_empty(), "nothing new");
}

#[tokio::test]
async fn a_save_that_is_on_its_way_does_not_name_what_was_handled_after_it_began() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    let conn = connected(ctx).await;
    saved(ctx).await;
    stored(&world);
    world.script.hold_serialize.store(true, Ordering::SeqCst);
    let saving = {
        let handle = Arc::clone(&handle);
        tokio::spawn(async move { ask(&handle, "increment_durably").await })
    };
    world.script.parked.notified().await;
    world.script.hold_serialize.store(false, Ordering::SeqCst);
    // Its effect is not in the state that was serialized.
    ask(&handle, "increment").await.expect("increment");
    conn.message_handled(1);
    ctx.save_messages_handled(&conn);
    world.script.unpark.notify_one();
    saving.await.expect("task").expect("saved");
    assert_eq!(stored(&world), [0]);
    saved(ctx).await;
    assert_eq!(stored(&world), [1], "the next one names it");
}

#[tokio::test]
async fn the_last_save_of_a_generation_names_everything_that_was_handled() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    let conn = connected(handle.ctx()).await;
    saved(handle.ctx()).await;
    stored(&world);
    conn.message_handled(7);
    world.stop(StopReason::GoingAway).await.expect("stop");
    assert_eq!(stored(&world), [7]);
}

#[tokio::test]
async fn messages_that_were_given_up_on_are_stored_as_such_until_later_ones_are_handled() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    let conn = connected(ctx).await;
    let is_given_up = || conn.hibernation().expect("hibernatable").is_given_up();
    conn.messages_given_up(3);
    ctx.queue_hibernation_update(conn.id());
    saved(ctx).await;
    assert!(is_given_up());
    conn.message_handled(3);
    ctx.save_messages_handled(&conn);
    saved(ctx).await;
    assert!(!is_given_up());
    assert_eq!(stored(&world), [0, 3]);
}

#[tokio::test]
async fn a_save_that_names_less_than_was_given_up_on_leaves_the_mark() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx();
    let conn = connected(ctx).await;
    let is_given_up = || conn.hibernation().expect("hibernatable").is_given_up();
    // Handled and waiting for its save when a later one is given up on.
    conn.message_handled(1);
    ctx.save_messages_handled(&conn);
    conn.messages_given_up(2);
    ctx.queue_hibernation_update(conn.id());
    saved(ctx).await;
    assert_eq!(stored(&world), [1]);
    assert!(is_given_up(), "of the second nobody would know");
    conn.message_handled(2);
    ctx.save_messages_handled(&conn);
    saved(ctx).await;
    assert!(!is_given_up());
    conn.messages_given_up(2);
    assert!(!is_given_up(), "it was named already");
}
