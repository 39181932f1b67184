//! The ladder that brings a database file to the current schema.
//!
//! Versions are an append-only list: a shipped one never changes or moves. Each
//! is applied in one transaction together with its number, so an upgrade that
//! fails resumes at the last complete version. A file from a newer program is
//! refused, never guessed at.

use greenroom_error::Result;
use rusqlite::{Connection, DatabaseName, TransactionBehavior};

use crate::failure::{SqlResult, invalid_data};
use crate::tables::{
    actor, actor_state, conns, meta, queue, runtime, schedule_events, schedule_history, user_kv,
    wf_kv,
};

/// Page size of every new file, in bytes.
pub(crate) const PAGE_SIZE: u32 = 4096;

/// Statements of each version; the first element is version 1.
const LADDER: [&[&str]; 2] = [
    &[
        runtime::DDL,
        actor::DDL,
        actor_state::DDL,
        schedule_events::DDL,
        schedule_events::INDEX,
        schedule_history::DDL,
        schedule_history::INDEXES[0],
        schedule_history::INDEXES[1],
        schedule_history::INDEXES[2],
        conns::DDL,
        conns::STATE_DDL,
        queue::DDL,
        queue::INDEX,
        wf_kv::DDL,
        user_kv::DDL,
    ],
    &[
        schedule_events::V2[0],
        schedule_events::V2[1],
        schedule_events::V2[2],
        queue::V2[0],
        queue::V2[1],
        queue::V2[2],
    ],
];

/// The newest schema version this program reads and writes.
pub(crate) const VERSION: i64 = LADDER.len() as i64;

/// Applies the versions that `conn` lacks. Returns whether any was missing.
pub(crate) fn migrate(conn: &mut Connection) -> Result<bool> {
    let found = meta::schema_version(conn)?;
    let version = found.unwrap_or(0);
    if version == VERSION {
        return Ok(false);
    }
    if !(0..=VERSION).contains(&version) {
        let reason =
            format!("version {version} is not supported; this program knows 1 to {VERSION}");
        return Err(invalid_data(meta::SCHEMA_VERSION, &reason));
    }
    if found.is_none() {
        conn.execute_batch(meta::DDL).sql("create _rivet_meta")?;
    }
    for number in version + 1..=VERSION {
        apply(conn, number)?;
    }
    Ok(true)
}

fn apply(conn: &mut Connection, number: i64) -> Result<()> {
    let doing = format!("upgrade the schema to version {number}");
    let transaction = conn
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .sql(&doing)?;
    for statement in LADDER[number as usize - 1] {
        transaction.execute_batch(statement).sql(&doing)?;
    }
    meta::set_schema_version(&transaction, number)?;
    transaction.commit().sql(&doing)
}

/// The bytes of an empty database at [`VERSION`], with nothing left to import.
/// A new actor's file starts as a copy of these, which is far cheaper than
/// running the ladder.
pub(crate) fn template() -> Result<Box<[u8]>> {
    let doing = "build the template of a new database";
    let mut conn = Connection::open_in_memory().sql(doing)?;
    conn.pragma_update(None, "page_size", PAGE_SIZE)
        .sql(doing)?;
    migrate(&mut conn)?;
    meta::set_import_done(&conn)?;
    let image = conn.serialize(DatabaseName::Main).sql(doing)?;
    Ok(image.to_vec().into_boxed_slice())
}

/// A database of version 1 without its version number, for tests.
#[cfg(test)]
pub(crate) fn version_1_script() -> String {
    format!("{};{};", meta::DDL, LADDER[0].join(";"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_version_leaves_the_last_complete_one() {
        let mut conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(meta::DDL).unwrap();
        apply(&mut conn, 1).unwrap();
        conn.execute_batch("DROP TABLE _rivet_queue").unwrap();
        assert!(migrate(&mut conn).is_err());
        assert_eq!(meta::schema_version(&conn).unwrap(), Some(1));
        let columns: i64 = conn
            .query_row(
                "SELECT count(*) FROM pragma_table_info('_rivet_schedule_events')",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(columns, 10, "the half of version 2 that worked is undone");
    }

    #[test]
    fn a_newer_file_is_refused_untouched() {
        let mut conn = Connection::open_in_memory().unwrap();
        migrate(&mut conn).unwrap();
        meta::set_schema_version(&conn, VERSION + 1).unwrap();
        let error = migrate(&mut conn).unwrap_err();
        assert!(error.message().contains("version 3 is not supported"));
        assert_eq!(meta::schema_version(&conn).unwrap(), Some(VERSION + 1));
    }

    #[test]
    fn internal_tables_have_neither_defaults_nor_foreign_keys_nor_comments() {
        let all = LADDER.concat().join(";");
        for word in ["DEFAULT", "REFERENCES", "TRIGGER", "--", "/*"] {
            assert!(!all.contains(word), "{word}");
        }
        let tables = LADDER[0]
            .iter()
            .filter(|sql| sql.starts_with("CREATE TABLE"));
        for table in tables {
            assert!(table.contains(") STRICT"), "{table}");
        }
    }

    #[test]
    fn the_template_holds_the_current_schema() {
        let image = template().unwrap();
        assert_eq!(image.len() % PAGE_SIZE as usize, 0);
        assert_eq!(&image[..16], b"SQLite format 3\0");
    }
}
