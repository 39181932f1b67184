//! A socket that gives up on a peer that takes nothing.
//!
//! Without it a client that never reads holds a response in memory for ever. A
//! connection with nothing to write is not stalled.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use greenroom_core::{Clock, clock::Sleep};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(super) struct StallGuard<T> {
    socket: T,
    clock: Clock,
    longest: Duration,
    /// Armed while a write waits.
    stalled: Option<Sleep>,
}

impl<T> StallGuard<T> {
    pub(super) fn new(socket: T, clock: Clock, longest: Duration) -> Self {
        Self {
            socket,
            clock,
            longest,
            stalled: None,
        }
    }

    pub(super) fn into_inner(self) -> T {
        self.socket
    }

    /// Only bytes taken count: a flush that succeeds has nothing to say about a
    /// write that waits.
    fn watch(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let Self { clock, longest, .. } = self;
        let stalled = self.stalled.get_or_insert_with(|| clock.sleep(*longest));
        match Pin::new(stalled).poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for StallGuard<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for StallGuard<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, buf);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, bufs);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const LONGEST: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_peer_that_takes_nothing_is_given_up_and_a_slow_one_is_not() {
        let (clock, hands) = Clock::manual(0);
        let (socket, mut peer) = tokio::io::duplex(4);
        let mut guarded = StallGuard::new(socket, clock, LONGEST);
        let writing = tokio::spawn(async move { guarded.write_all(&[7; 12]).await });
        for _ in 0..2 {
            while hands.armed() == 0 {
                tokio::task::yield_now().await;
            }
            hands.advance(LONGEST - Duration::from_millis(1));
            let mut taken = [0; 4];
            peer.read_exact(&mut taken).await.unwrap();
            assert_eq!(taken, [7; 4]);
        }
        assert!(writing.await.unwrap().is_ok(), "the last four bytes fit");

        let (clock, hands) = Clock::manual(0);
        let (socket, _peer) = tokio::io::duplex(4);
        let mut guarded = StallGuard::new(socket, clock, LONGEST);
        let writing = tokio::spawn(async move { guarded.write_all(&[7; 12]).await });
        while hands.armed() == 0 {
            tokio::task::yield_now().await;
        }
        hands.advance(LONGEST);
        let error = writing.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
