//! `ConnHandle`: one connection of a client to an actor.

use std::sync::Arc;

use napi::bindgen_prelude::Env;
use napi_derive::napi;

use crate::actor::ActorShared;
use crate::bridge::{Buffer, Promise, Rejection, enter, promise};

/// Stays readable after the connection is gone.
#[napi]
pub struct ConnHandle {
    shared: Arc<ActorShared>,
    conn: greenroom_core::ConnHandle,
}

impl ConnHandle {
    pub(crate) fn new(shared: Arc<ActorShared>, conn: greenroom_core::ConnHandle) -> Self {
        Self { shared, conn }
    }
}

#[napi]
impl ConnHandle {
    #[napi(catch_unwind)]
    pub fn id(&self) -> String {
        self.conn.id().to_owned()
    }

    /// CBOR of the parameters the client connected with.
    #[napi(catch_unwind)]
    pub fn params(&self) -> Buffer {
        self.conn.params().into()
    }

    /// CBOR of the connection's state; empty until set.
    #[napi(catch_unwind)]
    pub fn state(&self) -> Buffer {
        self.conn.state().into()
    }

    /// Replaces the state; on a hibernatable connection it is saved as well.
    #[napi(catch_unwind)]
    pub fn set_state(&self, state: Buffer) {
        self.shared.ctx.set_conn_state(&self.conn, state.0);
    }

    #[napi(catch_unwind)]
    pub fn is_hibernatable(&self) -> bool {
        self.conn.is_hibernatable()
    }

    /// Sends an event whether or not the client subscribed to it. Failures are
    /// only logged.
    #[napi(catch_unwind)]
    pub fn send(&self, name: String, args: Buffer) {
        // An event that has to wait is sent on by a task.
        crate::runtime::enter(|| self.shared.ctx.send_to(&self.conn, &name, args.0));
    }

    /// Closes the transport and runs `onDisconnect`. Repeating it does nothing.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn disconnect(&self, env: Env, reason: Option<String>) -> napi::Result<Promise<()>> {
        self.shared.ctx.disconnect(&self.conn, reason.as_deref());
        enter(&env, |scope| {
            promise(scope, async { Ok::<_, Rejection>(()) })
        })
    }
}
