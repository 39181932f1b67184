//! The bound on open databases.

use super::fixture::{Fixture, initialised, open_at_most, state_only, stored_state};
use crate::StoreOptions;
use crate::failure::SqlResult;

fn small() -> StoreOptions {
    StoreOptions {
        lanes: 2,
        max_open: 4,
        ..StoreOptions::default()
    }
}

#[tokio::test]
async fn many_live_databases_share_few_open_files() {
    let fixture = Fixture::with(small());
    let mut databases = Vec::new();
    for number in 0..40 {
        let database = fixture.database(&number.to_string());
        database.start().await.unwrap();
        database.save(initialised("one")).await.unwrap();
        database.commit_startup().await.unwrap();
        databases.push(database);
    }
    for round in 0..3 {
        for database in &databases {
            database.save(state_only(&round.to_string())).await.unwrap();
            open_at_most(&fixture.store, 4).await;
        }
    }
    for database in &databases {
        assert_eq!(stored_state(database).await.as_deref(), Some("2"));
    }
}

#[tokio::test]
async fn concurrent_use_of_many_databases_loses_nothing() {
    let fixture = Fixture::with(small());
    let tasks: Vec<_> = (0..32)
        .map(|number| {
            let database = fixture.database(&number.to_string());
            tokio::spawn(async move {
                database.start().await.unwrap();
                database.save(initialised("0")).await.unwrap();
                database.commit_startup().await.unwrap();
                for round in 1..=5 {
                    database.save(state_only(&round.to_string())).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    open_at_most(&fixture.store, 4).await;
    for number in 0..32 {
        let state = stored_state(&fixture.database(&number.to_string())).await;
        assert_eq!(state.as_deref(), Some("5"));
    }
}

#[tokio::test]
async fn a_database_inside_a_transaction_is_not_closed_to_make_room() {
    let fixture = Fixture::with(small());
    let mut databases = Vec::new();
    for number in 0..6 {
        let database = fixture.existing(&number.to_string(), "one").await;
        database
            .call(|conn| {
                conn.execute_batch("BEGIN; UPDATE _rivet_actor_state SET state = x'74776f'")
                    .sql("begin")
            })
            .await
            .unwrap();
        databases.push(database);
    }
    assert_eq!(
        fixture.store.open_count(),
        6,
        "the limit yields to transactions"
    );
    for database in &databases {
        database
            .call(|conn| conn.execute_batch("COMMIT").sql("commit"))
            .await
            .unwrap();
    }
    // Nothing was opened since, so it is their own end that keeps the limit again.
    open_at_most(&fixture.store, 4).await;
    for database in &databases {
        assert_eq!(stored_state(database).await.as_deref(), Some("two"));
    }
}

#[tokio::test]
async fn uncommitted_starts_beyond_the_limit_are_made_durable_early() {
    let fixture = Fixture::with(small());
    let mut databases = Vec::new();
    for number in 0..8 {
        let database = fixture.database(&number.to_string());
        database.start().await.unwrap();
        database.save(initialised("one")).await.unwrap();
        databases.push(database);
    }
    open_at_most(&fixture.store, 4).await;
    assert!(fixture.path("0").exists());
    assert!(!fixture.path("7").exists());
    for database in &databases {
        database.commit_startup().await.unwrap();
        assert_eq!(stored_state(database).await.as_deref(), Some("one"));
    }
}

#[tokio::test]
async fn an_ordinary_database_is_closed_before_an_uncommitted_start() {
    let fixture = Fixture::with(small());
    let corked = fixture.database("corked");
    corked.start().await.unwrap();
    for number in 0..6 {
        let database = fixture.existing(&number.to_string(), "one").await;
        database.save(state_only("two")).await.unwrap();
    }
    assert!(!fixture.path("corked").exists());
    corked.commit_startup().await.unwrap();
    assert!(fixture.path("corked").exists());
}
