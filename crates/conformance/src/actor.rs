//! The actor that the scenarios talk to, written against the adapter contract. Its
//! state is a CBOR value.

use std::sync::Arc;

use bytes::Bytes;
use greenroom_core::actor::messages::BodyStream;
use greenroom_core::*;
use greenroom_error::{Error, Result, code};
use greenroom_wire::value;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub const NAME: &str = "subject";

pub fn config() -> ActorConfig {
    ActorConfig {
        can_hibernate_websocket: true,
        hibernate_when_idle: true,
        max_incoming_message_size: 16 << 20,
        max_outgoing_message_size: 16 << 20,
        ..ActorConfig::default()
    }
}

pub fn factory() -> ActorFactory {
    factory_with(config())
}

pub fn factory_with(config: ActorConfig) -> ActorFactory {
    ActorFactory::new(config, subject)
}

struct Subject {
    ctx: ActorContext,
    state: Mutex<Value>,
}

async fn subject(mut start: ActorStart) -> Result<()> {
    let ctx = start.ctx.clone();
    let state = match &start.snapshot {
        Some(state) => json_of(state.clone()),
        None => json!({ "count": 0, "wakes": 0 }),
    };
    let subject = Arc::new(Subject {
        ctx: ctx.clone(),
        state: Mutex::new(state),
    });
    if start.is_new {
        ctx.set_initial_state(subject.encoded());
        ctx.persist_initialized().await?;
    } else {
        let mut state = subject.state.lock();
        state["wakes"] = (state["wakes"].as_i64().unwrap_or(0) + 1).into();
    }
    start.startup_ready.send(Ok(()));
    let mut running = JoinSet::new();
    while let Some(event) = start.events.recv().await {
        subject.take(event, &mut running);
    }
    Ok(())
}

impl Subject {
    fn encoded(&self) -> Bytes {
        value::from_value(&self.state.lock())
    }

    fn take(self: &Arc<Self>, event: ActorEvent, running: &mut JoinSet<()>) {
        match event {
            ActorEvent::Action { call, .. } => {
                let me = Arc::clone(self);
                running.spawn(async move {
                    let args = json_of(call.args.clone());
                    let answer = me.action(&call.name, &args[0]).await;
                    call.reply
                        .send(answer.map(|value| value::from_value(&value)));
                });
            }
            ActorEvent::HttpRequest { request, reply } => {
                running.spawn(async move { reply.send(respond(*request).await) });
            }
            ActorEvent::SerializeState { reply, .. } => {
                let dirty = self.ctx.take_dirty();
                let delta = dirty.then(|| StateDelta::ActorState(self.encoded()));
                reply.send(Ok(delta.into_iter().collect()));
            }
            ActorEvent::RunGracefulCleanup { reply, .. } => reply.send(Ok(())),
            ActorEvent::ConnectionPreflight { reply, .. } => reply.send(Ok(None)),
            ActorEvent::ConnectionOpen { reply, .. } => reply.send(Ok(())),
            ActorEvent::DisconnectConn { conn_id, reply } => {
                self.ctx.drop_conn(&conn_id, "");
                reply.send(Ok(()));
            }
            ActorEvent::WebSocketOpen { ws, reply, .. } => {
                echo_messages(&ws, self.ctx.generation());
                reply.send(Ok(()));
            }
            other => drop(other),
        }
    }

    async fn save(&self) -> Result<()> {
        let immediate = RequestSaveOpts::IMMEDIATE;
        self.ctx.request_save_and_wait(immediate).await
    }

    async fn action(&self, name: &str, arg: &Value) -> Result<Value> {
        match name {
            "add" => {
                let count = self.count() + arg.as_i64().unwrap_or(0);
                self.state.lock()["count"] = count.into();
                self.save().await?;
            }
            // The runtime saves it when it is due.
            "add_unsaved" => {
                let count = self.count() + arg.as_i64().unwrap_or(0);
                self.state.lock()["count"] = count.into();
                self.ctx.request_save(RequestSaveOpts::default());
            }
            "keep" => {
                // Cannot be compressed to few pages by anybody on the way.
                let length = arg.as_u64().unwrap_or(0) as usize;
                let text: String = (0..length).map(|i| letter(i * i / 7 + i)).collect();
                self.state.lock()["text"] = text.into();
                self.save().await?;
            }
            "kept" => {
                let state = self.state.lock();
                let text = state["text"].as_str().unwrap_or_default();
                let whole = text.chars().enumerate();
                let is_whole = whole.clone().all(|(i, c)| c == letter(i * i / 7 + i));
                return Ok(json!(if is_whole { text.len() as i64 } else { -1 }));
            }
            "get" => {}
            "input" => return Ok(self.ctx.input().map_or(Value::Null, json_of)),
            "wakes" => return Ok(self.state.lock()["wakes"].clone()),
            "generation" => return Ok(json!(self.ctx.generation())),
            "sleep" => self.ctx.sleep()?,
            "destroy" => self.ctx.destroy()?,
            "crash" => self.ctx.stop_with_error("scripted crash")?,
            "alarm_in" => {
                let at = self.ctx.clock().now_ms() + arg.as_i64().unwrap_or(0);
                self.ctx.set_alarm(Some(at)).await?;
            }
            "fail" => return Err(Error::foreign("user", "teapot", "short and stout")),
            _ => return Err(Error::new(&code::ACTOR_ACTION_NOT_FOUND)),
        }
        Ok(json!(self.count()))
    }

    fn count(&self) -> i64 {
        self.state.lock()["count"].as_i64().unwrap_or(0)
    }
}

fn letter(seed: usize) -> char {
    char::from(b'a' + (seed % 26) as u8)
}

/// Says hello once, then echoes; "two" is answered by two frames.
fn echo_messages(ws: &WebSocket, generation: u32) {
    let _ = ws.send(Bytes::from(format!("generation {generation}")), false);
    let echo = ws.clone();
    ws.set_event_sink(Box::new(move |event| {
        let WebSocketEvent::Message {
            data,
            binary,
            receipt,
            ..
        } = event
        else {
            return;
        };
        if &data[..] == b"close" {
            echo.close(Some(4001), Some("as asked".to_owned()));
        } else {
            let repeats = if &data[..] == b"two" { 2 } else { 1 };
            for _ in 0..repeats {
                let _ = echo.send(data.clone(), binary);
            }
        }
        receipt.taken();
    }));
}

/// Echoes the body, chunk by chunk once the last one is here: an engine takes a
/// response that begins earlier for the end of its interest in the body.
async fn respond(mut request: Request) -> Result<Response> {
    if request.uri.starts_with("/throw") {
        return Err(Error::internal("secret"));
    }
    let mut chunks = vec![request.body];
    if request.uri.starts_with("/small") {
        chunks.extend(std::iter::repeat_n(Bytes::from_static(&[7; 700]), 20_000));
    }
    while let Some(chunk) = next(&mut request.stream).await {
        chunks.push(chunk.map_err(Error::internal)?);
    }
    let (sender, receiver) = mpsc::channel(2);
    tokio::spawn(async move {
        for chunk in chunks.into_iter().filter(|chunk| !chunk.is_empty()) {
            if sender.send(Ok(chunk)).await.is_err() {
                return;
            }
        }
    });
    Ok(Response {
        status: 201,
        headers: [
            ("x-from", "user"),
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2, 3"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec(),
        body: Bytes::new(),
        stream: Some(receiver),
        region: None,
    })
}

async fn next(chunks: &mut Option<BodyStream>) -> Option<Result<Bytes, String>> {
    chunks.as_mut()?.recv().await
}

pub fn json_of(cbor: Bytes) -> Value {
    if cbor.is_empty() {
        return Value::Null;
    }
    value::to_value(&cbor).expect("CBOR")
}
