//! What is told of a database to whoever watches it.

use super::Actor;
use crate::Database;
use crate::tests::fixture::{Fixture, state_only};

fn commits(database: &Database) -> u64 {
    database.figures().unwrap().commits
}

#[tokio::test]
async fn figures_are_there_once_a_database_was_opened_and_count_its_commits() {
    let fixture = Fixture::new();
    let database = fixture.database("a");
    assert_eq!(database.figures(), None);
    let database = fixture.existing("a", "one").await;
    let before = commits(&database);
    database.save(state_only("two")).await.unwrap();
    let sql = database.user_sql();
    let run = |text: &'static str| sql.execute(super::statement(text, []), None);
    run("CREATE TABLE t (a)").await.unwrap();
    run("SELECT * FROM t").await.unwrap();
    assert_eq!(commits(&database), before + 2);
    let small = database.figures().unwrap();
    assert_eq!(small.cache_capacity_pages, 256);
    assert!(small.cached_pages > 0 && small.cached_bytes >= small.cached_pages * 4096);
    run("INSERT INTO t VALUES (zeroblob(1000000))")
        .await
        .unwrap();
    // The turn of the insert is over when the next one has been.
    run("SELECT 1").await.unwrap();
    assert!(database.figures().unwrap().pages >= small.pages + 244);
}

#[tokio::test]
async fn figures_know_the_cache_that_an_actor_asked_for() {
    let actor = Actor::new().await;
    actor.run("PRAGMA cache_size = -8192").await.unwrap();
    actor.run("CREATE TABLE t (a)").await.unwrap();
    actor.run("SELECT 1").await.unwrap();
    let figures = actor.database.figures().unwrap();
    assert_eq!(figures.cache_capacity_pages, 2048);
}
