//! Databases whose pages a page store keeps: the same promises as files, and what
//! becomes of them when the store refuses, keeps silent or has another writer.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use greenroom_error::{Result, code};
use parking_lot::Mutex;
use rusqlite::Connection;

use super::fixture::{initialised, open_at_most, state_only, stored_state};
use crate::{Database, PAGE_BYTES, PageCommit, PageFailure, PageStore, PagesRead};
use crate::{Store, StoreOptions};

/// What a remote store keeps, and how it is to answer.
#[derive(Default)]
struct Kept {
    head: Option<u64>,
    pages: BTreeMap<u32, Bytes>,
    commits: usize,
    largest_commit: usize,
    reads: usize,
    /// What the next commits are answered with; `Unknown` ones stand.
    fails: Option<PageFailure>,
}

#[derive(Clone, Default)]
struct MemoryPages(Arc<Mutex<Kept>>);

impl PageStore for MemoryPages {
    fn read(&self, numbers: &[u32]) -> std::result::Result<PagesRead, PageFailure> {
        let mut kept = self.0.lock();
        kept.reads += 1;
        let page = |number| kept.pages.get(number).map(|page| (*number, page.clone()));
        Ok(PagesRead {
            head: kept.head,
            pages: numbers.iter().filter_map(page).collect(),
        })
    }

    fn commit(&self, commit: PageCommit) -> std::result::Result<Option<u64>, PageFailure> {
        let mut kept = self.0.lock();
        let failure = kept.fails.clone();
        if let Some(failure @ (PageFailure::Refused(_) | PageFailure::Lost(_))) = failure {
            return Err(failure);
        }
        if commit.on_head != kept.head {
            return Err(PageFailure::Lost("the head is another one".to_owned()));
        }
        assert!(commit.pages.is_sorted_by_key(|(number, _)| *number));
        assert!(
            commit
                .pages
                .iter()
                .all(|(_, page)| page.len() == PAGE_BYTES)
        );
        kept.largest_commit = kept.largest_commit.max(commit.pages.len());
        kept.pages.extend(commit.pages);
        kept.pages.retain(|number, _| *number <= commit.size);
        kept.head = Some(kept.head.unwrap_or(0) + 1);
        kept.commits += 1;
        match failure {
            Some(failure) => Err(failure),
            None => Ok(kept.head),
        }
    }
}

impl MemoryPages {
    /// A store and a database over these pages, as a new lease would have.
    fn lease(&self) -> (Store, Database) {
        let store = Store::new(StoreOptions::default());
        let database = store.paged_database("an actor, generation 1", Arc::new(self.clone()));
        (store, database)
    }

    async fn existing(&self, state: &str) -> (Store, Database) {
        let (store, database) = self.lease();
        assert!(database.start().await.unwrap().bootstrapped);
        database.save(initialised(state)).await.unwrap();
        database.commit_startup().await.unwrap();
        (store, database)
    }

    fn commits(&self) -> usize {
        self.0.lock().commits
    }

    fn fail(&self, failure: Option<PageFailure>) {
        self.0.lock().fails = failure;
    }

    /// The pages as a file would hold them, looked at by another SQLite.
    fn check(&self) {
        let image: Vec<u8> = self.0.lock().pages.values().flatten().copied().collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image.db");
        std::fs::write(&path, image).unwrap();
        drop(super::fixture::inspect(&path));
    }
}

async fn run(database: &Database, sql: &'static str) -> Result<()> {
    use crate::failure::SqlResult;
    let work = move |conn: &mut Connection| conn.execute_batch(sql).sql("run a test's statement");
    database.call(work).await
}

async fn count(database: &Database, table: &'static str) -> i64 {
    use crate::failure::SqlResult;
    let query = format!("SELECT count(*) FROM {table}");
    let work =
        move |conn: &mut Connection| conn.query_row(&query, [], |row| row.get(0)).sql("count");
    database.call(work).await.unwrap()
}

#[tokio::test]
async fn what_was_saved_is_there_for_the_next_lease() {
    let pages = MemoryPages::default();
    let (store, database) = pages.existing("first").await;
    database.save(state_only("second")).await.unwrap();
    store.close().await;
    let (_store, database) = pages.lease();
    assert_eq!(stored_state(&database).await.as_deref(), Some("second"));
    pages.check();
}

#[tokio::test]
async fn a_save_is_one_commit_and_a_small_database_one_read() {
    let pages = MemoryPages::default();
    let (store, database) = pages.existing("first").await;
    assert_eq!(pages.commits(), 1, "a first start is published as a whole");
    for state in ["second", "third", "more"] {
        database.save(state_only(state)).await.unwrap();
    }
    assert_eq!(pages.commits(), 4);
    database.save(state_only("more")).await.unwrap();
    assert_eq!(pages.commits(), 4, "what is there already need not be sent");
    store.close().await;
    pages.0.lock().reads = 0;
    let (_store, database) = pages.lease();
    assert_eq!(stored_state(&database).await.as_deref(), Some("more"));
    assert_eq!(pages.0.lock().reads, 1);
    assert_eq!(pages.commits(), 4, "reading changes nothing");
}

#[tokio::test]
async fn a_first_start_that_breaks_off_leaves_nothing() {
    let pages = MemoryPages::default();
    let (store, database) = pages.lease();
    assert!(database.start().await.unwrap().bootstrapped);
    database.save(initialised("lost")).await.unwrap();
    assert_eq!(pages.commits(), 0);
    std::mem::forget(database);
    std::mem::forget(store);
    let (_store, database) = pages.lease();
    assert!(database.start().await.unwrap().bootstrapped);
}

#[tokio::test]
async fn a_rollback_sends_nothing_however_much_was_written() {
    let pages = MemoryPages::default();
    let (_store, database) = pages.existing("state").await;
    run(&database, "CREATE TABLE t (x)").await.unwrap();
    let before = pages.commits();
    // More than SQLite's cache holds, so pages leave it before the rollback.
    run(
        &database,
        "BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000)
         INSERT INTO t SELECT randomblob(1000) FROM n; ROLLBACK",
    )
    .await
    .unwrap();
    assert_eq!(count(&database, "t").await, 0);
    run(&database, "INSERT INTO t VALUES (1)").await.unwrap();
    assert!(pages.commits() > before);
    pages.check();
}

#[tokio::test]
async fn a_database_larger_than_what_is_kept_of_it_is_read_piece_by_piece() {
    let pages = MemoryPages::default();
    let (store, database) = pages.existing("state").await;
    run(
        &database,
        "CREATE TABLE t (x); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 4000)
         INSERT INTO t SELECT randomblob(1000) FROM n",
    )
    .await
    .unwrap();
    assert!(pages.0.lock().largest_commit > 900);
    pages.check();
    store.close().await;
    let (_store, database) = pages.lease();
    assert_eq!(count(&database, "t WHERE length(x) = 1000").await, 4000);
    // Sorts more than fits into memory by SQLite's own measure.
    assert_eq!(
        count(&database, "(SELECT x FROM t ORDER BY x DESC)").await,
        4000
    );
    run(&database, "DELETE FROM t; VACUUM").await.unwrap();
    assert!(pages.0.lock().pages.len() < 200);
    pages.check();
}

#[tokio::test]
async fn a_refused_commit_fails_that_save_alone() {
    let pages = MemoryPages::default();
    let (_store, database) = pages.existing("first").await;
    pages.fail(Some(PageFailure::Refused("busy".to_owned())));
    let error = database.save(state_only("lost")).await.unwrap_err();
    assert!(error.is(&code::HOST_STORAGE_FAILED), "{error}");
    pages.fail(None);
    assert_eq!(stored_state(&database).await.as_deref(), Some("first"));
    database.save(state_only("second")).await.unwrap();
    assert_eq!(stored_state(&database).await.as_deref(), Some("second"));
    pages.check();
}

#[tokio::test]
async fn after_a_commit_without_an_answer_nothing_is_read_or_written_in_this_lease() {
    let pages = MemoryPages::default();
    let (_store, database) = pages.existing("first").await;
    pages.fail(Some(PageFailure::Unknown("the link is gone".to_owned())));
    database.save(state_only("maybe")).await.unwrap_err();
    pages.fail(None);
    let commits = pages.commits();
    database.save(state_only("never")).await.unwrap_err();
    database.start().await.unwrap_err();
    database.close().await.unwrap();
    database.save(state_only("never")).await.unwrap_err();
    assert_eq!(pages.commits(), commits);
    let (_store, database) = pages.lease();
    assert_eq!(stored_state(&database).await.as_deref(), Some("maybe"));
}

#[tokio::test]
async fn of_two_writers_the_older_one_loses_and_writes_nothing_more() {
    let pages = MemoryPages::default();
    let (_store, older) = pages.existing("first").await;
    older.save(state_only("by the older")).await.unwrap();
    let (_newer_store, newer) = pages.lease();
    newer.start().await.unwrap();
    newer.save(state_only("by the newer")).await.unwrap();
    older.save(state_only("too late")).await.unwrap_err();
    older.save(state_only("too late")).await.unwrap_err();
    assert_eq!(stored_state(&newer).await.as_deref(), Some("by the newer"));
    pages.check();
}

#[tokio::test]
async fn a_lease_that_opens_again_does_not_build_on_what_another_wrote() {
    let pages = MemoryPages::default();
    let (_store, older) = pages.existing("first").await;
    older.close().await.unwrap();
    older.save(state_only("second")).await.unwrap();
    older.close().await.unwrap();
    let (_newer_store, newer) = pages.lease();
    newer.start().await.unwrap();
    newer.save(state_only("by the newer")).await.unwrap();
    older.save(state_only("too late")).await.unwrap_err();
    assert_eq!(stored_state(&newer).await.as_deref(), Some("by the newer"));
}

#[tokio::test]
async fn a_destroyed_database_is_closed_for_good() {
    let pages = MemoryPages::default();
    let (_store, database) = pages.existing("first").await;
    database.remove().await.unwrap();
    let error = database.save(state_only("late")).await.unwrap_err();
    assert!(error.is(&code::SQLITE_CLOSED), "{error}");
}

#[tokio::test]
async fn pages_that_are_no_database_are_refused_and_left_alone() {
    let pages = MemoryPages::default();
    pages
        .0
        .lock()
        .pages
        .insert(1, Bytes::from(vec![7; PAGE_BYTES]));
    pages.0.lock().head = Some(1);
    let (_store, database) = pages.lease();
    database.start().await.unwrap_err();
    assert_eq!(pages.commits(), 0);
}

#[tokio::test]
async fn many_databases_share_the_lanes_and_the_limit_of_open_ones() {
    let options = StoreOptions {
        max_open: 2,
        ..StoreOptions::default()
    };
    let store = Store::new(options);
    let all: Vec<_> = (0..6).map(|_| MemoryPages::default()).collect();
    let open = |(number, pages): (usize, &MemoryPages)| {
        store.paged_database(&format!("actor {number}"), Arc::new(pages.clone()))
    };
    let databases: Vec<_> = all.iter().enumerate().map(open).collect();
    for database in &databases {
        database.start().await.unwrap();
        database.save(initialised("first")).await.unwrap();
        database.commit_startup().await.unwrap();
    }
    for _ in 0..3 {
        for database in &databases {
            database.save(state_only("again")).await.unwrap();
        }
    }
    open_at_most(&store, 2).await;
    for (database, pages) in databases.iter().zip(&all) {
        assert_eq!(stored_state(database).await.as_deref(), Some("again"));
        pages.check();
    }
}

#[tokio::test]
async fn a_database_moves_from_pages_to_a_file_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.db");
    let pages = MemoryPages::default();
    let (store, database) = pages.existing("moved").await;
    run(
        &database,
        "CREATE TABLE t (x); INSERT INTO t SELECT value FROM json_each('[1,2,3]')",
    )
    .await
    .unwrap();
    database.backup(file.clone()).await.unwrap();
    store.close().await;

    let elsewhere = MemoryPages::default();
    let (store, database) = elsewhere.lease();
    database.replace(file.clone()).await.unwrap();
    assert!(!database.start().await.unwrap().bootstrapped);
    assert_eq!(count(&database, "t").await, 3);
    assert_eq!(stored_state(&database).await.as_deref(), Some("moved"));
    store.close().await;
    elsewhere.check();

    // In place of what is there, which a file that is none leaves alone.
    let (store, database) = elsewhere.lease();
    run(&database, "DELETE FROM t").await.unwrap();
    std::fs::write(folder.path().join("none.db"), "no database").unwrap();
    let refused = database.replace(folder.path().join("none.db")).await;
    assert!(refused.unwrap_err().is(&code::NAPI_INVALID_ARGUMENT));
    assert_eq!(count(&database, "t").await, 0);
    database.replace(file).await.unwrap();
    assert_eq!(count(&database, "t").await, 3);
    store.close().await;
}
