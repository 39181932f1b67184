//! `ActorContext`: what user code and the TypeScript layer hold of one actor
//! generation.
//!
//! One file per group of methods. All of them forward to the runtime's context
//! or to what the generation's handles share.

mod connections;
mod inspector;
mod lifecycle;
mod services;
mod state;
mod telemetry;
mod work;

use std::sync::Arc;

use greenroom_core::Incoming;
use napi_derive::napi;

use crate::actor::ActorShared;

pub(crate) use state::StateDeltaPayload;

/// A handle to one generation of one actor. There may be any number.
#[napi]
pub struct ActorContext {
    shared: Arc<ActorShared>,
    /// Set on handles that belong to an action, a request or a queue send.
    invocation: Option<Invocation>,
}

/// What identifies the piece of work a handle belongs to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Invocation {
    ray_id: Option<String>,
}

impl Invocation {
    pub(crate) fn new(incoming: &Incoming) -> Self {
        Self {
            ray_id: incoming.ray_id.clone(),
        }
    }

    pub(crate) fn ray_id(&self) -> Option<&str> {
        self.ray_id.as_deref()
    }

    /// Nothing tells it from other anonymous ones.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.ray_id.is_none()
    }
}

impl ActorContext {
    pub(crate) fn new(shared: Arc<ActorShared>, invocation: Option<Invocation>) -> Self {
        Self { shared, invocation }
    }

    pub(crate) fn core(&self) -> &greenroom_core::ActorContext {
        &self.shared.ctx
    }
}

#[napi(object)]
pub struct JsActorKeySegment {
    pub kind: String,
    pub string_value: Option<String>,
    pub number_value: Option<f64>,
}

#[napi]
impl ActorContext {
    /// The actor's id, the same for all its generations.
    #[napi(catch_unwind)]
    pub fn actor_id(&self) -> &str {
        self.shared.actor_id()
    }

    /// Name of the actor type.
    #[napi(catch_unwind)]
    pub fn name(&self) -> &str {
        self.core().name()
    }

    #[napi(catch_unwind)]
    pub fn key(&self) -> Vec<JsActorKeySegment> {
        let segment = |text| JsActorKeySegment {
            kind: "string".to_owned(),
            string_value: Some(text),
            number_value: None,
        };
        self.core().key().parts().into_iter().map(segment).collect()
    }

    /// Label of where the actor runs; empty if there is none.
    #[napi(catch_unwind)]
    pub fn region(&self) -> &str {
        self.core().region()
    }

    /// True if both handles are of the same generation.
    #[napi(catch_unwind)]
    pub fn same_actor_instance(&self, other: &ActorContext) -> bool {
        self.core().same_instance(other.core())
    }
}
