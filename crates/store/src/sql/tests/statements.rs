//! Values, results and errors of single statements, scripts and batches.

use bytes::Bytes;
use greenroom_error::code;

use super::{Actor, reason, shown, statement, text};
use crate::tests::fixture::state_only;
use crate::{SqlStatement, SqlValue};

#[tokio::test]
async fn every_value_comes_back_as_it_went_in() {
    let actor = Actor::new().await;
    let values = [
        SqlValue::Null,
        SqlValue::Integer(i64::MIN),
        SqlValue::Integer(i64::MAX),
        SqlValue::Integer(9_007_199_254_740_993),
        SqlValue::Real(0.1),
        SqlValue::Real(f64::INFINITY),
        SqlValue::Real(f64::NEG_INFINITY),
        SqlValue::Real(5e-324),
        SqlValue::Text(String::new()),
        SqlValue::Text("a\0b".to_owned()),
        SqlValue::Text("\u{feff}ü€😀".to_owned()),
        SqlValue::Blob(Bytes::new()),
        SqlValue::Blob(Bytes::from_static(&[0, 255, 0])),
    ];
    actor
        .run("CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
        .await
        .unwrap();
    for value in values {
        let stored = statement("INSERT INTO t (v) VALUES (?) RETURNING v", [value.clone()]);
        let result = actor.sql.execute(stored, None).await.unwrap();
        assert_eq!(result.rows.into_cells(), [value]);
    }
}

#[tokio::test]
async fn nan_is_stored_as_null_and_broken_text_is_repaired() {
    let actor = Actor::new().await;
    let nan = statement("SELECT ?", [SqlValue::Real(f64::NAN)]);
    let result = actor.sql.execute(nan, None).await.unwrap();
    assert_eq!(result.rows.into_cells(), [SqlValue::Null]);
    let rows = actor.rows("SELECT CAST(x'61ff62' AS TEXT)").await;
    assert_eq!(rows, ["a\u{fffd}b"]);
}

#[tokio::test]
async fn one_call_runs_one_statement() {
    let actor = Actor::new().await;
    for sql in ["SELECT 1; SELECT 2", "SELECT 1; x", "SELECT 1;/* */ DROP"] {
        let error = actor.run(sql).await.unwrap_err();
        assert!(error.is(&code::INTERNAL));
        assert_eq!(
            text(&error),
            "sqlite execute only supports a single statement"
        );
    }
    for sql in ["SELECT 1;", "SELECT 1; -- end", " /* a */ SELECT 1 ;; \n"] {
        assert_eq!(actor.rows(sql).await, ["1"]);
    }
    for sql in ["", " ; ", "-- nothing"] {
        let result = actor.run(sql).await.unwrap();
        assert!(result.columns.is_empty() && result.rows.is_empty());
    }
}

#[tokio::test]
async fn text_with_nul_is_refused_as_sql() {
    let actor = Actor::new().await;
    let error = actor.run("SELECT 1\0; DROP TABLE t").await.unwrap_err();
    assert_eq!(text(&error), "the sqlite text contains a NUL byte");
    let error = actor
        .sql
        .exec("SELECT 1;\0".to_owned(), None)
        .await
        .unwrap_err();
    assert!(error.is(&code::INTERNAL));
}

#[tokio::test]
async fn parameters_and_values_must_be_as_many() {
    let actor = Actor::new().await;
    let one = || SqlValue::Integer(1);
    for (sql, params, name) in [
        ("SELECT ?, ?", vec![one()], "?2"),
        ("SELECT ?", vec![one(), one()], "?2"),
        ("SELECT ?5", vec![one()], "?2"),
        ("SELECT 1", vec![one()], "?1"),
        ("", vec![one()], "?1"),
    ] {
        let error = actor
            .sql
            .execute(SqlStatement::new(sql, params), None)
            .await
            .unwrap_err();
        assert!(
            error.is(&code::SQLITE_INVALID_BIND_PARAMETER),
            "{sql}: {error}"
        );
        assert_eq!(error.metadata().unwrap()["name"], name);
    }
}

#[tokio::test]
async fn values_beyond_the_limit_are_refused_with_its_size() {
    let actor = Actor::new().await;
    let limit = super::super::runner::VALUE_BYTES_MAX;
    let huge = SqlValue::Blob(Bytes::from(vec![0; limit + 1]));
    let error = actor
        .sql
        .execute(statement("SELECT ?", [huge]), None)
        .await
        .unwrap_err();
    assert!(error.is(&code::SQLITE_INVALID_BIND_PARAMETER));
    assert!(reason(&error).contains(&limit.to_string()));
    let error = actor
        .run(&format!("SELECT zeroblob({})", limit + 1))
        .await
        .unwrap_err();
    assert!(text(&error).ends_with("string or blob too big"), "{error}");
}

#[tokio::test]
async fn an_answer_beyond_the_limit_is_refused_and_the_next_one_is_not() {
    let actor = Actor::new().await;
    let three = "SELECT zeroblob(100000000) UNION ALL SELECT zeroblob(100000001)
        UNION ALL SELECT zeroblob(100000002)";
    let error = actor.run(three).await.unwrap_err();
    assert!(error.is(&code::SQLITE_RESULT_TOO_LARGE));
    assert_eq!(actor.rows("SELECT 1").await, ["1"]);
}

#[tokio::test]
async fn errors_carry_the_text_and_the_code_of_sqlite() {
    let actor = Actor::new().await;
    actor
        .run("CREATE TABLE t (a UNIQUE, b NOT NULL)")
        .await
        .unwrap();
    actor.run("INSERT INTO t VALUES (1, 1)").await.unwrap();
    for (sql, expected, name) in [
        (
            "SELECT * FROM nope",
            "failed to prepare sqlite execute statement: no such table: nope",
            "SQLITE_ERROR",
        ),
        (
            "SELEC 1",
            "failed to prepare sqlite execute statement: near \"SELEC\": syntax error",
            "SQLITE_ERROR",
        ),
        (
            "INSERT INTO t VALUES (1, 1)",
            "failed to run sqlite execute statement: UNIQUE constraint failed: t.a",
            "SQLITE_CONSTRAINT_UNIQUE",
        ),
        (
            "INSERT INTO t VALUES (2, NULL)",
            "failed to run sqlite execute statement: NOT NULL constraint failed: t.b",
            "SQLITE_CONSTRAINT_NOTNULL",
        ),
    ] {
        let error = actor.run(sql).await.unwrap_err();
        assert!(error.is(&code::INTERNAL));
        assert_eq!(text(&error), expected);
        assert_eq!(error.metadata().unwrap()["sqlite"]["code"], name);
    }
    let error = actor.run("SELECT 1 FROM").await.unwrap_err();
    assert_eq!(error.metadata().unwrap()["sqlite"]["code"], "SQLITE_ERROR");
    let error = actor.run("SELECT nope FROM t").await.unwrap_err();
    assert_eq!(error.metadata().unwrap()["sqlite"]["offset"], 7);
}

#[tokio::test]
async fn counters_are_those_of_the_last_change_and_never_the_runtimes() {
    let actor = Actor::new().await;
    actor
        .run("CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
        .await
        .unwrap();
    let result = actor
        .run("INSERT INTO t VALUES (41, 0), (42, 0)")
        .await
        .unwrap();
    assert_eq!((result.changes, result.last_insert_row_id), (2, Some(42)));
    actor.database.save(state_only("two")).await.unwrap();
    let result = actor.run("SELECT last_insert_rowid()").await.unwrap();
    assert_eq!((result.changes, result.last_insert_row_id), (2, Some(42)));
    assert_eq!(shown(&result), ["42"]);
    let result = actor.run("CREATE TABLE u (x)").await.unwrap();
    assert_eq!((result.changes, result.last_insert_row_id), (2, Some(42)));
    let result = actor.run("DELETE FROM t WHERE id = 7").await.unwrap();
    assert_eq!((result.changes, result.last_insert_row_id), (0, None));
}

#[tokio::test]
async fn a_cached_statement_follows_a_change_of_the_schema() {
    let actor = Actor::new().await;
    actor.run("CREATE TABLE t (a)").await.unwrap();
    actor.run("INSERT INTO t VALUES (1)").await.unwrap();
    let before = actor.run("SELECT * FROM t").await.unwrap();
    assert_eq!(*before.columns, ["a"]);
    actor
        .run("ALTER TABLE t ADD COLUMN b DEFAULT 2")
        .await
        .unwrap();
    let after = actor.run("SELECT * FROM t").await.unwrap();
    assert_eq!(*after.columns, ["a", "b"]);
    assert_eq!(shown(&after), ["1|2"]);
    actor
        .run("ALTER TABLE t RENAME COLUMN a TO c")
        .await
        .unwrap();
    let renamed = actor.run("SELECT * FROM t").await.unwrap();
    assert_eq!(*renamed.columns, ["c", "b"]);
    actor.run("DROP TABLE t").await.unwrap();
    assert!(actor.run("SELECT * FROM t").await.is_err());
}

#[tokio::test]
async fn many_different_statements_keep_the_cache_bounded_and_right() {
    let actor = Actor::new().await;
    for round in 0..2 {
        for number in 0..200 {
            let sql = format!("SELECT {number} + {round}");
            assert_eq!(actor.rows(&sql).await, [(number + round).to_string()]);
        }
    }
}

#[tokio::test]
async fn a_script_runs_to_its_first_failure() {
    let actor = Actor::new().await;
    let script = "CREATE TABLE t (a); -- one\nINSERT INTO t VALUES (1), (2);
        SELECT a FROM t ORDER BY a; INSERT INTO t VALUES (3);";
    let result = actor.sql.exec(script.to_owned(), None).await.unwrap();
    assert_eq!(*result.columns, ["a"]);
    assert_eq!(result.rows.len(), 2);
    let failing = "INSERT INTO t VALUES (4); SELECT nope; INSERT INTO t VALUES (5)";
    let error = actor.sql.exec(failing.to_owned(), None).await.unwrap_err();
    assert_eq!(error.metadata().unwrap()["statement_index"], 1);
    assert!(text(&error).ends_with("no such column: nope"));
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["4"]);
}

#[tokio::test]
async fn a_script_may_define_triggers() {
    let actor = Actor::new().await;
    let script = "CREATE TABLE t (a); CREATE TABLE log (a);
        CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.a); SELECT 1; END;
        INSERT INTO t VALUES (7);";
    actor.sql.exec(script.to_owned(), None).await.unwrap();
    assert_eq!(actor.rows("SELECT a FROM log").await, ["7"]);
}

#[tokio::test]
async fn a_batch_is_all_or_nothing() {
    let actor = Actor::new().await;
    actor.run("CREATE TABLE t (a UNIQUE)").await.unwrap();
    let insert = |value| statement("INSERT INTO t VALUES (?)", [SqlValue::Integer(value)]);
    let results = actor
        .sql
        .execute_batch(
            vec![insert(1), insert(2), statement("SELECT a FROM t", [])],
            None,
        )
        .await
        .unwrap();
    assert_eq!(results[1].last_insert_row_id, Some(2));
    assert_eq!(shown(&results[2]), ["1", "2"]);
    let error = actor
        .sql
        .execute_batch(vec![insert(3), insert(1)], None)
        .await
        .unwrap_err();
    assert!(
        text(&error).starts_with("execute sqlite batch statement 1: "),
        "{error}"
    );
    assert_eq!(error.metadata().unwrap()["statement_index"], 1);
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["2"]);
}

#[tokio::test]
async fn a_batch_cannot_end_its_transaction() {
    let actor = Actor::new().await;
    actor.run("CREATE TABLE t (a)").await.unwrap();
    for control in ["COMMIT", "ROLLBACK", "BEGIN", "END TRANSACTION"] {
        let batch = vec![
            statement("INSERT INTO t VALUES (1)", []),
            statement(control, []),
        ];
        let error = actor.sql.execute_batch(batch, None).await.unwrap_err();
        assert!(error.is(&code::SQLITE_FORBIDDEN), "{control}: {error}");
    }
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["0"]);
}

#[tokio::test]
async fn the_parts_of_sqlite_that_users_build_on_are_there() {
    let actor = Actor::new().await;
    let script = "CREATE VIRTUAL TABLE docs USING fts5(body);
        INSERT INTO docs VALUES ('the green room'), ('the stage');
        CREATE TABLE t (id INTEGER PRIMARY KEY, j TEXT, up TEXT AS (upper(j)) STORED, n INT);
        INSERT INTO t (id, j, n) VALUES (1, '{\"a\":[1,2]}', 3), (2, 'x', 4);
        CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1);";
    actor.sql.exec(script.to_owned(), None).await.unwrap();
    for (sql, rows) in [
        (
            "SELECT body FROM docs WHERE docs MATCH 'green'",
            &["the green room"][..],
        ),
        ("SELECT j ->> '$.a[1]' FROM t WHERE id = 1", &["2"]),
        ("SELECT up FROM t WHERE id = 2", &["X"]),
        ("SELECT sum(n) OVER (ORDER BY id) FROM t", &["3", "7"]),
        (
            "INSERT INTO t (id, n) VALUES (1, 9) ON CONFLICT (id) DO UPDATE SET n = excluded.n RETURNING n",
            &["9"],
        ),
        (
            "SELECT '1' = 1, CAST('1' AS INT) = 1, typeof(1.0)",
            &["0|1|real"],
        ),
        ("SELECT 'a' = 'A' COLLATE NOCASE", &["1"]),
        ("SELECT value FROM json_each('[5,6]')", &["5", "6"]),
        ("DELETE FROM t WHERE id = 2 RETURNING n", &["4"]),
    ] {
        assert_eq!(actor.rows(sql).await, rows, "{sql}");
    }
}

#[tokio::test]
async fn deep_statements_are_refused_and_do_not_overflow_the_stack() {
    let actor = Actor::new().await;
    let nested = format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000));
    let selects = format!(
        "SELECT * FROM {}(SELECT 1){}",
        "(SELECT * FROM ".repeat(2000),
        ")".repeat(2000)
    );
    let unions = vec!["SELECT 1"; 5000].join(" UNION ALL ");
    let sums = vec!["1"; 5000].join("+");
    let calls = format!("SELECT {}1{}", "abs(".repeat(900), ")".repeat(900));
    for sql in [nested, selects, unions, format!("SELECT {sums}"), calls] {
        // Whether SQLite accepts it is its own business; it must answer.
        drop(actor.run(&sql).await);
    }
    assert_eq!(actor.rows("SELECT 1").await, ["1"]);
}

#[tokio::test]
async fn patterns_views_and_cascades_of_many_levels_do_not_overflow_the_stack() {
    let actor = Actor::new().await;
    let text = "a".repeat(50_000);
    for (like, many) in [("LIKE", "%a"), ("GLOB", "*a")] {
        let values = [
            SqlValue::Text(text.clone()),
            SqlValue::Text(many.repeat(25_000)),
        ];
        let sql = statement(&format!("SELECT ? {like} ?"), values);
        let matched = actor.sql.execute(sql, None).await.unwrap();
        assert_eq!(shown(&matched), ["1"], "{like}");
    }
    let mut script = "CREATE VIEW v0 AS SELECT 1 AS a;
        CREATE TABLE t0 (a PRIMARY KEY);"
        .to_owned();
    for level in 1..=1_000 {
        let below = level - 1;
        script += &format!(
            "CREATE VIEW v{level} AS SELECT a FROM v{below};
            CREATE TABLE t{level} (a PRIMARY KEY REFERENCES t{below} ON DELETE CASCADE);"
        );
    }
    actor.sql.exec(script, None).await.unwrap();
    assert_eq!(actor.rows("SELECT a FROM v1000").await, ["1"]);
    actor.run("INSERT INTO t0 VALUES (1)").await.unwrap();
    actor.run("DELETE FROM t0").await.unwrap();
}
