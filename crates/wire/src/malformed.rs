//! The reason why bytes could not be read.
//!
//! Readers of this crate fail with [`Malformed`]; the public decoders turn it
//! into the structured error of the place the bytes came from. It never holds
//! input bytes, so it is safe to log.

use std::borrow::Cow;
use std::fmt;

use greenroom_error::{Error, code};
use serde_json::json;

/// What is wrong with some bytes, in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(Cow<'static, str>);

impl Malformed {
    pub const fn new(reason: &'static str) -> Self {
        Self(Cow::Borrowed(reason))
    }

    pub fn reason(&self) -> &str {
        &self.0
    }

    /// An HTTP body that cannot be decoded: 400, text masked for clients.
    pub fn in_body(self) -> Error {
        Error::new(&code::MALFORMED_BODY).with_metadata(json!({ "error": self.0 }))
    }

    /// A WebSocket message, header or subprotocol that cannot be decoded:
    /// `actor/invalid_request`.
    pub fn in_request(self) -> Error {
        Error::with(&code::ACTOR_INVALID_REQUEST, json!({ "reason": self.0 }))
    }

    /// An outgoing payload that has no form in the receiver's encoding:
    /// `actor/send_failed`.
    pub fn in_outgoing(self) -> Error {
        Error::new(&code::ACTOR_SEND_FAILED).with_metadata(json!({ "error": self.0 }))
    }
}

impl From<serde_json::Error> for Malformed {
    fn from(error: serde_json::Error) -> Self {
        // The text of a data error may quote input, so only its kind and place are kept.
        let (line, column) = (error.line(), error.column());
        Self(Cow::Owned(format!(
            "JSON {:?} error at line {line} column {column}",
            error.classify()
        )))
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

pub(crate) type Read<T> = std::result::Result<T, Malformed>;
