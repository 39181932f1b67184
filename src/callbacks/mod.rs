//! The user's callbacks: which there are, and how each family is called.
//!
//! One file per family holds the payload and what is read from the result. When
//! a callback runs is the adapter's business.

mod action;
mod connection;
mod http;
mod lifecycle;
mod queue;
mod state;
mod websocket;
mod workflow;

use std::collections::HashMap;
use std::sync::Arc;

use greenroom_core::Hooks;
use greenroom_error::{Error, Result};

use crate::actor::ActorShared;
use crate::bridge::{Bridge, JsRef, JsResult, Kind, Scope, Value};
pub(crate) use http::{Head, read_head};

/// Callbacks other than actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    CreateState,
    OnCreate,
    CreateVars,
    OnMigrate,
    OnWake,
    OnBeforeActorStart,
    Run,
    OnSleep,
    OnDestroy,
    OnBeforeConnect,
    CreateConnState,
    OnConnect,
    OnDisconnectFinal,
    OnBeforeSubscribe,
    OnBeforeActionResponse,
    OnRequest,
    OnQueueSend,
    OnWebSocket,
    SerializeState,
    GetWorkflowHistory,
    ReplayWorkflow,
}

impl Hook {
    const ALL: [Hook; 21] = [
        Self::CreateState,
        Self::OnCreate,
        Self::CreateVars,
        Self::OnMigrate,
        Self::OnWake,
        Self::OnBeforeActorStart,
        Self::Run,
        Self::OnSleep,
        Self::OnDestroy,
        Self::OnBeforeConnect,
        Self::CreateConnState,
        Self::OnConnect,
        Self::OnDisconnectFinal,
        Self::OnBeforeSubscribe,
        Self::OnBeforeActionResponse,
        Self::OnRequest,
        Self::OnQueueSend,
        Self::OnWebSocket,
        Self::SerializeState,
        Self::GetWorkflowHistory,
        Self::ReplayWorkflow,
    ];

    /// Property of the callbacks object, and name in errors.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CreateState => "createState",
            Self::OnCreate => "onCreate",
            Self::CreateVars => "createVars",
            Self::OnMigrate => "onMigrate",
            Self::OnWake => "onWake",
            Self::OnBeforeActorStart => "onBeforeActorStart",
            Self::Run => "run",
            Self::OnSleep => "onSleep",
            Self::OnDestroy => "onDestroy",
            Self::OnBeforeConnect => "onBeforeConnect",
            Self::CreateConnState => "createConnState",
            Self::OnConnect => "onConnect",
            Self::OnDisconnectFinal => "onDisconnectFinal",
            Self::OnBeforeSubscribe => "onBeforeSubscribe",
            Self::OnBeforeActionResponse => "onBeforeActionResponse",
            Self::OnRequest => "onRequest",
            Self::OnQueueSend => "onQueueSend",
            Self::OnWebSocket => "onWebSocket",
            Self::SerializeState => "serializeState",
            Self::GetWorkflowHistory => "getWorkflowHistory",
            Self::ReplayWorkflow => "replayWorkflow",
        }
    }
}

/// The callbacks of one actor type, kept for as long as anybody may call them.
pub(crate) struct Callbacks {
    bridge: Bridge,
    hooks: [Option<JsRef>; Hook::ALL.len()],
    actions: HashMap<String, Arc<JsRef>>,
}

impl Callbacks {
    /// Reads the known properties of the callbacks object; others are ignored.
    pub(crate) fn read<'s>(scope: &Scope<'s>, callbacks: Value<'s>) -> JsResult<Self> {
        if !matches!(scope.kind(callbacks)?, Kind::Object | Kind::Function) {
            return Err(Error::invalid_argument("callbacks", "must be an object").into());
        }
        let mut hooks = [const { None }; Hook::ALL.len()];
        for hook in Hook::ALL {
            hooks[hook as usize] = read_function(scope, callbacks, hook.name(), hook.name())?;
        }
        let disconnect = &mut hooks[Hook::OnDisconnectFinal as usize];
        if disconnect.is_none() {
            // The older name of the same hook.
            *disconnect = read_function(scope, callbacks, "onDisconnect", "onDisconnect")?;
        }
        Ok(Self {
            bridge: scope.bridge().clone(),
            hooks,
            actions: read_actions(scope, callbacks)?,
        })
    }

    pub(crate) fn bridge(&self) -> &Bridge {
        &self.bridge
    }

    pub(crate) fn has(&self, hook: Hook) -> bool {
        self.hooks[hook as usize].is_some()
    }

    /// What the runtime need not ask for because nobody would answer.
    pub(crate) fn present(&self) -> Hooks {
        Hooks {
            preflight: self.has(Hook::OnBeforeConnect) || self.has(Hook::CreateConnState),
            open: self.has(Hook::OnConnect),
            closed: self.has(Hook::OnDisconnectFinal),
            subscribe: self.has(Hook::OnBeforeSubscribe),
        }
    }

    fn hook(&self, hook: Hook) -> JsResult<&JsRef> {
        let found = self.hooks[hook as usize].as_ref();
        Ok(found.ok_or_else(|| not_configured(hook))?)
    }
}

fn not_configured(hook: Hook) -> Error {
    Error::invalid_state(&format!("callback {}", hook.name()), "not configured")
}

fn read_function<'s>(
    scope: &Scope<'s>,
    object: Value<'s>,
    name: &str,
    argument: &str,
) -> JsResult<Option<JsRef>> {
    let value = scope.get(object, scope.text(name)?)?;
    if scope.kind(value)?.is_nothing() {
        return Ok(None);
    }
    crate::bridge::require_function(scope, value, argument)?;
    JsRef::new(scope, value).map(Some)
}

fn read_actions<'s>(
    scope: &Scope<'s>,
    callbacks: Value<'s>,
) -> JsResult<HashMap<String, Arc<JsRef>>> {
    let actions = scope.named(callbacks, c"actions")?;
    match scope.kind(actions)? {
        Kind::Undefined | Kind::Null => return Ok(HashMap::new()),
        Kind::Object => {}
        _ => return Err(Error::invalid_argument("actions", "must be an object").into()),
    }
    let names = scope.own_keys(actions)?;
    let mut found = HashMap::new();
    for at in 0..scope.length(names)? {
        let name = scope.string(scope.element(names, at)?)?;
        let argument = format!("actions.{name}");
        let function = read_function(scope, actions, &name, &argument)?;
        let function =
            function.ok_or_else(|| Error::invalid_argument(&argument, "must be a function"))?;
        found.insert(name, Arc::new(function));
    }
    Ok(found)
}

impl ActorShared {
    /// Calls a hook with the payload that `payload` makes.
    async fn call_hook<T, P, R>(self: &Arc<Self>, hook: Hook, payload: P, read: R) -> Result<T>
    where
        T: Send + 'static,
        P: for<'s> FnOnce(&Scope<'s>, &Arc<ActorShared>) -> JsResult<Value<'s>> + Send + 'static,
        R: for<'s> FnOnce(&Scope<'s>, Value<'s>) -> JsResult<T> + Send + 'static,
    {
        if !self.callbacks.has(hook) {
            return Err(not_configured(hook));
        }
        let shared = Arc::clone(self);
        let called = self.bridge().call(
            hook.name(),
            move |scope, id| {
                let payload = payload(scope, &shared)?;
                scope.invoke(id, shared.callbacks.hook(hook)?, payload)
            },
            read,
        );
        called.await
    }
}

/// For hooks whose result is nobody's.
fn ignore<'s>(_: &Scope<'s>, _: Value<'s>) -> JsResult<()> {
    Ok(())
}
