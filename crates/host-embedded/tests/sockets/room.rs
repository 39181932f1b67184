//! The actor that clients of these tests talk to: a room written against the
//! adapter contract, directed by a [`Script`].

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use greenroom_core::*;
use greenroom_error::{Error, Result, code};
use greenroom_wire::value;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::fixture::{Script, json_of};

struct Room {
    ctx: ActorContext,
    script: Arc<Script>,
    count: Mutex<i64>,
}

pub async fn room(mut start: ActorStart, script: Arc<Script>) -> Result<()> {
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
                let immediate = RequestSaveOpts::IMMEDIATE;
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
