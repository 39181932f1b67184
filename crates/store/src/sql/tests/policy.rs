//! What users' statements may not do.

use greenroom_error::code;

use super::{Actor, reason, statement, text};
use crate::tests::fixture::{inspect, state_only, stored_state};

async fn is_forbidden(actor: &Actor, sql: &str) {
    let error = match actor.run(sql).await {
        Ok(_) => panic!("{sql} was allowed"),
        Err(error) => error,
    };
    assert!(error.is(&code::SQLITE_FORBIDDEN), "{sql}: {error}");
    assert!(!reason(&error).is_empty(), "{sql}");
}

#[tokio::test]
async fn the_runtimes_tables_can_be_read_and_not_changed() {
    let actor = Actor::new().await;
    assert_eq!(
        actor
            .rows("SELECT CAST(state AS TEXT) FROM _rivet_actor_state")
            .await,
        ["one"]
    );
    actor.run("CREATE TABLE mine (a)").await.unwrap();
    for sql in [
        "UPDATE _rivet_actor_state SET state = x''",
        "DELETE FROM _RIVET_META",
        "INSERT INTO main._rivet_queue (id, name, body, created_at) VALUES (1, '', x'', 0)",
        "DROP TABLE _rivet_queue",
        "ALTER TABLE _rivet_queue ADD COLUMN x",
        "ALTER TABLE _rivet_queue RENAME TO q",
        "ALTER TABLE mine RENAME TO _rivet_mine",
        "ALTER TABLE mine RENAME TO \"_Rivet_mine\"",
        "CREATE TABLE _rivet_new (a)",
        "CREATE TABLE IF NOT EXISTS [_rivet_new] (a)",
        "CREATE TABLE _rivet_new AS SELECT 1",
        "CREATE TEMP TABLE _rivet_actor_state (a)",
        "CREATE VIEW _rivet_v AS SELECT 1",
        "CREATE TEMP VIEW _rivet_actor AS SELECT 1",
        "CREATE INDEX i ON _rivet_queue (body)",
        "CREATE INDEX _rivet_i ON mine (a)",
        "DROP INDEX _rivet_queue_name_id",
        "CREATE TRIGGER g AFTER UPDATE ON _rivet_actor_state BEGIN SELECT 1; END",
        "CREATE TEMP TRIGGER g AFTER UPDATE ON _rivet_actor_state BEGIN SELECT 1; END",
        "CREATE VIRTUAL TABLE _rivet_f USING fts5(a)",
        "WITH x AS (SELECT 1) DELETE FROM _rivet_meta",
        "REPLACE INTO _rivet_meta VALUES ('schema_version', x'')",
    ] {
        is_forbidden(&actor, sql).await;
    }
}

#[tokio::test]
async fn a_trigger_is_no_way_around() {
    let actor = Actor::new().await;
    actor.run("CREATE TABLE mine (a)").await.unwrap();
    let trigger = "CREATE TRIGGER g AFTER INSERT ON mine BEGIN DELETE FROM _rivet_meta; END";
    actor.run(trigger).await.unwrap();
    is_forbidden(&actor, "INSERT INTO mine VALUES (1)").await;
    assert_eq!(stored_state(&actor.database).await.as_deref(), Some("one"));
}

#[tokio::test]
async fn the_workflow_engine_writes_its_own_table() {
    let actor = Actor::new().await;
    for sql in [
        "INSERT INTO _rivet_wf_kv (key, value) VALUES (x'0601aa', x'01')
            ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        "UPDATE _rivet_wf_kv SET value = x'02'",
        "DELETE FROM _rivet_wf_kv WHERE key >= x'0601'",
    ] {
        actor.run(sql).await.unwrap();
    }
    is_forbidden(&actor, "DROP TABLE _rivet_wf_kv").await;
}

#[tokio::test]
async fn no_statement_reaches_another_file() {
    let actor = Actor::new().await;
    let other = actor.fixture.folder.path().join("other.db");
    let other = other.display();
    for sql in [
        format!("ATTACH '{other}' AS other"),
        format!("ATTACH DATABASE 'file:{other}?mode=rwc' AS other"),
        format!("ATTACH '{}' || '' AS other", other),
        "ATTACH '' AS other".to_owned(),
        "ATTACH ':memory:' AS other".to_owned(),
        "DETACH main".to_owned(),
        format!("VACUUM INTO '{other}'"),
        format!("VACUUM main INTO '{other}'"),
        "SELECT load_extension('x')".to_owned(),
    ] {
        is_forbidden(&actor, &sql).await;
    }
    assert!(!actor.fixture.folder.path().join("other.db").exists());
    for sql in ["SELECT readfile('x')", "SELECT writefile('x', 'y')"] {
        assert!(actor.run(sql).await.is_err(), "{sql}");
    }
}

#[tokio::test]
async fn pragmas_that_would_break_promises_are_refused() {
    let actor = Actor::new().await;
    for sql in [
        "PRAGMA journal_mode = OFF",
        "PRAGMA main.journal_mode = DELETE",
        "PRAGMA synchronous = OFF",
        "PRAGMA synchronous(NORMAL)",
        "PRAGMA locking_mode = NORMAL",
        "PRAGMA writable_schema = ON",
        "PRAGMA wal_autocheckpoint = 0",
        "PRAGMA journal_size_limit = -1",
        "PRAGMA temp_store_directory = '/tmp'",
        "PRAGMA query_only = 1",
        "PRAGMA hard_heap_limit = 1",
        "PRAGMA cache_size = -10000000",
        "PRAGMA mmap_size = 1000000000000",
        "PRAGMA schema_version = 7",
        "PRAGMA auto_vacuum = FULL",
        "PRAGMA trusted_schema = 1",
    ] {
        is_forbidden(&actor, sql).await;
    }
    assert_eq!(actor.rows("PRAGMA journal_mode").await, ["wal"]);
    assert_eq!(actor.rows("PRAGMA synchronous").await, ["2"]);
    actor.database.save(state_only("two")).await.unwrap();
}

#[tokio::test]
async fn pragmas_that_ask_or_that_are_the_users_own_work() {
    let actor = Actor::new().await;
    actor
        .run("CREATE TABLE t (a, b REFERENCES t (a))")
        .await
        .unwrap();
    assert_eq!(actor.rows("PRAGMA table_info(t)").await.len(), 2);
    assert_eq!(
        actor.rows("SELECT name FROM pragma_table_info('t')").await,
        ["a", "b"]
    );
    assert_eq!(actor.rows("PRAGMA integrity_check").await, ["ok"]);
    actor.run("PRAGMA user_version = 12").await.unwrap();
    assert_eq!(actor.rows("PRAGMA user_version").await, ["12"]);
    for sql in [
        "PRAGMA foreign_keys = OFF",
        "PRAGMA foreign_keys = ON",
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "PRAGMA busy_timeout = 5000",
        "PRAGMA optimize",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "PRAGMA cache_size = -4096",
        "ANALYZE",
        "REINDEX",
        "VACUUM",
    ] {
        actor
            .run(sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    actor.database.close().await.unwrap();
    inspect(&actor.fixture.path("a"));
}

#[tokio::test]
async fn a_damaged_file_is_told_as_such_and_concerns_one_actor() {
    let actor = Actor::new().await;
    let fill = "INSERT INTO t SELECT hex(randomblob(500)) FROM json_each(?)";
    actor.run("CREATE TABLE t (a)").await.unwrap();
    let numbers = format!("[{}]", vec!["0"; 500].join(","));
    let fill = statement(fill, [crate::SqlValue::Text(numbers)]);
    actor.sql.execute(fill, None).await.unwrap();
    actor.run("PRAGMA wal_checkpoint(TRUNCATE)").await.unwrap();
    actor.database.close().await.unwrap();
    let path = actor.fixture.path("a");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 100_000].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let error = actor.run("SELECT sum(length(a)) FROM t").await.unwrap_err();
    assert!(error.is(&code::ACTOR_CORRUPT), "{error}");
    assert!(reason(&error).contains("database disk image is malformed"));
    let other = actor.fixture.existing("b", "two").await;
    let sql = other.user_sql();
    sql.execute(statement("CREATE TABLE t (a)", []), None)
        .await
        .unwrap();
}

#[tokio::test]
async fn no_table_of_a_users_refers_to_one_of_the_runtimes() {
    let actor = Actor::new().await;
    actor.run("CREATE TABLE x (a)").await.unwrap();
    for sql in [
        "CREATE TABLE t (k REFERENCES _rivet_meta (key))",
        "CREATE TEMP TABLE t (k, FOREIGN KEY (k) REFERENCES/**/\"_rivet_meta\")",
        "/* x */ create -- y\n table t (k references [_Greenroom_x])",
        "ALTER TABLE x ADD COLUMN y REFERENCES _rivet_meta",
    ] {
        is_forbidden(&actor, sql).await;
    }
    actor
        .run("CREATE TABLE parent (k PRIMARY KEY, n AS (length('_rivet_meta')))")
        .await
        .unwrap();
    actor
        .run("CREATE VIEW v AS SELECT * FROM _rivet_meta -- references")
        .await
        .unwrap();
}

#[tokio::test]
async fn an_index_is_damaged_neither_by_hand_nor_in_name() {
    let actor = Actor::new().await;
    let script = "CREATE VIRTUAL TABLE docs USING fts5(body);
        CREATE VIRTUAL TABLE _rivet_ USING fts5(body)";
    let error = actor.sql.exec(script.to_owned(), None).await.unwrap_err();
    assert!(error.is(&code::SQLITE_FORBIDDEN), "{error}");
    let error = actor.run("DELETE FROM docs_data").await.unwrap_err();
    assert!(text(&error).contains("table docs_data may not be modified"));
    // What does not fit its contents is the index's trouble, not the file's.
    let script = "CREATE TABLE c (id INTEGER PRIMARY KEY, body);
        CREATE VIRTUAL TABLE outside USING fts5(body, content='c', content_rowid='id');
        INSERT INTO c VALUES (1, 'a b'); INSERT INTO outside (rowid, body) VALUES (1, 'a b');
        INSERT INTO outside (outside, rowid, body) VALUES ('delete', 1, 'x y');";
    drop(actor.sql.exec(script.to_owned(), None).await);
    let checked = actor
        .run("INSERT INTO outside (outside, rank) VALUES ('integrity-check', 1)")
        .await;
    let error = checked.unwrap_err();
    assert!(error.is(&code::INTERNAL), "{error}");
    let sqlite = &error.metadata().unwrap()["sqlite"];
    assert_eq!(sqlite["code"], "SQLITE_CORRUPT_VTAB");
    assert_eq!(actor.rows("PRAGMA integrity_check").await, ["ok"]);
}
