//! An actor's data as one file: `localBackup`, `localRestore`, `localImport`.

use std::path::PathBuf;
use std::sync::Arc;

use greenroom_error::{Error, Result};
use greenroom_host_embedded::Target;
use greenroom_wire::{ActorId, ActorKey};
use napi::bindgen_prelude::Env;
use napi_derive::napi;

use super::CoreRegistry;
use super::hosting::{Hosting, Place};
use super::local::JsLocalTarget;
use crate::bridge::{Promise, enter, promise};

impl Hosting {
    async fn backup(&self, target: Target, file: PathBuf) -> Result<()> {
        let Place::Engine(joined) = &self.place else {
            return self.embedded()?.backup(&target, file).await;
        };
        let id = match target {
            Target::Id(id) => id,
            Target::Key { name, key, .. } => joined.host.find(&name, &key).await?,
        };
        joined.host.backup(&id, file).await
    }

    async fn import(&self, name: &str, key: &ActorKey, file: PathBuf) -> Result<ActorId> {
        match &self.place {
            Place::Engine(joined) => joined.host.import(name, key, file).await,
            _ => self.embedded()?.import(name, key, file).await,
        }
    }
}

#[napi]
impl CoreRegistry {
    /// Copies an actor's data into a new file while the actor goes on. With an
    /// engine, the actor has to live in this process.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn local_backup(
        &self,
        env: Env,
        target: JsLocalTarget,
        file: String,
    ) -> napi::Result<Promise<()>> {
        let registry = Arc::clone(&self.0);
        enter(&env, |scope| {
            promise(scope, async move {
                let target = target.try_into()?;
                let hosting = registry.serving()?;
                hosting.backup(target, PathBuf::from(file)).await
            })
        })
    }

    /// Replaces an actor's data by a copy of a file. Not with an engine.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn local_restore(
        &self,
        env: Env,
        target: JsLocalTarget,
        file: String,
    ) -> napi::Result<Promise<()>> {
        let registry = Arc::clone(&self.0);
        enter(&env, |scope| {
            promise(scope, async move {
                let target = target.try_into()?;
                let host = registry.embedded()?;
                host.restore(&target, PathBuf::from(file)).await
            })
        })
    }

    /// Makes a new actor out of a file and resolves to its id. With an engine, it
    /// has to be placed in this process.
    #[napi(catch_unwind)]
    pub fn local_import(
        &self,
        env: Env,
        name: String,
        key: Vec<String>,
        file: String,
    ) -> napi::Result<Promise<String>> {
        let registry = Arc::clone(&self.0);
        enter(&env, |scope| {
            promise(scope, async move {
                let key = ActorKey::new(key)?;
                let hosting = registry.serving()?;
                let id = hosting.import(&name, &key, PathBuf::from(file)).await?;
                Ok::<_, Error>(id.to_string())
            })
        })
    }
}
