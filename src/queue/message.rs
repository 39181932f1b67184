//! `QueueMessage`: one message of a queue.

use std::sync::Arc;

use greenroom_error::{Error, code};
use napi::bindgen_prelude::{BigInt, Env};
use napi_derive::napi;

use crate::bridge::{Buffer, Promise, enter, promise};
use crate::{numbers, runtime};

#[napi]
pub struct QueueMessage(Arc<greenroom_core::QueueMessage>);

impl From<greenroom_core::QueueMessage> for QueueMessage {
    fn from(message: greenroom_core::QueueMessage) -> Self {
        Self(Arc::new(message))
    }
}

/// The published form of "completed already".
fn published(error: Error) -> Error {
    if error.is(&code::QUEUE_ALREADY_COMPLETED) {
        return Error::invalid_state("queue message", "already completed");
    }
    error
}

#[napi]
impl QueueMessage {
    #[napi(catch_unwind)]
    pub fn id(&self) -> BigInt {
        BigInt::from(self.0.id())
    }

    #[napi(catch_unwind)]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// CBOR.
    #[napi(catch_unwind)]
    pub fn body(&self) -> Buffer {
        self.0.body().clone().into()
    }

    /// Milliseconds since 1970.
    #[napi(catch_unwind)]
    pub fn created_at(&self) -> f64 {
        self.0.created_at() as f64
    }

    #[napi(catch_unwind)]
    pub fn is_completable(&self) -> bool {
        self.0.is_completable()
    }

    /// Deletes the message and answers whoever waits for it.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn complete(&self, env: Env, response: Option<Buffer>) -> napi::Result<Promise<()>> {
        let message = Arc::clone(&self.0);
        let response = response.map(|response| response.0);
        enter(&env, |scope| {
            let complete = async move { message.complete(response).await.map_err(published) };
            promise(scope, runtime::begin(complete))
        })
    }

    /// Number of this delivery, from 1; null in a queue without a policy.
    #[napi(catch_unwind)]
    pub fn attempt(&self) -> Option<u32> {
        self.0.attempt()
    }

    /// Gives the message back, to be delivered again after a pause. Default: the
    /// queue's backoff.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn retry(
        &self,
        env: Env,
        after_ms: Option<f64>,
        reason: Option<String>,
    ) -> napi::Result<Promise<()>> {
        let message = Arc::clone(&self.0);
        enter(&env, |scope| {
            let retry = async move {
                let after = numbers::span("afterMs", after_ms)?;
                message.retry(after, reason).await.map_err(published)
            };
            promise(scope, runtime::begin(retry))
        })
    }

    /// Gives the message up, whatever attempts are left.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn fail(&self, env: Env, reason: String) -> napi::Result<Promise<()>> {
        let message = Arc::clone(&self.0);
        enter(&env, |scope| {
            let fail = async move { message.fail(reason).await.map_err(published) };
            promise(scope, runtime::begin(fail))
        })
    }
}
