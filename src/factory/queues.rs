//! Delivery of an actor type's queues, as JavaScript gives it.

use std::collections::BTreeMap;
use std::time::Duration;

use greenroom_core::{Backoff, QueuePolicy};
use greenroom_error::{Error, Result};
use napi_derive::napi;

use crate::numbers;

/// Pause before a message that was given back is delivered again.
#[napi(object)]
pub struct JsQueueBackoff {
    /// After the first attempt. Default 1,000.
    pub initial_ms: Option<f64>,
    /// Growth with each further one, at least 1. Default 2.
    pub factor: Option<f64>,
    /// Longest pause. Default 300,000.
    pub max_ms: Option<f64>,
}

/// How messages of one queue are delivered when receivers may fail.
#[napi(object)]
pub struct JsQueuePolicy {
    pub name: String,
    /// Deliveries before a message is given up, at least 1. Default 5.
    pub max_attempts: Option<f64>,
    /// Time to complete a message, more than 0. Default 30,000.
    pub visibility_timeout_ms: Option<f64>,
    pub backoff: Option<JsQueueBackoff>,
    /// Keep what was given up. Default true.
    pub dead_letter: Option<bool>,
}

pub(super) fn check(queues: Vec<JsQueuePolicy>) -> Result<BTreeMap<String, QueuePolicy>> {
    queues.into_iter().map(policy).collect()
}

fn policy(given: JsQueuePolicy) -> Result<(String, QueuePolicy)> {
    let mut policy = QueuePolicy::default();
    if let Some(most) = given.max_attempts {
        policy.max_attempts = numbers::count("maxAttempts", most)?;
        positive("maxAttempts", policy.max_attempts > 0)?;
    }
    if let Some(timeout) = numbers::span("visibilityTimeoutMs", given.visibility_timeout_ms)? {
        policy.visibility_timeout = timeout;
        positive("visibilityTimeoutMs", timeout > Duration::ZERO)?;
    }
    if let Some(backoff) = given.backoff {
        policy.backoff = pauses(backoff)?;
    }
    policy.dead_letters = given.dead_letter.unwrap_or(policy.dead_letters);
    Ok((given.name, policy))
}

fn pauses(given: JsQueueBackoff) -> Result<Backoff> {
    let default = Backoff::default();
    let factor = given.factor.unwrap_or(default.factor);
    if !(factor.is_finite() && factor >= 1.0) {
        return Err(Error::invalid_argument("factor", "must be at least 1"));
    }
    Ok(Backoff {
        initial: numbers::span("initialMs", given.initial_ms)?.unwrap_or(default.initial),
        factor,
        max: numbers::span("maxMs", given.max_ms)?.unwrap_or(default.max),
    })
}

fn positive(name: &str, holds: bool) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Error::invalid_argument(name, "must be more than 0"))
}
