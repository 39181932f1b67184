//! A host with an open port, a room actor written against the adapter contract,
//! and a client of the connection protocol.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use greenroom_core::*;
use greenroom_error::{Error, Result, code};
use greenroom_host_embedded::{EmbeddedHost, EmbeddedOptions, ListenOptions, Listener, Target};
use greenroom_wire::client_protocol::{ToClient, ToServer};
use greenroom_wire::{ActorKey, Encoding, value};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message};

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

struct Room {
    ctx: ActorContext,
    script: Arc<Script>,
    count: Mutex<i64>,
}

async fn room(mut start: ActorStart, script: Arc<Script>) -> Result<()> {
    let ctx = start.ctx.clone();
    script.note(if start.is_new { "create" } else { "wake" });
    let count = match &start.snapshot {
        Some(state) => json_of(state.clone()).as_i64().unwrap_or_default(),
        None => 0,
    };
    if start.is_new {
        ctx.set_initial_state(value::from_value(&json!(count)));
        ctx.persist_initialized().await?;
    }
    start.startup_ready.send(Ok(()));
    let room = Arc::new(Room {
        ctx,
        script,
        count: Mutex::new(count),
    });
    // Actions end with the generation, as they do in a real adapter.
    let mut running = tokio::task::JoinSet::new();
    while let Some(event) = start.events.recv().await {
        room.take(event, &mut running);
    }
    Ok(())
}

impl Room {
    fn take(self: &Arc<Self>, event: ActorEvent, running: &mut tokio::task::JoinSet<()>) {
        match event {
            ActorEvent::Action { call, .. } if call.name == "panic" => panic!("scripted panic"),
            ActorEvent::Action { call, .. } => {
                let me = Arc::clone(self);
                running.spawn(async move { me.action(*call).await });
            }
            ActorEvent::SerializeState { reply, .. } => {
                let mut deltas = Vec::new();
                if self.ctx.take_dirty() {
                    let state = value::from_value(&json!(*self.count.lock()));
                    deltas.push(StateDelta::ActorState(state));
                }
                reply.send(Ok(deltas));
            }
            ActorEvent::RunGracefulCleanup { reason, reply } => {
                self.script.note(format!("on {}", reason.label()));
                let me = Arc::clone(self);
                tokio::spawn(async move {
                    if me.script.slow_sleep.load(Ordering::SeqCst) {
                        me.script.unpark.notified().await;
                    }
                    reply.send(Ok(()));
                });
            }
            ActorEvent::ConnectionPreflight { params, reply, .. } => {
                let params = json_of(params);
                self.script.note(format!("before connect {params}"));
                reply.send(match params["refuse"].as_str() {
                    Some(code) => Err(Error::foreign("user", code, "not you")
                        .with_metadata(json!({ "why": "scripted" }))),
                    None => Ok(Some(value::from_value(&json!({ "calls": 0 })))),
                });
            }
            ActorEvent::ConnectionOpen { conn, reply, .. } => {
                self.script.note("connect");
                let args = value::from_value(&json!(["hello"]));
                self.ctx.send_to(&conn, "welcome", args);
                reply.send(Ok(()));
            }
            ActorEvent::ConnectionClosed { conn, region } => {
                self.script.note("disconnect");
                drop((conn, region));
            }
            ActorEvent::SubscribeRequest {
                event_name, reply, ..
            } => reply.send(match &*event_name {
                "secret" => Err(Error::new(&code::AUTH_FORBIDDEN)),
                _ => Ok(()),
            }),
            ActorEvent::DisconnectConn { conn_id, reply } => {
                self.script.note("grace disconnect");
                self.ctx.drop_conn(&conn_id, "");
                reply.send(Ok(()));
            }
            ActorEvent::WebSocketOpen {
                ws, request, reply, ..
            } => self.open_socket(ws, request, reply),
            other => drop(other),
        }
    }

    /// Echoes, and notes what it sees.
    fn open_socket(&self, ws: WebSocket, request: Option<Box<Request>>, reply: Reply<()>) {
        let uri = request.map_or(String::new(), |request| request.uri);
        self.script.note(format!("open {uri}"));
        if uri.ends_with("refuse") {
            return reply.send(Err(Error::foreign("user", "no_entry", "scripted")));
        }
        *self.script.raw.lock() = Some(ws.clone());
        let generation = self.ctx.generation();
        let _ = ws.send(Bytes::from(format!("hello from {generation}")), false);
        let script = Arc::clone(&self.script);
        if !script.deaf.load(Ordering::SeqCst) {
            let echo = ws.clone();
            ws.set_event_sink(Box::new(move |event| match event {
                WebSocketEvent::Message {
                    data,
                    binary,
                    receipt,
                    ..
                } => {
                    let _ = echo.send(data, binary);
                    receipt.taken();
                }
                WebSocketEvent::Close { code, reason, .. } => {
                    script.note(format!("closed {code} {reason}"));
                }
            }));
        }
        // As a handler does that lasts as long as its socket.
        if uri.ends_with("linger") {
            std::mem::forget(reply);
        } else {
            reply.send(Ok(()));
        }
    }

    async fn action(&self, call: ActionDispatch) {
        let args = json_of(call.args.clone());
        let result = match &*call.name {
            "echo" => return call.reply.send(Ok(call.args.slice(1..))),
            name => self.run(name, &args, call.conn.as_ref()).await,
        };
        let output = result.map(|value| value::from_value(&value));
        call.reply.send(output);
    }

    async fn run(&self, name: &str, args: &Value, conn: Option<&ConnHandle>) -> Result<Value> {
        match name {
            "say" => {
                let count = {
                    let mut count = self.count.lock();
                    *count += 1;
                    *count
                };
                self.ctx.request_save(RequestSaveOpts::default());
                self.ctx
                    .broadcast("said", value::from_value(&json!([args[0], count])));
                return Ok(json!(count));
            }
            "whisper" => {
                if let Some(conn) = conn {
                    self.ctx.send_to(conn, "whispered", value::from_value(args));
                }
            }
            "shout" => {
                let text = "x".repeat(args[0].as_u64().unwrap_or(0) as usize);
                self.ctx
                    .broadcast("said", value::from_value(&json!([text])));
            }
            "big" => {
                let length = args[0].as_u64().unwrap_or(0) as usize;
                return Ok(json!("x".repeat(length)));
            }
            "park" => {
                self.script.parked.fetch_add(1, Ordering::SeqCst);
                self.script.unpark.notified().await;
            }
            "who" => return Ok(json!(conn.map(|conn| conn.id().to_owned()))),
            "calls" => {
                let conn = conn.ok_or(Error::new(&code::ACTOR_NOT_READY))?;
                let calls = json_of(conn.state())["calls"].as_u64().unwrap_or(0) + 1;
                let state = value::from_value(&json!({ "calls": calls }));
                self.ctx.set_conn_state(conn, state);
                return Ok(json!(calls));
            }
            "conns" => return Ok(json!(self.ctx.conn_count())),
            "kick" => {
                if let Some(conn) = conn {
                    self.ctx.disconnect(conn, args[0].as_str());
                }
            }
            "sleep" => self.ctx.sleep()?,
            "destroy" => self.ctx.destroy()?,
            "save" => {
                let immediate = RequestSaveOpts {
                    immediate: true,
                    max_wait: None,
                };
                self.ctx.request_save_and_wait(immediate).await?;
            }
            "generation" => return Ok(json!(self.ctx.generation())),
            "get" => {}
            "fail" => {
                let error = Error::foreign("user", "teapot", "short and stout");
                return Err(error.with_metadata(json!({ "handle": true })));
            }
            _ => return Err(Error::new(&code::ACTOR_ACTION_NOT_FOUND)),
        }
        Ok(json!(*self.count.lock()))
    }
}
