//! A bare HTTP client, and one that sends bytes as they are.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use greenroom_host_embedded::{EmbeddedHost, ListenOptions, Listener};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::client::conn::http1::SendRequest;
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub type BoxedBody = BoxBody<Bytes, std::io::Error>;

/// One kept-alive connection.
pub struct Client(SendRequest<BoxedBody>);

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: http::HeaderMap,
    pub body: Bytes,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .get(name)
            .map(|value| value.to_str().expect("ASCII"))
    }

    /// `group.code` of an error body, with its status.
    pub fn error(&self) -> (u16, String) {
        let json = self.json();
        let text = |name: &str| json[name].as_str().unwrap_or("?").to_owned();
        (self.status, format!("{}.{}", text("group"), text("code")))
    }
}

/// A listener on a free port.
pub async fn listen(host: &EmbeddedHost) -> Listener {
    let options = ListenOptions {
        port: 0,
        ..ListenOptions::default()
    };
    host.listen(options).await.expect("a free port")
}

pub fn full(body: impl Into<Bytes>) -> BoxedBody {
    Full::new(body.into())
        .map_err(|never| match never {})
        .boxed()
}

impl Client {
    pub async fn connect(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).await.expect("the port is open");
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .expect("a connection");
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Self(sender)
    }

    pub async fn send(&mut self, request: Request<BoxedBody>) -> Response<Incoming> {
        self.0.ready().await.expect("the connection is kept");
        self.0.send_request(request).await.expect("an answer")
    }

    pub async fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Reply {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(full(body)).expect("a request");
        let response = self.send(request).await;
        let (head, body) = response.into_parts();
        Reply {
            status: head.status.as_u16(),
            headers: head.headers,
            body: body.collect().await.expect("a whole body").to_bytes(),
        }
    }

    pub async fn get(&mut self, path: &str) -> Reply {
        self.ask("GET", path, &[], "").await
    }
}

/// Sends bytes and reads until the peer closes or stops answering.
pub async fn send_raw(addr: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(addr).await.expect("the port is open");
    // The peer may have had enough before it read everything.
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let reading = stream.read_to_end(&mut answer);
    let _ = tokio::time::timeout(Duration::from_secs(10), reading)
        .await
        .expect("the peer closes");
    answer
}
