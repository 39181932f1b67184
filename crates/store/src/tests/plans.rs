//! Every internal query finds its rows by an index.
//!
//! Plans are taken from a database with many rows, because the planner may
//! choose differently for small tables.

use rusqlite::Connection;

use super::plan;
use crate::tables::{
    conns, dead_letters, meta, queue, queue_leases, runtime, schedule_events, schedule_history,
    user_kv,
};
use crate::{schema, startup};

fn filled() -> Connection {
    let mut conn = Connection::open_in_memory().unwrap();
    schema::migrate(&mut conn).unwrap();
    conn.execute_batch(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
         INSERT INTO _rivet_conns SELECT 'c' || i, x'', x'01020304', x'01020304', '/', x'' FROM n;
         INSERT INTO _rivet_conn_state SELECT conn_id, x'', 0, 0, x'' FROM _rivet_conns;
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
         INSERT INTO _rivet_meta SELECT 'k' || i, x'' FROM n;
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
         INSERT INTO _rivet_queue SELECT i, 'q' || (i % 9), x'', i, NULL, NULL, NULL FROM n;
         INSERT INTO _rivet_user_kv SELECT CAST(id AS BLOB), x'' FROM _rivet_queue;
         INSERT INTO _rivet_schedule_events
             SELECT 'e' || id, id, 'a', NULL, 2, NULL, NULL, 5000, NULL, 9, NULL, NULL, NULL
             FROM _rivet_queue;
         INSERT INTO _rivet_schedule_history
             SELECT id, 'e' || (id % 50), 'a', id, id, id, id % 4, NULL, NULL, NULL, NULL
             FROM _rivet_queue;",
    )
    .unwrap();
    conn.execute_batch(queue_leases::SCHEMA).unwrap();
    conn.execute_batch(dead_letters::SCHEMA).unwrap();
    conn.execute_batch(
        "INSERT INTO _greenroom_queue_leases SELECT id, 1, id, id % 2, NULL FROM _rivet_queue;
         INSERT INTO _greenroom_dead_letters
             SELECT id, name, x'', 0, 1, '', 0, NULL, NULL, NULL FROM _rivet_queue;
         ANALYZE;",
    )
    .unwrap();
    conn
}

#[test]
fn every_internal_query_uses_an_index() {
    let conn = filled();
    let queries = [
        conns::QUERIES,
        dead_letters::QUERIES,
        meta::QUERIES,
        queue::QUERIES,
        queue_leases::QUERIES,
        runtime::QUERIES,
        schedule_events::QUERIES,
        schedule_history::QUERIES,
        startup::QUERIES,
        user_kv::QUERIES,
    ];
    for sql in queries.concat() {
        plan::assert_indexed(&conn, sql);
    }
}

#[test]
fn listed_scans_read_in_order_without_sorting() {
    let conn = filled();
    let scans = [
        conns::SCANS,
        dead_letters::SCANS,
        queue::SCANS,
        queue_leases::SCANS,
        schedule_events::SCANS,
        schedule_history::SCANS,
    ];
    for sql in scans.concat() {
        let steps = plan::steps(&conn, sql);
        let sorts = steps.iter().any(|step| step.contains("TEMP B-TREE"));
        assert!(!sorts, "{sql}: {steps:?}");
    }
}

#[test]
fn a_query_without_an_index_is_noticed() {
    let conn = filled();
    for sql in [
        "SELECT conn_id FROM _rivet_conns WHERE request_path = ?1",
        "SELECT conn_id FROM _rivet_conn_state WHERE conn_id > ?1 ORDER BY state",
    ] {
        let steps = plan::steps(&conn, sql);
        assert!(
            steps.iter().any(|step| plan::is_costly(step)),
            "{sql}: {steps:?}"
        );
    }
}
