//! The directory's table and its statements.
//!
//! Every statement finds its rows by an index; a test reads the query plans.

use greenroom_error::{Error, Result, code};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::json;

use super::listing::row_limit;
use super::record::{ActorRecord, NewActor};
use crate::failure::{SqlResult, invalid_data};

/// Kept in `user_version`. A file with a higher one is refused.
const VERSION: i64 = 1;

const SETTINGS: &str = "PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA synchronous = FULL;
    PRAGMA cache_size = -8192;
    PRAGMA journal_size_limit = 16777216;";

/// `seq` orders actors created in the same millisecond. Live actors have indexes
/// of their own, so that destroyed ones never slow down a lookup.
pub(super) const SCHEMA: &str = "CREATE TABLE actors (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        key TEXT NOT NULL,
        create_ts INTEGER NOT NULL,
        start_ts INTEGER,
        sleep_ts INTEGER,
        destroy_ts INTEGER,
        generation INTEGER NOT NULL,
        next_alarm INTEGER,
        input BLOB,
        error TEXT
    ) STRICT;
    CREATE UNIQUE INDEX actors_live_key ON actors (name, key) WHERE destroy_ts IS NULL;
    CREATE INDEX actors_live_name ON actors (name, create_ts) WHERE destroy_ts IS NULL;
    CREATE INDEX actors_key ON actors (name, key, create_ts);
    CREATE INDEX actors_name ON actors (name, create_ts);
    CREATE INDEX actors_create ON actors (create_ts);
    CREATE INDEX actors_destroyed ON actors (destroy_ts) WHERE destroy_ts IS NOT NULL;
    CREATE INDEX actors_alarm ON actors (next_alarm)
        WHERE next_alarm IS NOT NULL AND destroy_ts IS NULL;
    PRAGMA user_version = 1;";

/// The statements with fixed text, each once.
macro_rules! statements {
    ($( $name:ident = $sql:expr; )*) => {
        $( pub(super) const $name: &str = $sql; )*
        #[cfg(test)]
        pub(super) const STATEMENTS: &[&str] = &[ $( $name ),* ];
    };
}

statements! {
    BY_ID = "SELECT id, name, key, create_ts, start_ts, sleep_ts, destroy_ts, generation, \
        next_alarm, error, seq, input FROM actors WHERE id = ?1";
    BY_KEY = "SELECT id, name, key, create_ts, start_ts, sleep_ts, destroy_ts, generation, \
        next_alarm, error, seq, input FROM actors \
        WHERE name = ?1 AND key = ?2 AND destroy_ts IS NULL";
    SET_ALARM = "UPDATE actors SET next_alarm = ?2 WHERE id = ?1 AND destroy_ts IS NULL";
    DUE_ALARMS = "SELECT id, next_alarm FROM actors \
        WHERE next_alarm <= ?1 AND destroy_ts IS NULL ORDER BY next_alarm LIMIT ?2";
    EARLIEST_ALARM = "SELECT min(next_alarm) FROM actors \
        WHERE next_alarm IS NOT NULL AND destroy_ts IS NULL";
    NEXT_GENERATION = "UPDATE actors SET generation = generation + 1 + ?2 \
        WHERE id = ?1 AND destroy_ts IS NULL RETURNING generation";
    NOTE_STARTED = "UPDATE actors SET start_ts = ifnull(start_ts, ?2), sleep_ts = NULL \
        WHERE id = ?1 AND destroy_ts IS NULL";
    NOTE_SLEPT = "UPDATE actors SET sleep_ts = ?2 WHERE id = ?1 AND destroy_ts IS NULL";
    NOTE_INITIALIZED = "UPDATE actors SET input = NULL WHERE id = ?1 AND destroy_ts IS NULL";
    NOTE_ERROR = "UPDATE actors SET error = ?2 WHERE id = ?1 AND destroy_ts IS NULL";
    MARK_DESTROYED = "UPDATE actors \
        SET destroy_ts = ?2, sleep_ts = NULL, next_alarm = NULL, input = NULL \
        WHERE id = ?1 AND destroy_ts IS NULL";
    FORGET_DESTROYED = "DELETE FROM actors WHERE seq IN \
        (SELECT seq FROM actors WHERE destroy_ts < ?1 ORDER BY destroy_ts LIMIT ?2)";
}

const INSERT: &str = "INSERT INTO actors (id, name, key, create_ts, generation, input) \
    VALUES (?1, ?2, ?3, ?4, ?6, ?5)";

/// Sets the connection up and creates the table in a new file.
pub(super) fn prepare(conn: &Connection) -> Result<()> {
    let doing = "open the directory";
    conn.execute_batch(SETTINGS).sql(doing)?;
    conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))
        .sql(doing)?;
    conn.set_prepared_statement_cache_capacity(64);
    let version: i64 = conn
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .sql(doing)?;
    match version {
        VERSION => Ok(()),
        0 => conn
            .execute_batch(&format!("BEGIN IMMEDIATE; {SCHEMA} COMMIT;"))
            .sql("create the directory"),
        _ => Err(invalid_data(
            "directory version",
            &format!("version {version} is not supported; this program knows {VERSION}"),
        )),
    }
}

/// Whether the next commits reach the disk before they return.
pub(super) fn set_sync(conn: &Connection, durable: bool) -> Result<()> {
    let sql = if durable {
        "PRAGMA synchronous = FULL"
    } else {
        "PRAGMA synchronous = NORMAL"
    };
    conn.prepare_cached(sql)
        .and_then(|mut statement| statement.execute([]))
        .map(drop)
        .sql(sql)
}

pub(super) fn finish(conn: Connection) -> Result<()> {
    set_sync(&conn, true)?;
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .sql("checkpoint the directory")?;
    conn.close()
        .map_err(|(_, error)| error)
        .sql("close the directory")
}

/// `generation` is the one that the actor is about to start with, 0 if none.
pub(super) fn insert(conn: &Connection, new: NewActor, generation: u32) -> Result<ActorRecord> {
    conn.prepare_cached(INSERT)
        .and_then(|mut statement| {
            let NewActor {
                id,
                name,
                key,
                input,
                create_ts,
            } = &new;
            statement.execute((id, name, key, create_ts, input, generation))
        })
        .sql("create an actor in the directory")?;
    Ok(ActorRecord {
        id: new.id,
        name: new.name,
        key: new.key,
        create_ts: new.create_ts,
        start_ts: None,
        sleep_ts: None,
        destroy_ts: None,
        generation,
        next_alarm: None,
        input: new.input,
        error: None,
    })
}

pub(super) fn by_id(conn: &Connection, id: &str) -> Result<Option<ActorRecord>> {
    conn.prepare_cached(BY_ID)
        .and_then(|mut statement| statement.query_row([id], with_input).optional())
        .sql("look up an actor by id")
}

pub(super) fn by_key(conn: &Connection, name: &str, key: &str) -> Result<Option<ActorRecord>> {
    conn.prepare_cached(BY_KEY)
        .and_then(|mut statement| statement.query_row([name, key], with_input).optional())
        .sql("look up an actor by key")
}

fn with_input(row: &Row<'_>) -> rusqlite::Result<ActorRecord> {
    let input = row.get(11)?;
    Ok(ActorRecord {
        input,
        ..from_row(row)?
    })
}

pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<ActorRecord> {
    Ok(ActorRecord {
        id: row.get(0)?,
        name: row.get(1)?,
        key: row.get(2)?,
        create_ts: row.get(3)?,
        start_ts: row.get(4)?,
        sleep_ts: row.get(5)?,
        destroy_ts: row.get(6)?,
        generation: row.get(7)?,
        next_alarm: row.get(8)?,
        error: row.get(9)?,
        input: None,
    })
}

pub(super) fn due_alarms(conn: &Connection, now: i64, limit: usize) -> Result<Vec<(String, i64)>> {
    let doing = "look for due alarms";
    let mut statement = conn.prepare_cached(DUE_ALARMS).sql(doing)?;
    let rows = statement
        .query_map((now, row_limit(limit)), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .sql(doing)?;
    rows.collect::<rusqlite::Result<_>>().sql(doing)
}

pub(super) fn earliest_alarm(conn: &Connection) -> Result<Option<i64>> {
    conn.prepare_cached(EARLIEST_ALARM)
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .sql("look for the earliest alarm")
}

/// `leap` numbers are left out.
pub(super) fn next_generation(conn: &Connection, id: &str, leap: u32) -> Result<u32> {
    conn.prepare_cached(NEXT_GENERATION)
        .and_then(|mut statement| statement.query_row((id, leap), |row| row.get(0)).optional())
        .sql("count up the generation")?
        .ok_or_else(|| not_found(id))
}

pub(super) fn set_alarm(conn: &Connection, id: &str, alarm: Option<i64>) -> Result<()> {
    update(conn, SET_ALARM, id, params![id, alarm])
}

pub(super) fn note_started(conn: &Connection, id: &str, now: i64) -> Result<()> {
    update(conn, NOTE_STARTED, id, params![id, now])
}

pub(super) fn note_slept(conn: &Connection, id: &str, now: i64) -> Result<()> {
    update(conn, NOTE_SLEPT, id, params![id, now])
}

pub(super) fn note_initialized(conn: &Connection, id: &str) -> Result<()> {
    update(conn, NOTE_INITIALIZED, id, params![id])
}

pub(super) fn note_error(conn: &Connection, id: &str, error: Option<&str>) -> Result<()> {
    update(conn, NOTE_ERROR, id, params![id, error])
}

pub(super) fn mark_destroyed(conn: &Connection, id: &str, now: i64) -> Result<bool> {
    if execute(conn, MARK_DESTROYED, params![id, now])? > 0 {
        return Ok(true);
    }
    match by_id(conn, id)? {
        Some(_) => Ok(false),
        None => Err(not_found(id)),
    }
}

pub(super) fn forget_destroyed(conn: &Connection, before: i64, limit: usize) -> Result<usize> {
    execute(conn, FORGET_DESTROYED, params![before, row_limit(limit)])
}

/// Changes the one live actor `id`.
fn update(conn: &Connection, sql: &str, id: &str, values: &[&dyn rusqlite::ToSql]) -> Result<()> {
    match execute(conn, sql, values)? {
        0 => Err(not_found(id)),
        _ => Ok(()),
    }
}

fn execute(conn: &Connection, sql: &str, values: &[&dyn rusqlite::ToSql]) -> Result<usize> {
    conn.prepare_cached(sql)
        .and_then(|mut statement| statement.execute(values))
        .sql("update the directory")
}

fn not_found(id: &str) -> Error {
    Error::with(
        &code::ACTOR_NOT_FOUND,
        json!({ "resource": "actor", "id": id }),
    )
}
