//! Every internal query finds its rows by an index.
//!
//! Plans are taken from a database with many rows, because the planner may
//! choose differently for small tables.

use rusqlite::Connection;

use super::plan;
use crate::tables::{conns, meta};
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
         ANALYZE;",
    )
    .unwrap();
    conn
}

#[test]
fn every_internal_query_uses_an_index() {
    let conn = filled();
    for sql in [conns::QUERIES, meta::QUERIES, startup::QUERIES].concat() {
        plan::assert_indexed(&conn, sql);
    }
}

#[test]
fn listed_scans_read_in_order_without_sorting() {
    let conn = filled();
    for sql in [conns::SCANS].concat() {
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
