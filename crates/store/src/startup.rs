//! What an actor's start reads, in one turn of a lane.

use greenroom_error::Result;
use rusqlite::Connection;

use crate::failure::{SqlResult, invalid_data};
use crate::tables::conns::{self, ConnRow};
use crate::tables::{meta, queue_leases, schedule_events, schedule_history};

/// The stored side of an actor at its start.
#[derive(Debug, Default, PartialEq)]
pub struct Startup {
    /// The database was created by this very start; everything else is empty.
    /// What is written is held back until `commit_startup`.
    pub bootstrapped: bool,
    pub snapshot: Option<Snapshot>,
    /// Unix milliseconds.
    pub last_pushed_alarm: Option<i64>,
    /// Unix milliseconds.
    pub run_wake_at: Option<i64>,
    pub inspector_token: Option<String>,
    /// The earliest due time of all schedules, Unix milliseconds.
    pub next_schedule: Option<i64>,
    /// Messages of its queue may be hidden for a time.
    pub has_leases: bool,
    /// A recurring schedule was firing when the generation before ended.
    pub interrupted_fires: bool,
    /// Hibernatable connections, by id.
    pub conns: Vec<ConnRow>,
}

/// What is known of an actor that was saved before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub has_initialized: bool,
    /// Input of the creation, CBOR.
    pub input: Option<Vec<u8>>,
    /// Serialized state.
    pub state: Vec<u8>,
}

impl Startup {
    pub(crate) fn bootstrapped() -> Self {
        Self {
            bootstrapped: true,
            ..Self::default()
        }
    }
}

/// Every singleton at once. The actor has a snapshot only if both of its rows
/// exist, which `a.id + s.id` expresses.
const SINGLETONS: &str = "SELECT i.value, w.value, r.last_pushed_alarm, r.inspector_token,
        a.id + s.id, a.has_initialized, a.input, s.state
    FROM (SELECT 1)
    LEFT JOIN _rivet_meta i ON i.key = ?1
    LEFT JOIN _rivet_meta w ON w.key = ?2
    LEFT JOIN _rivet_runtime r ON r.id = 1
    LEFT JOIN _rivet_actor a ON a.id = 1
    LEFT JOIN _rivet_actor_state s ON s.id = 1";

#[cfg(test)]
pub(crate) const QUERIES: &[&str] = &[SINGLETONS];

pub(crate) fn read(conn: &Connection) -> Result<Startup> {
    let doing = "load the actor";
    let mut statement = conn.prepare_cached(SINGLETONS).sql(doing)?;
    let mut rows = statement
        .query((meta::KV_IMPORT_STATE, meta::RUN_WAKE_AT))
        .sql(doing)?;
    let Some(row) = rows.next().sql(doing)? else {
        return Err(invalid_data("actor", "the singletons gave no row"));
    };
    check_import(conn, row.get::<_, Option<Vec<u8>>>(0).sql(doing)?)?;
    let run_wake: Option<Vec<u8>> = row.get(1).sql(doing)?;
    let is_whole = row.get::<_, Option<i64>>(4).sql(doing)?.is_some();
    let snapshot = if is_whole {
        Some(Snapshot {
            has_initialized: row.get(5).sql(doing)?,
            input: row.get(6).sql(doing)?,
            state: row.get(7).sql(doing)?,
        })
    } else {
        None
    };
    Ok(Startup {
        bootstrapped: false,
        snapshot,
        last_pushed_alarm: row.get(2).sql(doing)?,
        run_wake_at: run_wake
            .as_deref()
            .map_or(Ok(None), meta::decode_run_wake)?,
        inspector_token: row.get(3).sql(doing)?,
        next_schedule: schedule_events::next_trigger(conn)?,
        has_leases: queue_leases::exists(conn)?,
        interrupted_fires: schedule_history::any_running(conn)?,
        conns: conns::list(conn)?,
    })
}

/// There is no older layout to import from here, so a file that was never
/// looked at is marked done. One whose import began elsewhere and did not end
/// is incomplete and must not be served.
fn check_import(conn: &Connection, state: Option<Vec<u8>>) -> Result<()> {
    match state.as_deref() {
        Some(meta::IMPORT_DONE) => Ok(()),
        None => meta::set_import_done(conn),
        Some(b"importing") => Err(invalid_data(
            meta::KV_IMPORT_STATE,
            "an import of older data was interrupted; finish it with the runtime that began it",
        )),
        Some(_) => Err(invalid_data(meta::KV_IMPORT_STATE, "unknown state")),
    }
}
