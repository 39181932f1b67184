//! A host with an open port whose rooms follow a script, and a client of the
//! connection protocol.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use greenroom_core::*;
use greenroom_error::Result;
use greenroom_host_embedded::{EmbeddedHost, EmbeddedOptions, ListenOptions, Listener, Target};
use greenroom_wire::client_protocol::{ToClient, ToServer};
use greenroom_wire::{ActorKey, Encoding, value};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message};

use crate::room::room;

/// What rooms do and did.
#[derive(Default)]
pub struct Script {
    pub log: Mutex<Vec<String>>,
    /// Lets `park` actions go on.
    pub unpark: Notify,
    pub parked: AtomicU32,
    /// `onSleep` waits for `unpark`.
    pub slow_sleep: AtomicBool,
    /// Raw sockets take no messages.
    pub deaf: AtomicBool,
    /// The raw socket opened last.
    pub raw: Mutex<Option<WebSocket>>,
}

impl Script {
    pub fn note(&self, what: impl Into<String>) {
        self.log.lock().push(what.into());
    }

    pub fn times(&self, what: &str) -> usize {
        self.log.lock().iter().filter(|line| *line == what).count()
    }
}

pub struct World {
    pub host: EmbeddedHost,
    pub listener: Listener,
    pub script: Arc<Script>,
    pub folder: Arc<tempfile::TempDir>,
}

pub fn config() -> ActorConfig {
    ActorConfig {
        hooks: Hooks {
            preflight: true,
            open: true,
            closed: true,
            subscribe: true,
        },
        ..ActorConfig::default()
    }
}

pub async fn world() -> World {
    world_with(config(), |_| {}).await
}

pub async fn world_with(config: ActorConfig, change: impl FnOnce(&mut EmbeddedOptions)) -> World {
    let folder = Arc::new(tempfile::tempdir().expect("temporary folder"));
    open(config, Arc::default(), folder, change).await
}

pub async fn open(
    config: ActorConfig,
    script: Arc<Script>,
    folder: Arc<tempfile::TempDir>,
    change: impl FnOnce(&mut EmbeddedOptions),
) -> World {
    let mut options = EmbeddedOptions::new(folder.path());
    change(&mut options);
    let entry_script = Arc::clone(&script);
    let factory = ActorFactory::new(config, move |start| room(start, Arc::clone(&entry_script)));
    let factories = HashMap::from([("room".to_owned(), Arc::new(factory))]);
    let host = EmbeddedHost::open(options, factories).await.expect("opens");
    let listen = ListenOptions {
        port: 0,
        ..ListenOptions::default()
    };
    let listener = host.listen(listen).await.expect("a free port");
    World {
        host,
        listener,
        script,
        folder,
    }
}

pub fn room_of(key: &str) -> Target {
    let key = ActorKey::new([key]).expect("a short key");
    Target::get_or_create("room", key, None)
}

pub fn path_of(key: &str) -> String {
    format!(
        "/gateway/room/connect?rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default&rvt-key={key}"
    )
}

impl World {
    pub async fn call(&self, key: &str, name: &str, args: Value) -> Result<Value> {
        let call = ActionCall {
            name: name.to_owned(),
            args: value::from_value(&args),
            ..ActionCall::default()
        };
        self.host.action(&room_of(key), &call).await.map(json_of)
    }

    /// Waits until no generation is left, whoever asked it to end.
    pub async fn asleep(&self) {
        eventually("every actor sleeps", || self.host.awake_count() == 0).await;
    }

    pub async fn connect(&self, key: &str, encoding: Encoding) -> Client {
        let mut client = self.dial(&path_of(key), encoding, "").await;
        match client.next().await {
            ToClient::Init { connection_id, .. } => client.connection_id = connection_id,
            other => panic!("not Init: {other:?}"),
        }
        client
    }

    pub async fn dial(&self, path: &str, encoding: Encoding, more: &str) -> Client {
        let offer = format!("rivet, rivet_encoding.{encoding}{more}");
        Client {
            socket: handshake(&self.listener, path, &offer).await,
            encoding,
            connection_id: String::new(),
            next_id: 0,
        }
    }
}

pub async fn handshake(listener: &Listener, path: &str, offer: &str) -> WebSocketStream<TcpStream> {
    let stream = TcpStream::connect(listener.addr()).await.expect("connects");
    let request = http::Request::get(format!("ws://{}{path}", listener.addr()))
        .header("host", "localhost")
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-protocol", offer)
        .body(())
        .expect("a request");
    let (socket, response) = tokio_tungstenite::client_async(request, stream)
        .await
        .expect("the upgrade never fails");
    assert_eq!(response.headers()["sec-websocket-protocol"], "rivet");
    assert!(response.headers().contains_key("x-rivet-ray-id"));
    assert!(!response.headers().contains_key("sec-websocket-extensions"));
    socket
}

pub struct Client {
    pub socket: WebSocketStream<TcpStream>,
    encoding: Encoding,
    pub connection_id: String,
    next_id: u64,
}

impl Client {
    pub async fn send(&mut self, message: ToServer) {
        let bytes = message.encode(self.encoding).expect("encodes").into_bytes();
        let message = if self.encoding.is_binary() {
            Message::Binary(bytes)
        } else {
            let text = String::from_utf8(bytes.to_vec()).expect("JSON is text");
            Message::Text(text.into())
        };
        self.socket.send(message).await.expect("an open socket");
    }

    pub async fn subscribe(&mut self, event: &str, subscribe: bool) {
        let event_name = event.to_owned();
        self.send(ToServer::SubscriptionRequest {
            event_name,
            subscribe,
        })
        .await;
    }

    /// Sends an action and returns its id.
    pub async fn start(&mut self, name: &str, args: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(ToServer::ActionRequest {
            id,
            name: name.to_owned(),
            args: value::from_value(&args),
        })
        .await;
        id
    }

    /// The next message; panics on a close.
    pub async fn next(&mut self) -> ToClient {
        loop {
            let frame = self.frame().await;
            let bytes = match frame {
                Message::Text(text) if !self.encoding.is_binary() => Bytes::from(text),
                Message::Binary(bytes) if self.encoding.is_binary() => bytes,
                Message::Ping(_) => continue,
                other => panic!("not a message in {}: {other:?}", self.encoding),
            };
            return ToClient::decode(bytes, self.encoding).expect("decodes");
        }
    }

    async fn frame(&mut self) -> Message {
        let next = tokio::time::timeout(Duration::from_secs(20), self.socket.next());
        let next = next.await.expect("in time").expect("not the end");
        next.expect("a frame")
    }

    /// The next message as (kind, name or id, payload).
    pub async fn seen(&mut self) -> (&'static str, String, Value) {
        match self.next().await {
            ToClient::Init { connection_id, .. } => ("init", connection_id, Value::Null),
            ToClient::Event { name, args } => ("event", name, json_of(args)),
            ToClient::ActionResponse { id, output } => ("answer", id.to_string(), json_of(output)),
            ToClient::Error { error, action_id } => {
                let id = action_id.map_or(String::new(), |id| id.to_string());
                (
                    "error",
                    id,
                    json!(format!("{}.{}", error.group, error.code)),
                )
            }
        }
    }

    /// Calls an action and returns its answer, past events.
    pub async fn call(&mut self, name: &str, args: Value) -> Result<Value, String> {
        let id = self.start(name, args).await;
        loop {
            match self.next().await {
                ToClient::ActionResponse { id: of, output } if of == id => {
                    return Ok(json_of(output));
                }
                ToClient::Error {
                    error,
                    action_id: Some(of),
                } if of == id => return Err(format!("{}.{}", error.group, error.code)),
                ToClient::Event { .. } => {}
                other => panic!("unexpected: {other:?}"),
            }
        }
    }

    /// Reads past messages to the close frame.
    pub async fn closed(&mut self) -> (u16, String) {
        let frame = loop {
            if let Message::Close(frame) = self.frame().await {
                break frame.expect("a reason");
            }
        };
        // Reading on answers it; the server then closes.
        while let Some(Ok(_)) = self.socket.next().await {}
        (frame.code.into(), frame.reason.to_string())
    }

    pub async fn close(mut self) -> (u16, String) {
        let frame = CloseFrame {
            code: 1000.into(),
            reason: "Disposed".into(),
        };
        self.socket.close(Some(frame)).await.expect("closes");
        self.closed().await
    }
}

pub fn json_of(cbor: Bytes) -> Value {
    if cbor.is_empty() {
        return Value::Null;
    }
    value::to_value(&cbor).expect("CBOR")
}

/// Waits for a condition that some task is about to make true.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), waiting).await;
    assert!(waited.is_ok(), "never happened: {what}");
}
