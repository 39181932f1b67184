//! Hibernatable connections as rows, both ways. The store keeps headers and
//! subscriptions as CBOR; their shape is this file's.

use std::collections::BTreeMap;

use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use greenroom_store::{ConnRow, ConnWrite};
use serde_json::json;

use crate::actor::connection::{ConnHandle, HibernationMetadata};
use crate::host::HibernationId;

/// The row of a live connection with this user state, for a save of this revision.
pub(super) fn to_row(conn: &ConnHandle, state: Bytes, revision: u64) -> Result<ConnWrite> {
    let meta = conn.hibernation_at(revision).ok_or_else(|| {
        Error::with(
            &code::CONNECTION_NOT_HIBERNATABLE,
            json!({ "conn_id": conn.id() }),
        )
    })?;
    let headers: BTreeMap<_, _> = meta.request_headers.into_iter().collect();
    Ok(ConnWrite {
        conn_id: conn.id().to_owned(),
        parameters: conn.params().to_vec(),
        gateway_id: meta.id.gateway_id,
        request_id: meta.id.request_id,
        request_path: meta.request_path,
        request_headers: encode(&headers)?,
        state: state.to_vec(),
        server_message_index: meta.server_message_index,
        client_message_index: meta.client_message_index,
        subscriptions: encode(&conn.subscriptions())?,
    })
}

/// A connection as it was when its row was written.
pub(super) fn from_row(row: ConnRow) -> Result<ConnHandle> {
    let headers: BTreeMap<String, String> = decode(&row.request_headers, "connection headers")?;
    let subscriptions: Vec<String> = decode(&row.subscriptions, "connection subscriptions")?;
    let conn = ConnHandle::new(
        row.conn_id,
        Bytes::from(row.parameters),
        Some(HibernationMetadata {
            id: HibernationId {
                gateway_id: row.gateway_id,
                request_id: row.request_id,
            },
            server_message_index: row.server_message_index,
            client_message_index: row.client_message_index,
            request_path: row.request_path,
            request_headers: headers.into_iter().collect(),
        }),
    );
    conn.replace_state(Bytes::from(row.state));
    conn.replace_subscriptions(subscriptions);
    Ok(conn)
}

fn encode<T: serde::Serialize>(value: &T) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes)
        .map_err(|error| Error::internal(format!("encode connection row: {error}")))?;
    Ok(bytes)
}

fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8], label: &str) -> Result<T> {
    ciborium::from_reader(bytes).map_err(|error| {
        Error::with(
            &code::PROTOCOL_INVALID_PERSISTED_DATA,
            json!({ "label": label, "reason": error.to_string() }),
        )
    })
}
