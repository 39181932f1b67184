//! `Queue`: the durable queue of one actor.

mod letters;
mod message;
mod options;

use std::sync::Arc;
use std::time::Duration;

use greenroom_core::{ActorContext, Outgoing, Receive};
use greenroom_error::{Error, Result, code};
use napi::bindgen_prelude::{BigInt, Env};
use napi_derive::napi;
use serde_json::json;

use crate::actor::ActorShared;
use crate::bridge::{Buffer, Promise, to_napi};
use crate::cancellation_token::CancellationToken;
use crate::{numbers, runtime};

use message::QueueMessage;
use options::{
    JsQueueEnqueueAndWaitOptions, JsQueueNextBatchOptions, JsQueueNextOptions,
    JsQueueTryNextBatchOptions, JsQueueTryNextOptions, JsQueueWaitOptions,
};

/// Longest time the JavaScript thread is blocked. The database may be waiting for
/// that very thread, in a transaction that user code holds open.
const BLOCK_MAX: Duration = Duration::from_secs(5);

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

    fn take_now(&self, options: JsQueueNextBatchOptions) -> Result<Vec<QueueMessage>> {
        let receive = options.receive(None)?;
        let ctx = &self.0.ctx;
        let taken = runtime::block_on(async {
            // Real time on purpose: it is the thread that must go on.
            tokio::time::timeout(BLOCK_MAX, ctx.queue_try_next_batch(&receive)).await
        });
        // What is taken after that goes back by itself.
        let messages = taken.map_err(|_| {
            let timeout_ms = BLOCK_MAX.as_millis() as u64;
            Error::with(&code::QUEUE_TIMED_OUT, json!({ "timeout_ms": timeout_ms }))
        })??;
        Ok(messages.into_iter().map(QueueMessage::from).collect())
    }
}

fn outgoing(name: String, body: Buffer) -> Outgoing {
    Outgoing {
        name,
        body: body.0,
        ..Outgoing::default()
    }
}

async fn next_batch(ctx: ActorContext, receive: Result<Receive>) -> Result<Vec<QueueMessage>> {
    let messages = ctx.queue_next_batch(receive?).await?;
    Ok(messages.into_iter().map(QueueMessage::from).collect())
}

#[napi]
impl Queue {
    /// Stores a message.
    #[napi(catch_unwind)]
    pub fn send(
        &self,
        env: Env,
        name: String,
        body: Buffer,
    ) -> napi::Result<Promise<QueueMessage>> {
        self.0.run(env, |ctx| async move {
            let sent = ctx.queue_send(outgoing(name, body)).await?;
            Ok(QueueMessage::from(sent))
        })
    }

    /// The next message; null when the time is up.
    #[napi(catch_unwind, ts_return_type = "Promise<QueueMessage | null>")]
    pub fn next(
        &self,
        env: Env,
        options: Option<JsQueueNextOptions>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<Option<QueueMessage>>> {
        let options = JsQueueNextBatchOptions::from(options.unwrap_or_default());
        let receive = options.receive(signal);
        self.0.run(env, |ctx| async move {
            Ok(next_batch(ctx, receive).await?.pop())
        })
    }

    /// The next messages; none when the time is up.
    #[napi(catch_unwind)]
    pub fn next_batch(
        &self,
        env: Env,
        options: Option<JsQueueNextBatchOptions>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<Vec<QueueMessage>>> {
        let receive = options.unwrap_or_default().receive(signal);
        self.0.run(env, |ctx| next_batch(ctx, receive))
    }

    /// The next message of the given names; rejects when the time is up.
    #[napi(catch_unwind)]
    pub fn wait_for_names(
        &self,
        env: Env,
        names: Vec<String>,
        options: Option<JsQueueWaitOptions>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<QueueMessage>> {
        let receive = options.unwrap_or_default().with_names(names);
        let receive = receive.receive(signal);
        self.0.run(env, |ctx| async move {
            let message = ctx.queue_wait_for_names(receive?).await?;
            Ok(QueueMessage::from(message))
        })
    }

    /// Resolves when there is such a message, which stays where it is.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn wait_for_names_available(
        &self,
        env: Env,
        names: Vec<String>,
        options: Option<JsQueueWaitOptions>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<()>> {
        let receive = options.unwrap_or_default().with_names(names);
        let receive = receive.receive(signal);
        self.0.run(env, |ctx| async move {
            ctx.queue_wait_for_names_available(receive?).await
        })
    }

    /// Completes a message by id; false if it is gone.
    #[napi(catch_unwind)]
    pub fn complete_persisted(
        &self,
        env: Env,
        message_id: BigInt,
        expected_name: String,
        response: Option<Buffer>,
    ) -> napi::Result<Promise<bool>> {
        let id = numbers::message_id("messageId", &message_id);
        let response = response.map(|response| response.0);
        self.0.run(env, |ctx| async move {
            ctx.queue_complete_persisted(id?, expected_name, response)
                .await
        })
    }

    /// Sends a message and waits for its completion.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer | null>")]
    pub fn enqueue_and_wait(
        &self,
        env: Env,
        name: String,
        body: Buffer,
        options: Option<JsQueueEnqueueAndWaitOptions>,
        signal: Option<&CancellationToken>,
    ) -> napi::Result<Promise<Option<Buffer>>> {
        let timeout = numbers::span("timeoutMs", options.and_then(|o| o.timeout_ms));
        let cancelled = CancellationToken::signal(signal);
        self.0.run(env, |ctx| async move {
            let message = outgoing(name, body);
            let answered = ctx.queue_enqueue_and_wait(message, timeout?, cancelled);
            Ok(answered.await?.map(Buffer))
        })
    }

    /// The next message, if it is there.
    #[napi(catch_unwind)]
    pub fn try_next(
        &self,
        options: Option<JsQueueTryNextOptions>,
    ) -> napi::Result<Option<QueueMessage>> {
        let taken = self.take_now(options.unwrap_or_default().into());
        let message = taken.map(|mut messages| messages.pop());
        message.map_err(|error| to_napi(&error))
    }

    /// The next messages that are there.
    #[napi(catch_unwind)]
    pub fn try_next_batch(
        &self,
        options: Option<JsQueueTryNextBatchOptions>,
    ) -> napi::Result<Vec<QueueMessage>> {
        let taken = self.take_now(options.unwrap_or_default().into());
        taken.map_err(|error| to_napi(&error))
    }

    /// Deletes all messages.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn reset(&self, env: Env) -> napi::Result<Promise<()>> {
        self.0
            .run(env, |ctx| async move { ctx.queue_reset().await })
    }

    /// All messages in order; they stay.
    #[napi(catch_unwind)]
    pub fn inspect_messages(&self, env: Env) -> napi::Result<Promise<Vec<JsQueueInspectMessage>>> {
        self.0.run(env, |ctx| async move {
            let heads = ctx.queue_inspect().await?.into_iter();
            let message = heads.map(|head| JsQueueInspectMessage {
                id: head.id as f64,
                name: head.name,
                created_at_ms: head.created_at as f64,
            });
            Ok(message.collect())
        })
    }

    /// Most messages the queue may hold.
    #[napi(catch_unwind)]
    pub fn max_size(&self) -> u32 {
        self.0.ctx.queue_max_size()
    }
}
