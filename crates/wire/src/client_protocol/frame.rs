//! An encoded message whose payload is not copied.

use bytes::{BufMut, Bytes, BytesMut};

/// The bytes of one message or body: what was written for it, followed by the
/// payload it carries, if that stands last in the encoding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    head: Bytes,
    payload: Bytes,
}

impl Frame {
    pub(crate) fn new(head: impl Into<Bytes>, payload: Bytes) -> Self {
        Self {
            head: head.into(),
            payload,
        }
    }

    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::new(bytes, Bytes::new())
    }

    /// Length of the message in bytes; what message limits are measured on.
    pub fn len(&self) -> usize {
        self.head.len() + self.payload.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The two pieces, to be written one after the other without a copy.
    /// Either may be empty.
    pub fn into_parts(self) -> (Bytes, Bytes) {
        (self.head, self.payload)
    }

    /// The message in one piece; copies unless one of the pieces is empty.
    pub fn into_bytes(self) -> Bytes {
        if self.payload.is_empty() {
            return self.head;
        }
        if self.head.is_empty() {
            return self.payload;
        }
        let mut whole = BytesMut::with_capacity(self.len());
        whole.put(self.head);
        whole.put(self.payload);
        whole.freeze()
    }
}

impl From<Frame> for Bytes {
    fn from(frame: Frame) -> Self {
        frame.into_bytes()
    }
}
