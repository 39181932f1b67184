//! The end of a generation: shutdown hooks, and what the loop leaves behind.

use std::sync::Arc;

use greenroom_core::{Reply, ShutdownKind};

use super::Adapter;
use crate::actor::ActorShared;

/// Ends what belongs to the generation, however its loop ends.
pub(super) struct EndGuard(pub(super) Arc<ActorShared>);

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Adapter {
    /// The event stream is closed. Open replies are answered (A3), the `run`
    /// handler is given up, registered tasks are drained.
    pub(super) async fn finish(self) {
        let Self {
            shared,
            running,
            serializing,
            ending,
            ..
        } = self;
        drop(serializing);
        drop(running);
        shared.tasks.close();
        let span = shared.ctx.config().sleep_grace_period;
        let drained = shared.ctx.clock().timeout(span, shared.tasks.idle()).await;
        if drained.is_err() {
            tracing::warn!(actor_id = %shared.ctx.actor_id(), "registered tasks outlived their actor");
        }
        drop(ending);
    }
}

/// `onSleep` or `onDestroy`. A failure or a missed deadline never stops a
/// shutdown.
pub(super) async fn graceful_cleanup(
    shared: Arc<ActorShared>,
    kind: ShutdownKind,
    reply: Reply<()>,
) {
    let actor_id = shared.ctx.actor_id();
    let deadline = shared.ctx.shutdown_deadline();
    tokio::select! {
        result = shared.on_shutdown(kind) => {
            if let Err(error) = result {
                tracing::error!(%actor_id, kind = kind.label(), %error, "the shutdown hook failed");
            }
        }
        () = deadline.cancelled() => {
            tracing::warn!(%actor_id, kind = kind.label(), "the shutdown hook was cut at the deadline");
        }
    }
    reply.send(Ok(()));
}

/// Grace: `onDisconnect` while the connection is still visible, then away with it.
pub(super) async fn disconnect_conn(shared: Arc<ActorShared>, conn_id: String, reply: Reply<()>) {
    let conn = shared
        .ctx
        .conns()
        .into_iter()
        .find(|conn| conn.id() == conn_id);
    if let Some(conn) = conn
        && let Err(error) = shared.on_disconnect(conn, false).await
    {
        tracing::error!(actor_id = %shared.ctx.actor_id(), %error, "onDisconnect failed");
    }
    shared.ctx.drop_conn(&conn_id, "");
    reply.send(Ok(()));
}
