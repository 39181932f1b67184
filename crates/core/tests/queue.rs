//! The queue of one actor: order, waiting, completion, limits, leases.

mod fixture;

use std::time::Duration;

use bytes::Bytes;
use fixture::queue::{keep, message, parked, receive, send, take};
use fixture::{Asked, World, settle};
use futures_util::FutureExt;
use greenroom_core::*;
use greenroom_error::code;
use tokio_util::sync::CancellationToken;

const SECOND: Duration = Duration::from_secs(1);

fn now(receive: Receive) -> Receive {
    Receive {
        timeout: Some(Duration::ZERO),
        ..receive
    }
}

fn ids(messages: &[QueueMessage]) -> Vec<u64> {
    messages.iter().map(QueueMessage::id).collect()
}

#[tokio::test]
async fn messages_come_in_order_and_once() {
    let mut world = World::new();
    let ctx = world.start().await.expect("start").ctx().clone();
    for name in ["a", "b", "a", "c"] {
        send(&ctx, name).await;
    }
    let first = take(&ctx, receive(&["c", "a", "a"], 2)).await;
    assert_eq!(ids(&first), [1, 3]);
    assert!(!first[0].is_completable());
    let rest = take(&ctx, receive(&[], 10)).await;
    assert_eq!(ids(&rest), [2, 4]);
    assert!(take(&ctx, now(receive(&[], 1))).await.is_empty());
}

#[tokio::test]
async fn sends_started_together_keep_the_order_of_their_calls() {
    let mut world = World::new();
    let ctx = world.start().await.expect("start").ctx().clone();
    let sends: Vec<_> = (0..500_u32)
        .map(|n| ctx.queue_send(message("q", &n.to_be_bytes())))
        .collect();
    // Polled in another order than called.
    for sent in sends.into_iter().rev() {
        sent.await.expect("send");
    }
    let all = take(&ctx, receive(&["q"], 500)).await;
    let bodies: Vec<_> = all.iter().map(|m| m.body().clone()).collect();
    let expected: Vec<_> = (0..500_u32)
        .map(|n| Bytes::copy_from_slice(&n.to_be_bytes()))
        .collect();
    assert_eq!(bodies, expected);
}

#[tokio::test]
async fn limits_of_size_and_number_name_what_they_are() {
    let config = ActorConfig {
        max_queue_size: 2,
        max_queue_message_size: 100,
        ..ActorConfig::default()
    };
    let mut world = World::with_config(config);
    let ctx = world.start().await.expect("start").ctx().clone();
    let error = ctx
        .queue_send(message("q", &[0; 85]))
        .await
        .expect_err("too large");
    assert!(error.is(&code::QUEUE_MESSAGE_TOO_LARGE));
    let metadata = serde_json::json!({ "size": 102, "limit": 100 });
    assert_eq!(error.metadata(), Some(&metadata));
    ctx.queue_send(message("q", &[0; 83])).await.expect("fits");
    send(&ctx, "q").await;
    let error = ctx.queue_send(message("q", b"")).await.expect_err("full");
    assert_eq!(error.message(), "Queue is full. Limit is 2 messages.");
    take(&ctx, receive(&[], 1)).await;
    assert_eq!(send(&ctx, "q").await, 3);
}

#[tokio::test]
async fn a_message_goes_to_the_waiter_that_wants_it_and_to_one_only() {
    let mut world = World::new();
    let ctx = world.start().await.expect("start").ctx().clone();
    let only_x = parked(&ctx, receive(&["x"], 1)).await;
    let first = parked(&ctx, receive(&["x", "y"], 1)).await;
    let second = parked(&ctx, receive(&[], 1)).await;
    send(&ctx, "y").await;
    assert_eq!(ids(&first.await.expect("task").expect("receive")), [1]);
    assert!(!only_x.is_finished() && !second.is_finished());
    send(&ctx, "x").await;
    send(&ctx, "x").await;
    let mut got = ids(&only_x.await.expect("task").expect("receive"));
    got.extend(ids(&second.await.expect("task").expect("receive")));
    assert_eq!(got, [2, 3]);
}

#[tokio::test]
async fn a_wait_ends_at_its_timeout_with_nothing() {
    let mut world = World::new();
    let ctx = world.start().await.expect("start").ctx().clone();
    let waiting = Receive {
        timeout: Some(3 * SECOND),
        ..receive(&["x"], 1)
    };
    let wait = parked(&ctx, waiting.clone()).await;
    world.time.advance(3 * SECOND);
    assert!(wait.await.expect("task").expect("empty").is_empty());
    let named = ctx.queue_wait_for_names(now(waiting)).await;
    let error = named.expect_err("timed out");
    assert_eq!(error.message(), "Queue wait timed out after 0 ms.");
}

#[tokio::test]
async fn a_wait_ends_when_its_caller_or_the_actor_gives_up() {
    let mut world = World::new();
    let ctx = world.start().await.expect("start").ctx().clone();
    let cancelled = CancellationToken::new();
    let cancellable = Receive {
        cancelled: cancelled.clone(),
        ..receive(&[], 1)
    };
    let wait = parked(&ctx, cancellable.clone()).await;
    cancelled.cancel();
    let error = wait.await.expect("task").expect_err("aborted");
    assert!(error.is(&code::ACTOR_ABORTED));
    send(&ctx, "x").await;
    let late = ctx.queue_next_batch(cancellable).await;
    assert!(late.expect_err("aborted before").is(&code::ACTOR_ABORTED));
    let wait = parked(&ctx, receive(&["never"], 1)).await;
    world.stop(StopReason::GoingAway).await.expect("stop");
    let error = wait.await.expect("task").expect_err("aborted");
    assert!(error.is(&code::ACTOR_ABORTED));
    let patient = ctx.queue_next_batch(receive(&[], 1)).await;
    assert!(patient.expect_err("stopping").is(&code::ACTOR_ABORTED));
    let brief = ctx.queue_next_batch(now(receive(&[], 1))).await;
    assert!(brief.expect("without a wait to give up").is_empty());
    let handle = world.start().await.expect("wake");
    assert_eq!(ids(&take(handle.ctx(), receive(&[], 9)).await), [1]);
}

#[tokio::test]
async fn waiting_for_a_name_without_receiving_leaves_the_message() {
    let mut world = World::new();
    let ctx = world.start().await.expect("start").ctx().clone();
    let waiting = ctx.clone();
    let watch = tokio::spawn(async move {
        waiting
            .queue_wait_for_names_available(receive(&["x"], 1))
            .await
    });
    settle().await;
    let taker = parked(&ctx, receive(&["x"], 1)).await;
    send(&ctx, "x").await;
    assert_eq!(ids(&taker.await.expect("task").expect("receive")), [1]);
    send(&ctx, "x").await;
    watch.await.expect("task").expect("available");
    let again = receive(&["x"], 1);
    ctx.queue_wait_for_names_available(again)
        .await
        .expect("there");
    assert_eq!(ids(&take(&ctx, receive(&[], 9)).await), [2]);
}

#[tokio::test]
async fn a_message_taken_for_a_caller_that_went_away_is_not_lost() {
    let mut world = World::new();
    let ctx = world.start().await.expect("start").ctx().clone();
    for _ in 0..200 {
        send(&ctx, "x").await;
        // Dropped at any point of its way: before, while and after it takes.
        let mut wait = Box::pin(ctx.queue_next_batch(receive(&["x"], 1)));
        assert!(wait.as_mut().now_or_never().is_none());
        settle().await;
        drop(wait);
        let got = take(&ctx, receive(&["x"], 5)).await;
        assert_eq!(got.len(), 1);
    }
    assert!(ctx.queue_inspect().await.expect("inspect").is_empty());
}

#[tokio::test]
async fn timeouts_that_race_with_arrivals_lose_nothing() {
    let mut world = World::new();
    let ctx = world.start().await.expect("start").ctx().clone();
    let mut received = Vec::new();
    for round in 0..200_usize {
        let waiting = Receive {
            timeout: Some(Duration::from_millis(5)),
            ..receive(&["x"], 1)
        };
        let receiver = ctx.clone();
        let wait = tokio::spawn(async move { receiver.queue_next_batch(waiting).await });
        // The timeout falls anywhere between the first look and the arrival.
        for _ in 0..round % 7 {
            tokio::task::yield_now().await;
        }
        let arrived = tokio::spawn(ctx.queue_send(message("x", b"")));
        for _ in 0..round % 5 {
            tokio::task::yield_now().await;
        }
        while !wait.is_finished() {
            world.time.advance(Duration::from_millis(5));
            tokio::task::yield_now().await;
        }
        arrived.await.expect("task").expect("send");
        received.extend(ids(&wait.await.expect("task").expect("no error")));
    }
    received.extend(ids(&take(&ctx, now(receive(&[], 1_000))).await));
    assert_eq!(received, (1..=200).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_completable_message_stays_until_it_is_completed() {
    let mut world = World::new();
    let ctx = world.start().await.expect("start").ctx().clone();
    send(&ctx, "x").await;
    let first = take(&ctx, keep(receive(&[], 1))).await.remove(0);
    let again = take(&ctx, keep(receive(&[], 1))).await.remove(0);
    assert_eq!((first.id(), again.id()), (1, 1));
    first.complete(None).await.expect("complete");
    let error = first.complete(None).await.expect_err("twice");
    assert!(error.is(&code::QUEUE_ALREADY_COMPLETED));
    again
        .complete(None)
        .await
        .expect("already gone is no failure");
    assert!(take(&ctx, now(receive(&[], 1))).await.is_empty());
    send(&ctx, "x").await;
    let removed = take(&ctx, receive(&[], 1)).await.remove(0);
    let error = removed.complete(None).await.expect_err("not completable");
    assert_eq!(
        error.message(),
        "Queue 'x' does not support completion responses."
    );
    let error = removed.retry(None, None).await.expect_err("not leased");
    assert!(error.is(&code::QUEUE_NOT_LEASED));
}

#[tokio::test]
async fn an_uncompleted_message_is_delivered_after_a_crash_and_completed_by_its_id() {
    let mut world = World::new();
    let ctx = world.start().await.expect("start").ctx().clone();
    send(&ctx, "x").await;
    take(&ctx, keep(receive(&[], 1))).await;
    let handle = world.crash().await;
    let ctx = handle.ctx();
    assert_eq!(ids(&take(ctx, keep(receive(&[], 1))).await), [1]);
    let other = ctx.queue_complete_persisted(1, "y".into(), None).await;
    let error = other.expect_err("other name");
    assert_eq!(error.message(), "Queue message 1 is named 'x', not 'y'.");
    let completed = ctx.queue_complete_persisted(1, "x".into(), None).await;
    assert!(completed.expect("complete"));
    let gone = ctx.queue_complete_persisted(1, "x".into(), None).await;
    assert!(!gone.expect("gone"));
}

#[tokio::test]
async fn a_sender_that_waits_gets_the_response() {
    let mut world = World::new();
    let ctx = world.start().await.expect("start").ctx().clone();
    let answer = tokio::spawn(ctx.queue_enqueue_and_wait(
        message("x", b"question"),
        None,
        CancellationToken::new(),
    ));
    let asked = take(&ctx, keep(receive(&["x"], 1))).await.remove(0);
    asked
        .complete(Some(Bytes::from_static(b"42")))
        .await
        .expect("complete");
    let answer = answer.await.expect("task").expect("answered");
    assert_eq!(answer.as_deref(), Some(&b"42"[..]));
}

#[tokio::test]
async fn a_sender_that_waits_gives_up_at_its_timeout_signal_or_a_reset() {
    let mut world = World::new();
    let ctx = world.start().await.expect("start").ctx().clone();
    let wait = |timeout, cancelled: &CancellationToken| {
        tokio::spawn(ctx.queue_enqueue_and_wait(message("x", b""), timeout, cancelled.clone()))
    };
    let never = CancellationToken::new();
    let timed = wait(Some(SECOND), &never);
    settle_until_stored(&ctx, 1).await;
    world.time.advance(SECOND);
    let error = timed.await.expect("task").expect_err("timed out");
    assert!(error.is(&code::QUEUE_TIMED_OUT));
    assert_eq!(
        ctx.queue_inspect().await.expect("inspect").len(),
        1,
        "stays queued"
    );
    let cancelled = CancellationToken::new();
    let aborted = wait(None, &cancelled);
    settle_until_stored(&ctx, 2).await;
    cancelled.cancel();
    let error = aborted.await.expect("task").expect_err("aborted");
    assert!(error.is(&code::ACTOR_ABORTED));
    let before = wait(None, &cancelled).await.expect("task");
    assert!(before.expect_err("aborted").is(&code::ACTOR_ABORTED));
    let dropped = wait(None, &never);
    settle_until_stored(&ctx, 3).await;
    ctx.queue_reset().await.expect("reset");
    let error = dropped.await.expect("task").expect_err("reset");
    assert!(error.is(&code::QUEUE_COMPLETION_WAITER_DROPPED));
    assert_eq!(send(&ctx, "x").await, 4, "ids go on");
}

async fn settle_until_stored(ctx: &ActorContext, count: usize) {
    while ctx.queue_inspect().await.expect("inspect").len() < count {
        tokio::task::yield_now().await;
    }
    settle().await;
}

#[tokio::test]
async fn a_run_handler_parked_on_the_queue_lets_the_actor_sleep() {
    let mut world = World::new();
    let handle = world.start().await.expect("start");
    let ctx = handle.ctx().clone();
    let run = {
        let (ctx, running) = (ctx.clone(), ctx.run_handler_guard());
        tokio::spawn(async move {
            let outcome = ctx.queue_next_batch(receive(&[], 1)).await;
            drop(running);
            outcome
        })
    };
    while ctx.work_counts().queue_waits == 0 {
        tokio::task::yield_now().await;
    }
    world.advance(31 * SECOND).await;
    assert_eq!(world.asked.recv().await, Some(Asked::Sleep));
    world.stop(StopReason::SleepIntent).await.expect("stop");
    let error = run.await.expect("task").expect_err("aborted");
    assert!(error.is(&code::ACTOR_ABORTED));
    assert_eq!(
        world.asked.try_recv().ok(),
        None,
        "nothing is there to wake for"
    );
}

#[tokio::test]
async fn a_message_for_a_receiver_that_the_end_cut_off_wakes_the_actor_again() {
    for (name, wakes) in [("jobs", true), ("notes", false)] {
        let mut world = World::new();
        let ctx = world.start().await.expect("start").ctx().clone();
        let parked = {
            let ctx = ctx.clone();
            tokio::spawn(async move { ctx.queue_next_batch(receive(&["jobs"], 1)).await })
        };
        while ctx.work_counts().queue_waits == 0 {
            tokio::task::yield_now().await;
        }
        // Sent by the part of the actor that cleans up, after the receiver left.
        let sender = ctx.clone();
        let sent = tokio::spawn(async move {
            sender.abort_signal().cancelled().await;
            sender.queue_send(message(name, b"late")).await
        });
        world.stop(StopReason::SleepIntent).await.expect("stop");
        assert!(parked.await.expect("task").is_err());
        sent.await.expect("task").expect("stored");
        let alarm = Asked::Alarm(Some(world.clock.now_ms()));
        assert_eq!(
            world.asked.try_recv().ok(),
            wakes.then_some(alarm),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_queue_of_an_ended_generation_is_closed() {
    let mut world = World::new();
    let ctx = world.start().await.expect("start").ctx().clone();
    world.stop(StopReason::GoingAway).await.expect("stop");
    let error = ctx.queue_send(message("x", b"")).await.expect_err("closed");
    assert!(error.is(&code::SQLITE_TRANSACTION_CLOSED));
    assert!(error.actor().is_some());
    let error = ctx
        .kv_get(Bytes::from_static(b"k"))
        .await
        .expect_err("closed");
    assert!(error.is(&code::SQLITE_TRANSACTION_CLOSED));
    assert_eq!(world.host.open_databases(), 0);
}

#[tokio::test]
async fn many_messages_go_through_one_queue_in_order() {
    let config = ActorConfig {
        max_queue_size: 2_000,
        ..ActorConfig::default()
    };
    let mut world = World::with_config(config);
    let ctx = world.start().await.expect("start").ctx().clone();
    let producer = {
        let ctx = ctx.clone();
        tokio::spawn(async move {
            for chunk in 0..20_u32 {
                let number = |n: u32| (chunk * 1_000 + n).to_be_bytes();
                let sends = (0..1_000).map(|n| ctx.queue_send(message("q", &number(n))));
                for sent in sends.collect::<Vec<_>>() {
                    sent.await.expect("there is room for two chunks");
                }
                // The next chunk waits until this one is all but received.
                while ctx.queue_inspect().await.expect("inspect").len() > 900 {
                    tokio::task::yield_now().await;
                }
            }
        })
    };
    let mut next = 0_u32;
    while next < 20_000 {
        for message in take(&ctx, receive(&["q"], 500)).await {
            assert_eq!(message.body()[..], next.to_be_bytes());
            next += 1;
        }
    }
    producer.await.expect("producer");
}
