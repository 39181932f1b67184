//! Behaviour of the directory through its handle, and its query plans.

use std::sync::Arc;

use greenroom_error::{Error, code};
use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;
use tempfile::TempDir;

use super::{Directory, ListQuery, NewActor, listing, sql};
use crate::tests::plan;
use crate::{Disk, DiskOp, Fault, Verdict};

async fn open(folder: &TempDir) -> Directory {
    Directory::open(folder.path().join("data/directory.db"))
        .await
        .unwrap()
}

fn new_actor(id: &str, key: &str, create_ts: i64) -> NewActor {
    NewActor {
        id: id.to_owned(),
        name: "chat".to_owned(),
        key: key.to_owned(),
        input: Some(b"input".to_vec()),
        create_ts,
    }
}

async fn fill(directory: &Directory, count: i64) {
    for number in 0..count {
        let id = format!("id{number}");
        directory.create(new_actor(&id, &id, number)).await.unwrap();
    }
}

async fn ids(directory: &Directory, query: ListQuery) -> Vec<String> {
    let records = directory.list(query).await.unwrap();
    records.into_iter().map(|record| record.id).collect()
}

#[track_caller]
fn assert_not_found<T: std::fmt::Debug>(outcome: Result<T, Error>) {
    assert!(outcome.unwrap_err().is(&code::ACTOR_NOT_FOUND));
}

#[tokio::test]
async fn everything_known_of_an_actor_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let directory = open(&folder).await;
    directory.create(new_actor("a", "k", 10)).await.unwrap();
    assert_eq!(directory.next_generation("a").await.unwrap(), 1);
    directory.note_started("a", 20).await.unwrap();
    directory.note_slept("a", 30).await.unwrap();
    directory.set_alarm("a", Some(99)).await.unwrap();
    directory
        .note_error("a", Some("boom".to_owned()))
        .await
        .unwrap();
    let before = directory.by_id("a").await.unwrap().unwrap();
    directory.close().await.unwrap();

    let directory = open(&folder).await;
    let after = directory.by_key("chat", "k").await.unwrap().unwrap();
    assert_eq!(after, before);
    assert_eq!(
        (
            after.create_ts,
            after.start_ts,
            after.sleep_ts,
            after.next_alarm,
            after.generation
        ),
        (10, Some(20), Some(30), Some(99), 1)
    );
    assert_eq!(after.input.as_deref(), Some(&b"input"[..]));
    assert_eq!(after.error.as_deref(), Some("boom"));
}

#[tokio::test]
async fn concurrent_first_calls_create_one_actor() {
    let folder = tempfile::tempdir().unwrap();
    let directory = open(&folder).await;
    let calls: Vec<_> = (0..32)
        .map(|number| {
            let directory = directory.clone();
            let new = new_actor(&format!("id{number}"), "k", number);
            tokio::spawn(async move { directory.get_or_create(new).await.unwrap() })
        })
        .collect();
    let mut created = Vec::new();
    let mut seen = Vec::new();
    for call in calls {
        let (record, is_new) = call.await.unwrap();
        created.extend(is_new.then(|| record.id.clone()));
        seen.push(record.id);
    }
    assert_eq!(created.len(), 1);
    assert!(seen.iter().all(|id| *id == created[0]));
}

#[tokio::test]
async fn creating_a_taken_key_names_the_actor_that_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let directory = open(&folder).await;
    directory.create(new_actor("a", "k", 1)).await.unwrap();
    let error = directory.create(new_actor("b", "k", 2)).await.unwrap_err();
    assert!(error.is(&code::ACTOR_DUPLICATE_KEY), "{error}");
    let metadata = error.metadata().unwrap();
    assert_eq!(metadata["existing_actor_id"], "a");
    assert_eq!(metadata["key"], "k");
    let mut other = new_actor("c", "k", 3);
    other.name = "game".to_owned();
    directory.create(other).await.unwrap();
}

#[tokio::test]
async fn an_id_that_exists_is_not_created_again() {
    let folder = tempfile::tempdir().unwrap();
    let directory = open(&folder).await;
    directory.create(new_actor("a", "k1", 1)).await.unwrap();
    assert!(directory.create(new_actor("a", "k2", 2)).await.is_err());
    assert_eq!(directory.by_key("chat", "k2").await.unwrap(), None);
}

#[tokio::test]
async fn a_destroyed_actor_frees_its_key_and_stays_known_by_id() {
    let folder = tempfile::tempdir().unwrap();
    let directory = open(&folder).await;
    directory.create(new_actor("a", "k", 1)).await.unwrap();
    directory.set_alarm("a", Some(5)).await.unwrap();
    assert!(directory.mark_destroyed("a", 7).await.unwrap());
    assert!(!directory.mark_destroyed("a", 8).await.unwrap());
    assert_eq!(directory.by_key("chat", "k").await.unwrap(), None);
    let record = directory.by_id("a").await.unwrap().unwrap();
    assert_eq!(
        (record.destroy_ts, record.next_alarm, record.input),
        (Some(7), None, None)
    );
    assert_eq!(directory.earliest_alarm().await.unwrap(), None);

    let (again, created) = directory
        .get_or_create(new_actor("b", "k", 9))
        .await
        .unwrap();
    assert!(created);
    assert_eq!((again.id.as_str(), again.generation), ("b", 0));
    assert_not_found(directory.next_generation("a").await);
    assert_not_found(directory.set_alarm("a", Some(1)).await);
    assert_not_found(directory.note_slept("a", 1).await);
    assert_not_found(directory.mark_destroyed("never", 1).await);
}

#[tokio::test]
async fn the_first_start_time_is_kept_and_a_wake_ends_the_sleep() {
    let folder = tempfile::tempdir().unwrap();
    let directory = open(&folder).await;
    directory.create(new_actor("a", "k", 1)).await.unwrap();
    directory.note_started("a", 10).await.unwrap();
    directory.note_slept("a", 20).await.unwrap();
    directory.note_started("a", 30).await.unwrap();
    directory.note_initialized("a").await.unwrap();
    let record = directory.by_id("a").await.unwrap().unwrap();
    assert_eq!(
        (record.start_ts, record.sleep_ts, record.input),
        (Some(10), None, None)
    );
}

#[tokio::test]
async fn generations_count_up_and_are_never_given_twice() {
    let folder = tempfile::tempdir().unwrap();
    let directory = open(&folder).await;
    directory.create(new_actor("a", "k", 1)).await.unwrap();
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let directory = directory.clone();
            tokio::spawn(async move { directory.next_generation("a").await.unwrap() })
        })
        .collect();
    let mut given = Vec::new();
    for call in calls {
        given.push(call.await.unwrap());
    }
    given.sort_unstable();
    assert_eq!(given, (1..=20).collect::<Vec<_>>());
}

#[tokio::test]
async fn alarms_come_due_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let directory = open(&folder).await;
    fill(&directory, 5).await;
    for (id, at) in [("id0", 30), ("id1", 10), ("id2", 20), ("id3", 40)] {
        directory.set_alarm(id, Some(at)).await.unwrap();
    }
    directory.set_alarm("id1", Some(25)).await.unwrap();
    assert_eq!(directory.earliest_alarm().await.unwrap(), Some(20));
    let due = directory.due_alarms(30, 10).await.unwrap();
    let due: Vec<_> = due.iter().map(|(id, at)| (id.as_str(), *at)).collect();
    assert_eq!(due, [("id2", 20), ("id1", 25), ("id0", 30)]);
    assert_eq!(directory.due_alarms(30, 1).await.unwrap().len(), 1);
    directory.set_alarm("id2", None).await.unwrap();
    assert_eq!(directory.earliest_alarm().await.unwrap(), Some(25));
}

#[tokio::test]
async fn a_listing_is_newest_first_and_pages_without_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let directory = open(&folder).await;
    // Two actors per millisecond.
    for number in 0..10 {
        let id = format!("id{number}");
        directory
            .create(new_actor(&id, &id, number / 2))
            .await
            .unwrap();
    }
    for name in [None, Some("chat".to_owned())] {
        let mut seen = Vec::new();
        let mut before_create_ts = None;
        loop {
            let query = ListQuery {
                name: name.clone(),
                limit: 3,
                before_create_ts,
                ..ListQuery::default()
            };
            let page = directory.list(query).await.unwrap();
            let Some(last) = page.last() else { break };
            before_create_ts = Some(last.create_ts);
            assert!(page.len() <= 4);
            seen.extend(page.into_iter().map(|record| record.id));
        }
        let expected: Vec<_> = (0..10).rev().map(|number| format!("id{number}")).collect();
        assert_eq!(seen, expected);
    }
}

#[tokio::test]
async fn listings_hide_destroyed_actors_unless_asked() {
    let folder = tempfile::tempdir().unwrap();
    let directory = open(&folder).await;
    fill(&directory, 3).await;
    directory.mark_destroyed("id1", 5).await.unwrap();
    let by_name = |include_destroyed| ListQuery {
        name: Some("chat".to_owned()),
        include_destroyed,
        ..ListQuery::default()
    };
    assert_eq!(ids(&directory, by_name(false)).await, ["id2", "id0"]);
    assert_eq!(ids(&directory, by_name(true)).await, ["id2", "id1", "id0"]);
    let by_key = |include_destroyed| ListQuery {
        key: Some("id1".to_owned()),
        ..by_name(include_destroyed)
    };
    assert!(ids(&directory, by_key(false)).await.is_empty());
    assert_eq!(ids(&directory, by_key(true)).await, ["id1"]);
    let by_ids = |include_destroyed| ListQuery {
        ids: vec!["id0".to_owned(), "id1".to_owned(), "nobody".to_owned()],
        include_destroyed,
        ..ListQuery::default()
    };
    assert_eq!(ids(&directory, by_ids(false)).await, ["id0"]);
    assert_eq!(ids(&directory, by_ids(true)).await, ["id1", "id0"]);
    assert!(
        directory.list(by_ids(true)).await.unwrap()[0]
            .input
            .is_none()
    );
}

#[tokio::test]
async fn names_are_listed_once_each_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let directory = open(&folder).await;
    for (number, name) in ["b", "a", "c", "a", "b"].into_iter().enumerate() {
        let mut new = new_actor(&format!("id{number}"), &number.to_string(), 1);
        new.name = name.to_owned();
        directory.create(new).await.unwrap();
    }
    assert_eq!(directory.names(None, 10).await.unwrap(), ["a", "b", "c"]);
    assert_eq!(directory.names(None, 2).await.unwrap(), ["a", "b"]);
    assert_eq!(
        directory.names(Some("b".to_owned()), 10).await.unwrap(),
        ["c"]
    );
}

#[tokio::test]
async fn old_destroyed_actors_can_be_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let directory = open(&folder).await;
    fill(&directory, 4).await;
    for (id, at) in [("id0", 10), ("id1", 20), ("id2", 30)] {
        directory.mark_destroyed(id, at).await.unwrap();
    }
    assert_eq!(directory.forget_destroyed(25, 1).await.unwrap(), 1);
    assert_eq!(directory.forget_destroyed(25, 10).await.unwrap(), 1);
    assert_eq!(directory.forget_destroyed(25, 10).await.unwrap(), 0);
    assert!(directory.by_id("id2").await.unwrap().is_some());
    assert!(directory.by_id("id3").await.unwrap().is_some());
}

#[tokio::test]
async fn closing_refuses_further_calls_and_may_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let directory = open(&folder).await;
    fill(&directory, 1).await;
    let clone = directory.clone();
    directory.close().await.unwrap();
    clone.close().await.unwrap();
    let error = clone.by_id("id0").await.unwrap_err();
    assert!(error.is(&code::SQLITE_CLOSED), "{error}");
    assert!(open(&folder).await.by_id("id0").await.unwrap().is_some());
}

#[tokio::test]
async fn a_call_that_panics_fails_alone() {
    let folder = tempfile::tempdir().unwrap();
    let directory = open(&folder).await;
    let error = directory
        .durable::<()>(|_| panic!("on purpose"))
        .await
        .unwrap_err();
    assert!(error.is(&code::INTERNAL), "{error}");
    fill(&directory, 1).await;
}

#[tokio::test]
async fn a_damaged_or_newer_file_is_a_failure_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("directory.db");
    std::fs::write(&path, vec![9; 8192]).unwrap();
    let error = Directory::open(&path).await.map(drop).unwrap_err();
    assert!(error.is(&code::HOST_STORAGE_FAILED), "{error}");

    let newer = folder.path().join("newer.db");
    Connection::open(&newer)
        .unwrap()
        .execute_batch("PRAGMA user_version = 2")
        .unwrap();
    let error = Directory::open(&newer).await.map(drop).unwrap_err();
    assert!(
        error.message().contains("version 2 is not supported"),
        "{error}"
    );
}

#[test]
fn every_statement_finds_its_rows_by_an_index_among_many_actors() {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(sql::SCHEMA).unwrap();
    conn.execute_batch(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
         INSERT INTO actors (id, name, key, create_ts, destroy_ts, generation, next_alarm)
         SELECT 'id' || i, 'n' || i % 3, 'k' || i, i, iif(i % 2, NULL, i), 0, iif(i % 2, i, NULL)
         FROM n;",
    )
    .unwrap();
    let fixed = sql::STATEMENTS.iter().map(|sql| (*sql).to_owned());
    for sql in fixed.chain(listing::statements()) {
        plan::assert_indexed(&conn, &sql);
    }
    let key_lookup = plan::steps(&conn, sql::BY_KEY).concat();
    assert!(
        key_lookup.contains("actors_live_key (name=? AND key=?)"),
        "{key_lookup}"
    );
}

/// A disk whose syncs wait while the gate is shut.
fn gated_disk() -> (Disk, Arc<(Mutex<bool>, Condvar)>) {
    let gate = Arc::new((Mutex::new(true), Condvar::new()));
    let asked = Arc::clone(&gate);
    let disk = Disk::scripted(move |call| {
        if call.op == DiskOp::Sync {
            let (open, changed) = &*asked;
            changed.wait_while(&mut open.lock(), |open| !*open);
        }
        Verdict::Proceed
    });
    (disk.unwrap(), gate)
}

fn set(gate: &(Mutex<bool>, Condvar), open: bool) {
    *gate.0.lock() = open;
    gate.1.notify_all();
}

#[tokio::test]
async fn who_starts_a_new_actor_is_answered_before_its_commit_and_hears_of_that() {
    let folder = tempfile::tempdir().unwrap();
    let (disk, gate) = gated_disk();
    let path = folder.path().join("directory.db");
    let directory = Directory::open_on(disk, &path).await.unwrap();
    set(&gate, false);
    let started = directory.get_or_create_started(new_actor("a", "k", 1));
    let started = started.await.unwrap();
    assert!(started.created);
    assert_eq!(started.record.generation, 1);
    assert!(started.commit.outcome().is_none(), "not on disk yet");

    set(&gate, true);
    let found = directory.by_key("chat", "k").await.unwrap().unwrap();
    started.commit.outcome().expect("it ended").expect("well");
    assert_eq!(found.generation, 1);
    assert_eq!(directory.next_generation("a").await.unwrap(), 2);
}

#[tokio::test]
async fn who_finds_an_actor_that_is_being_created_waits_for_the_same_commit() {
    let folder = tempfile::tempdir().unwrap();
    let directory = open(&folder).await;
    let calls: Vec<_> = (0..16)
        .map(|number| {
            let directory = directory.clone();
            let new = new_actor(&format!("id{number}"), "k", number);
            tokio::spawn(async move { directory.get_or_create_started(new).await.unwrap() })
        })
        .collect();
    let mut started = Vec::new();
    for call in calls {
        started.push(call.await.unwrap());
    }
    let created: Vec<_> = started.iter().filter(|started| started.created).collect();
    assert_eq!(created.len(), 1);
    directory.by_key("chat", "k").await.unwrap().expect("made");
    for each in &started {
        assert_eq!(each.record.id, created[0].record.id);
        each.commit.outcome().expect("it ended").expect("well");
    }
}

#[tokio::test]
async fn a_creation_that_could_not_be_committed_says_so_and_leaves_the_key_free() {
    let folder = tempfile::tempdir().unwrap();
    let (disk, faults) = Disk::with_faults().unwrap();
    let path = folder.path().join("directory.db");
    let directory = Directory::open_on(disk, &path).await.unwrap();
    directory.create(new_actor("z", "z", 0)).await.unwrap();
    faults.set(Some(Fault::WriteError));
    let lost = directory.get_or_create_started(new_actor("a", "k", 1));
    let lost = lost.await.unwrap();
    assert_eq!(directory.by_key("chat", "k").await.unwrap(), None);
    let error = lost.commit.outcome().expect("it ended").unwrap_err();
    assert!(error.is(&code::HOST_STORAGE_FAILED), "{error}");

    faults.set(None);
    let again = directory.get_or_create_started(new_actor("b", "k", 2));
    assert!(again.await.unwrap().created);
}
