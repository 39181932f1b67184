//! What tests do to a host: move its clock, drop actors, end it like a crash.

use std::sync::Arc;
use std::time::Duration;

use greenroom_error::{Error, Result};
use greenroom_host_embedded::EmbeddedHost;
use greenroom_wire::ActorId;
use napi::bindgen_prelude::Env;
use napi_derive::napi;
use tokio::sync::oneshot;

use super::{CoreRegistry, Registry};
use crate::bridge::{Bridge, Promise, enter, promise, to_napi};
use crate::{numbers, runtime};

/// Turns of the JavaScript thread that must find everything at rest in a row: what
/// one turn leaves to the next (microtasks, `setImmediate`) gets its chance.
const QUIET_TURNS: u32 = 2;
/// Turns without a pause, some milliseconds; more of them wait for a disk or for
/// other work.
const EAGER_TURNS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(1);
/// After so many pauses the clock goes on whatever is under way, such as a socket's
/// traffic.
const PAUSES_MAX: u32 = 10_000;

impl Registry {
    async fn advance_clock(&self, span: Duration, bridge: &Bridge) -> Result<()> {
        // Also while shutting down: grace periods end by this clock, too.
        let hosting = self.board.open()?;
        let host = hosting.embedded()?;
        let manual = hosting
            .manual_clock
            .clone()
            .ok_or_else(|| Error::invalid_state("clock", "the registry runs on the real clock"))?;
        let limit = host.clock().now() + span;
        settle(host, bridge).await?;
        while manual.advance_to_next(limit) {
            settle(host, bridge).await?;
        }
        settle(host, bridge).await
    }
}

/// Resolves when all that a timer woke has run as far as it can: workers, disk and
/// the JavaScript thread have nothing left to do. Callbacks that wait for something
/// else, such as a promise of the test, do not count.
async fn settle(host: &EmbeddedHost, bridge: &Bridge) -> Result<()> {
    for turn in 0..EAGER_TURNS + PAUSES_MAX {
        if rest(host.clone(), bridge).await? {
            break;
        }
        if turn < EAGER_TURNS {
            tokio::task::yield_now().await;
        } else {
            // Real time on purpose: it is the disk that is waited for.
            tokio::time::sleep(PAUSE).await;
        }
    }
    Ok(())
}

/// Whether everything was at rest for some turns of the JavaScript thread. Asked on
/// that thread, because while it asks, nobody else could begin anything.
async fn rest(host: EmbeddedHost, bridge: &Bridge) -> Result<bool> {
    let (answer, answered) = oneshot::channel();
    look(host, bridge.clone(), QUIET_TURNS, answer);
    answered
        .await
        .map_err(|_| Error::invalid_state("environment", "closing"))
}

fn look(host: EmbeddedHost, bridge: Bridge, turns: u32, answer: oneshot::Sender<bool>) {
    bridge.clone().post(move |_| {
        // The worker that asked may not have lain down yet.
        let mut patience = 100;
        while runtime::idle_turns().is_none() && patience > 0 {
            std::thread::yield_now();
            patience -= 1;
        }
        let at_rest = is_at_rest(&host, &bridge);
        if at_rest && turns > 1 {
            return look(host, bridge, turns - 1, answer);
        }
        // Whoever asked may have gone.
        let _ = answer.send(at_rest);
    });
}

/// Only workers, storage and this thread give each other work, and this thread is
/// here. Workers that did not stir while storage was seen idle cannot have handed
/// it anything since; without that, work could slip from one to the other between
/// two looks.
fn is_at_rest(host: &EmbeddedHost, bridge: &Bridge) -> bool {
    let before = runtime::idle_turns();
    before.is_some() && !host.is_writing() && bridge.is_idle() && runtime::idle_turns() == before
}

#[napi]
impl CoreRegistry {
    /// Time of the host's clock (milliseconds since 1970).
    #[napi(catch_unwind)]
    pub fn clock_now(&self) -> napi::Result<f64> {
        let hosting = self.0.serving().map_err(|error| to_napi(&error))?;
        Ok(hosting.clock().now_ms() as f64)
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
                registry.embedded()?.evict(&id).await
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
                if let Some(hosting) = registry.board.begin_shutdown().await {
                    hosting.crash().await;
                    drop(registry.listening.take());
                    registry.board.finish_shutdown();
                }
                Ok::<_, Error>(())
            })
        })
    }
}
