//! What actors ask of their host.

use greenroom_core::{ActorRef, ClientEndpoint, HeldSocket, HibernationId, Host, HostFuture};
use greenroom_error::Result;
use greenroom_store::Database;

use crate::resident::Wish;
use crate::shared::Shared;

impl Host for Shared {
    fn open_storage(&self, actor: ActorRef) -> Result<Database> {
        self.database_of(&actor.actor_id)
    }

    fn set_alarm(&self, actor: ActorRef, at_ms: Option<i64>) -> HostFuture<Result<()>> {
        let me = self.me.clone();
        Box::pin(async move {
            let Some(me) = me.upgrade() else {
                return Err(crate::shared::shut_down());
            };
            me.directory.set_alarm(&actor.actor_id, at_ms).await?;
            me.bell.changed(actor.actor_id, at_ms);
            Ok(())
        })
    }

    fn request_sleep(&self, actor: ActorRef) {
        self.begin_stop(actor, Wish::Sleep);
    }

    fn request_stop(&self, actor: ActorRef, error: Option<String>) {
        self.begin_stop(
            actor,
            match error {
                Some(error) => Wish::Crash(error),
                None => Wish::Destroy {
                    from_outside: false,
                },
            },
        );
    }

    fn region(&self) -> String {
        self.options.region.clone()
    }

    fn client_endpoint(&self) -> ClientEndpoint {
        self.endpoint.read().clone()
    }

    fn held_sockets(&self, actor: ActorRef) -> Vec<HeldSocket> {
        self.sockets.held(&actor.actor_id)
    }

    /// Sessions keep messages until they are answered and need no word of it.
    fn ack_hibernating_message(&self, _: ActorRef, _: HibernationId, _message_index: u16) {}
}
