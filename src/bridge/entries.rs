//! The functions that Node calls: wake-ups, results of callbacks, the end.
//!
//! Invariant B2 is kept here: each of them catches panics, and leaves no
//! exception behind that is not meant to be thrown.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;

use napi::sys;

use super::environment::{Environment, find, remove, with_scope};
use super::raw;
use super::scope::{Scope, Value};

/// Closures run per wake-up, so that timers and I/O of the program get their
/// turn between them.
const BATCH_MAX: usize = 256;

/// Node woke the thread for us.
pub(super) extern "C" fn on_wake(
    env: sys::napi_env,
    _: sys::napi_value,
    _: *mut c_void,
    _: *mut c_void,
) {
    // Node drains the queue of a closing environment without one.
    if env.is_null() {
        return;
    }
    // SAFETY: Node passes the environment this function belongs to.
    let Ok(side) = (unsafe { find(env) }) else {
        return;
    };
    for job in side.bridge().take(BATCH_MAX) {
        guarded(env, &side, job);
        side.bridge().done();
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
pub(super) unsafe extern "C" fn on_settle(
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
    if let Some(pending) = side.take_call(id as u64) {
        guarded(env, &side, |scope| {
            let value = scope.value(value);
            let outcome = if ok {
                Ok(value)
            } else {
                Err(scope.thrown(value))
            };
            (pending.settle)(scope, outcome);
        });
    }
    ptr::null_mut()
}

/// `tokenOf(id)`: the cancellation token of a call.
pub(super) unsafe extern "C" fn on_token_of(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> sys::napi_value {
    // SAFETY: as in `on_settle`.
    let Some((side, [id])) = (unsafe { arguments::<1>(env, info) }) else {
        return ptr::null_mut();
    };
    let made = catch_unwind(AssertUnwindSafe(|| {
        let token = side.token_of(raw::get_double(env, id)? as u64);
        with_scope(env, &side, |scope| {
            side.make_token()(scope, token).map(Value::into_raw)
        })
    }));
    match made {
        Ok(Ok(token)) => token,
        // If an exception is pending, returning throws it.
        Ok(Err(_)) | Err(_) => ptr::null_mut(),
    }
}

/// `failed(error)`: a listener threw and nobody waits for it.
pub(super) unsafe extern "C" fn on_failed(
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
pub(super) unsafe extern "C" fn on_close(env: *mut c_void) {
    let closed = catch_unwind(|| {
        if let Some(side) = remove(env.cast()) {
            side.bridge().close();
            side.drop_calls();
        }
    });
    if closed.is_err() {
        tracing::error!("a panic was caught while an environment closed");
    }
}
