//! Figures of the store beside a bare rusqlite loop on the same disk.
//!
//! Each pair is measured in alternating rounds and compared by medians, because
//! the speed of a sync drifts while others use the disk. Run with
//! `cargo bench -p greenroom-store`; `GREENROOM_BENCH_DIR` chooses the disk.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints"
)]

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use greenroom_store::{
    ActorRow, Database, Directory, NewActor, SaveBatch, Startup, Store, StoreOptions,
};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::task::JoinSet;

const ROUNDS: usize = 9;
const COMMITS: usize = 300;
const IN_FLIGHT: usize = 64;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        saves().await;
        new_databases().await;
        wakes().await;
        directory().await;
    });
}

fn folder() -> TempDir {
    match std::env::var_os("GREENROOM_BENCH_DIR") {
        Some(folder) => tempfile::tempdir_in(folder),
        None => tempfile::tempdir(),
    }
    .expect("a folder")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn per_second(count: usize, since: Instant) -> f64 {
    count as f64 / since.elapsed().as_secs_f64()
}

/// 1 KiB that differs each time: SQLite does not write an unchanged row.
fn bytes() -> Bytes {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut bytes = vec![b'x'; 1024];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes.into()
}

fn state() -> SaveBatch {
    SaveBatch {
        state: Some(bytes()),
        ..SaveBatch::default()
    }
}

fn first_state() -> SaveBatch {
    SaveBatch {
        actor: Some(ActorRow {
            has_initialized: true,
            input: None,
        }),
        ..state()
    }
}

async fn create(database: &Database) -> Startup {
    let startup = database.start().await.expect("start");
    database.save(first_state()).await.expect("save");
    database.commit_startup().await.expect("commit");
    startup
}

/// The baseline: what anyone would write with rusqlite.
fn bare(path: &Path) -> Connection {
    let conn = Connection::open(path).expect("open");
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE state (id INTEGER PRIMARY KEY, state BLOB NOT NULL)",
    )
    .expect("set up");
    conn
}

fn bare_commit(conn: &Connection) {
    conn.prepare_cached(
        "INSERT INTO state VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET state = excluded.state",
    )
    .and_then(|mut statement| statement.execute([&bytes()[..]]))
    .expect("commit");
}

async fn saves() {
    let folder = folder();
    let store = Store::new(StoreOptions::default());
    let database = store.database(folder.path().join("actor.db"));
    create(&database).await;
    let conn = bare(&folder.path().join("bare.db"));
    let (mut base, mut one, mut many) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        (0..COMMITS).for_each(|_| bare_commit(&conn));
        base.push(per_second(COMMITS, start));

        let start = Instant::now();
        for _ in 0..COMMITS {
            database.save(state()).await.expect("save");
        }
        one.push(per_second(COMMITS, start));

        let start = Instant::now();
        let mut tasks = JoinSet::new();
        for _ in 0..IN_FLIGHT {
            let database = database.clone();
            tasks.spawn(async move {
                for _ in 0..COMMITS / 3 {
                    database.save(state()).await.expect("save");
                }
            });
        }
        tasks.join_all().await;
        many.push(per_second(IN_FLIGHT * (COMMITS / 3), start));
    }
    let (base, one, many) = (median(base), median(one), median(many));
    println!("durable commit, bare rusqlite      {base:>10.0} /s");
    println!(
        "durable save, sequential           {one:>10.0} /s   {:.2} x bare",
        one / base
    );
    println!(
        "durable save, 64 in flight         {many:>10.0} /s   {:.1} x sequential",
        many / one
    );
    store.close().await;
}

async fn new_databases() {
    let folder = folder();
    let store = Store::new(StoreOptions::default());
    let path = |round: usize, task: usize, number: usize| {
        folder.path().join(format!("{round}-{task}-{number}.db"))
    };
    let (mut one, mut many) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let start = Instant::now();
        for number in 0..100 {
            create(&store.database(path(round, IN_FLIGHT, number))).await;
        }
        one.push(per_second(100, start));

        let start = Instant::now();
        let mut tasks = JoinSet::new();
        for task in 0..IN_FLIGHT {
            let databases: Vec<_> = (0..8)
                .map(|number| store.database(path(round, task, number)))
                .collect();
            tasks.spawn(async move {
                for database in databases {
                    create(&database).await;
                }
            });
        }
        tasks.join_all().await;
        many.push(per_second(8 * IN_FLIGHT, start));
    }
    println!(
        "new durable database, sequential   {:>10.0} /s",
        median(one)
    );
    println!(
        "new durable database, 64 in flight {:>10.0} /s",
        median(many)
    );
    store.close().await;
}

async fn wakes() {
    let folder = folder();
    let store = Store::new(StoreOptions::default());
    let database = store.database(folder.path().join("actor.db"));
    create(&database).await;
    let (mut open, mut save, mut close) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..COMMITS {
        let start = Instant::now();
        database.start().await.expect("start");
        open.push(millis(start.elapsed()));
        let start = Instant::now();
        database.save(state()).await.expect("save");
        save.push(millis(start.elapsed()));
        let start = Instant::now();
        database.close().await.expect("close");
        close.push(millis(start.elapsed()));
    }
    println!(
        "wake: open and read                {:>10.3} ms",
        median(open)
    );
    println!(
        "wake: first durable save           {:>10.3} ms",
        median(save)
    );
    println!(
        "sleep: close                       {:>10.3} ms",
        median(close)
    );
    store.close().await;
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1000.0
}

async fn directory() {
    let folder = folder();
    let directory = Directory::open(folder.path().join("directory.db"))
        .await
        .expect("open");
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for task in 0..IN_FLIGHT {
        let directory = directory.clone();
        tasks.spawn(async move {
            for number in 0..1600 {
                let id = format!("{task}-{number}");
                let new = NewActor {
                    id: id.clone(),
                    name: "bench".to_owned(),
                    key: id,
                    input: None,
                    create_ts: number,
                };
                directory.get_or_create(new).await.expect("create");
            }
        });
    }
    tasks.join_all().await;
    let rate = per_second(1600 * IN_FLIGHT, start);
    println!("directory: create, 64 in flight    {rate:>10.0} /s   up to 102,400 actors");

    let start = Instant::now();
    for number in 0..2000 {
        let found = directory
            .by_key("bench", format!("7-{}", number % 1600))
            .await;
        assert!(found.expect("look up").is_some());
    }
    println!(
        "directory: look up by key          {:>10.0} /s",
        per_second(2000, start)
    );
    let start = Instant::now();
    for number in 0..2000 {
        let id = format!("9-{}", number % 1600);
        directory.next_generation(id).await.expect("count");
    }
    println!(
        "directory: next generation         {:>10.0} /s",
        per_second(2000, start)
    );
    directory.close().await.expect("close");
}
