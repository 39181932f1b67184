//! JavaScript values that belong to one generation.
//!
//! Invariant: strong references are only held while the generation lives. The
//! values refer back to it, so anything held longer would never be collected.

use std::collections::HashMap;
use std::sync::Arc;

use greenroom_core::ConnHandle;
use parking_lot::Mutex;

use super::ActorShared;
use crate::actor_context::{ActorContext, Invocation};
use crate::bridge::{JsRef, JsResult, Scope, Value, WeakJsRef};
use crate::runtime;

#[derive(Default)]
pub(super) struct JsSide(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    over: bool,
    bag: Bag,
    /// Source of abort signals, once somebody asked for one.
    abort_source: Option<JsRef>,
    /// Handle without invocation.
    plain: Option<JsRef>,
    /// Handle of invocations that carry no identity.
    anonymous: Option<JsRef>,
    /// By connection.
    clients: HashMap<String, ClientHandles>,
}

/// What the actions of one connection are called with. Two calls with the same ray
/// cannot be told apart.
struct ClientHandles {
    ray_id: Option<String>,
    ctx: JsRef,
    conn: JsRef,
}

/// Connections whose handles are kept. Those of closed ones stay among them until
/// others take their places.
const CLIENTS_MAX: usize = 256;

#[derive(Default)]
enum Bag {
    #[default]
    None,
    Live(JsRef),
    /// Made for a straggler after the end: lives while the straggler holds it.
    Late(WeakJsRef),
}

impl JsSide {
    pub(super) fn end(&self) {
        let kept = {
            let mut kept = self.0.lock();
            let over = Kept {
                over: true,
                // Its watcher, woken by the same end, fires and drops it.
                abort_source: kept.abort_source.take(),
                ..Kept::default()
            };
            std::mem::replace(&mut *kept, over)
        };
        drop(kept);
    }
}

impl ActorShared {
    /// The generation's object for the TypeScript layer: the same for every
    /// handle.
    pub(crate) fn runtime_state<'s>(&self, scope: &Scope<'s>) -> JsResult<Value<'s>> {
        let mut kept = self.js.0.lock();
        match &kept.bag {
            Bag::Live(bag) => return bag.get(scope),
            Bag::Late(bag) => {
                if let Some(bag) = bag.get(scope)? {
                    return Ok(bag);
                }
            }
            Bag::None => {}
        }
        let bag = scope.new_object()?;
        kept.bag = if kept.over {
            Bag::Late(WeakJsRef::new(scope, bag)?)
        } else {
            Bag::Live(JsRef::new(scope, bag)?)
        };
        Ok(bag)
    }

    pub(crate) fn clear_runtime_state(&self) {
        let bag = std::mem::take(&mut self.js.0.lock().bag);
        drop(bag);
    }

    /// A new signal that fires with the generation's shutdown.
    pub(crate) fn abort_signal<'s>(self: &Arc<Self>, scope: &Scope<'s>) -> JsResult<Value<'s>> {
        let aborted = self.aborted();
        let known = match &self.js.0.lock().abort_source {
            Some(source) => Some(source.get(scope)?),
            None => None,
        };
        let source = match known {
            Some(source) => source,
            None => scope.abort_source()?,
        };
        if known.is_none() && !aborted {
            self.keep_abort_source(JsRef::new(scope, source)?);
        }
        scope.abort_signal(source, aborted)
    }

    fn keep_abort_source(self: &Arc<Self>, source: JsRef) {
        self.js.0.lock().abort_source = Some(source);
        let shared = Arc::clone(self);
        runtime::spawn(async move {
            shared.until_aborted().await;
            let source = shared.js.0.lock().abort_source.take();
            if let Some(source) = source {
                shared.bridge().post(move |scope| {
                    if let Err(fault) = source.get(scope).and_then(|s| scope.fire_abort(s)) {
                        let error = scope.error_of(fault);
                        tracing::warn!(%error, "an abort signal could not be fired");
                    }
                });
            }
        });
    }

    /// A handle for lifecycle callbacks.
    pub(crate) fn plain_handle<'s>(self: &Arc<Self>, scope: &Scope<'s>) -> JsResult<Value<'s>> {
        self.cached_handle(scope, None, |kept| &mut kept.plain)
    }

    /// A handle for callbacks that serve `invocation`.
    pub(crate) fn invocation_handle<'s>(
        self: &Arc<Self>,
        scope: &Scope<'s>,
        invocation: Invocation,
    ) -> JsResult<Value<'s>> {
        if invocation.is_anonymous() {
            return self.cached_handle(scope, Some(invocation), |kept| &mut kept.anonymous);
        }
        scope.native(ActorContext::new(Arc::clone(self), Some(invocation)))
    }

    /// Handles that cannot be told apart are one object: making one costs more
    /// than all the rest of a callback.
    fn cached_handle<'s>(
        self: &Arc<Self>,
        scope: &Scope<'s>,
        invocation: Option<Invocation>,
        slot: impl Fn(&mut Kept) -> &mut Option<JsRef>,
    ) -> JsResult<Value<'s>> {
        if let Some(handle) = slot(&mut self.js.0.lock()) {
            return handle.get(scope);
        }
        let handle = scope.native(ActorContext::new(Arc::clone(self), invocation))?;
        let mut kept = self.js.0.lock();
        if !kept.over {
            *slot(&mut kept) = Some(JsRef::new(scope, handle)?);
        }
        Ok(handle)
    }

    /// The handles that an action of `conn` is called with: of the context, and of
    /// the connection.
    pub(crate) fn client_handles<'s>(
        self: &Arc<Self>,
        scope: &Scope<'s>,
        invocation: Invocation,
        conn: ConnHandle,
    ) -> JsResult<(Value<'s>, Value<'s>)> {
        if let Some(known) = self.js.0.lock().clients.get(conn.id())
            && known.ray_id.as_deref() == invocation.ray_id()
        {
            return Ok((known.ctx.get(scope)?, known.conn.get(scope)?));
        }
        let id = conn.has_transport().then(|| conn.id().to_owned());
        let ray_id = invocation.ray_id().map(str::to_owned);
        let ctx = self.invocation_handle(scope, invocation)?;
        let conn = scope.native(crate::conn_handle::ConnHandle::new(Arc::clone(self), conn))?;
        if let Some(id) = id {
            let handles = ClientHandles {
                ray_id,
                ctx: JsRef::new(scope, ctx)?,
                conn: JsRef::new(scope, conn)?,
            };
            self.keep_client(id, handles);
        }
        Ok((ctx, conn))
    }

    fn keep_client(&self, id: String, handles: ClientHandles) {
        let mut kept = self.js.0.lock();
        if kept.over {
            return;
        }
        if kept.clients.len() >= CLIENTS_MAX
            && let Some(any) = kept.clients.keys().next().cloned()
        {
            kept.clients.remove(&any);
        }
        kept.clients.insert(id, handles);
    }
}
