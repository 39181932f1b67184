//! A client of an endpoint, whoever hosts it.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use greenroom_wire::ActorId;
use http::Response;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Message;

/// Longest wait for anything.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// The host that a scenario asks.
#[derive(Clone)]
pub struct Under {
    /// Host and port.
    pub authority: String,
    pub pool: String,
    /// Generations in this process.
    pub awake: std::sync::Arc<dyn Fn() -> usize + Send + Sync>,
}

pub struct Reply {
    pub status: u16,
    pub headers: http::HeaderMap,
    pub body: Bytes,
}

impl Reply {
    async fn of(answer: Response<Incoming>) -> Self {
        let (head, body) = answer.into_parts();
        Self {
            status: head.status.as_u16(),
            headers: head.headers,
            body: body.collect().await.expect("a whole body").to_bytes(),
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {:?}", self.status, self.body))
    }
}

pub async fn in_time<T>(what: &str, work: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(PATIENCE, work).await;
    waited.unwrap_or_else(|_| panic!("never happened: {what}"))
}

/// Waits for a condition that some task is about to make true.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    in_time(what, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

impl Under {
    pub async fn http(&self, method: &str, path: &str, body: impl Into<Bytes>) -> Reply {
        in_time(path, self.exchange(method, path, body.into())).await
    }

    /// Reads nothing of the body before some time has passed.
    pub async fn get_slowly(&self, path: &str, pause: Duration) -> Reply {
        in_time(path, async {
            let answer = self.send("GET", path, Bytes::new()).await;
            tokio::time::sleep(pause).await;
            Reply::of(answer).await
        })
        .await
    }

    async fn exchange(&self, method: &str, path: &str, body: Bytes) -> Reply {
        Reply::of(self.send(method, path, body).await).await
    }

    async fn send(&self, method: &str, path: &str, body: Bytes) -> Response<Incoming> {
        let stream = TcpStream::connect(&self.authority).await.expect("a port");
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .expect("a connection");
        tokio::spawn(connection);
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("host", &self.authority)
            .header("content-type", "application/json")
            .body(Full::new(body))
            .expect("a request");
        sender.send_request(request).await.expect("an answer")
    }

    /// Creates an actor with its key as input.
    pub async fn create(&self, key: &str) -> ActorId {
        use base64::Engine as _;
        let input = greenroom_wire::value::from_value(&json!(key));
        let body = json!({
            "name": crate::actor::NAME,
            "key": key,
            "runner_name_selector": self.pool,
            "crash_policy": "sleep",
            "input": base64::engine::general_purpose::STANDARD.encode(input),
        });
        // A busy engine gives up on the answer after half a minute, not on the actor.
        let json = in_time("an actor", async {
            loop {
                let path = "/actors?namespace=default";
                let reply = self.exchange("PUT", path, body.to_string().into());
                let reply = reply.await;
                match reply.status {
                    500.. => tokio::time::sleep(Duration::from_millis(50)).await,
                    _ => return reply.json(),
                }
            }
        })
        .await;
        let id = json["actor"]["actor_id"].as_str();
        id.and_then(ActorId::parse)
            .unwrap_or_else(|| panic!("no actor: {json}"))
    }

    /// The status and the whole answer of an action.
    pub async fn call(&self, actor: &ActorId, name: &str, arg: impl Into<Value>) -> Reply {
        let body = json!({ "args": [arg.into()] }).to_string();
        let path = format!("/gateway/{actor}/action/{name}");
        self.http("POST", &path, body).await
    }

    /// A number that an action answers with.
    pub async fn action(&self, actor: &ActorId, name: &str, arg: i64) -> i64 {
        let value = self.value(actor, name, arg).await;
        value.as_i64().unwrap_or_else(|| panic!("{name}: {value}"))
    }

    /// The answer of an action. What a generation in its last moments refuses is
    /// asked again, as clients do.
    pub async fn value(&self, actor: &ActorId, name: &str, arg: impl Into<Value>) -> Value {
        let arg = arg.into();
        in_time(name, async {
            loop {
                let reply = self.call(actor, name, arg.clone()).await;
                match reply.status {
                    200 => return reply.json()["output"].clone(),
                    503 => tokio::time::sleep(Duration::from_millis(50)).await,
                    status => panic!("{name}: {status} {:?}", reply.body),
                }
            }
        })
        .await
    }

    /// Asks the actor to sleep and waits until it does.
    pub async fn sleep(&self, actor: &ActorId) {
        self.value(actor, "sleep", 0).await;
        self.nobody_awake().await;
    }

    pub async fn nobody_awake(&self) {
        eventually("every actor sleeps", || (self.awake)() == 0).await;
    }

    pub async fn socket(&self, actor: &ActorId, path: &str) -> Socket {
        let uri = format!("ws://{}/gateway/{actor}{path}", self.authority);
        let stream = TcpStream::connect(&self.authority).await.expect("a port");
        stream.set_nodelay(true).expect("an option");
        let request = http::Request::get(uri)
            .header("host", &self.authority)
            .header("connection", "Upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
            .header("sec-websocket-protocol", "rivet")
            .body(())
            .expect("a request");
        let opened = in_time(
            "an open socket",
            tokio_tungstenite::client_async(request, stream),
        );
        let (socket, _) = opened.await.expect("the upgrade");
        Socket(socket)
    }
}

pub struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    pub async fn say(&mut self, text: &str) {
        let sent = self.0.send(Message::Text(text.into()));
        sent.await.expect("an open socket");
    }

    pub async fn send(&mut self, bytes: &'static [u8]) {
        let sent = self.0.send(Message::Binary(Bytes::from_static(bytes)));
        sent.await.expect("an open socket");
    }

    async fn next(&mut self) -> Message {
        loop {
            let next = in_time("a message", self.0.next()).await;
            match next.expect("not the end").expect("a frame") {
                Message::Ping(_) | Message::Pong(_) => {}
                message => return message,
            }
        }
    }

    pub async fn text(&mut self) -> String {
        match self.next().await {
            Message::Text(text) => text.to_string(),
            other => panic!("not text: {other:?}"),
        }
    }

    pub async fn bytes(&mut self) -> Bytes {
        match self.next().await {
            Message::Binary(bytes) => bytes,
            other => panic!("not bytes: {other:?}"),
        }
    }

    pub async fn closed(&mut self) -> (u16, String) {
        match self.next().await {
            Message::Close(Some(frame)) => (frame.code.into(), frame.reason.to_string()),
            other => panic!("not a close: {other:?}"),
        }
    }
}
