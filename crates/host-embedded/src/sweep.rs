//! Files in the data directory that no living actor owns.
//!
//! Files of destroyed actors are deleted: their destruction was made durable
//! before they were. Databases that the directory does not know at all are set
//! aside instead, because the likeliest reason is a directory that was lost or
//! restored from a backup, and then they are somebody's data.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use greenroom_error::Result;
use greenroom_store as store;
use greenroom_wire::ActorId;

use crate::shared::Shared;

/// Files of one actor, by the id in their names.
type Found = HashMap<ActorId, Vec<PathBuf>>;

impl Shared {
    /// Sweeps once. Runs beside everything else: an actor is in the directory's line
    /// before it has files, and files are found before the directory is asked.
    pub(crate) async fn sweep(self: Arc<Self>) {
        if let Err(error) = self.sweep_all().await {
            tracing::warn!(%error, "the data directory was not swept to the end");
        }
    }

    async fn sweep_all(&self) -> Result<()> {
        let paths = self
            .data_dir
            .look(|data| (data.actors_path(), data.orphans_path()))?;
        let (actors, orphans) = paths;
        let folders = blocking(move || subfolders(&actors)).await;
        for folder in folders {
            if self.ending.is_cancelled() {
                return Ok(());
            }
            let found = blocking(move || actor_files(&folder)).await;
            for (id, files) in found {
                self.sweep_actor(&id, files, &orphans).await?;
            }
        }
        Ok(())
    }

    async fn sweep_actor(&self, id: &ActorId, files: Vec<PathBuf>, orphans: &Path) -> Result<()> {
        match self.directory.by_id(id).await? {
            Some(record) if record.is_destroyed() => {
                tracing::info!(actor_id = %id, "deleting what is left of a destroyed actor");
                delete(files).await;
            }
            Some(_) => {}
            // What never got its name was never promised to anybody.
            None if files.iter().all(|file| store::is_unnamed(file)) => {
                delete(files).await;
            }
            None => {
                tracing::warn!(actor_id = %id, into = %orphans.display(), "setting aside a database that the directory of actors does not know");
                let orphans = orphans.to_owned();
                blocking(move || set_aside(&files, &orphans)).await;
            }
        }
        Ok(())
    }
}

async fn delete(files: Vec<PathBuf>) {
    blocking(move || {
        files
            .iter()
            .for_each(|file| report(file, fs::remove_file(file)))
    })
    .await;
}

/// Disk work off the async threads; nothing if the runtime is ending.
async fn blocking<T: Default + Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap_or_default()
}

fn subfolders(path: &Path) -> Vec<PathBuf> {
    entries(path).filter(|path| path.is_dir()).collect()
}

fn entries(path: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(path)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
}

fn actor_files(folder: &Path) -> Found {
    let mut found = Found::new();
    for path in entries(folder) {
        let name = path.file_name().and_then(OsStr::to_str);
        let id = name.and_then(|name| name.split_once(".db"));
        let Some(id) = id.and_then(|(id, _)| ActorId::parse(id)) else {
            continue;
        };
        found.entry(id).or_default().push(path);
    }
    found
}

fn set_aside(files: &[PathBuf], orphans: &Path) {
    if let Err(error) = fs::create_dir_all(orphans) {
        report(orphans, Err(error));
        return;
    }
    for file in files {
        if let Some(name) = file.file_name() {
            report(file, fs::rename(file, orphans.join(name)));
        }
    }
}

fn report(path: &Path, result: io::Result<()>) {
    match result {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(path = %path.display(), %error, "a file was not swept"),
    }
}
