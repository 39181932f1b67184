//! New actors: what runs before they are on disk, and what waits for that.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use greenroom_host_embedded::Target;
use greenroom_store::{Disk, DiskOp, Verdict};
use parking_lot::{Condvar, Mutex};
use serde_json::json;

use crate::fixture::*;

/// Holds the directory's commits back while it is shut.
#[derive(Clone)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn on_a_disk() -> (Self, Disk) {
        let gate = Self(Arc::new((Mutex::new(true), Condvar::new())));
        let asked = gate.clone();
        let disk = Disk::scripted(move |call| {
            let is_directory = call.path.to_string_lossy().contains("directory.db");
            if is_directory && call.op == DiskOp::Sync {
                let (open, changed) = &*asked.0;
                changed.wait_while(&mut open.lock(), |open| !*open);
            }
            Verdict::Proceed
        });
        (gate, disk.expect("a scripted disk"))
    }

    fn set(&self, open: bool) {
        *self.0.0.lock() = open;
        self.0.1.notify_all();
    }
}

async fn world_with_gate() -> (Arc<World>, Gate) {
    let (gate, disk) = Gate::on_a_disk();
    let setup = Setup {
        disk,
        ..Setup::default()
    };
    (Arc::new(setup.open().await), gate)
}

/// Databases that have their names.
fn databases(world: &World) -> usize {
    let folders = fs::read_dir(world.folder.path().join("actors")).expect("made at the start");
    let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
    files
        .filter(|file| file.as_ref().unwrap().path().extension() == Some("db".as_ref()))
        .count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_actor_starts_before_it_is_in_the_directory_for_good_and_answers_after() {
    let (world, gate) = world_with_gate().await;
    gate.set(false);
    let answer = tokio::spawn({
        let world = Arc::clone(&world);
        async move { world.call(&counter_of("a"), "increment", json!([5])).await }
    });
    eventually("it starts", || {
        world.script.created.load(Ordering::SeqCst) == 1
    })
    .await;
    let resolving = tokio::spawn({
        let world = Arc::clone(&world);
        async move { world.host.resolve(&counter_of("a")).await }
    });
    tokio::task::yield_now().await;
    assert_eq!(databases(&world), 0);
    assert!(!answer.is_finished() && !resolving.is_finished());

    gate.set(true);
    assert_eq!(answer.await.unwrap().expect("answered"), json!(5));
    let id = resolving.await.unwrap().expect("resolved");
    assert_eq!(databases(&world), 1);
    assert!(world.database_path(&id).exists());
    world.host.shutdown().await;
    let again = world.reopen().await;
    let kept = again.call(&Target::Id(id), "get", json!([])).await;
    assert_eq!(kept.expect("the same actor"), json!(5));
}

#[tokio::test]
async fn a_new_actor_needs_no_folder_of_its_own_making() {
    let world = world().await;
    let folders = || fs::read_dir(world.folder.path().join("actors")).map_or(0, Iterator::count);
    eventually("folders are made ahead", || folders() > 0).await;
    world.host.shutdown().await;
    let made = folders();
    let again = world.reopen().await;
    eventually("and again after a restart", || folders() > made).await;
    // By chance, few ids would have one.
    let mut in_a_row = 0;
    for number in 0.. {
        let target = counter_of(&number.to_string());
        let id = again.host.resolve(&target).await.expect("made");
        let has_folder = again.database_path(&id).parent().unwrap().is_dir();
        in_a_row = if has_folder { in_a_row + 1 } else { 0 };
        if in_a_row == 4 {
            break;
        }
        assert!(number < 1_000, "new actors have no folders");
    }
    again.host.shutdown().await;
}

#[tokio::test]
async fn an_image_that_was_never_promised_is_deleted_by_the_next_sweep() {
    let world = world().await;
    let id = world.host.resolve(&counter_of("a")).await.unwrap();
    world.host.shutdown().await;
    // Of an actor that the directory does not know.
    let folder = world.database_path(&id).parent().unwrap().to_owned();
    fs::create_dir_all(&folder).unwrap();
    let stranger = greenroom_wire::ActorId::generate();
    let left = folder.join(format!("{stranger}.db-new"));
    fs::write(&left, "half an image").unwrap();
    let again = world.reopen().await;
    eventually("it is swept", || !left.exists()).await;
    assert!(!again.folder.path().join("orphans").exists());
    again.host.shutdown().await;
}
