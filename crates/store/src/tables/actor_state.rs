//! `_rivet_actor_state`: the serialized state, the row that is written most.
//!
//! The bytes are opaque here.

use greenroom_error::Result;
use rusqlite::Connection;

use crate::failure::SqlResult;

pub(crate) const DDL: &str = "CREATE TABLE _rivet_actor_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    state BLOB NOT NULL
) STRICT";

const PUT: &str = "INSERT INTO _rivet_actor_state (id, state) VALUES (1, ?1)
    ON CONFLICT (id) DO UPDATE SET state = excluded.state";

pub(crate) fn put(conn: &Connection, state: &[u8]) -> Result<()> {
    conn.prepare_cached(PUT)
        .and_then(|mut statement| statement.execute([state]))
        .sql("save the actor state")?;
    Ok(())
}
