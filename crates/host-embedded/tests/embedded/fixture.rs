//! A host in a temporary folder and a counter actor written against the adapter
//! contract. Its state is one CBOR integer.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use greenroom_core::*;
use greenroom_error::{Error, Result, code};
use greenroom_host_embedded::{EmbeddedHost, EmbeddedOptions, Target};
use greenroom_store::Disk;
use greenroom_wire::{ActorKey, value};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};

/// What the actors of one world do and did.
pub struct Script {
    pub log: Mutex<Vec<String>>,
    pub created: AtomicU32,
    pub woken: AtomicU32,
    /// Starts that are still to fail.
    pub failing_starts: AtomicU32,
    /// Serializations, that is, saves that reached the adapter.
    pub serialized: AtomicU32,
    /// A permit lets one `park` action, start or hook go on.
    pub gate: Semaphore,
    /// Starts take a permit.
    pub gate_starts: std::sync::atomic::AtomicBool,
    /// Starts ask for sleep (1) or destruction (2) before they are done.
    pub wish_in_start: AtomicU32,
    /// `onSleep` and `onDestroy` take a permit.
    pub gate_cleanup: std::sync::atomic::AtomicBool,
    /// Rings when something waits at the gate.
    pub at_gate: Notify,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            log: Mutex::default(),
            created: AtomicU32::new(0),
            woken: AtomicU32::new(0),
            failing_starts: AtomicU32::new(0),
            serialized: AtomicU32::new(0),
            gate: Semaphore::new(0),
            gate_starts: false.into(),
            wish_in_start: AtomicU32::new(0),
            gate_cleanup: false.into(),
            at_gate: Notify::new(),
        }
    }
}

impl Script {
    pub fn note(&self, what: impl Into<String>) {
        self.log.lock().push(what.into());
    }

    pub fn times(&self, what: &str) -> usize {
        self.log.lock().iter().filter(|line| *line == what).count()
    }

    async fn pass_gate(&self) {
        self.at_gate.notify_one();
        let permit = self.gate.acquire().await.expect("the gate is never closed");
        permit.forget();
    }
}

pub struct World {
    pub host: EmbeddedHost,
    pub script: Arc<Script>,
    pub folder: Arc<tempfile::TempDir>,
}

/// What a world is made of.
pub struct Setup {
    pub config: ActorConfig,
    pub script: Arc<Script>,
    pub folder: Arc<tempfile::TempDir>,
    pub clock: Clock,
    pub ready_timeout: Duration,
    pub disk: Disk,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            config: ActorConfig::default(),
            script: Arc::default(),
            folder: Arc::new(tempfile::tempdir().expect("temporary folder")),
            clock: Clock::real(),
            ready_timeout: Duration::from_secs(30),
            disk: Disk::real(),
        }
    }
}

impl Setup {
    pub async fn try_open(&self) -> Result<EmbeddedHost> {
        self.try_open_at(self.folder.path()).await
    }

    pub async fn try_open_at(&self, folder: &std::path::Path) -> Result<EmbeddedHost> {
        let script = Arc::clone(&self.script);
        let factory = ActorFactory::new(self.config.clone(), move |start| {
            counter(start, Arc::clone(&script))
        });
        let factories = HashMap::from([("counter".to_owned(), Arc::new(factory))]);
        let mut options = EmbeddedOptions::new(folder);
        options.clock = self.clock.clone();
        options.ready_timeout = self.ready_timeout;
        options.store.disk = self.disk.clone();
        EmbeddedHost::open(options, factories).await
    }

    pub async fn open(self) -> World {
        World {
            host: self.try_open().await.expect("a fresh folder opens"),
            script: self.script,
            folder: self.folder,
        }
    }
}

pub async fn world() -> World {
    Setup::default().open().await
}

impl World {
    /// The same folder after a crash or shutdown of this world.
    pub async fn reopen(&self) -> World {
        let setup = Setup {
            script: Arc::clone(&self.script),
            folder: Arc::clone(&self.folder),
            ..Setup::default()
        };
        setup.open().await
    }

    pub async fn call(&self, target: &Target, name: &str, args: Value) -> Result<Value> {
        self.host
            .action(target, &call(name, args))
            .await
            .map(json_of)
    }

    pub fn database_path(&self, id: &greenroom_wire::ActorId) -> std::path::PathBuf {
        let folder = self.folder.path().join("actors").join(&id.as_str()[..2]);
        folder.join(format!("{id}.db"))
    }
}

pub fn json_of(cbor: Bytes) -> Value {
    value::to_value(&cbor).expect("actors answer CBOR")
}

pub fn call(name: &str, args: Value) -> ActionCall {
    ActionCall {
        name: name.to_owned(),
        args: value::from_value(&args),
        ..ActionCall::default()
    }
}

pub fn key(text: &str) -> ActorKey {
    ActorKey::new([text]).expect("a short key")
}

/// get-or-create of a counter.
pub fn counter_of(text: &str) -> Target {
    Target::get_or_create("counter", key(text), None)
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

struct Counter {
    ctx: ActorContext,
    script: Arc<Script>,
    count: Mutex<i64>,
}

async fn counter(mut start: ActorStart, script: Arc<Script>) -> Result<()> {
    let ctx = start.ctx.clone();
    if script.gate_starts.load(Ordering::SeqCst) {
        script.pass_gate().await;
    }
    let fails = script
        .failing_starts
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
    if fails.is_ok() {
        script.note("failed start");
        let error = Error::foreign("user", "no_start", "scripted");
        start.startup_ready.send(Err(error));
        return Ok(());
    }
    let count = match &start.snapshot {
        Some(state) => json_of(state.clone()).as_i64().unwrap_or_default(),
        None => 0,
    };
    if start.is_new {
        script.created.fetch_add(1, Ordering::SeqCst);
        ctx.set_initial_state(value::from_value(&json!(count)));
        ctx.persist_initialized().await?;
    } else {
        script.woken.fetch_add(1, Ordering::SeqCst);
    }
    match script.wish_in_start.swap(0, Ordering::SeqCst) {
        1 => ctx.sleep()?,
        2 => ctx.destroy()?,
        _ => {}
    }
    start.startup_ready.send(Ok(()));
    let counter = Arc::new(Counter {
        ctx,
        script,
        count: Mutex::new(count),
    });
    while let Some(event) = start.events.recv().await {
        counter.take(event).await;
    }
    Ok(())
}

impl Counter {
    async fn take(self: &Arc<Self>, event: ActorEvent) {
        match event {
            ActorEvent::Action { call, .. } if call.name == "panic" => panic!("scripted panic"),
            ActorEvent::Action { call, .. } => {
                let me = Arc::clone(self);
                tokio::spawn(async move { me.action(*call).await });
            }
            ActorEvent::HttpRequest { request, reply } => {
                let me = Arc::clone(self);
                tokio::spawn(
                    async move { reply.send(crate::raw::respond(&me.script, *request).await) },
                );
            }
            ActorEvent::QueueSend(send) => {
                self.script.note(format!("queue {}", send.name));
                let response = send.wait.then_some(send.body);
                send.reply.send(Ok(match send.timeout_ms {
                    Some(0) => QueueSendResult::TimedOut,
                    _ => QueueSendResult::Completed { response },
                }));
            }
            ActorEvent::SerializeState { reply, .. } => {
                self.script.serialized.fetch_add(1, Ordering::SeqCst);
                let mut deltas = Vec::new();
                if self.ctx.take_dirty() {
                    let state = value::from_value(&json!(*self.count.lock()));
                    deltas.push(StateDelta::ActorState(state));
                }
                reply.send(Ok(deltas));
            }
            ActorEvent::RunGracefulCleanup { reason, reply } => {
                self.script.note(format!("on {}", reason.label()));
                if self.script.gate_cleanup.load(Ordering::SeqCst) {
                    let me = Arc::clone(self);
                    tokio::spawn(async move {
                        me.script.pass_gate().await;
                        reply.send(Ok(()));
                    });
                } else {
                    reply.send(Ok(()));
                }
            }
            ActorEvent::ConnectionPreflight {
                params,
                request,
                reply,
                ..
            } => {
                let head = request.map(|r| format!("{} {}", r.method, r.uri));
                self.script.note(format!(
                    "preflight {} {}",
                    json_of(params),
                    head.unwrap_or_default()
                ));
                reply.send(Ok(None));
            }
            ActorEvent::ConnectionOpen { reply, .. } => reply.send(Ok(())),
            ActorEvent::DisconnectConn { conn_id, reply } => {
                self.ctx.drop_conn(&conn_id, "");
                reply.send(Ok(()));
            }
            other => drop(other),
        }
    }

    async fn action(&self, call: ActionDispatch) {
        let args = json_of(call.args.clone());
        let result = match &*call.name {
            "hang" => {
                call.cancelled.cancelled().await;
                self.script.note("cancelled");
                Err(Error::new(&code::ACTOR_ABORTED))
            }
            name => self.run(name, &args).await,
        };
        let output = match &*call.name {
            // The bytes as they came.
            "echo" => Ok(call.args.slice(1..)),
            _ => result.map(|value| value::from_value(&value)),
        };
        call.reply.send(output);
    }

    async fn run(&self, name: &str, args: &Value) -> Result<Value> {
        let number = args[0].as_i64();
        match name {
            "increment" => {
                *self.count.lock() += number.unwrap_or(1);
                self.ctx.request_save(RequestSaveOpts::default());
            }
            "increment_durably" => {
                *self.count.lock() += number.unwrap_or(1);
                let immediate = RequestSaveOpts::IMMEDIATE;
                self.ctx.request_save_and_wait(immediate).await?;
            }
            "get" | "echo" => {}
            "id" => return Ok(json!(self.ctx.actor_id().as_str())),
            "generation" => return Ok(json!(self.ctx.generation())),
            "input" => return Ok(self.ctx.input().map_or(Value::Null, json_of)),
            "park" => self.script.pass_gate().await,
            "sleep" => self.ctx.sleep()?,
            "destroy" => self.ctx.destroy()?,
            "crash" => self.ctx.stop_with_error("scripted crash")?,
            "alarm" => self.ctx.set_alarm(number).await?,
            "big" => return Ok(json!("x".repeat(number.unwrap_or(0) as usize))),
            "throw" => return Err(Error::internal("secret")),
            "fail" => {
                let error = Error::foreign("user", "teapot", "short and stout");
                return Err(error.with_metadata(json!({ "handle": true })));
            }
            _ => {
                let text = format!("Action `{name}` was not found.");
                return Err(Error::new(&code::ACTOR_ACTION_NOT_FOUND).with_message(text));
            }
        }
        Ok(json!(*self.count.lock()))
    }
}
