//! `_rivet_meta`: the root table, small facts about the file itself.
//!
//! It exists before any version of the schema, because the version lives in it.
//! It is no general key-value store: each key has one encoding, defined here.

use greenroom_error::Result;
use rusqlite::{Connection, OptionalExtension};

use crate::failure::{SqlResult, invalid_data};

pub(crate) const DDL: &str = "CREATE TABLE IF NOT EXISTS _rivet_meta (
    key TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID";

pub(crate) const SCHEMA_VERSION: &str = "schema_version";
pub(crate) const KV_IMPORT_STATE: &str = "kv_import_state";
pub(crate) const RUN_WAKE_AT: &str = "run_wake_at";

/// The value of [`KV_IMPORT_STATE`] once nothing of the older layout is left.
pub(crate) const IMPORT_DONE: &[u8] = b"done";

/// Version number that precedes the BARE value of [`RUN_WAKE_AT`].
const RUN_WAKE_VERSION: u16 = 1;

const GET: &str = "SELECT value FROM _rivet_meta WHERE key = ?1";
const PUT: &str = "INSERT INTO _rivet_meta (key, value) VALUES (?1, ?2)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value";

#[cfg(test)]
pub(crate) const QUERIES: &[&str] = &[GET];

fn put(conn: &Connection, key: &str, value: &[u8]) -> Result<()> {
    conn.prepare_cached(PUT)
        .and_then(|mut statement| statement.execute((key, value)))
        .sql("write a row of _rivet_meta")?;
    Ok(())
}

/// Position on the schema ladder. `None` when the table does not exist yet,
/// which is the only failure that means "fresh"; every other one is an error.
pub(crate) fn schema_version(conn: &Connection) -> Result<Option<i64>> {
    let doing = "read the schema version";
    let found: Option<Vec<u8>> = match conn.prepare(GET) {
        Ok(mut statement) => statement
            .query_row([SCHEMA_VERSION], |row| row.get(0))
            .optional()
            .sql(doing)?,
        Err(error) if is_missing_table(&error) => return Ok(None),
        Err(error) => return Err(error).sql(doing),
    };
    let Some(bytes) = found else {
        return Ok(Some(0));
    };
    let bytes: [u8; 8] = bytes
        .as_slice()
        .try_into()
        .map_err(|_| invalid_data(SCHEMA_VERSION, "expected exactly 8 bytes"))?;
    Ok(Some(i64::from_le_bytes(bytes)))
}

fn is_missing_table(error: &rusqlite::Error) -> bool {
    error.to_string().contains("no such table: _rivet_meta")
}

pub(crate) fn set_schema_version(conn: &Connection, version: i64) -> Result<()> {
    put(conn, SCHEMA_VERSION, &version.to_le_bytes())
}

pub(crate) fn set_import_done(conn: &Connection) -> Result<()> {
    put(conn, KV_IMPORT_STATE, IMPORT_DONE)
}

pub(crate) fn set_run_wake_at(conn: &Connection, wake_at: Option<i64>) -> Result<()> {
    put(conn, RUN_WAKE_AT, &encode_run_wake(wake_at))
}

fn encode_run_wake(wake_at: Option<i64>) -> Vec<u8> {
    let mut bytes = RUN_WAKE_VERSION.to_le_bytes().to_vec();
    bytes.push(u8::from(wake_at.is_some()));
    if let Some(at) = wake_at {
        bytes.extend_from_slice(&at.to_le_bytes());
    }
    bytes
}

pub(crate) fn decode_run_wake(bytes: &[u8]) -> Result<Option<i64>> {
    let bad = |reason: &str| invalid_data(RUN_WAKE_AT, reason);
    let (version, rest) = bytes
        .split_first_chunk::<2>()
        .ok_or_else(|| bad("too short"))?;
    if u16::from_le_bytes(*version) != RUN_WAKE_VERSION {
        return Err(bad("unsupported version"));
    }
    match rest {
        [0] => Ok(None),
        [1, at @ ..] => at
            .try_into()
            .map(|at| Some(i64::from_le_bytes(at)))
            .map_err(|_| bad("expected 8 bytes of time")),
        _ => Err(bad("expected an optional time")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_wake_has_the_published_bytes() {
        assert_eq!(encode_run_wake(None), [1, 0, 0]);
        assert_eq!(
            encode_run_wake(Some(258)),
            [1, 0, 1, 2, 1, 0, 0, 0, 0, 0, 0]
        );
        for wake_at in [None, Some(0), Some(i64::MIN), Some(i64::MAX)] {
            assert_eq!(decode_run_wake(&encode_run_wake(wake_at)).unwrap(), wake_at);
        }
    }

    #[test]
    fn damaged_run_wake_is_an_error() {
        for bytes in [
            &[][..],
            &[1],
            &[1, 0],
            &[2, 0, 0],
            &[1, 0, 2],
            &[1, 0, 1, 5],
        ] {
            assert!(decode_run_wake(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn only_a_missing_table_counts_as_fresh() {
        let conn = Connection::open_in_memory().unwrap();
        assert_eq!(schema_version(&conn).unwrap(), None);
        conn.execute_batch(DDL).unwrap();
        assert_eq!(schema_version(&conn).unwrap(), Some(0));
        set_schema_version(&conn, 2).unwrap();
        assert_eq!(schema_version(&conn).unwrap(), Some(2));
        put(&conn, SCHEMA_VERSION, b"two").unwrap();
        assert!(schema_version(&conn).is_err());
        conn.execute_batch("DROP TABLE _rivet_meta; CREATE TABLE _rivet_meta (k)")
            .unwrap();
        assert!(schema_version(&conn).is_err());
    }
}
