//! `_rivet_conns` and `_rivet_conn_state`: hibernatable connections.
//!
//! What never changes in a connection's life is written once into the cold
//! table; state, indices and subscriptions go to the hot one. A connection is
//! whole only with both rows: half of one is not loaded.

use greenroom_error::Result;
use rusqlite::{Connection, Row};

use crate::failure::{SqlResult, invalid_data};

pub(crate) const DDL: &str = "CREATE TABLE _rivet_conns (
    conn_id TEXT PRIMARY KEY,
    parameters BLOB NOT NULL,
    gateway_id BLOB NOT NULL,
    request_id BLOB NOT NULL,
    request_path TEXT NOT NULL,
    request_headers BLOB NOT NULL
) STRICT, WITHOUT ROWID";

pub(crate) const STATE_DDL: &str = "CREATE TABLE _rivet_conn_state (
    conn_id TEXT PRIMARY KEY,
    state BLOB NOT NULL,
    server_message_index INTEGER NOT NULL,
    client_message_index INTEGER NOT NULL,
    subscriptions BLOB NOT NULL
) STRICT, WITHOUT ROWID";

const LIST: &str = "SELECT c.conn_id, c.parameters, c.gateway_id, c.request_id, c.request_path,
        c.request_headers, s.state, s.server_message_index, s.client_message_index, s.subscriptions
    FROM _rivet_conns c JOIN _rivet_conn_state s ON s.conn_id = c.conn_id
    ORDER BY c.conn_id";
const PUT_COLD: &str = "INSERT INTO _rivet_conns
    (conn_id, parameters, gateway_id, request_id, request_path, request_headers)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (conn_id) DO NOTHING";
const PUT_HOT: &str = "INSERT INTO _rivet_conn_state
    (conn_id, state, server_message_index, client_message_index, subscriptions)
    VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (conn_id) DO UPDATE SET state = excluded.state,
        server_message_index = excluded.server_message_index,
        client_message_index = excluded.client_message_index,
        subscriptions = excluded.subscriptions";
const DELETE_HOT: &str = "DELETE FROM _rivet_conn_state WHERE conn_id = ?1";
const DELETE_COLD: &str = "DELETE FROM _rivet_conns WHERE conn_id = ?1";

#[cfg(test)]
pub(crate) const QUERIES: &[&str] = &[DELETE_HOT, DELETE_COLD];
/// Reads every connection: bounded by the connections of one actor.
#[cfg(test)]
pub(crate) const SCANS: &[&str] = &[LIST];

/// One stored connection. `parameters` and `request_headers` stay as first
/// written; a later write of the same id changes the other fields only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnRow {
    pub conn_id: String,
    /// CBOR.
    pub parameters: Vec<u8>,
    pub gateway_id: [u8; 4],
    pub request_id: [u8; 4],
    pub request_path: String,
    /// CBOR map of text to text.
    pub request_headers: Vec<u8>,
    /// Opaque.
    pub state: Vec<u8>,
    pub server_message_index: u16,
    pub client_message_index: u16,
    /// CBOR array of event names.
    pub subscriptions: Vec<u8>,
}

/// What a save writes about one connection.
pub type ConnWrite = ConnRow;

/// All whole connections, by id.
pub(crate) fn list(conn: &Connection) -> Result<Vec<ConnRow>> {
    let doing = "load the connections";
    let mut statement = conn.prepare_cached(LIST).sql(doing)?;
    let mut rows = statement.query([]).sql(doing)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().sql(doing)? {
        found.push(from_row(row)?);
    }
    Ok(found)
}

fn from_row(row: &Row<'_>) -> Result<ConnRow> {
    let doing = "read a connection";
    Ok(ConnRow {
        conn_id: row.get(0).sql(doing)?,
        parameters: row.get(1).sql(doing)?,
        gateway_id: four_bytes(row, 2, "gateway_id")?,
        request_id: four_bytes(row, 3, "request_id")?,
        request_path: row.get(4).sql(doing)?,
        request_headers: row.get(5).sql(doing)?,
        state: row.get(6).sql(doing)?,
        server_message_index: row.get(7).sql(doing)?,
        client_message_index: row.get(8).sql(doing)?,
        subscriptions: row.get(9).sql(doing)?,
    })
}

fn four_bytes(row: &Row<'_>, at: usize, label: &str) -> Result<[u8; 4]> {
    let bytes: Vec<u8> = row.get(at).sql("read a connection")?;
    bytes
        .as_slice()
        .try_into()
        .map_err(|_| invalid_data(label, "expected exactly 4 bytes"))
}

pub(crate) fn put(conn: &Connection, row: &ConnRow) -> Result<()> {
    conn.prepare_cached(PUT_COLD)
        .and_then(|mut statement| {
            statement.execute((
                &row.conn_id,
                &row.parameters,
                &row.gateway_id[..],
                &row.request_id[..],
                &row.request_path,
                &row.request_headers,
            ))
        })
        .sql("save a connection")?;
    conn.prepare_cached(PUT_HOT)
        .and_then(|mut statement| {
            statement.execute((
                &row.conn_id,
                &row.state,
                row.server_message_index,
                row.client_message_index,
                &row.subscriptions,
            ))
        })
        .sql("save the state of a connection")?;
    Ok(())
}

pub(crate) fn delete(conn: &Connection, conn_id: &str) -> Result<()> {
    for sql in [DELETE_HOT, DELETE_COLD] {
        conn.prepare_cached(sql)
            .and_then(|mut statement| statement.execute([conn_id]))
            .sql("remove a connection")?;
    }
    Ok(())
}
