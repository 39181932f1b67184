//! JavaScript values as the CBOR that actors store and send, both ways.
//!
//! The dialect is that of the published packages: what JSON cannot hold crosses
//! as two-element arrays beginning with a `$` name (BigInt, Uint8Array,
//! ArrayBuffer, `undefined`, Set; other arrays of that look get an extra `$`),
//! everything else by CBOR's own means: dates under tag 1, maps under 259, typed
//! arrays under the tags of RFC 8746, RegExp and Error under 27. Bytes without
//! length mean `undefined`.
//!
//! What has no form (functions, symbols, class instances, nesting beyond
//! [`greenroom_wire::cbor::DEPTH_MAX`], and so cycles) is
//! `napi/invalid_argument` with the path to it.

mod decode;
mod encode;
mod path;
mod revive;
mod typed_arrays;

use napi::bindgen_prelude::{Env, Unknown};
use napi_derive::napi;

use crate::bridge::{Buffer, enter};

const TAG_DATE: u64 = 1;
const TAG_GENERIC: u64 = 27;
const TAG_MAP: u64 = 259;

const BIG_INT: &str = "$BigInt";
const UINT8_ARRAY: &str = "$Uint8Array";
const ARRAY_BUFFER: &str = "$ArrayBuffer";
const UNDEFINED: &str = "$Undefined";
const SET: &str = "$Set";

/// Encodes a value. `root` names it in errors; default `value`.
#[napi(catch_unwind, ts_args_type = "value: unknown, root?: string")]
pub fn encode_cbor(env: Env, value: Unknown<'_>, root: Option<String>) -> napi::Result<Buffer> {
    enter(&env, |scope| {
        let value = scope.value(napi::JsValue::raw(&value));
        let bytes = encode::encode(scope, value, root.as_deref().unwrap_or("value"))?;
        Ok(Buffer(bytes.into()))
    })
}

/// Decodes one value.
#[napi(
    catch_unwind,
    ts_args_type = "bytes: Uint8Array",
    ts_return_type = "unknown"
)]
pub fn decode_cbor(env: Env, bytes: Buffer) -> napi::Result<napi::sys::napi_value> {
    enter(&env, |scope| {
        decode::decode(scope, &bytes.0).map(|value| value.into_raw())
    })
}
