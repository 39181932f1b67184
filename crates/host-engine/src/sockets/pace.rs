//! When the engine is told what it may forget.
//!
//! Storing is asked for a moment after the answers have left this process, so that
//! nothing counts as handled of which the client did not hear. The engine hears of
//! it when it is stored. It closes a socket of which it has kept a message for 30 s,
//! so that one which takes long is given up on in time, counted from its arrival. The
//! stored connection says so before: should the process end over it, the client is
//! made to connect anew instead of waiting for an answer that nobody will give.

use std::sync::Arc;
use std::time::Duration;

use greenroom_core::{ActorContext, ConnHandle, RequestSaveOpts};

use super::EngineSocket;
use crate::shared::Shared;

/// Time in which an answer is well on its way.
pub(super) const SOON: Duration = Duration::from_millis(20);
/// Time after which something is done about a message that is not acknowledged.
const LATE: Duration = Duration::from_secs(10);
/// Longest time for a save that is asked for then; there are two of them.
const SAVE_TIME: Duration = Duration::from_secs(5);
/// Time until one is looked at again about which nothing could be done.
const AGAIN: Duration = Duration::from_secs(2);

impl Shared {
    /// What was handled of the socket's messages is stored with the next save.
    pub(super) fn name_handled(&self, socket: &EngineSocket) {
        socket.take_due();
        // Otherwise the last save has seen it, or the next generation begins with it.
        let Some((ctx, conn)) = self.connection_of(socket) else {
            return;
        };
        socket.tell_handled(&conn);
        ctx.save_messages_handled(&conn);
    }

    /// The socket's connection in the generation that lives.
    fn connection_of(&self, socket: &EngineSocket) -> Option<(ActorContext, ConnHandle)> {
        // One that stops may take longer for it than the engine waits.
        let actor = self.registry.lookup(&socket.actor_id).instance()?;
        let conn = actor.ctx().conn(&socket.conn_id()?)?;
        Some((actor.ctx().clone(), conn))
    }

    /// Watches over messages that are not acknowledged for long. Never ends.
    pub(super) async fn watch_late(self: Arc<Self>, socket: &EngineSocket) {
        let clock = self.clock().clone();
        let mut not_before = clock.now();
        loop {
            let at = socket.waits_since().map(|at| not_before.max(at + LATE));
            tokio::select! {
                () = socket.arrival() => {}
                () = clock.sleep_until(at.unwrap_or(not_before)), if at.is_some() => {
                    self.hurry_late(socket).await;
                    not_before = clock.now() + AGAIN;
                }
            }
        }
    }

    /// Has what was handled saved now; what was not, and is late, is given up on.
    async fn hurry_late(&self, socket: &EngineSocket) {
        // While its actor sleeps or wakes, a socket waits at the engine.
        let Some((ctx, conn)) = self.connection_of(socket) else {
            return;
        };
        // Of an answer that is still here the client did not hear.
        if !socket.holds_words() {
            self.name_handled(socket);
            self.saved_now(&ctx).await;
        }
        let now = self.clock().now();
        let Some(late) = socket.arrived_by(|at| at + LATE <= now) else {
            return;
        };
        conn.messages_given_up(late);
        ctx.queue_hibernation_update(conn.id());
        self.saved_now(&ctx).await;
        socket.give_up(late);
    }

    /// Waits for a save, but not for long: what is due then is due in any case.
    async fn saved_now(&self, ctx: &ActorContext) {
        let saving = ctx.request_save_and_wait(RequestSaveOpts::IMMEDIATE);
        let saved = self.clock().timeout(SAVE_TIME, saving).await;
        if !matches!(saved, Ok(Ok(()))) {
            tracing::debug!(actor_id = %ctx.actor_id(), "messages of a client were not saved in time");
        }
    }
}
