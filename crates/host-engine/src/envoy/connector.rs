//! The byte stream under the session.
//!
//! Storage answers, lifecycle events and socket messages are small frames in a
//! row. With Nagle's algorithm on our side, or delayed acknowledgements of ours
//! against the engine's, each second frame waits 40 ms; so neither is left on.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rivet_envoy_client::callbacks::BoxFuture;
use rivet_envoy_client::config::{EnvoyConnector, EnvoyStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::api::Address;

/// Connects over plain TCP.
pub(super) struct Tcp(Address);

/// The connector for an endpoint; `None` where the client's own has to do, because
/// it brings TLS.
pub(super) fn of(endpoint: &str) -> Option<Tcp> {
    Address::parse(endpoint).ok().map(Tcp)
}

impl EnvoyConnector for Tcp {
    fn connect(&self, _url: &str) -> BoxFuture<anyhow::Result<EnvoyStream>> {
        let address = self.0.clone();
        Box::pin(async move {
            let stream = TcpStream::connect((address.host(), address.port())).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(Prompt(stream)) as EnvoyStream)
        })
    }
}

/// A stream that acknowledges at once what it receives. The system forgets the
/// wish whenever it likes, so it is repeated with every call.
struct Prompt(TcpStream);

impl Prompt {
    #[cfg(target_os = "linux")]
    fn acknowledge(&self) {
        use std::os::fd::AsRawFd;
        let on: libc::c_int = 1;
        // SAFETY: the descriptor is open, and the option's value is one int. A
        // failure costs time and nothing else.
        unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
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

impl AsyncRead for Prompt {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = ready!(Pin::new(&mut self.0).poll_read(cx, into));
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
        let outcome = ready!(Pin::new(&mut self.0).poll_write(cx, bytes));
        self.acknowledge();
        Poll::Ready(outcome)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
