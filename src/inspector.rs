//! Module functions of the inspector protocol.

use greenroom_error::{Error, Result};
use greenroom_wire::Malformed;
use greenroom_wire::inspector_protocol::{InspectorVersion, downgrade_response, upgrade_request};
use napi_derive::napi;

use crate::bridge::{Buffer, to_napi};

/// Re-encodes a request of an older inspector in the current version. Throws
/// `napi/invalid_argument` for a number that is no version at all and
/// `core/internal_error` for bytes that are no request of that version.
#[napi(catch_unwind)]
pub fn decode_inspector_request(bytes: Buffer, advertised_version: f64) -> napi::Result<Buffer> {
    let upgraded = version("advertisedVersion", "ToServer", advertised_version)
        .and_then(|version| upgrade_request(bytes.0, version).map_err(failed));
    upgraded.map(Buffer).map_err(|error| to_napi(&error))
}

/// Re-encodes a response in the version of an older inspector. Throws as
/// `decodeInspectorRequest` does.
#[napi(catch_unwind)]
pub fn encode_inspector_response(bytes: Buffer, target_version: f64) -> napi::Result<Buffer> {
    let downgraded = version("targetVersion", "ToClient", target_version)
        .and_then(|version| downgrade_response(bytes.0, version).map_err(failed));
    downgraded.map(Buffer).map_err(|error| to_napi(&error))
}

fn version(argument: &str, side: &str, number: f64) -> Result<InspectorVersion> {
    if !(0.0..=f64::from(u16::MAX)).contains(&number) {
        return Err(Error::invalid_argument(argument, "exceeds u16"));
    }
    // A fraction is cut off, as for every integer of the published contract.
    let number = number as u16;
    InspectorVersion::new(number).ok_or_else(|| {
        let text = format!("invalid inspector protocol version for {side}: {number}");
        Error::internal(text)
    })
}

fn failed(reason: Malformed) -> Error {
    Error::internal(reason.to_string())
}
