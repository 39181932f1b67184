//! Files that this program did not write, or wrote long ago.

use std::fs;

use greenroom_error::code;
use rusqlite::Connection;

use super::fixture::{Fixture, inspect, open_at_most, stored_state};
use crate::tables::{actor, actor_state, meta, runtime, schedule_events};

/// Version 1 as RivetKit leaves it: rollback journal, marker and version set.
const VERSION_1: &str = "
    INSERT INTO _rivet_meta VALUES ('schema_version', x'0100000000000000');
    INSERT INTO _rivet_meta VALUES ('kv_import_state', CAST('done' AS BLOB));
    INSERT INTO _rivet_actor VALUES (1, 1, NULL);
    INSERT INTO _rivet_actor_state VALUES (1, CAST('old' AS BLOB));
    INSERT INTO _rivet_runtime VALUES (1, 77, 'token', 5);
    INSERT INTO _rivet_schedule_events VALUES
        ('e', 9, 'ping', NULL, 0, NULL, NULL, NULL, NULL, 0);
    CREATE TABLE notes (text);
    INSERT INTO notes VALUES ('mine');";

fn write_file(fixture: &Fixture, name: &str, script: &str) -> Connection {
    let path = fixture.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let conn = Connection::open(path).unwrap();
    conn.execute_batch("PRAGMA synchronous = OFF").unwrap();
    conn.execute_batch(script).unwrap();
    conn
}

fn version_1(fixture: &Fixture, name: &str) -> Connection {
    let conn = write_file(fixture, name, &crate::schema::version_1_script());
    conn.execute_batch(VERSION_1).unwrap();
    conn
}

#[tokio::test]
async fn a_version_1_file_is_upgraded_in_place_and_keeps_everything() {
    let fixture = Fixture::new();
    drop(version_1(&fixture, "a"));
    let database = fixture.database("a");
    let startup = database.start().await.unwrap();
    assert!(!startup.bootstrapped);
    assert_eq!(startup.last_pushed_alarm, Some(77));
    assert_eq!(startup.inspector_token.as_deref(), Some("token"));
    assert_eq!(startup.snapshot.unwrap().state, b"old");
    database.close().await.unwrap();

    let conn = inspect(&fixture.path("a"));
    assert_eq!(meta::schema_version(&conn).unwrap(), Some(2));
    let (note, ray): (String, Option<String>) = conn
        .query_row(
            "SELECT text, ray_id FROM notes, _rivet_schedule_events",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!((note.as_str(), ray), ("mine", None));
}

#[tokio::test]
async fn an_upgraded_file_and_a_new_one_have_the_same_schema() {
    let fixture = Fixture::new();
    let schema = "SELECT group_concat(name || ':' || sql, ';' ORDER BY name)
        FROM sqlite_schema WHERE name LIKE '\\_rivet%' ESCAPE '\\'";
    let conn = write_file(&fixture, "old", &crate::schema::version_1_script());
    meta::set_schema_version(&conn, 1).unwrap();
    drop(conn);
    fixture.database("old").start().await.unwrap();
    fixture.database("old").close().await.unwrap();
    fixture.existing("new", "one").await;
    let read = |name: &str| -> String {
        inspect(&fixture.path(name))
            .query_row(schema, [], |row| row.get(0))
            .unwrap()
    };
    assert_eq!(read("old"), read("new"));
}

#[tokio::test]
async fn a_newer_file_refuses_to_start_and_stays_as_it_is() {
    let fixture = Fixture::new();
    let conn = version_1(&fixture, "a");
    meta::set_schema_version(&conn, 3).unwrap();
    drop(conn);
    let error = fixture.database("a").start().await.unwrap_err();
    assert!(error.is(&code::PROTOCOL_INVALID_PERSISTED_DATA), "{error}");
    assert!(error.message().contains("version 3"), "{error}");
    open_at_most(&fixture.store, 0).await;
    assert_eq!(
        meta::schema_version(&inspect(&fixture.path("a"))).unwrap(),
        Some(3)
    );
}

#[tokio::test]
async fn a_file_without_internal_tables_gets_them_beside_its_own() {
    let fixture = Fixture::new();
    drop(write_file(&fixture, "a", "CREATE TABLE notes (text)"));
    let startup = fixture.database("a").start().await.unwrap();
    assert!(!startup.bootstrapped);
    assert_eq!(startup.snapshot, None);
    fixture.database("a").close().await.unwrap();
    inspect(&fixture.path("a"))
        .execute("INSERT INTO notes VALUES ('x')", [])
        .unwrap();
}

#[tokio::test]
async fn a_snapshot_needs_both_of_its_rows() {
    for half in ["_rivet_actor", "_rivet_actor_state"] {
        let fixture = Fixture::new();
        let conn = version_1(&fixture, "a");
        conn.execute(&format!("DELETE FROM {half}"), []).unwrap();
        drop(conn);
        assert_eq!(stored_state(&fixture.database("a")).await, None, "{half}");
    }
}

#[tokio::test]
async fn an_import_that_was_never_needed_is_marked_done() {
    let fixture = Fixture::new();
    let conn = version_1(&fixture, "a");
    conn.execute("DELETE FROM _rivet_meta WHERE key = 'kv_import_state'", [])
        .unwrap();
    drop(conn);
    fixture.database("a").start().await.unwrap();
    fixture.database("a").close().await.unwrap();
    let state: Vec<u8> = inspect(&fixture.path("a"))
        .query_row(
            "SELECT value FROM _rivet_meta WHERE key = 'kv_import_state'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(state, b"done");
}

#[tokio::test]
async fn an_unfinished_or_unknown_import_is_never_guessed_at() {
    for state in ["'importing'", "'later'", "x'ff'"] {
        let fixture = Fixture::new();
        let conn = version_1(&fixture, "a");
        conn.execute(
            &format!(
                "UPDATE _rivet_meta SET value = CAST({state} AS BLOB) WHERE key = 'kv_import_state'"
            ),
            [],
        )
        .unwrap();
        drop(conn);
        let error = fixture.database("a").start().await.unwrap_err();
        assert!(
            error.is(&code::PROTOCOL_INVALID_PERSISTED_DATA),
            "{state}: {error}"
        );
    }
}

#[test]
fn the_layout_is_the_published_one() {
    let columns = |ddl: &str| {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(ddl).unwrap();
        let name: String = conn
            .query_row(
                "SELECT name FROM sqlite_schema WHERE type = 'table'",
                [],
                |row| row.get(0),
            )
            .unwrap();
        let mut statement = conn
            .prepare("SELECT group_concat(name || ' ' || type || iif(\"notnull\", '!', '')) FROM pragma_table_info(?1)")
            .unwrap();
        statement
            .query_row([name], |row| row.get::<_, String>(0))
            .unwrap()
    };
    assert_eq!(
        columns(runtime::DDL),
        "id INTEGER,last_pushed_alarm INTEGER,inspector_token TEXT,queue_next_id INTEGER!"
    );
    assert_eq!(
        columns(actor::DDL),
        "id INTEGER,has_initialized INTEGER!,input BLOB"
    );
    assert_eq!(columns(actor_state::DDL), "id INTEGER,state BLOB!");
    assert_eq!(
        columns(schedule_events::DDL),
        "event_id TEXT!,trigger_at INTEGER!,action TEXT!,args BLOB,kind INTEGER!,\
         cron_expression TEXT,timezone TEXT,interval_ms INTEGER,last_started_at INTEGER,\
         max_history INTEGER!"
    );
}
