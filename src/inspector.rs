//! Module functions of the inspector protocol. The protocol itself is not here
//! yet, so the conversions answer `actor/not_configured`.

use greenroom_error::Error;
use napi_derive::napi;

use crate::bridge::{Buffer, to_napi};

/// Re-encodes a request of an older inspector in the current version.
#[napi(catch_unwind)]
pub fn decode_inspector_request(_bytes: Buffer, advertised_version: f64) -> napi::Result<Buffer> {
    convert("advertisedVersion", advertised_version)
}

/// Re-encodes a response in the version of an older inspector.
#[napi(catch_unwind)]
pub fn encode_inspector_response(_bytes: Buffer, target_version: f64) -> napi::Result<Buffer> {
    convert("targetVersion", target_version)
}

fn convert(argument: &str, version: f64) -> napi::Result<Buffer> {
    let error = if version > f64::from(u16::MAX) {
        Error::invalid_argument(argument, "exceeds u16")
    } else {
        Error::not_configured("inspector protocol")
    };
    Err(to_napi(&error))
}
