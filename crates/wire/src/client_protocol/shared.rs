//! One message for many connections.

use std::sync::OnceLock;

use bytes::Bytes;
use greenroom_error::Result;

use super::ToClient;
use crate::Encoding;

/// A message that is encoded at most once per encoding, however many
/// connections it goes to.
#[derive(Debug)]
pub struct SharedMessage {
    message: ToClient,
    encoded: [OnceLock<Bytes>; Encoding::ALL.len()],
}

impl SharedMessage {
    pub fn new(message: ToClient) -> Self {
        Self {
            message,
            encoded: Default::default(),
        }
    }

    pub fn message(&self) -> &ToClient {
        &self.message
    }

    /// The message in one encoding. Threads that ask first at the same moment
    /// may both encode; all get the same bytes.
    ///
    /// # Errors
    /// As [`ToClient::encode`].
    pub fn encode(&self, encoding: Encoding) -> Result<Bytes> {
        let slot = &self.encoded[encoding.index()];
        if let Some(bytes) = slot.get() {
            return Ok(bytes.clone());
        }
        let bytes = self.message.encode(encoding)?.into_bytes();
        Ok(slot.get_or_init(|| bytes).clone())
    }
}
