//! `_rivet_runtime`: one row of counters and tokens, each with its own writer.
//!
//! Every writer upserts the row with the other columns empty but on conflict
//! changes its own column only, so writers never undo each other.

use greenroom_error::Result;
use rusqlite::{Connection, OptionalExtension};

use crate::failure::SqlResult;

pub(crate) const DDL: &str = "CREATE TABLE _rivet_runtime (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    last_pushed_alarm INTEGER,
    inspector_token TEXT,
    queue_next_id INTEGER NOT NULL
) STRICT";

const PUT_ALARM: &str = "INSERT INTO _rivet_runtime
    (id, last_pushed_alarm, inspector_token, queue_next_id) VALUES (1, ?1, NULL, 1)
    ON CONFLICT (id) DO UPDATE SET last_pushed_alarm = excluded.last_pushed_alarm";
const PUT_TOKEN: &str = "INSERT INTO _rivet_runtime
    (id, last_pushed_alarm, inspector_token, queue_next_id) VALUES (1, NULL, ?1, 1)
    ON CONFLICT (id) DO UPDATE SET inspector_token = excluded.inspector_token";
const PUT_NEXT_ID: &str = "INSERT INTO _rivet_runtime
    (id, last_pushed_alarm, inspector_token, queue_next_id) VALUES (1, NULL, NULL, ?1)
    ON CONFLICT (id) DO UPDATE SET queue_next_id = excluded.queue_next_id";
const NEXT_ID: &str = "SELECT queue_next_id FROM _rivet_runtime WHERE id = 1";

#[cfg(test)]
pub(crate) const QUERIES: &[&str] = &[NEXT_ID];

pub(crate) fn set_queue_next_id(conn: &Connection, next_id: u64) -> Result<()> {
    conn.prepare_cached(PUT_NEXT_ID)
        .and_then(|mut statement| statement.execute([next_id]))
        .sql("save the next queue message id")?;
    Ok(())
}

pub(crate) fn queue_next_id(conn: &Connection) -> Result<Option<i64>> {
    conn.prepare_cached(NEXT_ID)
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)).optional())
        .sql("read the next queue message id")
}

pub(crate) fn set_last_pushed_alarm(conn: &Connection, alarm: Option<i64>) -> Result<()> {
    conn.prepare_cached(PUT_ALARM)
        .and_then(|mut statement| statement.execute([alarm]))
        .sql("save the last pushed alarm")?;
    Ok(())
}

pub(crate) fn set_inspector_token(conn: &Connection, token: &str) -> Result<()> {
    conn.prepare_cached(PUT_TOKEN)
        .and_then(|mut statement| statement.execute([token]))
        .sql("save the inspector token")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_leave_each_others_columns_alone() {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(DDL).unwrap();
        set_inspector_token(&conn, "t0ken").unwrap();
        set_last_pushed_alarm(&conn, Some(7)).unwrap();
        assert_eq!(queue_next_id(&conn).unwrap(), Some(1));
        set_queue_next_id(&conn, 9).unwrap();
        let row: (Option<i64>, String, i64) = conn
            .query_row(
                "SELECT last_pushed_alarm, inspector_token, queue_next_id FROM _rivet_runtime",
                [],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .unwrap();
        assert_eq!(row, (Some(7), "t0ken".to_owned(), 9));
    }
}
