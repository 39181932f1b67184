//! The stream below the WebSocket protocol: reads pass through, writes are whole
//! frames.
//!
//! Data frames were framed by whoever sent them and are written from where they
//! lie, without a copy. The protocol above writes its own frames (pong, close)
//! one at a time, and they take their place in the same queue.
//!
//! Invariant F1: whatever ends a frame ends a buffer of the queue, so frames are
//! never torn by each other.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::frame::WireFrame;

/// Buffers that one system call writes.
const SLICES: usize = 32;
/// What the protocol's own frames may pile up to while the client does not read.
/// A client that pings without reading the pongs waits for nobody else.
const CONTROL_BYTES_MAX: usize = 16 * 1024;

pub(super) struct FrameIo<S> {
    stream: S,
    /// What was read before the protocol began. It reads that from here, too: given
    /// bytes to begin with, it would keep a read buffer of their size ever after,
    /// and make a system call or two for each frame.
    read_ahead: Bytes,
    /// The first may be written in part.
    queue: VecDeque<Bytes>,
    control_bytes: usize,
}

impl<S> FrameIo<S> {
    pub(super) fn new(stream: S, read_ahead: Bytes) -> Self {
        Self {
            stream,
            read_ahead,
            queue: VecDeque::new(),
            control_bytes: 0,
        }
    }

    pub(super) fn stream(&mut self) -> &mut S {
        &mut self.stream
    }

    pub(super) fn push(&mut self, frame: WireFrame) {
        let pieces = frame.into_pieces().into_iter();
        self.queue.extend(pieces.filter(|piece| !piece.is_empty()));
    }

    pub(super) fn is_drained(&self) -> bool {
        self.queue.is_empty()
    }

    fn advance(&mut self, mut written: usize) {
        while let Some(first) = self.queue.front_mut() {
            if written < first.len() {
                first.advance(written);
                return;
            }
            written -= first.len();
            self.queue.pop_front();
        }
    }
}

impl<S: AsyncWrite + Unpin> FrameIo<S> {
    /// Writes everything that is queued.
    pub(super) fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(first) = self.queue.front() {
            let stream = Pin::new(&mut self.stream);
            let written = if self.queue.len() > 1 && stream.is_write_vectored() {
                let mut slices = [io::IoSlice::new(&[]); SLICES];
                let mut count = 0;
                for (slice, piece) in slices.iter_mut().zip(&self.queue) {
                    *slice = io::IoSlice::new(piece);
                    count += 1;
                }
                ready!(stream.poll_write_vectored(cx, &slices[..count]))?
            } else {
                ready!(stream.poll_write(cx, first))?
            };
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.advance(written);
        }
        self.control_bytes = 0;
        if self.queue.capacity() > SLICES {
            self.queue = VecDeque::new();
        }
        Pin::new(&mut self.stream).poll_flush(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FrameIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.read_ahead.is_empty() {
            let length = buf.remaining().min(self.read_ahead.len());
            buf.put_slice(&self.read_ahead.split_to(length));
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FrameIo<S> {
    /// Takes one whole frame (F1).
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        frame: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.control_bytes + frame.len() > CONTROL_BYTES_MAX {
            ready!(self.poll_drain(cx))?;
        }
        self.control_bytes += frame.len();
        self.queue.push_back(Bytes::copy_from_slice(frame));
        Poll::Ready(Ok(frame.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_drain(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn f1_frames_leave_whole_and_in_order_through_a_narrow_pipe() {
        let (near, mut far) = tokio::io::duplex(7);
        let mut io = FrameIo::new(near, Bytes::new());
        let mut expected = Vec::new();
        for n in 0..50u8 {
            let frame = WireFrame::new(vec![n; usize::from(n) * 200].into(), true);
            expected.extend_from_slice(&frame.clone().into_shared());
            io.push(frame);
            io.write_all(&[0x8a, 0]).await.unwrap();
            expected.extend_from_slice(&[0x8a, 0]);
        }
        let send = async move {
            io.flush().await.unwrap();
            assert!(io.is_drained());
        };
        let mut seen = Vec::new();
        let (_, read) = tokio::join!(send, far.read_to_end(&mut seen));
        read.unwrap();
        assert_eq!(seen, expected);
    }

    #[tokio::test]
    async fn pongs_that_nobody_reads_do_not_pile_up() {
        let (near, _far) = tokio::io::duplex(16);
        let mut io = FrameIo::new(near, Bytes::new());
        let flood = async {
            loop {
                io.write_all(&[0x8a, 0]).await.unwrap();
            }
        };
        let stuck = futures_util::FutureExt::now_or_never(flood);
        assert!(stuck.is_none());
        assert!(io.queue.len() <= CONTROL_BYTES_MAX / 2);
    }
}
