//! What one save writes: checked first, then executed as one unit.

use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use rusqlite::Connection;
use serde_json::json;

use crate::tables::conns::{self, ConnWrite};
use crate::tables::{actor, actor_state, meta, runtime, wf_kv};

/// Bytes of one workflow value.
const WORKFLOW_VALUE_MAX: usize = 256 * 1024;
/// Rows and bytes of a save that carries workflow writes. The unit is atomic, so
/// it cannot be split; the limits are those of the cluster's storage, which the
/// same actor may run on.
const WORKFLOW_UNIT_ROWS_MAX: usize = 128;
const WORKFLOW_UNIT_BYTES_MAX: usize = 512 * 1024;

/// Everything a save may change, written in one transaction. What is `None` or
/// empty stays as it is stored.
#[derive(Clone, Debug, Default)]
pub struct SaveBatch {
    pub actor: Option<ActorRow>,
    /// Serialized state.
    pub state: Option<Bytes>,
    pub conns: Vec<ConnWrite>,
    /// Ids of connections to delete; wins over a write of the same id.
    pub removed_conns: Vec<String>,
    /// At most 256 KiB per value; with any of these the whole batch is limited
    /// to 128 rows and 512 KiB, and rejected whole beyond that.
    pub workflow: Vec<WorkflowWrite>,
    /// `Some(None)` clears it. Unix milliseconds.
    pub last_pushed_alarm: Option<Option<i64>>,
    /// `Some(None)` clears it. Unix milliseconds.
    pub run_wake_at: Option<Option<i64>>,
    pub inspector_token: Option<String>,
}

/// The row that tells an initialised actor from a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActorRow {
    pub has_initialized: bool,
    /// Input of the creation, CBOR.
    pub input: Option<Vec<u8>>,
}

/// One key of the workflow engine, without the prefix it is stored under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowWrite {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

impl SaveBatch {
    pub fn is_empty(&self) -> bool {
        self.rows() == 0
    }

    /// Rows written and bytes bound, as budgets count them.
    pub fn weight(&self) -> (usize, usize) {
        (self.rows(), self.bytes())
    }

    fn rows(&self) -> usize {
        usize::from(self.actor.is_some())
            + usize::from(self.state.is_some())
            + 2 * (self.conns.len() + self.removed_conns.len())
            + self.workflow.len()
            + usize::from(self.last_pushed_alarm.is_some())
            + usize::from(self.run_wake_at.is_some())
            + usize::from(self.inspector_token.is_some())
    }

    /// Bytes bound to the statements: text and blobs by length, numbers 8.
    fn bytes(&self) -> usize {
        let actor = self
            .actor
            .as_ref()
            .map_or(0, |row| 8 + row.input.as_ref().map_or(0, Vec::len));
        let conns = self.conns.iter().map(|row| {
            2 * row.conn_id.len()
                + row.parameters.len()
                + row.gateway_id.len()
                + row.request_id.len()
                + row.request_path.len()
                + row.request_headers.len()
                + row.state.len()
                + row.subscriptions.len()
                + 16
        });
        let workflow = self
            .workflow
            .iter()
            .map(|row| wf_kv::PREFIX.len() + row.key.len() + row.value.len());
        actor
            + self.state.as_ref().map_or(0, Bytes::len)
            + conns.sum::<usize>()
            + self
                .removed_conns
                .iter()
                .map(|id| 2 * id.len())
                .sum::<usize>()
            + workflow.sum::<usize>()
            + self.inspector_token.as_ref().map_or(0, String::len)
            + 16
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.workflow.is_empty() {
            return Ok(());
        }
        if let Some(row) = self
            .workflow
            .iter()
            .find(|row| row.value.len() > WORKFLOW_VALUE_MAX)
        {
            let size = row.value.len();
            return Err(over_budget(format!(
                "a workflow value has {size} bytes, the limit is {WORKFLOW_VALUE_MAX}"
            )));
        }
        let (rows, bytes) = (self.rows(), self.bytes());
        if rows > WORKFLOW_UNIT_ROWS_MAX || bytes > WORKFLOW_UNIT_BYTES_MAX {
            return Err(over_budget(format!(
                "{rows} rows and {bytes} bytes in one unit, the limits are \
                 {WORKFLOW_UNIT_ROWS_MAX} and {WORKFLOW_UNIT_BYTES_MAX}"
            )));
        }
        Ok(())
    }

    /// Executes the batch inside the caller's transaction.
    pub(crate) fn apply(&self, conn: &Connection) -> Result<()> {
        if let Some(row) = &self.actor {
            actor::put(conn, row)?;
        }
        if let Some(state) = &self.state {
            actor_state::put(conn, state)?;
        }
        for row in &self.conns {
            conns::put(conn, row)?;
        }
        for conn_id in &self.removed_conns {
            conns::delete(conn, conn_id)?;
        }
        for row in &self.workflow {
            wf_kv::put(conn, &row.key, &row.value)?;
        }
        if let Some(alarm) = self.last_pushed_alarm {
            runtime::set_last_pushed_alarm(conn, alarm)?;
        }
        if let Some(wake_at) = self.run_wake_at {
            meta::set_run_wake_at(conn, wake_at)?;
        }
        if let Some(token) = &self.inspector_token {
            runtime::set_inspector_token(conn, token)?;
        }
        Ok(())
    }
}

fn over_budget(reason: String) -> Error {
    Error::with(
        &code::ACTOR_INVALID_OPERATION,
        json!({ "operation": "save state and workflow", "reason": reason }),
    )
}
