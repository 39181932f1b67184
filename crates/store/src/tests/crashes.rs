//! What is left when the end comes at a given moment: after a power cut only
//! synced contents under synced names, after a kill whatever was written. Each
//! such remainder is opened and checked.
#![cfg(unix)]

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::fixture::{initialised, state_only, stored_state};
use crate::failure::SqlResult;
use crate::{Database, Disk, DiskCall, DiskOp, Guard, SqlStatement, Store, StoreOptions, Verdict};

/// Contents of files by inode as last synced, and the names of the folder as
/// last synced.
#[derive(Default)]
struct Durable {
    contents: HashMap<u64, Vec<u8>>,
    names: HashMap<String, u64>,
}

/// One remainder: the files, and how many saves were acknowledged by then.
#[derive(PartialEq)]
pub(super) struct Remainder {
    pub(super) files: HashMap<String, Vec<u8>>,
    pub(super) acknowledged: u64,
}

/// Which end to record.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) enum End {
    #[default]
    PowerCut,
    Kill,
}

#[derive(Clone, Default)]
pub(super) struct Recorder {
    end: End,
    durable: Arc<Mutex<Durable>>,
    pub(super) remainders: Arc<Mutex<Vec<Remainder>>>,
    pub(super) acknowledged: Arc<AtomicU64>,
}

impl Recorder {
    pub(super) fn of(end: End) -> Self {
        Self {
            end,
            ..Self::default()
        }
    }

    pub(super) fn disk(&self) -> Disk {
        let recorder = self.clone();
        Disk::scripted(move |call| recorder.record(call)).unwrap()
    }

    fn record(&self, call: DiskCall<'_>) -> Verdict {
        match (self.end, call.op) {
            (End::Kill, _) => {
                let folder = if call.path.is_dir() {
                    Some(call.path)
                } else {
                    call.path.parent()
                };
                self.keep(read_all(folder.unwrap()));
            }
            (End::PowerCut, DiskOp::Sync) => {
                self.keep(self.synced());
                let inode = fs::metadata(call.path).unwrap().ino();
                let bytes = fs::read(call.path).unwrap();
                self.durable.lock().contents.insert(inode, bytes);
                self.keep(self.synced());
            }
            (End::PowerCut, DiskOp::SyncFolder) => {
                self.keep(self.synced());
                self.durable.lock().names = list(call.path);
                self.keep(self.synced());
            }
            (End::PowerCut, _) => {}
        }
        Verdict::Proceed
    }

    /// What a power cut would leave now.
    fn synced(&self) -> HashMap<String, Vec<u8>> {
        let durable = self.durable.lock();
        let contents = |inode| durable.contents.get(inode).cloned().unwrap_or_default();
        let names = durable.names.iter();
        names
            .map(|(name, inode)| (name.clone(), contents(inode)))
            .collect()
    }

    fn keep(&self, files: HashMap<String, Vec<u8>>) {
        let remainder = Remainder {
            files,
            acknowledged: self.acknowledged.load(Ordering::SeqCst),
        };
        let mut remainders = self.remainders.lock();
        if remainders.last() != Some(&remainder) {
            remainders.push(remainder);
        }
    }

    async fn save(&self, database: &Database, number: u64) {
        // Sizes vary, so that logs grow over several pages and checkpoints run.
        let state = format!("{number}:{}", "x".repeat(number as usize % 5 * 20_000));
        let batch = if number == 1 {
            initialised(&state)
        } else {
            state_only(&state)
        };
        database.save(batch).await.unwrap();
        if number > 1 {
            self.acknowledged.store(number, Ordering::SeqCst);
        }
    }
}

fn list(folder: &Path) -> HashMap<String, u64> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.metadata().unwrap().is_file());
    files
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, entry.metadata().unwrap().ino())
        })
        .collect()
}

fn read_all(folder: &Path) -> HashMap<String, Vec<u8>> {
    let names = list(folder).into_keys();
    names
        .map(|name| {
            let bytes = fs::read(folder.join(&name)).unwrap();
            (name, bytes)
        })
        .collect()
}

/// Creation, saves, sleeps and wakes of one actor, of which a result is read at times.
/// Save 1 is the first start and is acknowledged by its commit.
async fn live(recorder: &Recorder, path: PathBuf, saves: u64) {
    let store = Store::new(StoreOptions {
        disk: recorder.disk(),
        ..StoreOptions::default()
    });
    let database = store.database(path);
    database.start().await.unwrap();
    recorder.save(&database, 1).await;
    database.commit_startup().await.unwrap();
    recorder.acknowledged.store(1, Ordering::SeqCst);
    let mut reading = None;
    for number in 2..=saves {
        recorder.save(&database, number).await;
        if number % 7 == 3 {
            let sql = SqlStatement::new("SELECT name FROM sqlite_schema", Vec::new());
            let guards = Arc::new(|| -> Guard { Box::new(|| None) });
            let opened = database.user_sql().open_cursor(sql, guards, 1).await;
            reading = Some(opened.unwrap());
        }
        if number % 7 == 0 {
            database.close().await.unwrap();
            database.start().await.unwrap();
        }
    }
    drop(reading);
    store.close().await;
}

async fn check(remainder: &Remainder) {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in &remainder.files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let store = Store::new(StoreOptions::default());
    let database = store.database(folder.path().join("actor.db"));
    let state = stored_state(&database).await;
    let found = state.map_or(0, |state| {
        let (number, _) = state.split_once(':').unwrap();
        number.parse::<u64>().unwrap()
    });
    let acknowledged = remainder.acknowledged;
    // The save in the middle of which the power went may be there or not.
    assert!(
        (acknowledged..=acknowledged + 1).contains(&found),
        "found save {found}, acknowledged were {acknowledged}"
    );
    let verdict: String = database
        .call(|conn| {
            conn.query_row("PRAGMA integrity_check", [], |row| row.get(0))
                .sql("check")
        })
        .await
        .unwrap();
    assert_eq!(verdict, "ok");
    database.remove().await.unwrap();
    store.close().await;
}

async fn check_every_end(end: End, saves: u64) -> Vec<Remainder> {
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::of(end);
    live(&recorder, folder.path().join("actor.db"), saves).await;
    let remainders = std::mem::take(&mut *recorder.remainders.lock());
    for remainder in &remainders {
        check(remainder).await;
    }
    remainders
}

#[tokio::test]
async fn a_power_cut_at_any_sync_keeps_every_acknowledged_save() {
    let remainders = check_every_end(End::PowerCut, 30).await;
    assert!(remainders.len() > 50, "{} remainders", remainders.len());
    assert!(remainders[0].files.is_empty());
}

#[tokio::test]
async fn a_kill_before_any_write_keeps_every_acknowledged_save() {
    let remainders = check_every_end(End::Kill, 9).await;
    assert!(remainders.len() > 50, "{} remainders", remainders.len());
    let half_made = |remainder: &Remainder| !remainder.files.contains_key("actor.db");
    assert!(
        remainders
            .iter()
            .filter(|remainder| half_made(remainder))
            .count()
            >= 3
    );
}
