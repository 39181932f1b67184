//! Batches of queue operations on real files.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use rusqlite::Connection;

use super::fixture::{Fixture, inspect};
use crate::{
    Database, Delivery, NewMessage, QueueBatch, QueueLedger, QueueOutcome, QueueWrite,
    QueueWritten, Take, TakeMode, Taken, Trace,
};

const LEASED: Delivery = Delivery {
    visible_after_ms: 100,
    max_attempts: 2,
    dead_letters: true,
};

/// One generation's queue.
struct Queue {
    database: Database,
    ledger: Option<QueueLedger>,
    end_leases: bool,
    now: i64,
    max_len: u64,
}

impl Queue {
    fn new(database: Database) -> Self {
        Self {
            database,
            ledger: None,
            end_leases: true,
            now: 1_000,
            max_len: 1_000,
        }
    }

    async fn run(&mut self, writes: Vec<QueueWrite>) -> QueueOutcome {
        let deliveries = BTreeMap::from([("leased".to_owned(), LEASED)]);
        let batch = QueueBatch {
            writes,
            ledger: self.ledger,
            end_leases: std::mem::take(&mut self.end_leases),
            max_len: self.max_len,
            deliveries: Arc::new(deliveries),
            now: self.now,
        };
        let outcome = self.database.queue_write(batch).await.unwrap();
        self.ledger = Some(outcome.ledger);
        outcome
    }

    async fn one(&mut self, write: QueueWrite) -> QueueWritten {
        self.run(vec![write]).await.written.remove(0)
    }

    async fn take(&mut self, names: &[&str], count: usize, mode: TakeMode) -> Taken {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let take = Take { names, count, mode };
        match self.one(QueueWrite::Take(take)).await {
            QueueWritten::Taken(taken) => taken,
            other => panic!("{other:?}"),
        }
    }
}

fn send(name: &str) -> QueueWrite {
    QueueWrite::Send(NewMessage {
        name: name.to_owned(),
        body: Bytes::from_static(b"body"),
        created_at: 7,
        trace: Trace {
            ray_id: Some("ray".to_owned()),
            ..Trace::default()
        },
    })
}

fn ids(taken: &Taken) -> Vec<u64> {
    taken.messages.iter().map(|m| m.row.id).collect()
}

#[tokio::test]
async fn messages_come_in_the_order_of_ids_across_names() {
    let fixture = Fixture::new();
    let mut queue = Queue::new(fixture.existing("a", "s").await);
    let sends = ["x", "y", "z", "x", "y"].map(send).to_vec();
    let sent = queue.run(sends).await;
    let expected: Vec<_> = (1..=5).map(QueueWritten::Sent).collect();
    assert_eq!(sent.written, expected);
    let taken = queue.take(&["y", "x"], 3, TakeMode::Keep).await;
    assert_eq!(ids(&taken), [1, 2, 4]);
    assert_eq!(taken.messages[0].row.trace.ray_id.as_deref(), Some("ray"));
    assert_eq!(
        ids(&queue.take(&[], 9, TakeMode::Keep).await),
        [1, 2, 3, 4, 5]
    );
    assert!(ids(&queue.take(&["none"], 9, TakeMode::Keep).await).is_empty());
    let look = queue.take(&["z"], 1, TakeMode::Look).await;
    assert!(look.available && look.messages.is_empty());
}

#[tokio::test]
async fn a_long_list_of_names_takes_the_lowest_ids() {
    let fixture = Fixture::new();
    let mut queue = Queue::new(fixture.existing("a", "s").await);
    let names: Vec<String> = (0..2_000).map(|n| format!("q{n}")).collect();
    let sends = names[..600].iter().rev().map(|name| send(name));
    queue.run(sends.collect()).await;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let taken = queue.take(&names, 300, TakeMode::Remove).await;
    assert_eq!(ids(&taken), (1..=300).collect::<Vec<_>>());
    assert_eq!(queue.ledger.unwrap().len, 300);
}

#[tokio::test]
async fn ids_are_never_used_again() {
    let mut fixture = Fixture::new();
    let mut queue = Queue::new(fixture.existing("a", "s").await);
    queue
        .run(vec![send("x"), send("x"), QueueWrite::Reset])
        .await;
    assert_eq!(queue.ledger.unwrap().len, 0);
    assert_eq!(queue.one(send("x")).await, QueueWritten::Sent(3));
    queue.take(&[], 9, TakeMode::Remove).await;
    fixture.restart().await;
    let mut queue = Queue::new(fixture.database("a"));
    assert_eq!(queue.one(send("x")).await, QueueWritten::Sent(4));
}

#[tokio::test]
async fn an_id_above_the_stored_counter_is_respected() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "s").await;
    database
        .call(|conn: &mut Connection| {
            conn.execute_batch(
                "INSERT INTO _rivet_queue VALUES (41, 'x', x'', 0, NULL, NULL, NULL)",
            )
            .unwrap();
            Ok(())
        })
        .await
        .unwrap();
    let mut queue = Queue::new(database);
    assert_eq!(queue.one(send("x")).await, QueueWritten::Sent(42));
}

#[tokio::test]
async fn a_full_queue_takes_again_what_a_receive_made_room_for() {
    let fixture = Fixture::new();
    let mut queue = Queue::new(fixture.existing("a", "s").await);
    queue.max_len = 2;
    let take = Take {
        names: Arc::from([]),
        count: 1,
        mode: TakeMode::Remove,
    };
    let writes = vec![
        send("x"),
        send("x"),
        send("x"),
        QueueWrite::Take(take),
        send("x"),
    ];
    let written = queue.run(writes).await.written;
    assert_eq!(written[2], QueueWritten::Full);
    assert_eq!(written[4], QueueWritten::Sent(3));
}

#[tokio::test]
async fn completing_checks_the_name_and_happens_once() {
    let fixture = Fixture::new();
    let mut queue = Queue::new(fixture.existing("a", "s").await);
    queue.one(send("x")).await;
    let complete = |name: &str| QueueWrite::Complete {
        id: 1,
        expected_name: Some(name.to_owned()),
        attempt: None,
    };
    let actual_name = "x".to_owned();
    assert_eq!(
        queue.one(complete("y")).await,
        QueueWritten::OtherName { actual_name }
    );
    let name = "x".to_owned();
    assert_eq!(
        queue.one(complete("x")).await,
        QueueWritten::Completed { name }
    );
    assert_eq!(queue.one(complete("x")).await, QueueWritten::Missing);
}

#[tokio::test]
async fn a_queue_without_leases_has_the_published_tables_only() {
    let fixture = Fixture::new();
    let mut queue = Queue::new(fixture.existing("a", "s").await);
    queue.run(vec![send("x"), send("leased")]).await;
    queue.take(&["x"], 1, TakeMode::Keep).await;
    queue.database.close().await.unwrap();
    let ours: i64 = inspect(&fixture.path("a"))
        .query_row(
            "SELECT count(*) FROM sqlite_schema WHERE name LIKE '\\_greenroom%' ESCAPE '\\'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(ours, 0);
}

#[tokio::test]
async fn another_runtime_sees_leased_messages_as_waiting_and_may_take_them() {
    let fixture = Fixture::new();
    let mut queue = Queue::new(fixture.existing("a", "s").await);
    queue.run(vec![send("leased"), send("leased")]).await;
    let ours = queue.take(&[], 2, TakeMode::Keep).await;
    assert_eq!(ids(&ours), [1, 2]);
    queue.database.close().await.unwrap();
    // As RivetKit does, which knows neither leases nor their table.
    let other = inspect(&fixture.path("a"));
    let waiting: Vec<u64> = other
        .prepare("SELECT id FROM _rivet_queue WHERE name = 'leased' ORDER BY id LIMIT 128")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(waiting, [1, 2]);
    other
        .execute_batch(
            "DELETE FROM _rivet_queue WHERE id = 1;
             INSERT INTO _rivet_queue (id, name, body, created_at) VALUES (3, 'leased', x'01', 9);
             UPDATE _rivet_runtime SET queue_next_id = 4;",
        )
        .unwrap();
    drop(other);
    // The next generation, here again: what was taken is gone, leases included.
    let mut queue = Queue::new(queue.database);
    queue.now = 2_000;
    let again = queue.take(&[], 9, TakeMode::Keep).await;
    assert_eq!(ids(&again), [2, 3]);
    assert_eq!(queue.one(send("leased")).await, QueueWritten::Sent(4));
    queue.database.close().await.unwrap();
    let leases: i64 = inspect(&fixture.path("a"))
        .query_row(
            "SELECT count(*) FROM _greenroom_queue_leases WHERE id NOT IN (SELECT id FROM _rivet_queue)",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(leases, 0);
}

#[tokio::test]
async fn a_leased_message_is_hidden_then_delivered_again_then_given_up() {
    let fixture = Fixture::new();
    let mut queue = Queue::new(fixture.existing("a", "s").await);
    queue.one(send("leased")).await;
    let first = queue.take(&[], 1, TakeMode::Keep).await;
    assert_eq!(first.messages[0].attempt, Some(1));
    let hidden = queue.take(&["leased"], 1, TakeMode::Remove).await;
    assert!(hidden.messages.is_empty() && !hidden.available);
    assert_eq!(hidden.next_visible_at, Some(1_100));
    queue.now = 1_100;
    let second = queue.take(&[], 1, TakeMode::Keep).await;
    assert_eq!(second.messages[0].attempt, Some(2));
    let late = QueueWrite::Complete {
        id: 1,
        expected_name: None,
        attempt: Some(1),
    };
    assert_eq!(
        queue.one(late).await,
        QueueWritten::LeaseLost { attempt: 2 }
    );
    queue.now = 1_200;
    let third = queue.take(&[], 1, TakeMode::Keep).await;
    assert!(third.messages.is_empty());
    assert_eq!(third.buried[0].attempts, 2);
    let stats = queue.database.queue_stats(None, queue.now).await.unwrap();
    assert_eq!((stats.depth, stats.dead), (0, 1));
}

#[tokio::test]
async fn leases_end_with_the_generation_that_took_them() {
    let mut fixture = Fixture::new();
    let mut queue = Queue::new(fixture.existing("a", "s").await);
    queue.one(send("leased")).await;
    queue.take(&[], 1, TakeMode::Keep).await;
    fixture.restart().await;
    let mut queue = Queue::new(fixture.database("a"));
    let again = queue.take(&[], 1, TakeMode::Keep).await;
    assert_eq!(again.messages[0].attempt, Some(2));
}

#[tokio::test]
async fn a_message_given_back_waits_and_one_that_failed_is_replayed_under_a_new_id() {
    let fixture = Fixture::new();
    let mut queue = Queue::new(fixture.existing("a", "s").await);
    queue.one(send("leased")).await;
    queue.take(&[], 1, TakeMode::Keep).await;
    let retry = QueueWrite::Retry {
        id: 1,
        attempt: 1,
        visible_at: 1_500,
        reason: Some("busy".to_owned()),
    };
    let outcome = queue.run(vec![retry]).await;
    assert_eq!(outcome.next_redelivery, Some(1_500));
    let stats = queue
        .database
        .queue_stats(Some("leased".into()), 1_000)
        .await
        .unwrap();
    assert_eq!((stats.depth, stats.delayed, stats.in_flight), (1, 1, 0));
    queue.now = 1_500;
    queue.take(&[], 1, TakeMode::Keep).await;
    let fail = QueueWrite::Fail {
        id: 1,
        attempt: 2,
        reason: "no".to_owned(),
    };
    assert!(matches!(queue.one(fail).await, QueueWritten::Buried(_)));
    let dead = queue.database.dead_letters(None, 0, 10).await.unwrap();
    assert_eq!((dead[0].message.id, dead[0].reason.as_str()), (1, "no"));
    let replay = QueueWrite::Replay {
        name: Some("leased".to_owned()),
        ids: None,
    };
    let names = vec!["leased".to_owned()];
    assert_eq!(queue.one(replay).await, QueueWritten::Replayed(names));
    let again = queue.take(&[], 1, TakeMode::Keep).await;
    assert_eq!((ids(&again), again.messages[0].attempt), (vec![2], Some(1)));
}

#[tokio::test]
async fn what_a_receiver_did_not_get_is_put_back_as_it_was() {
    let fixture = Fixture::new();
    let mut queue = Queue::new(fixture.existing("a", "s").await);
    queue.run(vec![send("x"), send("leased")]).await;
    let removed = queue.take(&["x"], 1, TakeMode::Remove).await.messages;
    let leased = queue.take(&["leased"], 1, TakeMode::Keep).await.messages;
    let before = queue.ledger;
    queue
        .one(QueueWrite::PutBack([removed, leased].concat()))
        .await;
    assert_eq!(queue.ledger.unwrap().len, before.unwrap().len + 1);
    let again = queue.take(&[], 2, TakeMode::Keep).await;
    assert_eq!(ids(&again), [1, 2]);
    assert_eq!(again.messages[1].attempt, Some(1));
}
