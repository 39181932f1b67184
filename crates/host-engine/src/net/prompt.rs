//! A TCP stream that keeps nothing back and ends with a word.
//!
//! Storage answers, lifecycle events and socket messages are small frames in a
//! row. With Nagle's algorithm on our side, or delayed acknowledgements of ours
//! against the engine's, each second frame waits 40 ms; so neither is left on.
//!
//! The client of the session lets go of the stream without the closing handshake,
//! which engines take for a failure and say so at length. It is made here, where
//! the session is not inside TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime;

/// A closing frame with the code 1000. It is masked, as those of clients are, with
/// a key of zeros: nothing in it is chosen by anybody.
const FAREWELL: [u8; 8] = [FINAL | CLOSE, 0x82, 0, 0, 0, 0, 0x03, 0xE8];
const FINAL: u8 = 0x80;
const CLOSE: u8 = 0x08;
/// Time for the engine to close its end.
const CLOSING_TIME: Duration = Duration::from_secs(2);

/// A stream that acknowledges at once what it receives. The system forgets the
/// wish whenever it likes, so it is repeated with every call.
pub(crate) struct Prompt {
    /// There until it is dropped.
    stream: Option<TcpStream>,
    /// What the last write began with; `None` after one that was cut short.
    last_write: Option<u8>,
}

impl Prompt {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self {
            stream: Some(stream),
            last_write: None,
        }
    }

    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        let stream = self.stream.as_mut().map(Pin::new);
        stream.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    #[cfg(target_os = "linux")]
    fn acknowledge(&self) {
        use std::os::fd::AsRawFd;
        let Some(stream) = &self.stream else { return };
        let on: libc::c_int = 1;
        // SAFETY: the descriptor is open, and the option's value is one int. A
        // failure costs time and nothing else.
        unsafe {
            libc::setsockopt(
                stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_QUICKACK,
                (&raw const on).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            );
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn acknowledge(&self) {}
}

impl Drop for Prompt {
    fn drop(&mut self) {
        let (Some(stream), Ok(runtime)) = (self.stream.take(), runtime::Handle::try_current())
        else {
            return;
        };
        // Between two frames only, and not after the request that opens the session:
        // that begins with a letter.
        let is_within = |first: u8| first & FINAL != 0 && first != (FINAL | CLOSE);
        if self.last_write.is_some_and(is_within) {
            // The process may end right after this. Whether it works changes nothing.
            let _ = stream.try_write(&FAREWELL);
        }
        runtime.spawn(end(stream));
    }
}

/// Lets the other side close first: a connection with unread bytes would be reset.
async fn end(mut stream: TcpStream) {
    let mut unread = [0; 4 * 1024];
    let reading = async { while matches!(stream.read(&mut unread).await, Ok(1..)) {} };
    // Who does not close in time is left.
    let _ = tokio::time::timeout(CLOSING_TIME, reading).await;
}

impl AsyncRead for Prompt {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = ready!(self.stream()?.poll_read(cx, into));
        self.acknowledge();
        Poll::Ready(outcome)
    }
}

impl AsyncWrite for Prompt {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = ready!(self.stream()?.poll_write(cx, bytes));
        let is_whole = matches!(outcome, Ok(written) if written == bytes.len());
        self.last_write = bytes.first().copied().filter(|_| is_whole);
        self.acknowledge();
        Poll::Ready(outcome)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_shutdown(cx)
    }
}
