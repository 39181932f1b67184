//! `Kv`: the key-value store of older actors.

use std::sync::Arc;

use bytes::Bytes;
use greenroom_core::KvListOptions;
use greenroom_error::Result;
use napi::bindgen_prelude::Env;
use napi_derive::napi;

use crate::actor::ActorShared;
use crate::bridge::{Buffer, Promise};
use crate::numbers;

/// Options of a list call.
#[napi(object)]
pub struct JsKvListOptions {
    pub reverse: Option<bool>,
    pub limit: Option<f64>,
}

impl JsKvListOptions {
    fn check(options: Option<Self>) -> Result<KvListOptions> {
        let Some(Self { reverse, limit }) = options else {
            return Ok(KvListOptions::default());
        };
        let limit = limit.map(|limit| numbers::exact_count("limit", limit));
        Ok(KvListOptions {
            reverse: reverse.unwrap_or(false),
            limit: limit.transpose()?,
        })
    }
}

/// One entry of a list, or one to put.
#[napi(object)]
pub struct JsKvEntry {
    pub key: Buffer,
    pub value: Buffer,
}

impl From<(Bytes, Bytes)> for JsKvEntry {
    fn from((key, value): (Bytes, Bytes)) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
        }
    }
}

fn entries(pairs: Vec<(Bytes, Bytes)>) -> Vec<JsKvEntry> {
    pairs.into_iter().map(JsKvEntry::from).collect()
}

/// Raw keys and values of one actor.
#[napi]
pub struct Kv(Arc<ActorShared>);

impl Kv {
    pub(crate) fn new(shared: Arc<ActorShared>) -> Self {
        Self(shared)
    }
}

#[napi]
impl Kv {
    /// The value of a key, or null.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer | null>")]
    pub fn get(&self, env: Env, key: Buffer) -> napi::Result<Promise<Option<Buffer>>> {
        self.0.run(env, |ctx| async move {
            Ok(ctx.kv_get(key.0).await?.map(Buffer))
        })
    }

    /// Stores a value.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn put(&self, env: Env, key: Buffer, value: Buffer) -> napi::Result<Promise<()>> {
        self.0
            .run(env, |ctx| async move { ctx.kv_put(key.0, value.0).await })
    }

    /// Deletes a key; a missing one is fine.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn delete(&self, env: Env, key: Buffer) -> napi::Result<Promise<()>> {
        self.0
            .run(env, |ctx| async move { ctx.kv_delete(key.0).await })
    }

    /// Deletes the keys from `start` up to, and without, `end`.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn delete_range(&self, env: Env, start: Buffer, end: Buffer) -> napi::Result<Promise<()>> {
        self.0.run(env, |ctx| async move {
            ctx.kv_delete_range(start.0, end.0).await
        })
    }

    /// Entries whose keys begin with `prefix`, in order of keys.
    #[napi(catch_unwind)]
    pub fn list_prefix(
        &self,
        env: Env,
        prefix: Buffer,
        options: Option<JsKvListOptions>,
    ) -> napi::Result<Promise<Vec<JsKvEntry>>> {
        self.0.run(env, |ctx| async move {
            let options = JsKvListOptions::check(options)?;
            ctx.kv_list_prefix(prefix.0, options).await.map(entries)
        })
    }

    /// Entries from `start` up to, and without, `end`.
    #[napi(catch_unwind)]
    pub fn list_range(
        &self,
        env: Env,
        start: Buffer,
        end: Buffer,
        options: Option<JsKvListOptions>,
    ) -> napi::Result<Promise<Vec<JsKvEntry>>> {
        self.0.run(env, |ctx| async move {
            let options = JsKvListOptions::check(options)?;
            ctx.kv_list_range(start.0, end.0, options)
                .await
                .map(entries)
        })
    }

    /// Values in the order of the keys.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<Buffer | null>>")]
    pub fn batch_get(
        &self,
        env: Env,
        keys: Vec<Buffer>,
    ) -> napi::Result<Promise<Vec<Option<Buffer>>>> {
        self.0.run(env, |ctx| async move {
            let values = ctx.kv_batch_get(raw(keys)).await?;
            Ok(values.into_iter().map(|value| value.map(Buffer)).collect())
        })
    }

    /// Stores several values.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn batch_put(&self, env: Env, entries: Vec<JsKvEntry>) -> napi::Result<Promise<()>> {
        self.0.run(env, |ctx| async move {
            let pair = |entry: JsKvEntry| (entry.key.0, entry.value.0);
            ctx.kv_batch_put(entries.into_iter().map(pair).collect())
                .await
        })
    }

    /// Deletes several keys.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn batch_delete(&self, env: Env, keys: Vec<Buffer>) -> napi::Result<Promise<()>> {
        self.0.run(
            env,
            |ctx| async move { ctx.kv_batch_delete(raw(keys)).await },
        )
    }
}

fn raw(keys: Vec<Buffer>) -> Vec<Bytes> {
    keys.into_iter().map(|key| key.0).collect()
}
