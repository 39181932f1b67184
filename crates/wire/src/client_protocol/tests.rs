//! Captured messages, byte for byte, and properties of every message type.

use greenroom_error::{ActorSpecifier, code};
use proptest::prelude::*;

use super::*;
use crate::Encoding;
use crate::cbor;
use crate::error_body::ErrorBody;

mod http;
mod messages;

const ACTOR_ID: &str = "d9fv68dbvyvve6gcyrkqvyew5oal00";
const CONNECTION_ID: &str = "7a6f3b1e-90c4-4dd1-8a58-0a1f1f4a9e10";
/// `{"j": 1}` as JavaScript peers write it, with a long length.
const J1: &[u8] = b"\xb9\x00\x01\x61j\x01";

fn concat(parts: &[&[u8]]) -> Bytes {
    parts.concat().into()
}

fn text(frame: Frame) -> String {
    String::from_utf8(frame.into_bytes().to_vec()).unwrap()
}

fn json(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

/// CBOR items made of what has one JSON form, so that they survive JSON.
fn payload() -> impl Strategy<Value = Bytes> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<i32>().prop_map(serde_json::Value::from),
        any::<String>().prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop::collection::vec(inner, 0..4).prop_map(serde_json::Value::from)
    })
    .prop_map(|value| crate::value::from_value(&value))
}

/// CBOR arrays, as argument lists are.
fn args() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<i32>(), 0..30)
        .prop_map(|args| crate::value::from_value(&serde_json::json!(args)))
}
