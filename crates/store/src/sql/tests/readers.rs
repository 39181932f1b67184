//! Results that are read while others write: who waits for what.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Actor, insert, options, statement};
use crate::disk::{Disk, shares_files};
use crate::files::{beside, log_size};
use crate::tests::fixture::state_only;
use crate::{GuardSource, Page, SqlCursor, SqlValue, StoreOptions};

const MB: u64 = 1024 * 1024;

/// Guards that tell how often one was asked for: for each page, and each time that rows
/// are put aside.
fn counted() -> (GuardSource, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let guards: GuardSource = Arc::new(move || {
        count.fetch_add(1, Ordering::SeqCst);
        Box::new(|| None)
    });
    (guards, asked)
}

/// A table `t` with numbers from 1 to `rows`, on a disk that is not synced.
async fn numbered(rows: u64) -> Actor {
    let actor = Actor::with(StoreOptions {
        disk: Disk::unsynced().unwrap(),
        ..StoreOptions::default()
    });
    let actor = actor.await;
    actor
        .run("CREATE TABLE t (a INTEGER PRIMARY KEY, by TEXT)")
        .await
        .unwrap();
    let fill = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
        INSERT INTO t SELECT i, 'first' FROM n"
    );
    actor.run(&fill).await.unwrap();
    actor.run("PRAGMA wal_checkpoint(TRUNCATE)").await.unwrap();
    actor
}

async fn open(actor: &Actor, sql: &str, guards: GuardSource) -> (SqlCursor, Page) {
    let opened = actor.sql.open_cursor(statement(sql, []), guards, 1).await;
    opened.unwrap()
}

/// The first column of all rows, `page` being the first.
async fn rest(cursor: &SqlCursor, mut page: Page) -> Vec<SqlValue> {
    let mut all = Vec::new();
    loop {
        all.extend(page.rows.iter().map(|row| row[0].clone()));
        if page.is_last {
            return all;
        }
        page = cursor.next_page(4_096).await.unwrap();
    }
}

fn integers(values: std::ops::RangeInclusive<i64>) -> Vec<SqlValue> {
    values.map(SqlValue::Integer).collect()
}

fn twice(value: i64) -> Vec<SqlValue> {
    vec![SqlValue::Integer(value); 2]
}

#[tokio::test]
async fn no_write_waits_for_a_result_and_the_result_sees_none() {
    if !shares_files() {
        return;
    }
    let actor = numbered(20_000).await;
    let (guards, asked) = counted();
    let (cursor, page) = open(&actor, "SELECT a FROM t ORDER BY a", guards).await;
    let before = asked.load(Ordering::SeqCst);
    actor.run("DELETE FROM t WHERE a % 2 = 0").await.unwrap();
    actor.run("ALTER TABLE t ADD COLUMN more").await.unwrap();
    actor.database.save(state_only("saved")).await.unwrap();
    let tx = actor.begin().await;
    insert(&tx, "tx").await;
    tx.rollback().await.unwrap();
    actor.run("DROP TABLE t").await.unwrap();
    actor.run("VACUUM").await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), before, "rows were put aside");
    assert_eq!(rest(&cursor, page).await, integers(1..=20_000));
}

#[tokio::test]
async fn a_long_log_has_results_put_aside_little_by_little_until_it_is_short_again() {
    if !shares_files() {
        return;
    }
    const ROWS: u64 = 200_000;
    let actor = numbered(ROWS).await;
    let path = actor.fixture.path("a");
    let (guards, asked) = counted();
    let (cursor, page) = open(&actor, "SELECT a FROM t ORDER BY a", guards).await;
    let (mut longest, mut read) = (
        0,
        page.rows
            .iter()
            .map(|row| row[0].clone())
            .collect::<Vec<_>>(),
    );
    for round in 0..1_000 {
        actor
            .run("INSERT INTO t (by) VALUES (zeroblob(60000))")
            .await
            .unwrap();
        longest = longest.max(log_size(&path));
        if round % 50 == 0 {
            let page = cursor.next_page(1_000).await.unwrap();
            read.extend(page.rows.iter().map(|row| row[0].clone()));
        }
    }
    // 60 MB were written. What held the log up is gone long since, in many steps.
    assert!(longest < 24 * MB, "{longest}");
    assert!(asked.load(Ordering::SeqCst) > 40, "put aside in few steps");
    assert!(log_size(&path) < 5 * MB, "{}", log_size(&path));
    let page = cursor.next_page(1_000).await.unwrap();
    read.extend(rest(&cursor, page).await);
    assert_eq!(read, integers(1..=ROWS as i64));
}

#[tokio::test]
async fn results_of_several_states_are_each_read_to_their_end() {
    let actor = numbered(3_000).await;
    let mut opened = Vec::new();
    for round in 0..12_i64 {
        let (guards, _) = counted();
        opened.push((
            round,
            open(&actor, "SELECT a FROM t ORDER BY a", guards).await,
        ));
        let sql = format!(
            "INSERT INTO t (a, by) SELECT a + {}, zeroblob(2000) FROM t WHERE a <= 200",
            3_000 + round * 200
        );
        actor.run(&sql).await.unwrap();
    }
    for (round, (cursor, page)) in opened.into_iter().rev() {
        let expected = integers(1..=3_000 + round * 200);
        assert_eq!(rest(&cursor, page).await, expected, "{round}");
    }
}

#[tokio::test]
async fn what_only_the_users_connection_knows_is_read_there() {
    let actor = numbered(3).await;
    let shown = async |sql: &'static str| {
        let (cursor, page) = open(&actor, sql, counted().0).await;
        rest(&cursor, page).await
    };
    actor
        .run("UPDATE t SET by = 'x' WHERE a < 3")
        .await
        .unwrap();
    actor.run("INSERT INTO t VALUES (9, 'x')").await.unwrap();
    assert_eq!(shown("SELECT changes() FROM t LIMIT 2").await, twice(1));
    assert_eq!(
        shown("SELECT last_insert_rowid() UNION ALL SELECT 9").await,
        twice(9)
    );
    actor
        .run("CREATE VIEW last AS SELECT last_insert_rowid() UNION ALL SELECT 1")
        .await
        .unwrap();
    assert_eq!(
        shown("SELECT * FROM last").await,
        [9, 1].map(SqlValue::Integer)
    );
    actor
        .run("PRAGMA reverse_unordered_selects = ON")
        .await
        .unwrap();
    assert_eq!(
        shown("SELECT a FROM t").await,
        [9, 3, 2, 1].map(SqlValue::Integer)
    );
    actor.run("BEGIN").await.unwrap();
    actor.run("DELETE FROM t WHERE a > 1").await.unwrap();
    assert_eq!(shown("SELECT a FROM t").await, integers(1..=1));
    actor.run("ROLLBACK").await.unwrap();
    actor.run("CREATE TEMP TABLE t (a)").await.unwrap();
    actor
        .run("INSERT INTO temp.t VALUES (77), (77)")
        .await
        .unwrap();
    assert_eq!(shown("SELECT a FROM t").await, twice(77));
}

#[tokio::test]
async fn a_result_is_refused_what_a_statement_is_refused() {
    let actor = numbered(3).await;
    for sql in [
        "SELECT load_extension('x') FROM t",
        "SELECT * FROM pragma_journal_mode('off')",
    ] {
        let opened = actor
            .sql
            .open_cursor(statement(sql, []), counted().0, 1)
            .await;
        assert!(opened.is_err(), "{sql}");
    }
}

#[tokio::test]
async fn a_transaction_that_was_begun_later_is_not_seen_by_a_result() {
    let actor = numbered(2_000).await;
    let tx = actor.sql.begin_transaction(options("one")).await.unwrap();
    let parked = actor.sql.clone();
    let opening = tokio::spawn(async move {
        let sql = statement("SELECT a FROM t ORDER BY a", []);
        parked.open_cursor(sql, counted().0, 1).await.unwrap()
    });
    insert(&tx, "one").await;
    tx.commit().await.unwrap();
    let (cursor, page) = opening.await.unwrap();
    let tx = actor.sql.begin_transaction(options("two")).await.unwrap();
    insert(&tx, "two").await;
    let read = rest(&cursor, page).await;
    tx.commit().await.unwrap();
    let count = read.len() as i64;
    assert!((2_000..=2_001).contains(&count), "{count}");
    assert_eq!(read, integers(1..=count));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_open_file_is_locked_for_other_processes_and_has_no_file_of_shared_memory() {
    use std::os::fd::AsRawFd;

    let actor = numbered(2_000).await;
    let path = actor.fixture.path("a");
    let (guards, _) = counted();
    let (cursor, page) = open(&actor, "SELECT a FROM t", guards).await;
    drop((cursor, page));
    actor.run("INSERT INTO t (by) VALUES ('x')").await.unwrap();
    assert!(!beside(&path, "-shm").exists());
    let probe = std::fs::File::open(&path).unwrap();
    // The bytes that SQLite's readers lock, asked for as another process would see them.
    let mut lock = libc::flock {
        l_type: libc::F_RDLCK as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: 0x4000_0002,
        l_len: 510,
        l_pid: 0,
    };
    // SAFETY: the file is open, and `lock` is a valid place for the answer.
    let code = unsafe { libc::fcntl(probe.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
    assert_eq!(code, 0);
    assert_eq!(i32::from(lock.l_type), libc::F_WRLCK);
    // Closing it would let go of this process's lock.
    std::mem::forget(probe);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn results_that_come_and_go_leave_no_descriptors() {
    let actor = numbered(2_000).await;
    let path = actor.fixture.path("a").canonicalize().unwrap();
    let open_now = || {
        let links = std::fs::read_dir("/proc/self/fd").unwrap();
        let target =
            |entry: std::io::Result<std::fs::DirEntry>| std::fs::read_link(entry.ok()?.path()).ok();
        let is_ours = |file: &std::path::PathBuf| {
            file.to_string_lossy().starts_with(&*path.to_string_lossy())
        };
        links.filter_map(target).filter(is_ours).count()
    };
    for _ in 0..50 {
        let (cursor, page) = open(&actor, "SELECT a FROM t", counted().0).await;
        assert_eq!(rest(&cursor, page).await.len(), 2_000);
    }
    // The file and its log; SQLite keeps one more of the file for the next result.
    assert!(open_now() <= 3, "{}", open_now());
    actor.database.close().await.unwrap();
    assert_eq!(open_now(), 0);
}

#[tokio::test]
async fn more_results_than_the_store_has_connections_for_are_read_all_the_same() {
    let actor = Actor::with(StoreOptions {
        disk: Disk::unsynced().unwrap(),
        max_open: 2,
        ..StoreOptions::default()
    });
    let actor = actor.await;
    actor.run("CREATE TABLE t (a)").await.unwrap();
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
        INSERT INTO t SELECT i FROM n";
    actor.run(fill).await.unwrap();
    let mut opened = Vec::new();
    let (guards, asked) = counted();
    for _ in 0..5 {
        opened.push(open(&actor, "SELECT a FROM t", Arc::clone(&guards)).await);
    }
    let before = asked.load(Ordering::SeqCst);
    actor.run("DELETE FROM t").await.unwrap();
    // Those that share the user's connection were put aside, and only those.
    let aside = if shares_files() { 3 } else { 5 };
    assert_eq!(asked.load(Ordering::SeqCst), before + aside);
    for (cursor, page) in opened {
        assert_eq!(rest(&cursor, page).await, integers(1..=3_000));
    }
}
