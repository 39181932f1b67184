//! What one environment has on its own thread. The functions that Node calls are
//! in `entries`.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ptr;
use std::rc::Rc;

use greenroom_error::Error;
use napi::sys;
use tokio_util::sync::CancellationToken;

use super::call::{CallToken, Pending};
use super::fault::JsResult;
use super::prelude::Prelude;
use super::scope::{Scope, Value};
use super::texts::KeptTexts;
use super::{Bridge, entries, raw};

/// One Node environment (the main thread's, or a worker's), seen from inside.
pub(crate) struct Environment {
    env: sys::napi_env,
    bridge: Bridge,
    wake: sys::napi_threadsafe_function,
    prelude: Prelude,
    texts: KeptTexts,
    /// Calls of user callbacks that returned a promise, by number.
    calls: RefCell<HashMap<u64, Pending>>,
    make_token: MakeToken,
    /// Reasons for the event loop to stay alive.
    holds: Cell<usize>,
}

/// Makes the JavaScript object of a call's cancellation token; `None` stands for
/// a call that is over, and so for a token that is cancelled.
pub(crate) type MakeToken =
    for<'s> fn(&Scope<'s>, Option<CancellationToken>) -> JsResult<Value<'s>>;

thread_local! {
    /// Environments of this thread: one, or more if a module cache was emptied
    /// and the addon loaded again.
    static ENVIRONMENTS: RefCell<Vec<Rc<Environment>>> = const { RefCell::new(Vec::new()) };
}

impl Environment {
    pub(super) fn bridge(&self) -> &Bridge {
        &self.bridge
    }

    pub(super) fn prelude(&self) -> &Prelude {
        &self.prelude
    }

    pub(super) fn texts(&self) -> &KeptTexts {
        &self.texts
    }

    pub(super) fn add_call(&self, id: u64, pending: Pending) {
        self.calls.borrow_mut().insert(id, pending);
    }

    pub(super) fn take_call(&self, id: u64) -> Option<Pending> {
        self.calls.borrow_mut().remove(&id)
    }

    pub(super) fn drop_calls(&self) {
        // Out of the cell first: dropping a call may drop a reference.
        let calls = self.calls.take();
        drop(calls);
    }

    pub(super) fn make_token(&self) -> MakeToken {
        self.make_token
    }

    pub(super) fn token_of(&self, id: u64) -> Option<CancellationToken> {
        let mut calls = self.calls.borrow_mut();
        calls.get_mut(&id)?.token.as_mut().map(CallToken::get)
    }
}

impl Scope<'_> {
    /// Keeps the event loop alive until as many [`Scope::release_loop`] came.
    pub(crate) fn hold_loop(&self) {
        let holds = self.side.holds.get();
        self.side.holds.set(holds + 1);
        if holds == 0 {
            let _ = raw::hold(self.env, self.side.wake);
        }
    }

    pub(crate) fn release_loop(&self) {
        let holds = self.side.holds.get().saturating_sub(1);
        self.side.holds.set(holds);
        if holds == 0 {
            let _ = raw::release(self.env, self.side.wake);
        }
    }
}

/// The environment of a native call.
///
/// # Safety
/// `env` is the environment of a native call on this thread.
pub(super) unsafe fn find(env: sys::napi_env) -> napi::Result<Rc<Environment>> {
    ENVIRONMENTS
        .with_borrow(|all| all.iter().find(|side| side.env == env).cloned())
        .ok_or_else(|| super::to_napi(&Error::invalid_state("environment", "closing")))
}

/// Takes an environment that is closing off the list.
pub(super) fn remove(env: sys::napi_env) -> Option<Rc<Environment>> {
    ENVIRONMENTS.with_borrow_mut(|all| {
        let at = all.iter().position(|side| side.env == env)?;
        Some(all.swap_remove(at))
    })
}

/// Runs `work` in the scope of a native call.
pub(super) fn with_scope<T>(
    env: sys::napi_env,
    side: &Environment,
    work: impl for<'s> FnOnce(&Scope<'s>) -> T,
) -> T {
    // SAFETY: a native call has a handle scope of its own, and `'s` is bound to
    // this call by the closure's signature.
    work(&unsafe { Scope::new(env, side) })
}

/// Enters the bridge from an exported function.
pub(crate) fn enter<T>(
    env: &napi::Env,
    work: impl for<'s> FnOnce(&Scope<'s>) -> JsResult<T>,
) -> napi::Result<T> {
    // SAFETY: generated glue passes the environment of the running call.
    let side = unsafe { find(env.raw()) }?;
    Ok(with_scope(env.raw(), &side, work)?)
}

/// Sets an environment up; called when the addon is loaded into it.
pub(crate) fn install(env: &napi::Env, make_token: MakeToken) -> napi::Result<()> {
    Ok(install_raw(env.raw(), make_token)?)
}

fn install_raw(env: sys::napi_env, make_token: MakeToken) -> JsResult<()> {
    let settle = function(env, c"settle", entries::on_settle)?;
    let failed = function(env, c"failed", entries::on_failed)?;
    let token_of = function(env, c"tokenOf", entries::on_token_of)?;
    let prelude = Prelude::evaluate(env, settle, failed, token_of)?;
    let wake = wake_function(env)?;
    let bridge = Bridge::new();
    bridge.open(wake);
    let side = Rc::new(Environment {
        env,
        bridge,
        wake,
        prelude,
        texts: KeptTexts::default(),
        calls: RefCell::default(),
        make_token,
        holds: Cell::new(0),
    });
    // Hooks run last added first: this one before Node closes the function (B1).
    // SAFETY: the environment is the hook's argument and is only compared.
    let status =
        unsafe { sys::napi_add_env_cleanup_hook(env, Some(entries::on_close), env.cast()) };
    raw::check(status, "watch for the environment's end")?;
    ENVIRONMENTS.with_borrow_mut(|all| all.push(side));
    Ok(())
}

fn function(
    env: sys::napi_env,
    name: &std::ffi::CStr,
    callback: unsafe extern "C" fn(sys::napi_env, sys::napi_callback_info) -> sys::napi_value,
) -> JsResult<sys::napi_value> {
    let mut out = ptr::null_mut();
    // SAFETY: the name is valid for its length; the callback is a function.
    let status = unsafe {
        sys::napi_create_function(
            env,
            name.as_ptr(),
            name.count_bytes() as isize,
            Some(callback),
            ptr::null_mut(),
            &mut out,
        )
    };
    raw::check(status, "create a function")?;
    Ok(out)
}

fn wake_function(env: sys::napi_env) -> JsResult<sys::napi_threadsafe_function> {
    let name = raw::text(env, "greenroom")?;
    let mut wake = ptr::null_mut();
    // SAFETY: without a JavaScript function, Node calls `on_wake` instead.
    let status = unsafe {
        sys::napi_create_threadsafe_function(
            env,
            ptr::null_mut(),
            ptr::null_mut(),
            name,
            0,
            1,
            ptr::null_mut(),
            None,
            ptr::null_mut(),
            Some(entries::on_wake),
            &mut wake,
        )
    };
    raw::check(status, "create a thread-safe function")?;
    // By itself the addon keeps no process alive.
    raw::release(env, wake)?;
    Ok(wake)
}
