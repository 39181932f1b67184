use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::*;
use crate::websocket::{OutboxLimits, WireFrame};

type Peer = WebSocketStream<DuplexStream>;

async fn socket_at(stream: DuplexStream, clock: Clock) -> ClientSocket<DuplexStream> {
    let options = SocketOptions {
        max_message_bytes: 1_000,
        ..SocketOptions::default()
    };
    let outbox = Outbox::new(OutboxLimits::default());
    ClientSocket::new(stream, &[], outbox, options, clock).await
}

async fn socket_on(stream: DuplexStream) -> ClientSocket<DuplexStream> {
    socket_at(stream, Clock::real()).await
}

async fn pair() -> (ClientSocket<DuplexStream>, Peer) {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let peer = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
    (socket_on(near).await, peer)
}

fn text(text: &str) -> WireFrame {
    WireFrame::new(Bytes::copy_from_slice(text.as_bytes()), false)
}

/// Runs a socket to its end and returns what it read.
async fn serve(mut socket: ClientSocket<DuplexStream>) -> (Vec<Bytes>, Closed) {
    let mut read = Vec::new();
    while let SocketEvent::Message { data, .. } = socket.event(true).await {
        read.push(data);
    }
    (read, socket.finish().await)
}

#[tokio::test]
async fn messages_pass_both_ways_in_order_and_a_close_is_echoed() {
    let (socket, mut peer) = pair().await;
    for n in 0..100 {
        socket.outbox().push(text(&n.to_string())).unwrap();
    }
    let served = tokio::spawn(serve(socket));
    for n in 0..100u8 {
        peer.send(Message::Binary(vec![n].into())).await.unwrap();
    }
    for n in 0..100 {
        let got = peer.next().await.unwrap().unwrap();
        assert_eq!(got, Message::Text(n.to_string().into()));
    }
    let goodbye = CloseFrame {
        code: CloseCode::Normal,
        reason: "Disposed".into(),
    };
    peer.close(Some(goodbye.clone())).await.unwrap();
    let echo = peer.next().await.unwrap().unwrap();
    assert_eq!(echo, Message::Close(Some(goodbye)));
    let (read, closed) = served.await.unwrap();
    assert_eq!(read, (0..100u8).map(|n| vec![n]).collect::<Vec<_>>());
    assert_eq!((closed.code, &*closed.reason), (1000, "Disposed"));
}

#[tokio::test]
async fn our_close_leaves_after_what_was_sent_and_hears_the_answer() {
    let (socket, mut peer) = pair().await;
    socket.outbox().push(text("last")).unwrap();
    socket.outbox().close(Farewell::new(1011, "actor.stopped"));
    let served = tokio::spawn(serve(socket));
    assert_eq!(peer.next().await.unwrap().unwrap(), Message::text("last"));
    let Some(Ok(Message::Close(Some(frame)))) = peer.next().await else {
        panic!("no close frame");
    };
    assert_eq!(
        (u16::from(frame.code), &*frame.reason),
        (1011, "actor.stopped")
    );
    assert!(peer.next().await.is_none());
    assert_eq!(served.await.unwrap().1.code, 1011);
}

#[tokio::test]
async fn what_the_protocol_forbids_ends_the_socket_with_its_reason() {
    let mut too_long = vec![0x82, 0xfe, 0x04, 0x00, 0, 0, 0, 0];
    too_long.resize(8 + 1_024, 0);
    let cases: [(&[u8], u16, &str); 6] = [
        (&too_long, 1011, "message.incoming_too_long"),
        // Fragments that are too long together.
        (
            &[&[0x02, 0xfe, 0x02, 0x00, 0, 0, 0, 0], &[0; 512][..]]
                .concat()
                .repeat(2),
            1002,
            "ws.protocol_error",
        ),
        (
            &[0x81, 0x82, 0, 0, 0, 0, 0xff, 0xff],
            1007,
            "message.invalid_utf8",
        ),
        (&[0x82, 0x01, 7], 1002, "ws.protocol_error"),
        (&[0xc2, 0x80, 0, 0, 0, 0], 1002, "ws.protocol_error"),
        (&[0x83, 0x80, 0, 0, 0, 0], 1002, "ws.protocol_error"),
    ];
    for (bytes, code, reason) in cases {
        let (near, mut far) = tokio::io::duplex(64 * 1024);
        let served = tokio::spawn(serve(socket_on(near).await));
        far.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        let head = far.read_u16().await.unwrap();
        assert_eq!(head >> 8, 0x88, "a close frame");
        answer.resize(usize::from(head & 0x7f), 0);
        far.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer[..2], code.to_be_bytes());
        assert_eq!(std::str::from_utf8(&answer[2..]).unwrap(), reason);
        // Our side is closed; the client may still send without harm.
        far.write_all(&[0; 2_000]).await.unwrap();
        assert_eq!(far.read(&mut [0; 8]).await.unwrap(), 0);
        drop(far);
        assert!(served.await.unwrap().0.is_empty());
    }
}

#[tokio::test]
async fn messages_stay_with_the_client_while_nobody_reads() {
    let (near, far) = tokio::io::duplex(256);
    let mut peer = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
    let mut socket = socket_on(near).await;
    let flood = tokio::spawn(async move {
        for n in 0..100u8 {
            peer.send(Message::Binary(vec![n; 100].into()))
                .await
                .unwrap();
        }
        peer
    });
    socket.outbox().push(text("still sends")).unwrap();
    let held_back = socket.event(false);
    let waited = tokio::time::timeout(Duration::from_millis(50), held_back).await;
    assert!(waited.is_err() && !flood.is_finished());
    for n in 0..100u8 {
        let SocketEvent::Message { data, .. } = socket.event(true).await else {
            panic!("over");
        };
        assert_eq!(data, vec![n; 100]);
    }
    flood.await.unwrap();
}

#[tokio::test]
async fn a_client_that_answers_pings_stays_and_one_that_is_gone_does_not() {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let mut peer = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
    let (clock, time) = Clock::manual(0);
    let served = tokio::spawn(serve(socket_at(near, clock.clone()).await));
    let second = Duration::from_secs(1);
    for _ in 0..3 {
        settle().await;
        // Silence begins when the last answer was heard.
        while !time.advance_to_next(clock.now() + 31 * second) {}
        assert_eq!(
            peer.next().await.unwrap().unwrap(),
            Message::Ping(Bytes::new())
        );
        peer.flush().await.unwrap();
        settle().await;
        assert!(time.armed() > 0 && !served.is_finished());
        time.advance(20 * second);
    }
    // From here on nobody answers, and the socket is not closed either.
    let _mute = peer;
    for _ in 0..3 {
        settle().await;
        time.advance_to_next(clock.now() + 31 * second);
    }
    let (_, closed) = served.await.unwrap();
    assert_eq!(closed.code, 1006);
}

#[tokio::test]
async fn a_client_that_never_answers_the_goodbye_is_left() {
    let (near, _far) = tokio::io::duplex(8);
    let (clock, time) = Clock::manual(0);
    let socket = socket_at(near, clock).await;
    socket
        .outbox()
        .push(text("more than fits the pipe"))
        .unwrap();
    socket.outbox().close(Farewell::new(1000, "bye"));
    let served = tokio::spawn(serve(socket));
    settle().await;
    time.advance(Duration::from_millis(4_999));
    settle().await;
    assert!(!served.is_finished());
    time.advance(Duration::from_millis(1));
    assert_eq!(served.await.unwrap().1.code, 1006);
}

/// Lets every task that can run do so; the test's runtime has one thread.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_overflow_ends_the_socket_although_the_client_reads_nothing() {
    let (near, _far) = tokio::io::duplex(8);
    let limits = OutboxLimits {
        bytes: 64,
        frames: 99,
    };
    let outbox = Outbox::new(limits);
    let mut socket = ClientSocket::new(
        near,
        &[],
        outbox.clone(),
        SocketOptions::default(),
        Clock::real(),
    )
    .await;
    let frame = || text(&"x".repeat(60));
    outbox.push(frame()).unwrap();
    // The first frame moves on to the pipe and is stuck there.
    assert!(futures_util::FutureExt::now_or_never(socket.event(true)).is_none());
    outbox.push(frame()).unwrap();
    assert!(outbox.push(frame()).is_err());
    assert_eq!(socket.event(true).await, SocketEvent::Over);
}

#[tokio::test]
async fn bytes_that_came_with_the_upgrade_are_read_first() {
    let (near, far) = tokio::io::duplex(64);
    let outbox = Outbox::new(OutboxLimits::default());
    let frame = [0x81, 0x82, 0, 0, 0, 0, b'h', b'i'];
    let socket = ClientSocket::new(
        near,
        &frame,
        outbox,
        SocketOptions::default(),
        Clock::real(),
    )
    .await;
    drop(far);
    let (read, closed) = serve(socket).await;
    assert_eq!(read, ["hi"]);
    assert_eq!(closed.code, 1006);
}

/// A stream that counts how often it is read from.
struct Counted(DuplexStream, Arc<AtomicUsize>);

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[tokio::test]
async fn small_messages_that_wait_together_are_read_together() {
    const MESSAGES: usize = 400;
    let (near, far) = tokio::io::duplex(64 * 1024);
    let mut peer = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
    for _ in 0..MESSAGES {
        peer.send(Message::Binary(vec![7; 80].into()))
            .await
            .unwrap();
    }
    let reads = Arc::new(AtomicUsize::new(0));
    let outbox = Outbox::new(OutboxLimits::default());
    let stream = Counted(near, Arc::clone(&reads));
    let options = SocketOptions::default();
    let mut socket = ClientSocket::new(stream, &[], outbox, options, Clock::real()).await;
    for _ in 0..MESSAGES {
        let event = socket.event(true).await;
        assert!(matches!(event, SocketEvent::Message { .. }));
    }
    let reads = reads.load(Ordering::Relaxed);
    assert!(reads <= MESSAGES / 10, "{reads} reads");
}
