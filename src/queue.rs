//! `Queue` and `QueueMessage`: the durable queue of one actor.
//!
//! The queue is not there yet: every call answers `actor/not_configured`.

use std::sync::Arc;

use napi::bindgen_prelude::{BigInt, Env};
use napi_derive::napi;

use crate::actor::ActorShared;
use crate::bridge::{Buffer, Promise};
use crate::cancellation_token::CancellationToken;
use crate::missing::{missing, missing_now};

const COMPONENT: &str = "queue";

/// What to receive, and how long to wait for it.
#[napi(object)]
pub struct JsQueueNextOptions {
    /// Absent or empty means any.
    pub names: Option<Vec<String>>,
    /// Absent means for ever, 0 not at all.
    pub timeout_ms: Option<f64>,
    pub completable: Option<bool>,
}

#[napi(object)]
pub struct JsQueueNextBatchOptions {
    pub names: Option<Vec<String>>,
    /// Default 1.
    pub count: Option<f64>,
    pub timeout_ms: Option<f64>,
    pub completable: Option<bool>,
}

#[napi(object)]
pub struct JsQueueWaitOptions {
    pub timeout_ms: Option<f64>,
    pub completable: Option<bool>,
}

#[napi(object)]
pub struct JsQueueEnqueueAndWaitOptions {
    pub timeout_ms: Option<f64>,
}

#[napi(object)]
pub struct JsQueueTryNextOptions {
    pub names: Option<Vec<String>>,
    pub completable: Option<bool>,
}

#[napi(object)]
pub struct JsQueueTryNextBatchOptions {
    pub names: Option<Vec<String>>,
    pub count: Option<f64>,
    pub completable: Option<bool>,
}

/// A message as an inspector lists it.
#[napi(object)]
pub struct JsQueueInspectMessage {
    pub id: f64,
    pub name: String,
    pub created_at_ms: f64,
}

/// First in, first out; filtered by names. Bodies are CBOR.
#[napi]
pub struct Queue(Arc<ActorShared>);

impl Queue {
    pub(crate) fn new(shared: Arc<ActorShared>) -> Self {
        Self(shared)
    }
}

#[napi]
impl Queue {
    /// Stores a message.
    #[napi(catch_unwind)]
    pub fn send(
        &self,
        env: Env,
        _name: String,
        _body: Buffer,
    ) -> napi::Result<Promise<QueueMessage>> {
        missing(&env, COMPONENT)
    }

    /// The next message; null when the time is up.
    #[napi(catch_unwind, ts_return_type = "Promise<QueueMessage | null>")]
    pub fn next(
        &self,
        env: Env,
        _options: Option<JsQueueNextOptions>,
        _signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<Option<QueueMessage>>> {
        missing(&env, COMPONENT)
    }

    /// The next messages; none when the time is up.
    #[napi(catch_unwind)]
    pub fn next_batch(
        &self,
        env: Env,
        _options: Option<JsQueueNextBatchOptions>,
        _signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<Vec<QueueMessage>>> {
        missing(&env, COMPONENT)
    }

    /// The next message of the given names; rejects when the time is up.
    #[napi(catch_unwind)]
    pub fn wait_for_names(
        &self,
        env: Env,
        _names: Vec<String>,
        _options: Option<JsQueueWaitOptions>,
        _signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<QueueMessage>> {
        missing(&env, COMPONENT)
    }

    /// Resolves when there is such a message, which stays where it is.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn wait_for_names_available(
        &self,
        env: Env,
        _names: Vec<String>,
        _options: Option<JsQueueWaitOptions>,
        _signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<()>> {
        missing(&env, COMPONENT)
    }

    /// Completes a message by id; false if it is gone.
    #[napi(catch_unwind)]
    pub fn complete_persisted(
        &self,
        env: Env,
        _message_id: BigInt,
        _expected_name: String,
        _response: Option<Buffer>,
    ) -> napi::Result<Promise<bool>> {
        missing(&env, COMPONENT)
    }

    /// Sends a message and waits for its completion.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer | null>")]
    pub fn enqueue_and_wait(
        &self,
        env: Env,
        _name: String,
        _body: Buffer,
        _options: Option<JsQueueEnqueueAndWaitOptions>,
        _signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<Option<Buffer>>> {
        missing(&env, COMPONENT)
    }

    /// The next message, if it is there.
    #[napi(catch_unwind)]
    pub fn try_next(
        &self,
        _options: Option<JsQueueTryNextOptions>,
    ) -> napi::Result<Option<QueueMessage>> {
        missing_now(COMPONENT)
    }

    /// The next messages that are there.
    #[napi(catch_unwind)]
    pub fn try_next_batch(
        &self,
        _options: Option<JsQueueTryNextBatchOptions>,
    ) -> napi::Result<Vec<QueueMessage>> {
        missing_now(COMPONENT)
    }

    /// Deletes all messages.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn reset(&self, env: Env) -> napi::Result<Promise<()>> {
        missing(&env, COMPONENT)
    }

    /// All messages in order; they stay.
    #[napi(catch_unwind)]
    pub fn inspect_messages(&self, env: Env) -> napi::Result<Promise<Vec<JsQueueInspectMessage>>> {
        missing(&env, COMPONENT)
    }

    /// Most messages the queue may hold.
    #[napi(catch_unwind)]
    pub fn max_size(&self) -> u32 {
        self.0.ctx.config().max_queue_size
    }
}

/// One message of a queue.
#[napi]
pub struct QueueMessage {}

#[napi]
impl QueueMessage {
    #[napi(catch_unwind)]
    pub fn id(&self) -> napi::Result<BigInt> {
        missing_now(COMPONENT)
    }

    #[napi(catch_unwind)]
    pub fn name(&self) -> napi::Result<String> {
        missing_now(COMPONENT)
    }

    /// CBOR.
    #[napi(catch_unwind)]
    pub fn body(&self) -> napi::Result<Buffer> {
        missing_now(COMPONENT)
    }

    /// Milliseconds since 1970.
    #[napi(catch_unwind)]
    pub fn created_at(&self) -> napi::Result<f64> {
        missing_now(COMPONENT)
    }

    #[napi(catch_unwind)]
    pub fn is_completable(&self) -> bool {
        false
    }

    /// Deletes the message and answers whoever waits for it.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn complete(&self, env: Env, _response: Option<Buffer>) -> napi::Result<Promise<()>> {
        missing(&env, COMPONENT)
    }
}
