//! `_rivet_actor`: written a few times in an actor's life.

use greenroom_error::Result;
use rusqlite::Connection;

use crate::failure::SqlResult;
use crate::save::ActorRow;

pub(crate) const DDL: &str = "CREATE TABLE _rivet_actor (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    has_initialized INTEGER NOT NULL,
    input BLOB
) STRICT";

const PUT: &str = "INSERT INTO _rivet_actor (id, has_initialized, input) VALUES (1, ?1, ?2)
    ON CONFLICT (id) DO UPDATE SET
        has_initialized = excluded.has_initialized, input = excluded.input";

pub(crate) fn put(conn: &Connection, row: &ActorRow) -> Result<()> {
    conn.prepare_cached(PUT)
        .and_then(|mut statement| statement.execute((row.has_initialized, &row.input)))
        .sql("save the actor row")?;
    Ok(())
}
