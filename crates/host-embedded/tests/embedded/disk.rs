//! What callers see of a disk that fails under the host, and what is left after it.

use std::time::Duration;

use greenroom_core::{ActorConfig, Durability};
use greenroom_error::code;
use greenroom_host_embedded::Target;
use greenroom_store::{Disk, Fault, Faults};
use serde_json::{Value, json};

use crate::fixture::{Setup, World, counter_of};

const FAULTS: [Fault; 4] = [
    Fault::WriteError,
    Fault::SyncError,
    Fault::Full,
    Fault::ShortWrite,
];

async fn world_on_faulty_disk(durability: Durability) -> (World, Faults) {
    let (disk, faults) = Disk::with_faults().expect("a scripted disk");
    let setup = Setup {
        config: ActorConfig {
            durability,
            state_save_interval: Duration::from_millis(20),
            sleep_grace_period: Duration::from_secs(2),
            ..ActorConfig::default()
        },
        disk,
        ..Setup::default()
    };
    (setup.open().await, faults)
}

/// What the next run of the process finds.
async fn kept(world: &World, counter: &Target) -> Value {
    let again = world.reopen().await;
    let kept = again.call(counter, "get", json!([])).await.expect("get");
    again.host.shutdown().await;
    kept
}

#[tokio::test]
async fn a_durable_save_waits_for_a_disk_that_works_again_and_is_kept() {
    for fault in FAULTS {
        let (world, faults) = world_on_faulty_disk(Durability::Interval).await;
        let counter = counter_of("a");
        let add = || world.call(&counter, "increment_durably", json!([1]));
        add().await.expect("saved");
        faults.set(Some(fault));
        let writes = faults.writes();
        let waiting = add();
        let mend = async {
            // Tried, failed, and tried again.
            while faults.writes() < writes + 2 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            faults.set(None);
        };
        let (saved, ()) = tokio::join!(waiting, mend);
        saved.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        add().await.expect("works again");
        world.host.crash().await;
        assert_eq!(kept(&world, &counter).await, json!(3), "{fault:?}");
    }
}

#[tokio::test]
async fn a_reply_that_means_on_disk_fails_with_the_disk_and_nothing_unsaved_is_served() {
    for fault in FAULTS {
        let (world, faults) = world_on_faulty_disk(Durability::Reply).await;
        let counter = counter_of("a");
        let add = || world.call(&counter, "increment", json!([1]));
        add().await.expect("saved");
        faults.set(Some(fault));
        let failed = add().await.expect_err("no disk");
        assert!(
            failed.is(&code::ACTOR_OUTCOME_UNKNOWN),
            "{fault:?}: {failed}"
        );
        faults.set(None);
        let served = world.call(&counter, "get", json!([])).await;
        let served = served.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        // Unknown means one or the other, and from then on the same.
        assert!(
            served == json!(1) || served == json!(2),
            "{fault:?}: {served}"
        );
        world.host.crash().await;
        assert_eq!(kept(&world, &counter).await, served, "{fault:?}");
    }
}

#[tokio::test]
async fn a_new_actor_on_a_broken_disk_is_refused_and_made_when_the_disk_works() {
    for fault in FAULTS {
        let (world, faults) = world_on_faulty_disk(Durability::Interval).await;
        let old = counter_of("old");
        world
            .call(&old, "increment_durably", json!([1]))
            .await
            .expect("saved");
        faults.set(Some(fault));
        let new = counter_of("new");
        let refused = world.call(&new, "increment", json!([1])).await;
        assert!(
            refused.is_err(),
            "{fault:?}: answered before it was durable"
        );
        let served = world.call(&old, "get", json!([])).await;
        assert_eq!(served.expect("needs no disk"), json!(1), "{fault:?}");
        faults.set(None);
        let made = async {
            // The one that could not be made ends first.
            loop {
                if let Ok(count) = world.call(&new, "increment_durably", json!([1])).await {
                    return count;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let made = tokio::time::timeout(Duration::from_secs(20), made).await;
        made.unwrap_or_else(|_| panic!("{fault:?}: never made"));
        world.host.shutdown().await;
    }
}

#[tokio::test]
async fn an_actor_that_leaves_while_the_disk_fails_tries_again_until_its_time_is_over() {
    for fault in FAULTS {
        let (world, faults) = world_on_faulty_disk(Durability::Interval).await;
        let counter = counter_of("a");
        let saved = world.call(&counter, "increment_durably", json!([1])).await;
        saved.expect("saved");
        faults.set(Some(fault));
        let writes = faults.writes();
        let told = world.call(&counter, "increment", json!([1])).await;
        told.expect("memory is enough");
        let mend = async {
            while faults.writes() < writes + 2 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            faults.set(None);
        };
        tokio::join!(world.host.shutdown(), mend);
        assert_eq!(kept(&world, &counter).await, json!(2), "{fault:?}");
    }
}
