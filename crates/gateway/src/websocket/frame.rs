//! One data frame as it goes over the wire to a client.
//!
//! A server's frames carry no mask, so the same bytes serve every client: a
//! broadcast is framed once and shared.

use bytes::{BufMut, Bytes, BytesMut};
use greenroom_wire::client_protocol::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

/// Payloads up to this are copied behind their header; one piece is then cheaper
/// to write than two.
const COPY_BYTES_MAX: usize = 4 * 1024;

/// Longest header of a frame without a mask.
const HEADER_BYTES_MAX: usize = 10;

/// A whole, unfragmented data frame, in one piece or two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireFrame {
    head: Bytes,
    payload: Bytes,
}

impl WireFrame {
    /// Frames a message; text if not `binary`. The caller vouches that text is
    /// UTF-8.
    pub fn new(message: Bytes, binary: bool) -> Self {
        Self::of_parts(Bytes::new(), message, binary)
    }

    /// Frames a message of the client protocol without copying a large payload.
    pub fn of_message(message: Frame, binary: bool) -> Self {
        let (head, payload) = message.into_parts();
        Self::of_parts(head, payload, binary)
    }

    fn of_parts(head: Bytes, payload: Bytes, binary: bool) -> Self {
        let length = head.len() + payload.len();
        let copied = if length <= COPY_BYTES_MAX {
            length
        } else {
            head.len()
        };
        let mut out = BytesMut::with_capacity(HEADER_BYTES_MAX + copied).writer();
        let header = FrameHeader {
            opcode: OpCode::Data(if binary { Data::Binary } else { Data::Text }),
            ..FrameHeader::default()
        };
        header
            .format(length as u64, &mut out)
            .expect("writing to memory does not fail");
        let mut out = out.into_inner();
        out.put(head);
        if length <= COPY_BYTES_MAX {
            out.put(payload);
            return Self::from_shared(out.freeze());
        }
        Self {
            head: out.freeze(),
            payload,
        }
    }

    /// The frame in one piece, for sharing.
    pub fn into_shared(self) -> Bytes {
        if self.payload.is_empty() {
            return self.head;
        }
        [self.head, self.payload].concat().into()
    }

    /// A frame that was framed before, by [`Self::into_shared`].
    pub fn from_shared(frame: Bytes) -> Self {
        Self {
            head: frame,
            payload: Bytes::new(),
        }
    }

    /// Length on the wire, header included.
    pub fn len(&self) -> usize {
        self.head.len() + self.payload.len()
    }

    /// Length of the message inside.
    pub fn message_len(&self) -> usize {
        match self.head.get(1) {
            Some(0..=125) => self.len() - 2,
            Some(126) => self.len() - 4,
            _ => self.len().saturating_sub(HEADER_BYTES_MAX),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn into_pieces(self) -> [Bytes; 2] {
        [self.head, self.payload]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_the_shortest_header_and_no_mask() {
        let small = WireFrame::new(Bytes::from_static(b"hi"), false).into_shared();
        assert_eq!(small, b"\x81\x02hi".as_slice());
        let medium = WireFrame::new(vec![7; 126].into(), true).into_shared();
        assert_eq!(medium[..4], [0x82, 126, 0, 126]);
        let large = WireFrame::new(vec![7; 70_000].into(), true);
        assert_eq!(large.len(), 70_000 + 10);
        assert_eq!(large.clone().into_shared()[..4], [0x82, 127, 0, 0]);
    }

    #[test]
    fn the_message_is_measured_without_its_header() {
        for length in [0, 1, 125, 126, 5_000, 65_535, 65_536] {
            let frame = WireFrame::new(vec![0; length].into(), true);
            assert_eq!(frame.message_len(), length);
        }
    }

    #[test]
    fn a_large_payload_is_shared() {
        let payload = Bytes::from(vec![7; COPY_BYTES_MAX + 1]);
        let [head, tail] = WireFrame::new(payload.clone(), true).into_pieces();
        assert_eq!(head.len(), 4);
        assert_eq!(tail.as_ptr(), payload.as_ptr());
    }
}
