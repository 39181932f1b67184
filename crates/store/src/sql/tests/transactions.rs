//! What a transaction keeps, takes back and refuses.

use std::time::Duration;

use greenroom_error::code;

use super::{Actor, counting, insert, options, statement, text};
use crate::tests::fixture::inspect;
use crate::{BeginOptions, SqlStatement};

#[tokio::test]
async fn a_commit_keeps_and_a_rollback_takes_back() {
    let actor = counting().await;
    let tx = actor.begin().await;
    insert(&tx, "kept").await;
    tx.commit().await.unwrap();
    let tx = actor.begin().await;
    insert(&tx, "lost").await;
    tx.rollback().await.unwrap();
    assert_eq!(actor.rows("SELECT by FROM t").await, ["kept"]);
}

#[tokio::test]
async fn use_after_the_end_names_the_transaction_and_its_end() {
    let actor = counting().await;
    for state in ["committed", "rolled back"] {
        let tx = actor.sql.begin_transaction(options("k1")).await.unwrap();
        let end = if state == "committed" {
            tx.commit().await
        } else {
            tx.rollback().await
        };
        end.unwrap();
        for outcome in [
            tx.execute(statement("SELECT 1", []), None).await.map(drop),
            tx.exec("SELECT 1".to_owned(), None).await.map(drop),
            tx.commit().await,
            tx.rollback().await,
        ] {
            let error = outcome.unwrap_err();
            assert!(error.is(&code::SQLITE_TRANSACTION_TERMINAL));
            let metadata = error.metadata().unwrap();
            assert_eq!(
                (&metadata["key"], &metadata["state"]),
                (&"k1".into(), &state.into())
            );
        }
    }
}

#[tokio::test]
async fn arguments_of_a_transaction_are_checked() {
    let actor = Actor::new().await;
    let with = |change: fn(&mut BeginOptions)| {
        let mut options = options("k");
        change(&mut options);
        options
    };
    for bad in [
        with(|options| options.key.clear()),
        with(|options| options.name = Some(String::new())),
        with(|options| options.name = Some("n".repeat(129))),
        with(|options| options.timeout = Duration::ZERO),
    ] {
        let error = actor.sql.begin_transaction(bad).await.unwrap_err();
        assert!(error.is(&code::SQLITE_TRANSACTION_INVALID_ARGUMENT));
    }
    let longest = with(|options| options.name = Some("n".repeat(128)));
    actor.sql.begin_transaction(longest).await.unwrap();
}

#[tokio::test]
async fn a_handle_refuses_to_end_behind_its_back() {
    let actor = counting().await;
    let tx = actor.begin().await;
    for sql in [
        "COMMIT",
        "  /* x */ end",
        "ROLLBACK",
        "BEGIN",
        "commit transaction",
    ] {
        let error = tx.execute(statement(sql, []), None).await.unwrap_err();
        assert!(error.is(&code::SQLITE_FORBIDDEN), "{sql}: {error}");
    }
    let error = tx
        .exec("INSERT INTO t (by) VALUES ('x'); COMMIT".to_owned(), None)
        .await
        .unwrap_err();
    assert!(error.is(&code::SQLITE_FORBIDDEN));
    for sql in [
        "SAVEPOINT s",
        "INSERT INTO t (by) VALUES ('y')",
        "ROLLBACK TO s",
        "RELEASE s",
        "CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END",
    ] {
        tx.execute(statement(sql, []), None).await.unwrap();
    }
    tx.commit().await.unwrap();
    assert_eq!(actor.rows("SELECT by FROM t").await, ["x"]);
}

#[tokio::test]
async fn a_rollback_by_sqlite_ends_the_transaction() {
    let actor = counting().await;
    let tx = actor.begin().await;
    insert(&tx, "lost").await;
    let conflict = "INSERT OR ROLLBACK INTO t (a, by) VALUES (1, 'again')";
    let error = tx.execute(statement(conflict, []), None).await.unwrap_err();
    assert!(text(&error).contains("UNIQUE constraint failed: t.a"));
    let error = tx
        .execute(statement("SELECT 1", []), None)
        .await
        .unwrap_err();
    assert!(error.is(&code::SQLITE_TRANSACTION_TERMINAL));
    assert!(
        tx.commit()
            .await
            .unwrap_err()
            .is(&code::SQLITE_TRANSACTION_TERMINAL)
    );
    tx.rollback().await.unwrap();
    assert!(tx.rollback().await.is_err(), "only once");
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["0"]);
}

#[tokio::test]
async fn the_rest_of_a_script_does_not_run_outside_its_lost_transaction() {
    let actor = counting().await;
    actor.run("CREATE TRIGGER g BEFORE INSERT ON t WHEN new.by = 'bad' BEGIN SELECT RAISE(ROLLBACK, 'no'); END").await.unwrap();
    let tx = actor.begin().await;
    let script = "INSERT INTO t (by) VALUES ('good'); INSERT INTO t (by) VALUES ('bad');
        INSERT INTO t (by) VALUES ('after')";
    let error = tx.exec(script.to_owned(), None).await.unwrap_err();
    assert!(text(&error).ends_with(": no"), "{error}");
    tx.rollback().await.unwrap();
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["0"]);
}

#[tokio::test]
async fn a_failed_commit_is_a_rollback() {
    let actor = Actor::new().await;
    let script = "CREATE TABLE p (id INTEGER PRIMARY KEY);
        CREATE TABLE c (p REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED)";
    actor.sql.exec(script.to_owned(), None).await.unwrap();
    let tx = actor.begin().await;
    tx.execute(statement("INSERT INTO c VALUES (1)", []), None)
        .await
        .unwrap();
    let error = tx.commit().await.unwrap_err();
    assert!(
        text(&error).ends_with("FOREIGN KEY constraint failed"),
        "{error}"
    );
    assert!(
        tx.rollback()
            .await
            .unwrap_err()
            .is(&code::SQLITE_TRANSACTION_TERMINAL)
    );
    assert_eq!(actor.rows("SELECT count(*) FROM c").await, ["0"]);
    let next = actor.begin().await;
    next.commit().await.unwrap();
}

#[tokio::test]
async fn a_batch_inside_an_ordinary_begin_undoes_itself_alone() {
    let actor = counting().await;
    actor.run("BEGIN").await.unwrap();
    actor.run("INSERT INTO t VALUES (1, 'x')").await.unwrap();
    let twice = vec![
        statement("INSERT INTO t VALUES (2, 'y')", []),
        statement("INSERT INTO t VALUES (2, 'z')", []),
    ];
    actor.sql.execute_batch(twice, None).await.unwrap_err();
    actor.run("COMMIT").await.unwrap();
    assert_eq!(actor.rows("SELECT by FROM t").await, ["x"]);
}

#[tokio::test]
async fn a_panic_in_a_users_job_rolls_back_and_frees_the_line() {
    let actor = counting().await;
    let tx = actor.begin().await;
    insert(&tx, "lost").await;
    let panics: crate::Guard = Box::new(|| panic!("a guard that panics"));
    let error = tx
        .execute(statement("SELECT 1", []), Some(panics))
        .await
        .unwrap_err();
    assert!(text(&error).contains("panicked"), "{error}");
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["0"]);
}

#[tokio::test]
async fn what_a_transaction_committed_is_in_the_file() {
    let actor = counting().await;
    let tx = actor.begin().await;
    insert(&tx, "kept").await;
    tx.commit().await.unwrap();
    let open = actor.begin().await;
    insert(&open, "lost").await;
    // As after a kill: the files as they are, without a close.
    let copy = tempfile::tempdir().unwrap();
    for suffix in ["", "-wal"] {
        let mut name = actor.fixture.path("a").into_os_string();
        name.push(suffix);
        std::fs::copy(&name, copy.path().join(format!("a.db{suffix}"))).unwrap();
    }
    let conn = inspect(&copy.path().join("a.db"));
    let by: String = conn
        .query_row("SELECT by FROM t", [], |row| row.get(0))
        .unwrap();
    assert_eq!(by, "kept");
}

#[tokio::test]
async fn statements_that_ran_outside_do_not_end_a_handles_transaction() {
    let actor = counting().await;
    for sql in ["BEGIN", "COMMIT", "BEGIN", "END", "BEGIN", "ROLLBACK"] {
        actor.run(sql).await.unwrap();
    }
    let tx = actor.begin().await;
    insert(&tx, "tx").await;
    for sql in ["COMMIT", "END", "ROLLBACK", "BEGIN"] {
        let error = tx.execute(statement(sql, []), None).await.unwrap_err();
        assert!(error.is(&code::SQLITE_FORBIDDEN), "{sql}: {error}");
    }
    tx.commit().await.unwrap();
    assert_eq!(actor.rows("SELECT by FROM t").await, ["tx"]);
}

fn all<const N: usize>(statements: [&str; N]) -> Vec<SqlStatement> {
    statements.map(|sql| statement(sql, [])).into()
}

#[tokio::test]
async fn a_batch_ends_no_savepoint_that_it_did_not_begin() {
    let actor = counting().await;
    for escape in [
        "RELEASE outer_one",
        "ROLLBACK TO outer_one",
        "RELEASE \"Outer_One\"",
        "RELEASE sqlite_batch",
        "SAVEPOINT sqlite_batch",
    ] {
        let tx = actor.begin().await;
        tx.execute(statement("SAVEPOINT outer_one", []), None)
            .await
            .unwrap();
        insert(&tx, "before").await;
        let batch = all(["INSERT INTO t (by) VALUES ('batch')", escape]);
        let error = tx.execute_batch(batch, None).await.unwrap_err();
        assert!(error.is(&code::SQLITE_FORBIDDEN), "{escape}: {error}");
        tx.execute(statement("RELEASE outer_one", []), None)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        assert_eq!(actor.rows("SELECT by FROM t").await, ["before"], "{escape}");
        actor.run("DELETE FROM t").await.unwrap();
    }
}

#[tokio::test]
async fn a_savepoint_that_is_the_transaction_is_not_committed_by_a_batch() {
    let actor = counting().await;
    actor.run("SAVEPOINT whole").await.unwrap();
    let batch = all(["INSERT INTO t (by) VALUES ('batch')", "RELEASE whole"]);
    let error = actor.sql.execute_batch(batch, None).await.unwrap_err();
    assert!(error.is(&code::SQLITE_FORBIDDEN), "{error}");
    actor.run("RELEASE whole").await.unwrap();
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["0"]);
}

#[tokio::test]
async fn a_batch_may_have_savepoints_of_its_own() {
    let actor = counting().await;
    let batch = all([
        "SAVEPOINT a",
        "INSERT INTO t (by) VALUES ('kept')",
        "SAVEPOINT b",
        "INSERT INTO t (by) VALUES ('taken back')",
        "ROLLBACK TO b",
        "RELEASE A",
        "SAVEPOINT a",
        "INSERT INTO t (by) VALUES ('left open')",
    ]);
    actor.sql.execute_batch(batch, None).await.unwrap();
    assert_eq!(actor.rows("SELECT by FROM t").await, ["kept", "left open"]);
}

#[tokio::test]
async fn a_rollback_in_the_middle_of_nested_savepoints_takes_all_of_them_back() {
    let actor = counting().await;
    actor
        .run("CREATE UNIQUE INDEX one_by ON t (by)")
        .await
        .unwrap();
    let tx = actor.begin().await;
    for sql in [
        "SAVEPOINT a",
        "INSERT INTO t (by) VALUES ('x')",
        "SAVEPOINT b",
        "INSERT INTO t (by) VALUES ('y')",
    ] {
        tx.execute(statement(sql, []), None).await.unwrap();
    }
    let batch = all([
        "INSERT INTO t (by) VALUES ('z')",
        "INSERT OR ROLLBACK INTO t (by) VALUES ('x')",
        "INSERT INTO t (by) VALUES ('after')",
    ]);
    let error = tx.execute_batch(batch, None).await.unwrap_err();
    assert!(text(&error).contains("UNIQUE constraint failed: t.by"));
    let error = tx
        .execute(statement("SELECT 1", []), None)
        .await
        .unwrap_err();
    assert!(error.is(&code::SQLITE_TRANSACTION_TERMINAL), "{error}");
    tx.rollback().await.unwrap();
    assert_eq!(actor.rows("SELECT count(*) FROM t").await, ["0"]);
}
