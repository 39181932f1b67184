//! What SQLite may hold of the memory for one database. In a process of its own:
//! SQLite takes an allocator before its first use only.

use std::time::Duration;

use greenroom_error::{Error, Result, code};
use greenroom_store::{
    ActorRow, BeginOptions, Database, Directory, ExecuteResult, SaveBatch, SqlStatement, SqlValue,
    Store, StoreOptions, UserSql,
};
use serde_json::json;
use tempfile::TempDir;

const LIMIT: u64 = 8 * 1024 * 1024;

/// An actor's database under the narrow limit, and a neighbour of it.
struct Actor {
    database: Database,
    sql: UserSql,
    neighbour: UserSql,
    store: Store,
    _folder: TempDir,
}

impl Actor {
    async fn new() -> Self {
        Self::with(StoreOptions::default()).await
    }

    async fn with(options: StoreOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder, options).await;
        let database = started(&store, &folder, "a").await;
        let neighbour = started(&store, &folder, "b").await;
        Self {
            sql: database.user_sql(),
            neighbour: neighbour.user_sql(),
            database,
            store,
            _folder: folder,
        }
    }

    async fn run(&self, sql: &str) -> Result<ExecuteResult> {
        self.sql.execute(SqlStatement::new(sql, vec![]), None).await
    }

    async fn number(&self, sql: &str) -> i64 {
        number(self.run(sql).await.unwrap())
    }
}

async fn open(folder: &TempDir, options: StoreOptions) -> Store {
    // A host opens it before its store, so it is what uses SQLite first.
    let directory = folder.path().join("directory.db");
    Directory::open(&directory).await.unwrap();
    Store::new(StoreOptions {
        memory_bytes_max: LIMIT,
        ..options
    })
}

async fn started(store: &Store, folder: &TempDir, name: &str) -> Database {
    let database = store.database(folder.path().join(format!("{name}.db")));
    database.start().await.unwrap();
    database.save(state("one")).await.unwrap();
    database.commit_startup().await.unwrap();
    database
}

fn state(text: &str) -> SaveBatch {
    SaveBatch {
        actor: Some(ActorRow {
            has_initialized: true,
            input: None,
        }),
        state: Some(text.as_bytes().to_vec().into()),
        ..SaveBatch::default()
    }
}

fn number(result: ExecuteResult) -> i64 {
    match result.rows.into_cells().as_slice() {
        [SqlValue::Integer(value)] => *value,
        other => panic!("{other:?}"),
    }
}

fn assert_exceeded(error: &Error, sql: &str) {
    assert!(error.is(&code::SQLITE_MEMORY_EXCEEDED), "{sql}: {error}");
    assert_eq!(error.metadata(), Some(&json!({ "limit": LIMIT })), "{sql}");
}

const NUMBERS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)";

#[tokio::test]
async fn a_statement_that_asks_for_too_much_memory_fails_and_everybody_lives_on() {
    let actor = Actor::new().await;
    actor.run("CREATE TABLE t (a)").await.unwrap();
    for sql in [
        "SELECT length(randomblob(9000000))",
        "SELECT zeroblob(9000000)",
        "SELECT length(randomblob(3000000) || randomblob(3000000))",
        "SELECT randomblob(3000000), randomblob(3000000), randomblob(3000000)",
        "SELECT length(printf('%.*c', 9000000, 'x'))",
        "SELECT length(replace(hex(zeroblob(100000)), '0', 'one hundred letters'))",
        "INSERT INTO t SELECT randomblob(6000000)",
        &format!("{NUMBERS} SELECT length(group_concat(hex(randomblob(50)))) FROM n"),
        &format!(
            "{NUMBERS} SELECT json_array_length(json_group_array(hex(randomblob(50)))) FROM n"
        ),
        "CREATE TEMP TABLE x AS SELECT randomblob(9000000) AS a",
    ] {
        assert_exceeded(&actor.run(sql).await.unwrap_err(), sql);
        assert_eq!(actor.number("SELECT count(*) FROM t").await, 0, "{sql}");
        let here = SqlStatement::new("SELECT length(randomblob(3000000))", vec![]);
        assert_eq!(
            number(actor.neighbour.execute(here, None).await.unwrap()),
            3_000_000
        );
        actor.database.save(state("two")).await.unwrap();
    }
    actor.store.close().await;
}

#[tokio::test]
async fn memory_of_an_earlier_statement_is_there_for_the_next() {
    let actor = Actor::new().await;
    for _ in 0..50 {
        assert_eq!(
            actor.number("SELECT length(randomblob(6000000))").await,
            6_000_000
        );
    }
    actor.store.close().await;
}

#[tokio::test]
async fn what_sorts_or_recurs_over_more_than_the_limit_goes_to_files_and_succeeds() {
    let actor = Actor::new().await;
    let sorted = format!(
        "{NUMBERS} SELECT count(*) FROM (SELECT randomblob(200) AS x FROM n ORDER BY x LIMIT -1 OFFSET 1)"
    );
    assert_eq!(actor.number(&sorted).await, 199_999);
    let materialized = format!(
        "{NUMBERS}, m AS MATERIALIZED (SELECT i, randomblob(200) AS x FROM n)
         SELECT count(*) FROM m AS a JOIN m AS b ON b.i = a.i"
    );
    assert_eq!(actor.number(&materialized).await, 200_000);
    actor.run("CREATE TABLE t (a)").await.unwrap();
    let filled = format!("{NUMBERS} INSERT INTO t SELECT randomblob(200) FROM n");
    assert_eq!(actor.run(&filled).await.unwrap().changes, 200_000);
    assert_eq!(
        actor
            .run("DELETE FROM t WHERE a IS NOT NULL")
            .await
            .unwrap()
            .changes,
        200_000
    );
    actor.store.close().await;
}

#[tokio::test]
async fn a_transaction_that_runs_out_of_memory_keeps_all_or_nothing_and_says_so() {
    let actor = Actor::new().await;
    actor.run("CREATE TABLE t (a)").await.unwrap();
    let options = BeginOptions {
        key: "tx".to_owned(),
        name: None,
        timeout: Duration::from_secs(60),
    };
    let tx = actor.sql.begin_transaction(options).await.unwrap();
    let insert = |sql: &str| tx.execute(SqlStatement::new(sql, vec![]), None);
    insert("INSERT INTO t VALUES (1)").await.unwrap();
    let large = "INSERT INTO t SELECT randomblob(6000000)";
    assert_exceeded(&insert(large).await.unwrap_err(), large);
    let committed = tx.commit().await.is_ok();
    let kept = actor.number("SELECT count(*) FROM t").await;
    assert_eq!(kept, i64::from(committed));
    actor.store.close().await;
}

#[tokio::test]
async fn a_row_that_is_put_together_while_it_is_read_fails_like_any_other() {
    let actor = Actor::new().await;
    let guards = std::sync::Arc::new(|| -> greenroom_store::Guard { Box::new(|| None) });
    // The blobs get their bytes when they are read.
    let sql = "SELECT 1, 'text', zeroblob(3000000), zeroblob(3000000), zeroblob(3000000)";
    let opened = actor
        .sql
        .open_cursor(SqlStatement::new(sql, vec![]), guards, 10)
        .await;
    assert_exceeded(&opened.map(drop).unwrap_err(), sql);
    assert_eq!(actor.number("SELECT 1").await, 1);
    actor.store.close().await;
}

#[tokio::test]
async fn a_first_start_that_writes_too_much_at_once_fails_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, StoreOptions::default()).await;
    let path = folder.path().join("new.db");
    let database = store.database(&path);
    database.start().await.unwrap();
    let sql = database.user_sql();
    let fill = format!("{NUMBERS} INSERT INTO t SELECT randomblob(200) FROM n");
    let run = |text: &str| sql.execute(SqlStatement::new(text, vec![]), None);
    run("BEGIN").await.unwrap();
    run("CREATE TABLE t (a)").await.unwrap();
    assert_exceeded(&run(&fill).await.unwrap_err(), &fill);
    sql.close().await.unwrap();
    database.remove().await.unwrap();
    assert!(!path.exists());
    store.close().await;
}

#[tokio::test]
async fn many_databases_that_take_turns_in_few_places_give_all_back() {
    let actor = Actor::with(StoreOptions {
        max_open: 2,
        ..StoreOptions::default()
    });
    let actor = actor.await;
    actor.run("CREATE TABLE t (a)").await.unwrap();
    let note = |sql: &str| SqlStatement::new(sql, vec![]);
    actor
        .neighbour
        .execute(note("CREATE TABLE t (a)"), None)
        .await
        .unwrap();
    for _ in 0..20 {
        actor
            .run("INSERT INTO t SELECT randomblob(2000000)")
            .await
            .unwrap();
        let insert = note("INSERT INTO t SELECT randomblob(2000000)");
        actor.neighbour.execute(insert, None).await.unwrap();
        let third = started(&actor.store, &actor._folder, "c").await;
        third.close().await.unwrap();
    }
    assert_eq!(actor.number("SELECT count(*) FROM t").await, 20);
    actor.store.close().await;
}
