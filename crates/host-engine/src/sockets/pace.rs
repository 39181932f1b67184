//! When the engine is told what it may forget.
//!
//! Storing is asked for a moment after the answers have left this process, so that
//! nothing counts as handled of which the client did not hear. The engine hears of
//! it when it is stored. It closes a socket that it hears nothing of for 30 s, so
//! that a message which takes long is given up on in time. The stored connection says
//! so before: should the process end over it, the client is made to connect anew
//! instead of waiting for an answer that nobody will give.

use std::sync::Arc;
use std::time::Duration;

use greenroom_core::{ActorContext, ConnHandle, Instant, Lookup, RequestSaveOpts};

use super::EngineSocket;
use crate::shared::Shared;

/// Time in which an answer is well on its way.
pub(super) const SOON: Duration = Duration::from_millis(20);
/// Time after which something is done about a message that is not acknowledged.
const LATE: Duration = Duration::from_secs(10);
/// Longest time for a save that is asked for then.
const SAVE_TIME: Duration = Duration::from_secs(5);

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
        let Lookup::Active(actor) = self.registry.lookup(&socket.actor_id) else {
            return None;
        };
        let conn = actor.ctx().conn(&socket.conn_id()?)?;
        Some((actor.ctx().clone(), conn))
    }

    /// Watches over messages that are not acknowledged for long. Never ends.
    pub(super) async fn watch_late(self: Arc<Self>, socket: &EngineSocket) {
        let clock = self.clock().clone();
        let mut owed: Option<(u16, Instant)> = None;
        loop {
            owed = socket.waits_behind().map(|behind| match owed {
                Some((before, at)) if before == behind => (behind, at),
                _ => (behind, clock.now() + LATE),
            });
            let at = owed.map_or(clock.now(), |(_, at)| at);
            tokio::select! {
                () = socket.arrival() => {}
                () = clock.sleep_until(at), if owed.is_some() => {
                    owed = None;
                    self.hurry_late(socket).await;
                }
            }
        }
    }

    /// Has what was handled saved now; what was not is given up on.
    async fn hurry_late(&self, socket: &EngineSocket) {
        // While its actor sleeps or wakes, a socket waits at the engine.
        let Some((ctx, conn)) = self.connection_of(socket) else {
            return;
        };
        let gives_up = socket.waits_for_answers();
        if gives_up {
            conn.messages_given_up();
            ctx.queue_hibernation_update(conn.id());
        } else {
            self.name_handled(socket);
        }
        let saving = ctx.request_save_and_wait(RequestSaveOpts::IMMEDIATE);
        let saved = self.clock().timeout(SAVE_TIME, saving).await;
        if gives_up || !matches!(saved, Ok(Ok(()))) {
            socket.give_up();
        }
    }
}
