//! Numbers of a queue, and the messages it has given up.

use greenroom_core::LetterChoice;
use greenroom_store::{DeadLetter, QueueStats};
use napi::bindgen_prelude::{BigInt, Env};
use napi_derive::napi;

use super::Queue;
use super::options::{JsDeadLetterChoice, JsDeadLetterListOptions};
use crate::bridge::{Buffer, Promise};
use crate::numbers;

/// Dead letters listed if the caller does not say.
const LIMIT_DEFAULT: u32 = 100;

/// How many messages are where.
#[napi(object)]
pub struct JsQueueStats {
    /// Messages in the queue, with those in flight and delayed.
    pub depth: f64,
    /// Held by a receiver until completed or timed out.
    pub in_flight: f64,
    /// Waiting for their next attempt.
    pub delayed: f64,
    /// Given up and kept.
    pub dead: f64,
    /// Milliseconds since the oldest message was sent.
    pub oldest_age_ms: Option<f64>,
}

impl JsQueueStats {
    fn new(stats: QueueStats, now_ms: i64) -> Self {
        // A clock that was set back makes nothing younger than new.
        let age = |sent_ms| now_ms.saturating_sub(sent_ms).max(0) as f64;
        Self {
            depth: stats.depth as f64,
            in_flight: stats.in_flight as f64,
            delayed: stats.delayed as f64,
            dead: stats.dead as f64,
            oldest_age_ms: stats.oldest_at.map(age),
        }
    }
}

/// A message that was given up.
#[napi(object)]
pub struct JsDeadLetter {
    pub id: BigInt,
    pub name: String,
    /// CBOR.
    pub body: Buffer,
    pub created_at: f64,
    /// Deliveries before it was given up.
    pub attempts: u32,
    pub reason: String,
    pub died_at: f64,
}

impl From<DeadLetter> for JsDeadLetter {
    fn from(letter: DeadLetter) -> Self {
        let message = letter.message;
        Self {
            id: BigInt::from(message.id),
            name: message.name,
            body: message.body.into(),
            created_at: message.created_at as f64,
            attempts: letter.attempts,
            reason: letter.reason,
            died_at: letter.died_at as f64,
        }
    }
}

#[napi]
impl Queue {
    /// Numbers of one queue name, or of all.
    #[napi(catch_unwind)]
    pub fn stats(&self, env: Env, name: Option<String>) -> napi::Result<Promise<JsQueueStats>> {
        self.0.run(env, |ctx| async move {
            let stats = ctx.queue_stats(name).await?;
            Ok(JsQueueStats::new(stats, ctx.clock().now_ms()))
        })
    }

    /// Dead letters by id.
    #[napi(catch_unwind)]
    pub fn dead_letters(
        &self,
        env: Env,
        options: Option<JsDeadLetterListOptions>,
    ) -> napi::Result<Promise<Vec<JsDeadLetter>>> {
        let JsDeadLetterListOptions { name, after, limit } = options.unwrap_or_default();
        self.0.run(env, |ctx| async move {
            let after = after.map(|id| numbers::message_id("after", &id));
            let limit = limit.map(|limit| numbers::count("limit", limit));
            let (after, limit) = (after.transpose()?, limit.transpose()?);
            let letters = ctx
                .dead_letters(name, after.unwrap_or(0), limit.unwrap_or(LIMIT_DEFAULT))
                .await?;
            Ok(letters.into_iter().map(JsDeadLetter::from).collect())
        })
    }

    /// Sends dead letters again; resolves to how many.
    #[napi(catch_unwind)]
    pub fn replay_dead_letters(
        &self,
        env: Env,
        choice: Option<JsDeadLetterChoice>,
    ) -> napi::Result<Promise<f64>> {
        let choice = LetterChoice::try_from(choice.unwrap_or_default());
        self.0.run(env, |ctx| async move {
            Ok(ctx.replay_dead_letters(choice?).await? as f64)
        })
    }

    /// Deletes dead letters; resolves to how many.
    #[napi(catch_unwind)]
    pub fn purge_dead_letters(
        &self,
        env: Env,
        choice: Option<JsDeadLetterChoice>,
    ) -> napi::Result<Promise<f64>> {
        let choice = LetterChoice::try_from(choice.unwrap_or_default());
        self.0.run(env, |ctx| async move {
            Ok(ctx.purge_dead_letters(choice?).await? as f64)
        })
    }
}
