//! What actors ask of their host.

use std::sync::Arc;
use std::time::Duration;

use greenroom_core::{
    ActorContext, ActorRef, ClientEndpoint, ConnHandle, HeldSocket, HibernationId, Host, HostFuture,
};
use greenroom_error::Result;
use greenroom_store::Database;

use crate::envoy::EnginePages;
use crate::shared::{Shared, shut_down};
use crate::sockets::KnownSocket;

/// Longest time in which sessions see what an actor that stops has answered.
const SETTLE_TIME: Duration = Duration::from_secs(1);

impl Host for Shared {
    fn open_storage(&self, actor: ActorRef) -> Result<Database> {
        let link = self.generations.link(actor).ok_or_else(shut_down)?;
        let pages = EnginePages::new(&link, actor, self);
        // Another generation is another lease, and must share nothing with this one.
        let name = format!("{}, generation {}", actor.actor_id, actor.generation);
        Ok(self.store.paged_database(&name, Arc::new(pages)))
    }

    /// Completes when the session has taken the request: engines of the 2.x line
    /// acknowledge events by the hundred only, so nothing later can be waited for.
    /// The client sends what was not acknowledged again after a reconnect.
    fn set_alarm(&self, actor: ActorRef, at_ms: Option<i64>) -> HostFuture<Result<()>> {
        let link = self.generations.link(actor);
        Box::pin(async move {
            let link = link.ok_or_else(shut_down)?;
            link.set_alarm(actor, at_ms).await
        })
    }

    fn request_sleep(&self, actor: ActorRef) {
        if let Some(link) = self.generations.link(actor) {
            link.sleep(actor, None);
        }
    }

    fn request_stop(&self, actor: ActorRef, error: Option<String>) {
        let Some(link) = self.generations.link(actor) else {
            return;
        };
        match error {
            // The engine destroys what asks to stop, so a crash must not.
            Some(error) => link.sleep(actor, Some(error)),
            None => link.destroy(actor),
        }
    }

    fn region(&self) -> String {
        self.options.region.clone()
    }

    fn client_endpoint(&self) -> ClientEndpoint {
        ClientEndpoint {
            url: Some(self.options.endpoint.clone()),
            namespace: self.options.namespace.clone(),
            token: self.options.token.clone(),
            pool_name: self.options.pool_name.clone(),
        }
    }

    /// Dashboards of an engine read it from the actor's keys. Nobody waits for that,
    /// and what a crash kept from there is made good by the next generation.
    fn inspector_token_stored(&self, actor: ActorRef, token: &str) {
        let Some(link) = self.generations.link(actor) else {
            return;
        };
        let token = token.to_owned();
        self.runtime.spawn(async move {
            if let Err(error) = link.show_inspector_token(&actor.actor_id, token).await {
                tracing::debug!(actor_id = %actor.actor_id, %error, "dashboards do not find the inspector token");
            }
        });
    }

    fn held_sockets(&self, actor: ActorRef) -> Vec<HeldSocket> {
        self.sockets.held(&actor.actor_id)
    }

    /// The engine has clients of these if they were connected to a process that is
    /// gone. It hands over those that go on here, and the others to be sent away.
    fn adopt_sockets(&self, ctx: &ActorContext, stored: &[ConnHandle]) -> Vec<HeldSocket> {
        let Some(link) = self.generations.link(ctx.actor()) else {
            return Vec::new();
        };
        let adopt = |conn| self.adopt_socket(ctx, conn);
        let adopted: Vec<_> = stored.iter().filter_map(adopt).collect();
        let actor_id = ctx.actor_id();
        let mut known = self.sockets.known(&actor_id);
        let others = stored.iter().filter_map(ConnHandle::hibernation);
        let others = others.filter(|meta| adopted.iter().all(|socket| socket.id != meta.id));
        known.extend(others.map(|socket| KnownSocket {
            id: socket.id,
            last_message: socket.server_message_index,
            path: socket.request_path,
            headers: socket.request_headers.into_iter().collect(),
        }));
        link.restore_sockets(&actor_id, known);
        adopted
    }

    fn settle_sockets(&self, actor: ActorRef) -> Option<HostFuture<()>> {
        let settled = self.sockets.settled(&actor.actor_id)?;
        let clock = self.clock().clone();
        Some(Box::pin(async move {
            // What is not seen by then is handed over again.
            let _ = clock.timeout(SETTLE_TIME, settled).await;
        }))
    }

    fn ack_hibernating_message(&self, actor: ActorRef, id: HibernationId, message_index: u16) {
        self.sockets.stored(&actor.actor_id, id, message_index);
    }
}
