//! What one environment has on its own thread, and the functions Node calls.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;

use greenroom_error::Error;
use napi::sys;

use super::call::Settle;
use super::fault::JsResult;
use super::prelude::Prelude;
use super::scope::Scope;
use super::{Bridge, raw};

/// Closures run per wake-up, so that timers and I/O of the program get their
/// turn between them.
const BATCH_MAX: usize = 256;

/// One Node environment (the main thread's, or a worker's), seen from inside.
pub(crate) struct Environment {
    env: sys::napi_env,
    bridge: Bridge,
    wake: sys::napi_threadsafe_function,
    prelude: Prelude,
    /// Calls of user callbacks that returned a promise, by number.
    calls: RefCell<HashMap<u64, Settle>>,
    /// Reasons for the event loop to stay alive.
    holds: Cell<usize>,
}

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

    pub(super) fn add_call(&self, id: u64, settle: Settle) {
        self.calls.borrow_mut().insert(id, settle);
    }

    pub(super) fn take_call(&self, id: u64) -> Option<Settle> {
        self.calls.borrow_mut().remove(&id)
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
pub(crate) fn install(env: &napi::Env) -> napi::Result<()> {
    Ok(install_raw(env.raw())?)
}

fn install_raw(env: sys::napi_env) -> JsResult<()> {
    let settle = function(env, c"settle", on_settle)?;
    let failed = function(env, c"failed", on_failed)?;
    let prelude = Prelude::evaluate(env, settle, failed)?;
    let wake = wake_function(env)?;
    let bridge = Bridge::new();
    bridge.open(wake);
    let side = Rc::new(Environment {
        env,
        bridge,
        wake,
        prelude,
        calls: RefCell::default(),
        holds: Cell::new(0),
    });
    // Hooks run last added first: this one before Node closes the function (B1).
    // SAFETY: the environment is the hook's argument and is only compared.
    let status = unsafe { sys::napi_add_env_cleanup_hook(env, Some(on_close), env.cast()) };
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
            Some(on_wake),
            &mut wake,
        )
    };
    raw::check(status, "create a thread-safe function")?;
    // By itself the addon keeps no process alive.
    raw::release(env, wake)?;
    Ok(wake)
}

/// Node woke the thread for us.
extern "C" fn on_wake(env: sys::napi_env, _: sys::napi_value, _: *mut c_void, _: *mut c_void) {
    // Node drains the queue of a closing environment without one.
    if env.is_null() {
        return;
    }
    // SAFETY: Node passes the environment this function belongs to.
    let Ok(side) = (unsafe { find(env) }) else {
        return;
    };
    for job in side.bridge.take(BATCH_MAX) {
        guarded(env, &side, job);
    }
}

/// Runs `work` in a scope of its own; panics and exceptions end here (B2).
fn guarded(env: sys::napi_env, side: &Environment, work: impl for<'s> FnOnce(&Scope<'s>)) {
    let Ok(handles) = raw::open_scope(env) else {
        return;
    };
    // SAFETY: a handle scope was just opened and is closed after `'s`.
    let scope = unsafe { Scope::new(env, side) };
    if catch_unwind(AssertUnwindSafe(|| work(&scope))).is_err() {
        tracing::error!("a panic was caught on the JavaScript thread");
    }
    scope.discard();
    let _ = raw::close_scope(env, handles);
}

/// `settle(id, ok, value)`: the promise of a callback settled.
unsafe extern "C" fn on_settle(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> sys::napi_value {
    // SAFETY: Node passes the environment and arguments of this call.
    let Some((side, [id, ok, value])) = (unsafe { arguments::<3>(env, info) }) else {
        return ptr::null_mut();
    };
    let (Ok(id), Ok(ok)) = (raw::get_double(env, id), raw::get_bool(env, ok)) else {
        return ptr::null_mut();
    };
    // Late results of calls that were given up find nothing.
    if let Some(settle) = side.take_call(id as u64) {
        guarded(env, &side, |scope| {
            let value = scope.value(value);
            let outcome = if ok {
                Ok(value)
            } else {
                Err(scope.thrown(value))
            };
            settle(scope, outcome);
        });
    }
    ptr::null_mut()
}

/// `failed(error)`: a listener threw and nobody waits for it.
unsafe extern "C" fn on_failed(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> sys::napi_value {
    // SAFETY: as in `on_settle`.
    if let Some((side, [thrown])) = unsafe { arguments::<1>(env, info) } {
        guarded(env, &side, |scope| {
            let error = scope.thrown(scope.value(thrown));
            tracing::error!(%error, "a listener threw");
        });
    }
    ptr::null_mut()
}

/// # Safety
/// Node's own arguments of a native function.
unsafe fn arguments<const N: usize>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> Option<(Rc<Environment>, [sys::napi_value; N])> {
    let mut values = [ptr::null_mut(); N];
    let mut count = N;
    // SAFETY: `values` has room for `count`; missing arguments become undefined.
    let status = unsafe {
        sys::napi_get_cb_info(
            env,
            info,
            &mut count,
            values.as_mut_ptr(),
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    if status != sys::Status::napi_ok {
        return None;
    }
    // SAFETY: the caller's.
    Some((unsafe { find(env) }.ok()?, values))
}

/// The environment is going away (B1).
unsafe extern "C" fn on_close(env: *mut c_void) {
    let side = ENVIRONMENTS.with_borrow_mut(|all| {
        let at = all.iter().position(|side| ptr::eq(side.env.cast(), env))?;
        Some(all.swap_remove(at))
    });
    let Some(side) = side else {
        return;
    };
    let closed = catch_unwind(AssertUnwindSafe(|| {
        side.bridge.close();
        // Out of the cell first: dropping a call may drop a reference.
        drop(side.calls.take());
    }));
    if closed.is_err() {
        tracing::error!("a panic was caught while an environment closed");
    }
}
