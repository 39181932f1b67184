//! The data directory between processes.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use greenroom_error::code;
use greenroom_host_embedded::{EmbeddedHost, EmbeddedOptions, Target};
use serde_json::json;

use crate::fixture::*;

/// Set for the process that is to be killed; names its data directory.
const VICTIM: &str = "GREENROOM_TEST_VICTIM";

/// A child that does not outlive its test.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs this binary again as a process that opens the folder, saves durably and
/// then hangs.
fn victim(folder: &Path) -> Victim {
    let child = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "processes::the_victim", "--nocapture"])
        .env(VICTIM, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child process");
    Victim(child)
}

/// The other process's part. On its own it has nothing to do.
#[tokio::test]
async fn the_victim() {
    let Some(folder) = std::env::var_os(VICTIM) else {
        return;
    };
    let setup = Setup::default();
    let host = setup
        .try_open_at(Path::new(&folder))
        .await
        .expect("a free folder");
    for _ in 0.. {
        let durably = call("increment_durably", json!([]));
        host.action(&counter_of("a"), &durably)
            .await
            .expect("saved");
        std::fs::write(Path::new(&folder).join("saved"), "yes").expect("a marker");
    }
}

#[tokio::test]
async fn a_process_that_is_killed_leaves_a_folder_that_opens() {
    let Setup { folder, .. } = Setup::default();
    let child = victim(folder.path());
    let marker = folder.path().join("saved");
    eventually("the other process saves", || marker.exists()).await;
    let taken = EmbeddedHost::open(EmbeddedOptions::new(folder.path()), Default::default()).await;
    let error = taken.err().expect("the other process has it");
    assert!(error.is(&code::HOST_DATA_DIR_LOCKED));
    assert!(
        error.message().contains(&child.0.id().to_string()),
        "{error}"
    );
    drop(child);
    let setup = Setup {
        folder,
        ..Setup::default()
    };
    let world = setup.open().await;
    let target = Target::get("counter", key("a"));
    let count = world.call(&target, "get", json!([])).await.unwrap();
    assert!(
        count.as_i64().unwrap() >= 1,
        "what was acknowledged is there"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_folder_that_cannot_be_written_says_so() {
    // Not even root writes there.
    let options = EmbeddedOptions::new("/proc/greenroom");
    let error = EmbeddedHost::open(options, Default::default()).await.err();
    let error = error.expect("no such folder can be made");
    assert!(error.is(&code::HOST_DATA_DIR_UNUSABLE), "{error}");
    assert!(error.message().contains("/proc/greenroom"));
}
