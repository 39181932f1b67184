//! What tests do to a host: move its clock, drop actors, end it like a crash.

use std::sync::Arc;
use std::time::Duration;

use greenroom_core::ManualClock;
use greenroom_error::{Error, Result};
use greenroom_host_embedded::EmbeddedHost;
use greenroom_wire::ActorId;
use napi::bindgen_prelude::Env;
use napi_derive::napi;

use super::{CoreRegistry, Registry};
use crate::bridge::{Bridge, Promise, enter, promise, to_napi};
use crate::numbers;

/// Turns without a new timer after which everything that a timer woke counts as
/// done, if no actor changes.
const QUIET_TURNS: u32 = 3;
/// The same if one does: it may be waiting for the clock itself.
const CHANGING_TURNS: u32 = 40;
const TURNS_MAX: u32 = 1_000;
const TURN: Duration = Duration::from_millis(1);

impl Registry {
    async fn advance_clock(&self, span: Duration, bridge: &Bridge) -> Result<()> {
        // Also while shutting down: grace periods end by this clock, too.
        let embedded = self.board.open()?;
        let host = &embedded.host;
        let manual = embedded
            .manual_clock
            .clone()
            .ok_or_else(|| Error::invalid_state("clock", "the registry runs on the real clock"))?;
        let limit = host.clock().now() + span;
        settle(&manual, host, bridge).await?;
        while manual.advance_to_next(limit) {
            settle(&manual, host, bridge).await?;
        }
        settle(&manual, host, bridge).await
    }
}

/// Lets what a timer woke run: the JavaScript thread gets turns, and so do disk
/// and workers, until no timer was armed or dropped for some turns.
async fn settle(manual: &ManualClock, host: &EmbeddedHost, bridge: &Bridge) -> Result<()> {
    let mut quiet = 0;
    let mut armed = manual.armed();
    for _ in 0..TURNS_MAX {
        bridge.turn().await?;
        // Real time on purpose: it is the disk that is waited for.
        tokio::time::sleep(TURN).await;
        let now = manual.armed();
        quiet = if now == armed { quiet + 1 } else { 0 };
        armed = now;
        let enough = if host.is_changing() {
            CHANGING_TURNS
        } else {
            QUIET_TURNS
        };
        // The disk waits for nobody, so it is always waited for.
        if quiet >= enough && !host.is_writing() {
            break;
        }
    }
    Ok(())
}

#[napi]
impl CoreRegistry {
    /// Time of the host's clock (milliseconds since 1970).
    #[napi(catch_unwind)]
    pub fn clock_now(&self) -> napi::Result<f64> {
        let embedded = self.0.serving().map_err(|error| to_napi(&error))?;
        Ok(embedded.host.clock().now_ms() as f64)
    }

    /// Moves a manual clock: every timer due on the way fires, in order.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn advance_clock(&self, env: Env, ms: f64) -> napi::Result<Promise<()>> {
        let registry = Arc::clone(&self.0);
        enter(&env, |scope| {
            let span = Duration::from_millis(numbers::milliseconds("ms", ms)?.unsigned_abs());
            let bridge = scope.bridge().clone();
            promise(
                scope,
                async move { registry.advance_clock(span, &bridge).await },
            )
        })
    }

    /// Drops an actor from memory without hooks or saves. Its storage stays.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn evict(&self, env: Env, actor_id: String) -> napi::Result<Promise<()>> {
        let registry = Arc::clone(&self.0);
        enter(&env, |scope| {
            promise(scope, async move {
                let id: ActorId = actor_id.parse()?;
                registry.serving()?.host.evict(&id).await
            })
        })
    }

    /// Ends the host as a crash of the process would, and shuts the registry
    /// down.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn crash(&self, env: Env) -> napi::Result<Promise<()>> {
        let registry = Arc::clone(&self.0);
        enter(&env, |scope| {
            promise(scope, async move {
                if let Some(embedded) = registry.board.begin_shutdown().await {
                    embedded.host.crash().await;
                    drop(registry.listening.take());
                    registry.board.finish_shutdown();
                }
                Ok::<_, Error>(())
            })
        })
    }
}
