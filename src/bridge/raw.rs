//! Node-API functions as Rust functions: statuses become results.
//!
//! Callers hold a [`super::Scope`], which is the proof that this is the right
//! thread and that the environment lives.

use std::ptr;

use greenroom_error::Error;
use napi::sys;

use super::fault::{Fault, JsResult};

pub(super) type Env = sys::napi_env;
pub(super) type Raw = sys::napi_value;

/// `what` names the operation for the error text.
pub(super) fn check(status: sys::napi_status, what: &'static str) -> JsResult<()> {
    match status {
        sys::Status::napi_ok => Ok(()),
        sys::Status::napi_pending_exception => Err(Fault::Pending),
        status => Err(Fault::Error(failure(status, what))),
    }
}

#[cold]
fn failure(status: sys::napi_status, what: &'static str) -> Error {
    let status = napi::Status::from(status);
    Error::internal(format!("Node-API could not {what}: {status}"))
}

/// Wakes the JavaScript thread; false if its queue is closing. The caller holds
/// the lock that keeps the function alive.
pub(super) fn wake(function: sys::napi_threadsafe_function) -> bool {
    let mode = sys::ThreadsafeFunctionCallMode::nonblocking;
    // SAFETY: the inbox lock is held and its pointer is not null (B1).
    let status = unsafe { sys::napi_call_threadsafe_function(function, ptr::null_mut(), mode) };
    status == sys::Status::napi_ok
}

/// Declares a wrapper with one result: `fn name(env, args…) -> JsResult<Out>`.
macro_rules! calls {
    ($( $name:ident($($arg:ident: $ty:ty),*) -> $out:ty = $init:expr, $call:ident, $what:literal; )*) => {$(
        pub(super) fn $name(env: Env $(, $arg: $ty)*) -> JsResult<$out> {
            let mut out: $out = $init;
            // SAFETY: called on the environment's thread with handles of an open
            // scope; `out` is valid for writes.
            check(unsafe { sys::$call(env $(, $arg)*, &mut out) }, $what)?;
            Ok(out)
        }
    )*};
}

calls! {
    undefined() -> Raw = ptr::null_mut(), napi_get_undefined, "get undefined";
    null() -> Raw = ptr::null_mut(), napi_get_null, "get null";
    boolean(value: bool) -> Raw = ptr::null_mut(), napi_get_boolean, "get a boolean";
    double(value: f64) -> Raw = ptr::null_mut(), napi_create_double, "create a number";
    object() -> Raw = ptr::null_mut(), napi_create_object, "create an object";
    array(length: usize) -> Raw = ptr::null_mut(), napi_create_array_with_length, "create an array";
    date(ms: f64) -> Raw = ptr::null_mut(), napi_create_date, "create a date";
    bigint_i64(value: i64) -> Raw = ptr::null_mut(), napi_create_bigint_int64, "create a bigint";
    bigint_u64(value: u64) -> Raw = ptr::null_mut(), napi_create_bigint_uint64, "create a bigint";
    type_of(value: Raw) -> i32 = 0, napi_typeof, "read a type";
    global() -> Raw = ptr::null_mut(), napi_get_global, "get the global object";
    run_script(source: Raw) -> Raw = ptr::null_mut(), napi_run_script, "run a script";
    get_double(value: Raw) -> f64 = 0.0, napi_get_value_double, "read a number";
    get_bool(value: Raw) -> bool = false, napi_get_value_bool, "read a boolean";
    to_text(value: Raw) -> Raw = ptr::null_mut(), napi_coerce_to_string, "make text";
    to_boolean(value: Raw) -> Raw = ptr::null_mut(), napi_coerce_to_bool, "make a boolean";
    get_date(value: Raw) -> f64 = 0.0, napi_get_date_value, "read a date";
    get(object: Raw, key: Raw) -> Raw = ptr::null_mut(), napi_get_property, "read a property";
    element(object: Raw, at: u32) -> Raw = ptr::null_mut(), napi_get_element, "read an element";
    length(array: Raw) -> u32 = 0, napi_get_array_length, "read a length";
    prototype(object: Raw) -> Raw = ptr::null_mut(), napi_get_prototype, "read a prototype";
    is_array(value: Raw) -> bool = false, napi_is_array, "test for an array";
    is_typed_array(value: Raw) -> bool = false, napi_is_typedarray, "test for a typed array";
    is_array_buffer(value: Raw) -> bool = false, napi_is_arraybuffer, "test for a buffer";
    is_date(value: Raw) -> bool = false, napi_is_date, "test for a date";
    is_error(value: Raw) -> bool = false, napi_is_error, "test for an error";
    has_own(object: Raw, key: Raw) -> bool = false, napi_has_own_property, "test for a property";
    strict_equals(a: Raw, b: Raw) -> bool = false, napi_strict_equals, "compare";
    instance_of(value: Raw, class: Raw) -> bool = false, napi_instanceof, "test a class";
    reference(value: Raw, count: u32) -> sys::napi_ref = ptr::null_mut(), napi_create_reference, "keep a value";
    deref(reference: sys::napi_ref) -> Raw = ptr::null_mut(), napi_get_reference_value, "find a kept value";
    open_scope() -> sys::napi_handle_scope = ptr::null_mut(), napi_open_handle_scope, "open a scope";
    exception() -> Raw = ptr::null_mut(), napi_get_and_clear_last_exception, "take an exception";
}

/// Like [`calls`], for functions without a result.
macro_rules! commands {
    ($( $name:ident($($arg:ident: $ty:ty),*) = $call:ident, $what:literal; )*) => {$(
        pub(super) fn $name(env: Env $(, $arg: $ty)*) -> JsResult<()> {
            // SAFETY: as in `calls`.
            check(unsafe { sys::$call(env $(, $arg)*) }, $what)
        }
    )*};
}

commands! {
    set(object: Raw, key: Raw, value: Raw) = napi_set_property, "set a property";
    set_element(array: Raw, at: u32, value: Raw) = napi_set_element, "set an element";
    close_scope(scope: sys::napi_handle_scope) = napi_close_handle_scope, "close a scope";
    delete_reference(reference: sys::napi_ref) = napi_delete_reference, "let go of a value";
    resolve(deferred: sys::napi_deferred, value: Raw) = napi_resolve_deferred, "resolve a promise";
    reject(deferred: sys::napi_deferred, value: Raw) = napi_reject_deferred, "reject a promise";
    hold(function: sys::napi_threadsafe_function) = napi_ref_threadsafe_function, "hold the event loop";
    release(function: sys::napi_threadsafe_function) = napi_unref_threadsafe_function, "release the event loop";
}

pub(super) fn text(env: Env, text: &str) -> JsResult<Raw> {
    let mut out = ptr::null_mut();
    // SAFETY: as in `calls`; the text is valid for its length.
    let status = unsafe {
        sys::napi_create_string_utf8(env, text.as_ptr().cast(), text.len() as isize, &mut out)
    };
    check(status, "create text")?;
    Ok(out)
}

pub(super) fn get_text(env: Env, value: Raw) -> JsResult<String> {
    // Most texts fit: one call then measures and copies at once.
    const FIRST: usize = 256;
    let mut bytes = Vec::with_capacity(FIRST);
    let len = copy_text(env, value, &mut bytes)?;
    // A full buffer may have cut the text, at most three bytes early.
    if len + 4 < FIRST {
        return finish_text(bytes, len);
    }
    let mut len = 0;
    // SAFETY: as in `calls`; a null buffer only measures.
    let status =
        unsafe { sys::napi_get_value_string_utf8(env, value, ptr::null_mut(), 0, &mut len) };
    check(status, "measure text")?;
    let mut bytes = Vec::with_capacity(len + 1);
    let len = copy_text(env, value, &mut bytes)?;
    finish_text(bytes, len)
}

fn copy_text(env: Env, value: Raw, bytes: &mut Vec<u8>) -> JsResult<usize> {
    let mut len = 0;
    // SAFETY: as in `calls`; the buffer is valid for its capacity, of which the
    // call fills `len` bytes and a terminator.
    let status = unsafe {
        let room = bytes.capacity();
        sys::napi_get_value_string_utf8(env, value, bytes.as_mut_ptr().cast(), room, &mut len)
    };
    check(status, "read text")?;
    Ok(len)
}

fn finish_text(mut bytes: Vec<u8>, len: usize) -> JsResult<String> {
    // SAFETY: Node filled this many bytes.
    unsafe { bytes.set_len(len) };
    // V8 replaces lone surrogates, so this cannot fail in practice.
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

pub(super) fn get_named(env: Env, object: Raw, name: &std::ffi::CStr) -> JsResult<Raw> {
    let mut out = ptr::null_mut();
    // SAFETY: as in `calls`.
    let status = unsafe { sys::napi_get_named_property(env, object, name.as_ptr(), &mut out) };
    check(status, "read a property")?;
    Ok(out)
}

pub(super) fn set_named(env: Env, object: Raw, name: &std::ffi::CStr, value: Raw) -> JsResult<()> {
    // SAFETY: as in `calls`.
    let status = unsafe { sys::napi_set_named_property(env, object, name.as_ptr(), value) };
    check(status, "set a property")
}

/// Defines an own enumerable property: `__proto__` is a name like any other.
pub(super) fn define(env: Env, object: Raw, key: Raw, value: Raw) -> JsResult<()> {
    let property = sys::napi_property_descriptor {
        utf8name: ptr::null(),
        name: key,
        method: None,
        getter: None,
        setter: None,
        value,
        attributes: sys::PropertyAttributes::writable
            | sys::PropertyAttributes::enumerable
            | sys::PropertyAttributes::configurable,
        data: ptr::null_mut(),
    };
    // SAFETY: as in `calls`; one descriptor is passed.
    let status = unsafe { sys::napi_define_properties(env, object, 1, &property) };
    check(status, "define a property")
}

pub(super) fn call(env: Env, this: Raw, function: Raw, args: &[Raw]) -> JsResult<Raw> {
    let mut out = ptr::null_mut();
    // SAFETY: as in `calls`; `args` is valid for its length.
    let status = unsafe {
        sys::napi_call_function(env, this, function, args.len(), args.as_ptr(), &mut out)
    };
    check(status, "call a function")?;
    Ok(out)
}

pub(super) fn construct(env: Env, class: Raw, args: &[Raw]) -> JsResult<Raw> {
    let mut out = ptr::null_mut();
    // SAFETY: as in `calls`; `args` is valid for its length.
    let status = unsafe { sys::napi_new_instance(env, class, args.len(), args.as_ptr(), &mut out) };
    check(status, "create an instance")?;
    Ok(out)
}

pub(super) fn promise(env: Env) -> JsResult<(sys::napi_deferred, Raw)> {
    let (mut deferred, mut promise) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: as in `calls`.
    let status = unsafe { sys::napi_create_promise(env, &mut deferred, &mut promise) };
    check(status, "create a promise")?;
    Ok((deferred, promise))
}

pub(super) fn error(env: Env, code: Raw, message: Raw) -> JsResult<Raw> {
    let mut out = ptr::null_mut();
    // SAFETY: as in `calls`.
    check(
        unsafe { sys::napi_create_error(env, code, message, &mut out) },
        "create an error",
    )?;
    Ok(out)
}

pub(super) fn own_keys(env: Env, object: Raw) -> JsResult<Raw> {
    let mut out = ptr::null_mut();
    let filter = sys::KeyFilter::enumerable | sys::KeyFilter::skip_symbols;
    // SAFETY: as in `calls`.
    let status = unsafe {
        sys::napi_get_all_property_names(
            env,
            object,
            sys::KeyCollectionMode::own_only,
            filter,
            sys::KeyConversion::numbers_to_strings,
            &mut out,
        )
    };
    check(status, "list properties")?;
    Ok(out)
}

pub(super) fn exception_pending(env: Env) -> bool {
    let mut pending = false;
    // SAFETY: as in `calls`.
    let status = unsafe { sys::napi_is_exception_pending(env, &mut pending) };
    status == sys::Status::napi_ok && pending
}

/// Address and length of memory that JavaScript owns.
pub(super) type Memory = (*const u8, usize);

/// # Safety
/// The memory must not change or go before `'a` ends: no JavaScript may run.
pub(super) unsafe fn slice<'a>((address, length): Memory) -> &'a [u8] {
    if length == 0 {
        // The address of an empty buffer may be null.
        return &[];
    }
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts(address, length) }
}

/// Element type and memory of a typed array.
pub(super) fn view(env: Env, value: Raw) -> JsResult<(i32, Memory)> {
    let (mut element, mut length, mut data) = (0, 0, ptr::null_mut());
    // SAFETY: as in `calls`; results that do not matter may be null.
    let status = unsafe {
        sys::napi_get_typedarray_info(
            env,
            value,
            &mut element,
            &mut length,
            &mut data,
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    check(status, "read a typed array")?;
    Ok((element, (data.cast_const().cast(), length * width(element))))
}

fn width(element: i32) -> usize {
    use sys::TypedarrayType as T;
    match element {
        T::int8_array | T::uint8_array | T::uint8_clamped_array => 1,
        T::int16_array | T::uint16_array => 2,
        T::int32_array | T::uint32_array | T::float32_array => 4,
        T::float64_array | T::bigint64_array | T::biguint64_array => 8,
        // An element type this Node-API version does not know: show no bytes.
        _ => 0,
    }
}

pub(super) fn array_buffer(env: Env, value: Raw) -> JsResult<Memory> {
    let (mut data, mut length) = (ptr::null_mut(), 0);
    // SAFETY: as in `calls`.
    let status = unsafe { sys::napi_get_arraybuffer_info(env, value, &mut data, &mut length) };
    check(status, "read an ArrayBuffer")?;
    Ok((data.cast_const().cast(), length))
}

pub(super) fn new_array_buffer(env: Env, bytes: &[u8]) -> JsResult<Raw> {
    let (mut data, mut out) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: as in `calls`.
    let status = unsafe { sys::napi_create_arraybuffer(env, bytes.len(), &mut data, &mut out) };
    check(status, "create an ArrayBuffer")?;
    if !bytes.is_empty() {
        // SAFETY: the new memory has this length and nobody else knows it yet.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast(), bytes.len()) };
    }
    Ok(out)
}

/// A `Uint8Array` over the whole of an `ArrayBuffer`.
pub(super) fn uint8_array(env: Env, length: usize, buffer: Raw) -> JsResult<Raw> {
    let mut out = ptr::null_mut();
    let element = sys::TypedarrayType::uint8_array;
    // SAFETY: as in `calls`.
    let status = unsafe { sys::napi_create_typedarray(env, element, length, buffer, 0, &mut out) };
    check(status, "create a Uint8Array")?;
    Ok(out)
}

/// The low 64 bits of a bigint, and whether they are all it has.
pub(super) fn get_bigint_i64(env: Env, value: Raw) -> JsResult<(i64, bool)> {
    let (mut number, mut is_exact) = (0, false);
    // SAFETY: as in `calls`.
    let status =
        unsafe { sys::napi_get_value_bigint_int64(env, value, &mut number, &mut is_exact) };
    check(status, "read a bigint")?;
    Ok((number, is_exact))
}

pub(super) fn bigint_words(env: Env, negative: bool, words: &[u64]) -> JsResult<Raw> {
    let mut out = ptr::null_mut();
    // SAFETY: as in `calls`; `words` is valid for its length.
    let status = unsafe {
        sys::napi_create_bigint_words(env, negative.into(), words.len(), words.as_ptr(), &mut out)
    };
    check(status, "create a bigint")?;
    Ok(out)
}

/// A new `Buffer` holding a copy of `bytes`.
pub(super) fn buffer_copy(env: Env, bytes: &[u8]) -> JsResult<Raw> {
    let mut out = ptr::null_mut();
    // SAFETY: as in `calls`; `bytes` is valid for its length.
    let status = unsafe {
        sys::napi_create_buffer_copy(
            env,
            bytes.len(),
            bytes.as_ptr().cast(),
            ptr::null_mut(),
            &mut out,
        )
    };
    check(status, "create a buffer")?;
    Ok(out)
}

/// Copies `bytes` into a `Buffer` of exactly that length.
pub(super) fn fill(env: Env, buffer: Raw, bytes: &[u8]) -> JsResult<()> {
    let (_, (data, length)) = view(env, buffer)?;
    if length != bytes.len() {
        return Err(Error::internal("a buffer came with another length than asked for").into());
    }
    if length > 0 {
        // SAFETY: the memory was just reported, no JavaScript ran since, and it
        // cannot overlap with memory of Rust.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast_mut(), length) };
    }
    Ok(())
}
