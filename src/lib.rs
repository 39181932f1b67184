//! The N-API glue: one file per exported class. Converts, forwards, wraps;
//! decides nothing.

// Under test the generated glue registers nothing, so nothing looks used.
#![cfg_attr(test, allow(dead_code))]

mod actor;
mod actor_context;
mod adapter;
mod bridge;
mod callbacks;
mod caller_context;
mod cancellation_token;
mod codec;
mod conn_handle;
mod factory;
mod http;
mod inspector;
mod kv;
mod logging;
mod numbers;
mod queue;
mod registry;
mod runtime;
mod schedule;
mod sql;
mod telemetry;
mod variables;
mod websocket;

use napi_derive::napi;

/// Sets up the environment that loads the addon.
#[napi(module_exports)]
pub fn install(_exports: napi::bindgen_prelude::Object<'_>, env: napi::Env) -> napi::Result<()> {
    bridge::install(&env, cancellation_token::make)
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Version of the addon.
#[napi(catch_unwind)]
pub fn native_version() -> &'static str {
    VERSION
}
