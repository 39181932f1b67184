//! What the engine says to us.
//!
//! The client awaits some of these inside the loop of one actor, which serves its
//! sockets, its alarm and its stop: they convert and hand on, and wait for nobody.
//! A start is the exception, because "running" is reported when it returns.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use greenroom_core::{ActorRef, HibernationId, StartActor, StopReason};
use greenroom_error::{Error, Result};
use greenroom_wire::{ActorId, ActorKey};
use rivet_envoy_client::callbacks::{ActorStopHandle, BoxFuture, EnvoyCallbacks};
use rivet_envoy_client::handle::EnvoyHandle;
use rivet_envoy_client::http::{HttpRequest, HttpResponse};
use rivet_envoy_client::protocol;
use rivet_envoy_client::websocket::{WebSocketHandler, WebSocketSender};

use super::link::{Link, StopDone};
use super::{http, socket};
use crate::shared::{Shared, shut_down};

pub(super) struct Callbacks(pub(super) Weak<Shared>);

impl Callbacks {
    fn shared(&self) -> Result<Arc<Shared>> {
        self.0.upgrade().ok_or_else(shut_down)
    }
}

fn told(error: Error) -> anyhow::Error {
    anyhow::anyhow!("{}.{}: {error}", error.group(), error.code())
}

/// Longest time that a command of the engine takes from the session to the actor.
const COMMAND_TIME: Duration = Duration::from_secs(1);

/// Of a session that is lost for good the client says that its actors are to sleep.
/// The engine cannot have said so through one that is down.
fn reason_of(shared: &Shared, reason: &protocol::StopActorReason) -> StopReason {
    match reason {
        protocol::StopActorReason::SleepIntent
            if shared.session_over.is_cancelled() || shared.is_cut_off_for(COMMAND_TIME) =>
        {
            StopReason::Lost
        }
        protocol::StopActorReason::SleepIntent => StopReason::SleepIntent,
        protocol::StopActorReason::StopIntent => StopReason::StopIntent,
        protocol::StopActorReason::Destroy => StopReason::Destroy,
        protocol::StopActorReason::GoingAway => StopReason::GoingAway,
        protocol::StopActorReason::Lost => StopReason::Lost,
    }
}

fn start_of(actor_id: &str, generation: u32, config: &protocol::ActorConfig) -> Result<StartActor> {
    let key = match config.key.as_deref() {
        Some(key) => ActorKey::from_serialized(key)?,
        None => ActorKey::default(),
    };
    Ok(StartActor {
        actor: ActorRef {
            actor_id: actor_id.parse()?,
            generation,
        },
        name: config.name.to_string(),
        key,
        input: config.input.as_deref().map(Bytes::copy_from_slice),
    })
}

impl EnvoyCallbacks for Callbacks {
    fn on_connect(&self, _: EnvoyHandle) {
        if let Ok(shared) = self.shared() {
            shared.link_is(true);
        }
    }

    fn on_disconnect(&self, _: EnvoyHandle) {
        if let Ok(shared) = self.shared() {
            tracing::warn!("the session with the engine is down; connecting again");
            shared.link_is(false);
        }
    }

    fn on_actor_start(
        &self,
        handle: EnvoyHandle,
        actor_id: String,
        generation: u32,
        config: protocol::ActorConfig,
        _preloaded: Option<protocol::PreloadedKv>,
    ) -> BoxFuture<anyhow::Result<()>> {
        let shared = self.shared();
        Box::pin(async move {
            let start = async {
                let start = start_of(&actor_id, generation, &config)?;
                shared?.start(Link(handle), start).await
            };
            start.await.map_err(told)
        })
    }

    fn on_actor_stop_with_completion(
        &self,
        _: EnvoyHandle,
        actor_id: String,
        generation: u32,
        reason: protocol::StopActorReason,
        stop_handle: ActorStopHandle,
    ) -> BoxFuture<anyhow::Result<()>> {
        if let (Ok(shared), Some(actor_id)) = (self.shared(), ActorId::parse(&actor_id)) {
            let actor = ActorRef {
                actor_id,
                generation,
            };
            let reason = reason_of(&shared, &reason);
            shared.stop(actor, reason, StopDone(stop_handle));
        }
        Box::pin(async { Ok(()) })
    }

    fn on_shutdown(&self) {
        if let Ok(shared) = self.shared() {
            // Of its own accord, too: the engine has sent us away.
            shared.session_over.cancel();
            shared.link_up.send_replace(false);
        }
    }

    fn fetch(
        &self,
        _: EnvoyHandle,
        actor_id: String,
        _: protocol::GatewayId,
        _: protocol::RequestId,
        request: HttpRequest,
    ) -> BoxFuture<anyhow::Result<HttpResponse>> {
        let shared = self.shared();
        Box::pin(async move {
            let actor_id: ActorId = actor_id.parse().map_err(told)?;
            Ok(http::answer(shared.map_err(told)?, actor_id, request).await)
        })
    }

    fn websocket(
        &self,
        handle: EnvoyHandle,
        actor_id: String,
        gateway_id: protocol::GatewayId,
        request_id: protocol::RequestId,
        _: HttpRequest,
        path: String,
        headers: HashMap<String, String>,
        is_hibernatable: bool,
        is_restoring: bool,
        sender: WebSocketSender,
    ) -> BoxFuture<anyhow::Result<WebSocketHandler>> {
        let opening = socket::Opening {
            link: Link(handle),
            id: HibernationId {
                gateway_id,
                request_id,
            },
            path,
            headers,
            is_hibernatable,
            is_restoring,
            sender,
        };
        let opened = self
            .shared()
            .and_then(|shared| Ok((shared, actor_id.parse::<ActorId>()?)))
            .and_then(|(shared, actor_id)| socket::open(&shared, actor_id, opening));
        Box::pin(async move { opened.map_err(told) })
    }

    fn can_hibernate(
        &self,
        actor_id: &str,
        _: &protocol::GatewayId,
        _: &protocol::RequestId,
        request: &HttpRequest,
    ) -> BoxFuture<anyhow::Result<bool>> {
        let can = match (self.shared(), ActorId::parse(actor_id)) {
            (Ok(shared), Some(actor_id)) => shared.may_hibernate(&actor_id, &request.path),
            _ => false,
        };
        Box::pin(async move { Ok(can) })
    }
}

#[cfg(test)]
mod tests {
    use greenroom_core::Clock;

    use super::*;

    #[tokio::test]
    async fn a_sleep_that_comes_without_a_session_is_a_loss() {
        let (clock, time) = Clock::manual(0);
        let shared = crate::rig::shared(clock);
        let sleep = protocol::StopActorReason::SleepIntent;
        let reason = || reason_of(&shared, &sleep);
        assert_eq!(reason(), StopReason::SleepIntent);
        shared.link_is(false);
        assert_eq!(reason(), StopReason::SleepIntent, "it may have come before");
        time.advance(COMMAND_TIME);
        // Further failed attempts change nothing.
        shared.link_is(false);
        assert_eq!(reason(), StopReason::Lost);
        let away = protocol::StopActorReason::GoingAway;
        assert_eq!(reason_of(&shared, &away), StopReason::GoingAway);
        shared.link_is(true);
        assert_eq!(reason(), StopReason::SleepIntent);
        shared.session_over.cancel();
        assert_eq!(reason(), StopReason::Lost, "nobody can have said so");
    }
}
