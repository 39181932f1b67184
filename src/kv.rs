//! `Kv`: the key-value store of older actors.
//!
//! The store is not there yet: every call answers `actor/not_configured`.

use std::sync::Arc;

use napi::bindgen_prelude::Env;
use napi_derive::napi;

use crate::actor::ActorShared;
use crate::bridge::{Buffer, Promise};
use crate::missing::missing;

const COMPONENT: &str = "kv";

/// Options of a list call.
#[napi(object)]
pub struct JsKvListOptions {
    pub reverse: Option<bool>,
    pub limit: Option<f64>,
}

/// One entry of a list, or one to put.
#[napi(object)]
pub struct JsKvEntry {
    pub key: Buffer,
    pub value: Buffer,
}

/// Raw keys and values of one actor.
#[napi]
pub struct Kv(#[expect(dead_code, reason = "for the calls to come")] Arc<ActorShared>);

impl Kv {
    pub(crate) fn new(shared: Arc<ActorShared>) -> Self {
        Self(shared)
    }
}

#[napi]
impl Kv {
    /// The value of a key, or null.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer | null>")]
    pub fn get(&self, env: Env, _key: Buffer) -> napi::Result<Promise<Option<Buffer>>> {
        missing(&env, COMPONENT)
    }

    /// Stores a value.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn put(&self, env: Env, _key: Buffer, _value: Buffer) -> napi::Result<Promise<()>> {
        missing(&env, COMPONENT)
    }

    /// Deletes a key; a missing one is fine.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn delete(&self, env: Env, _key: Buffer) -> napi::Result<Promise<()>> {
        missing(&env, COMPONENT)
    }

    /// Deletes the keys from `start` up to, and without, `end`.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn delete_range(
        &self,
        env: Env,
        _start: Buffer,
        _end: Buffer,
    ) -> napi::Result<Promise<()>> {
        missing(&env, COMPONENT)
    }

    /// Entries whose keys begin with `prefix`, in order of keys.
    #[napi(catch_unwind)]
    pub fn list_prefix(
        &self,
        env: Env,
        _prefix: Buffer,
        _options: Option<JsKvListOptions>,
    ) -> napi::Result<Promise<Vec<JsKvEntry>>> {
        missing(&env, COMPONENT)
    }

    /// Entries from `start` up to, and without, `end`.
    #[napi(catch_unwind)]
    pub fn list_range(
        &self,
        env: Env,
        _start: Buffer,
        _end: Buffer,
        _options: Option<JsKvListOptions>,
    ) -> napi::Result<Promise<Vec<JsKvEntry>>> {
        missing(&env, COMPONENT)
    }

    /// Values in the order of the keys.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<Buffer | null>>")]
    pub fn batch_get(
        &self,
        env: Env,
        _keys: Vec<Buffer>,
    ) -> napi::Result<Promise<Vec<Option<Buffer>>>> {
        missing(&env, COMPONENT)
    }

    /// Stores several values.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn batch_put(&self, env: Env, _entries: Vec<JsKvEntry>) -> napi::Result<Promise<()>> {
        missing(&env, COMPONENT)
    }

    /// Deletes several keys.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn batch_delete(&self, env: Env, _keys: Vec<Buffer>) -> napi::Result<Promise<()>> {
        missing(&env, COMPONENT)
    }
}
