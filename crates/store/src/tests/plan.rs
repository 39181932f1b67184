//! Reads query plans.

use rusqlite::Connection;
use rusqlite::types::Value;

/// The steps of the plan for `sql`, with its parameters left NULL.
pub(crate) fn steps(conn: &Connection, sql: &str) -> Vec<String> {
    let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let parameters = vec![Value::Null; statement.parameter_count()];
    statement
        .query_map(rusqlite::params_from_iter(parameters), |row| row.get(3))
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

/// A step that reads rows it does not need, or sorts.
pub(crate) fn is_costly(step: &str) -> bool {
    let constant = ["SCAN CONSTANT ROW", "SCAN (subquery-1)"];
    let scan = step.starts_with("SCAN") && !constant.contains(&step);
    scan || step.contains("TEMP B-TREE") || step.contains("AUTOMATIC")
}

#[track_caller]
pub(crate) fn assert_indexed(conn: &Connection, sql: &str) {
    let steps = steps(conn, sql);
    assert!(
        !steps.iter().any(|step| is_costly(step)),
        "{sql}: {steps:?}"
    );
}
