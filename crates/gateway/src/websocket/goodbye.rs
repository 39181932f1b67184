//! The end of a socket's life: last frames, close handshake, connection.

use std::future::poll_fn;
use std::pin::Pin;

use futures_util::{Sink, Stream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message};

use super::outbox::Farewell;
use super::socket::{ClientSocket, Closed, End, closed};

impl<S: AsyncRead + AsyncWrite + Unpin> ClientSocket<S> {
    /// Says goodbye: sends what is left and the close frame, hears the client's,
    /// and closes the connection. Takes [`SocketOptions::close_timeout`] at most.
    ///
    /// Boxed, because whoever serves a socket would have the room for its goodbye
    /// set aside all its life.
    pub fn finish(self) -> impl Future<Output = Closed> {
        Box::pin(self.say_goodbye())
    }

    async fn say_goodbye(mut self) -> Closed {
        let end = match self.end.take() {
            Some(end) => end,
            None => End::Ours(self.outbox().closed(Farewell::new(1000, ""))),
        };
        let (time, clock) = (self.options.close_timeout, self.clock.clone());
        match end {
            End::Lost => Closed::abnormal(),
            End::Peer(closed) => {
                // The protocol owes the echo; reading on sends it.
                let echoed = async {
                    while poll_fn(|cx| Pin::new(&mut self.stream).poll_next(cx))
                        .await
                        .is_some()
                    {}
                    self.close_stream().await;
                };
                let _ = clock.timeout(time, echoed).await;
                closed
            }
            End::Ours(farewell) => {
                let mut heard = None;
                let _ = clock
                    .timeout(time, async {
                        self.say(&farewell).await?;
                        heard = self.hear_close().await;
                        self.close_stream().await;
                        Some(())
                    })
                    .await;
                heard.unwrap_or_else(Closed::abnormal)
            }
            End::Failed(farewell) => {
                let _ = clock
                    .timeout(time, async {
                        self.say(&farewell).await?;
                        self.linger().await;
                        Some(())
                    })
                    .await;
                Closed::abnormal()
            }
        }
    }

    /// Sends what waits, then the close frame.
    async fn say(&mut self, farewell: &Farewell) -> Option<()> {
        poll_fn(|cx| self.poll_send(cx)).await.ok()?;
        let frame = CloseFrame {
            code: farewell.code.into(),
            reason: farewell.reason.as_str().into(),
        };
        let close = Message::Close(Some(frame));
        Pin::new(&mut self.stream).start_send(close).ok()?;
        let io = self.stream.get_mut();
        poll_fn(|cx| io.poll_drain(cx)).await.ok()
    }

    /// Reads past messages to the client's close frame.
    async fn hear_close(&mut self) -> Option<Closed> {
        loop {
            let next = poll_fn(|cx| Pin::new(&mut self.stream).poll_next(cx)).await;
            match next? {
                Ok(Message::Close(frame)) => return Some(closed(frame)),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }

    /// Ends our side and reads what the client still sends until it ends its own.
    /// Closing with unread data would reset the connection, and the client might
    /// never see the reason.
    async fn linger(&mut self) {
        let stream = self.stream.get_mut().stream();
        if stream.shutdown().await.is_err() {
            return;
        }
        let mut scratch = [0; 4096];
        while matches!(stream.read(&mut scratch).await, Ok(count) if count > 0) {}
    }

    async fn close_stream(&mut self) {
        // A client that has closed already cannot be told.
        let _ = self.stream.get_mut().shutdown().await;
    }
}
