//! An actor's data as one file: `localBackup`, `localRestore`, `localImport`.

use std::path::PathBuf;
use std::sync::Arc;

use greenroom_error::Error;
use greenroom_wire::ActorKey;
use napi::bindgen_prelude::Env;
use napi_derive::napi;

use super::CoreRegistry;
use super::local::JsLocalTarget;
use crate::bridge::{Promise, enter, promise};

#[napi]
impl CoreRegistry {
    /// Copies an actor's data into a new file while the actor goes on.
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
                let host = &registry.serving()?.host;
                host.backup(&target, PathBuf::from(file)).await
            })
        })
    }

    /// Replaces an actor's data by a copy of a file.
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
                let host = &registry.serving()?.host;
                host.restore(&target, PathBuf::from(file)).await
            })
        })
    }

    /// Makes a new actor out of a file and resolves to its id.
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
                let host = &registry.serving()?.host;
                let id = host.import(&name, &key, PathBuf::from(file)).await?;
                Ok::<_, Error>(id.to_string())
            })
        })
    }
}
