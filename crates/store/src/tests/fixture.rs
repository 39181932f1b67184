//! A store in a temporary folder, and the few questions tests ask of it.

use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::{ActorRow, ConnRow, Database, SaveBatch, Store, StoreOptions};

pub(crate) struct Fixture {
    pub(crate) store: Store,
    pub(crate) folder: TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(StoreOptions::default())
    }

    pub(crate) fn with(options: StoreOptions) -> Self {
        Self {
            store: Store::new(options),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("actors").join(format!("{name}.db"))
    }

    pub(crate) fn database(&self, name: &str) -> Database {
        self.store.database(self.path(name))
    }

    /// A database that exists, is initialised, and is open no longer.
    pub(crate) async fn existing(&self, name: &str, state: &str) -> Database {
        let database = self.database(name);
        assert!(database.start().await.unwrap().bootstrapped);
        database.save(initialised(state)).await.unwrap();
        database.commit_startup().await.unwrap();
        database.close().await.unwrap();
        database
    }

    /// A second store over the same files, as after a restart.
    pub(crate) async fn restart(&mut self) {
        self.store.close().await;
        self.store = Store::new(StoreOptions::default());
    }
}

pub(crate) fn initialised(state: &str) -> SaveBatch {
    SaveBatch {
        actor: Some(ActorRow {
            has_initialized: true,
            input: Some(b"input".to_vec()),
        }),
        ..state_only(state)
    }
}

pub(crate) fn state_only(state: &str) -> SaveBatch {
    SaveBatch {
        state: Some(Bytes::copy_from_slice(state.as_bytes())),
        ..SaveBatch::default()
    }
}

pub(crate) fn conn_row(id: &str) -> ConnRow {
    ConnRow {
        conn_id: id.to_owned(),
        parameters: b"params".to_vec(),
        gateway_id: [1, 2, 3, 4],
        request_id: [5, 6, 7, 8],
        request_path: "/connect".to_owned(),
        request_headers: b"headers".to_vec(),
        state: b"state".to_vec(),
        server_message_index: u16::MAX,
        client_message_index: 3,
        subscriptions: b"subscriptions".to_vec(),
    }
}

pub(crate) async fn stored_state(database: &Database) -> Option<String> {
    let snapshot = database.start().await.unwrap().snapshot?;
    Some(String::from_utf8(snapshot.state).unwrap())
}

/// Reads a database file as another program would, after the store closed it.
pub(crate) fn inspect(path: &Path) -> Connection {
    let conn = Connection::open(path).unwrap();
    let answer: String = conn
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(answer, "ok");
    conn
}

/// Puts a call in line, so that later calls come after it, and hands back what
/// is left of it. The call must not be answered yet.
pub(crate) async fn in_line<F: Future>(call: F) -> Pin<Box<F>> {
    let mut call = Box::pin(call);
    poll_fn(|context| {
        assert!(call.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
    call
}

/// Waits until at most `most` databases are open. A call is answered before its
/// lane puts the file away, so a moment may pass between the two.
pub(crate) async fn open_at_most(store: &Store, most: usize) {
    let settled = async {
        while store.open_count() > most {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let patience = Duration::from_secs(20);
    if tokio::time::timeout(patience, settled).await.is_err() {
        panic!("{} databases are open, not {most}", store.open_count());
    }
}
