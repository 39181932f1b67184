//! What JavaScript passes to a queue, and how the runtime takes it.

use greenroom_core::{LetterChoice, Receive};
use greenroom_error::Result;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use crate::cancellation_token::CancellationToken;
use crate::numbers;

/// What to receive, and how long to wait for it.
#[napi(object)]
#[derive(Default)]
pub struct JsQueueNextOptions {
    /// Absent or empty means any.
    pub names: Option<Vec<String>>,
    /// Absent means for ever, 0 not at all.
    pub timeout_ms: Option<f64>,
    pub completable: Option<bool>,
}

#[napi(object)]
#[derive(Default)]
pub struct JsQueueNextBatchOptions {
    pub names: Option<Vec<String>>,
    /// Default 1.
    pub count: Option<f64>,
    pub timeout_ms: Option<f64>,
    pub completable: Option<bool>,
}

#[napi(object)]
#[derive(Default)]
pub struct JsQueueWaitOptions {
    pub timeout_ms: Option<f64>,
    pub completable: Option<bool>,
}

#[napi(object)]
pub struct JsQueueEnqueueAndWaitOptions {
    pub timeout_ms: Option<f64>,
}

#[napi(object)]
#[derive(Default)]
pub struct JsQueueTryNextOptions {
    pub names: Option<Vec<String>>,
    pub completable: Option<bool>,
}

#[napi(object)]
#[derive(Default)]
pub struct JsQueueTryNextBatchOptions {
    pub names: Option<Vec<String>>,
    pub count: Option<f64>,
    pub completable: Option<bool>,
}

/// Which dead letters to list.
#[napi(object)]
#[derive(Default)]
pub struct JsDeadLetterListOptions {
    /// Absent means all.
    pub name: Option<String>,
    /// Those with ids above this.
    pub after: Option<BigInt>,
    /// Default 100.
    pub limit: Option<f64>,
}

/// Which dead letters to act on; absent means all.
#[napi(object)]
#[derive(Default)]
pub struct JsDeadLetterChoice {
    pub name: Option<String>,
    pub ids: Option<Vec<BigInt>>,
}

impl JsQueueNextBatchOptions {
    /// Checked, with a signal that ends the wait.
    pub(super) fn receive(self, signal: Option<&CancellationToken>) -> Result<Receive> {
        let count = self.count.map(|count| numbers::count("count", count));
        Ok(Receive {
            names: self.names.unwrap_or_default(),
            count: count.transpose()?.unwrap_or(1),
            timeout: numbers::span("timeoutMs", self.timeout_ms)?,
            completable: self.completable.unwrap_or(false),
            cancelled: CancellationToken::signal(signal),
        })
    }
}

impl From<JsQueueNextOptions> for JsQueueNextBatchOptions {
    fn from(options: JsQueueNextOptions) -> Self {
        Self {
            names: options.names,
            count: None,
            timeout_ms: options.timeout_ms,
            completable: options.completable,
        }
    }
}

impl From<JsQueueTryNextOptions> for JsQueueNextBatchOptions {
    fn from(options: JsQueueTryNextOptions) -> Self {
        Self {
            names: options.names,
            completable: options.completable,
            ..Self::default()
        }
    }
}

impl From<JsQueueTryNextBatchOptions> for JsQueueNextBatchOptions {
    fn from(options: JsQueueTryNextBatchOptions) -> Self {
        Self {
            names: options.names,
            count: options.count,
            completable: options.completable,
            timeout_ms: None,
        }
    }
}

impl JsQueueWaitOptions {
    pub(super) fn with_names(self, names: Vec<String>) -> JsQueueNextBatchOptions {
        JsQueueNextBatchOptions {
            names: Some(names),
            count: None,
            timeout_ms: self.timeout_ms,
            completable: self.completable,
        }
    }
}

impl TryFrom<JsDeadLetterChoice> for LetterChoice {
    type Error = greenroom_error::Error;

    fn try_from(choice: JsDeadLetterChoice) -> Result<Self> {
        let ids = choice.ids.map(|ids| {
            let id = |id| numbers::message_id("ids", id);
            ids.iter().map(id).collect::<Result<_>>()
        });
        Ok(Self {
            name: choice.name,
            ids: ids.transpose()?,
        })
    }
}
