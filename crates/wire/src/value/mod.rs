//! Conversion of user values between JSON and CBOR, structure by structure.
//!
//! Values of user code carry what JSON lacks (BigInt, bytes, `undefined`, Set)
//! as two-element arrays such as `["$BigInt", "5"]`. Those arrays are ordinary
//! data here and cross untouched in both directions. Conversion works on the
//! text and the bytes directly; no tree is built between them.
//!
//! JSON to CBOR: numbers become what a JavaScript peer reads back as a number
//! ([`crate::cbor::write::number`]); precision beyond 53 bits is lost, as it is
//! in any JavaScript JSON parser. Repeated object keys are kept as they are.
//!
//! CBOR to JSON, for what has no direct form:
//!
//! | CBOR | JSON |
//! |---|---|
//! | `undefined`, NaN, infinities, other simple values | `null` |
//! | integers beyond 53 bits, bignums up to 1 KiB | `["$BigInt", "…"]` |
//! | byte strings, tag 64 | `["$Uint8Array", "…"]` |
//! | date (tag 1) | ISO 8601 text; `null` if out of range |
//! | map (tag 259), map keys that are scalars | object, keys as text |
//! | set (tag 258) | `["$Set", […]]` |
//! | typed arrays (tags 65 to 86) | array of their numbers |
//! | any other tag | the tagged item |
//! | lone surrogates, as JavaScript encoders write them | `\uXXXX` |
//!
//! Map keys that are themselves containers, and 128-bit floats, have no form
//! and fail. So do lone surrogates on the way from JSON to CBOR.

mod from_json;
mod tags;
mod text;
mod to_json;

use bytes::Bytes;
use serde_json::Value;

pub(crate) use from_json::CborFromJson;
pub(crate) use text::write_json_str;

use crate::cbor::Reader;
use crate::malformed::{Malformed, Read};

/// Converts one JSON text to CBOR.
///
/// # Errors
/// If it is not exactly one JSON value, or nests deeper than 127.
pub fn json_to_cbor(text: &[u8]) -> Result<Bytes, Malformed> {
    let CborFromJson(cbor) = serde_json::from_slice(text)?;
    Ok(cbor.into())
}

/// Converts one CBOR item to JSON text.
///
/// # Errors
/// If it is not exactly one well-formed item, or has no JSON form.
pub fn cbor_to_json(cbor: &[u8]) -> Result<Vec<u8>, Malformed> {
    let mut text = Vec::with_capacity(cbor.len() * 2);
    write_json(&mut text, cbor)?;
    Ok(text)
}

/// Appends the JSON text of one CBOR item to `out`, which on failure may hold
/// a part of it.
///
/// # Errors
/// As [`cbor_to_json`].
pub fn write_json(out: &mut Vec<u8>, cbor: &[u8]) -> Result<(), Malformed> {
    let mut reader = Reader::new(cbor);
    to_json::write_item(&mut reader, out, 0)?;
    reader.finish()
}

/// The CBOR of a JSON tree. Parts nested deeper than
/// [`crate::cbor::DEPTH_MAX`] become `null`.
pub fn from_value(value: &Value) -> Bytes {
    let mut out = Vec::new();
    from_json::write_value(&mut out, value, 0);
    out.into()
}

/// The JSON tree of one CBOR item.
///
/// # Errors
/// As [`cbor_to_json`], and if the tree would nest deeper than 127.
pub fn to_value(cbor: &[u8]) -> Result<Value, Malformed> {
    Ok(serde_json::from_slice(&cbor_to_json(cbor)?)?)
}

/// Writes a JSON number or string that the serializer cannot refuse.
fn write_json_scalar(out: &mut Vec<u8>, value: impl serde::Serialize) -> Read<()> {
    serde_json::to_writer(out, &value).map_err(Malformed::from)
}

#[cfg(test)]
mod tests;
