//! What holds for every decoder of bytes that strangers send, whatever the bytes:
//! it answers without a panic, and what it accepted is written in a form that it
//! reads, and writes as the same again. Used by the fuzz targets beside this file and by the bounded
//! run of the tests.

use bytes::Bytes;
use greenroom_wire::client_protocol::{
    HttpActionRequest, HttpActionResponse, HttpQueueSendRequest, HttpQueueSendResponse, ToClient,
    ToServer,
};
use greenroom_wire::error_body::ErrorBody;
use greenroom_wire::inspector_protocol::{
    InspectorVersion, ToClient as ToInspector, ToServer as OfInspector,
};
use greenroom_wire::{ActorKey, Encoding, Subprotocols, cbor, conn_params, gateway_path, value};

/// A decoder's name, which is that of its folder of seeds, and its check.
pub type Decoder = (&'static str, fn(&[u8]));

pub const DECODERS: &[Decoder] = &[
    ("to_server", to_server),
    ("to_client", to_client),
    ("http_action", http_action),
    ("http_queue", http_queue),
    ("error_body", error_body),
    ("cbor", cbor_item),
    ("json", json_value),
    ("gateway_path", path),
    ("subprotocols", subprotocols),
    ("conn_params", params),
    ("key", key),
    ("inspector_request", inspector_request),
    ("inspector_response", inspector_response),
];

const ENCODINGS: [Encoding; 3] = [Encoding::Bare, Encoding::Cbor, Encoding::Json];

macro_rules! same_again {
    ($type:ident, $bytes:expr) => {
        for encoding in ENCODINGS {
            if let Ok(message) = $type::decode(Bytes::copy_from_slice($bytes), encoding)
                && let Ok(frame) = message.encode(encoding)
            {
                let written = frame.into_bytes();
                let again = $type::decode(written.clone(), encoding)
                    .and_then(|message| message.encode(encoding))
                    .map(|frame| frame.into_bytes());
                assert_eq!(again.ok(), Some(written), "{encoding:?}: {message:?}");
            }
        }
    };
}

pub fn to_server(bytes: &[u8]) {
    same_again!(ToServer, bytes);
}

pub fn to_client(bytes: &[u8]) {
    same_again!(ToClient, bytes);
}

pub fn http_action(bytes: &[u8]) {
    same_again!(HttpActionRequest, bytes);
    same_again!(HttpActionResponse, bytes);
}

pub fn http_queue(bytes: &[u8]) {
    same_again!(HttpQueueSendRequest, bytes);
    same_again!(HttpQueueSendResponse, bytes);
}

pub fn error_body(bytes: &[u8]) {
    for encoding in ENCODINGS {
        if let Ok(error) = ErrorBody::decode(Bytes::copy_from_slice(bytes), encoding) {
            let again = ErrorBody::decode(error.encode(encoding), encoding);
            assert!(again.is_ok(), "{encoding:?}: {error:?}");
        }
    }
}

pub fn cbor_item(bytes: &[u8]) {
    if let Ok(length) = cbor::item_len(bytes) {
        assert!(length <= bytes.len());
        cbor::check(&bytes[..length]).expect("an item's own bytes are an item");
        // Not every item has a form in JSON; one that has keeps it.
        if let Ok(json) = value::cbor_to_json(&bytes[..length]) {
            json_value(&json);
        }
    }
}

pub fn json_value(text: &[u8]) {
    if let Ok(item) = value::json_to_cbor(text) {
        cbor::check(&item).expect("what is written is well-formed");
        // Compared as text: JSON's zero has no sign in CBOR's integers.
        let json = value::cbor_to_json(&item).expect("what came from JSON goes back");
        let again = value::json_to_cbor(&json).expect("what is written can be read");
        assert_eq!(value::cbor_to_json(&again).ok(), Some(json));
    }
}

pub fn path(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(Some(route)) = gateway_path::parse(text)
    {
        assert!(route.path_and_query.starts_with('/'), "{route:?}");
    }
}

pub fn subprotocols(bytes: &[u8]) {
    let offer = Subprotocols::parse([bytes]);
    let _ = offer.encoding();
    let _ = offer.actor_id();
    if let Ok(params) = offer.conn_params() {
        cbor::check(&params).expect("parameters are an item");
    }
}

pub fn params(bytes: &[u8]) {
    if let Ok(params) = conn_params::from_header(Some(bytes)) {
        cbor::check(&params).expect("parameters are an item");
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(params) = conn_params::from_subprotocol(Some(text))
    {
        cbor::check(&params).expect("parameters are an item");
    }
}

pub fn key(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let keys = [ActorKey::from_serialized(text), ActorKey::from_comma(text)];
    for key in keys.into_iter().flatten() {
        let again = ActorKey::from_serialized(key.as_serialized());
        assert_eq!(again.map(|key| key.parts()).ok(), Some(key.parts()));
    }
}

fn inspector_versions() -> impl Iterator<Item = InspectorVersion> {
    (1..=InspectorVersion::CURRENT.number()).filter_map(InspectorVersion::new)
}

pub fn inspector_request(bytes: &[u8]) {
    for version in inspector_versions() {
        if let Ok(request) = OfInspector::decode(Bytes::copy_from_slice(bytes), version) {
            let again = OfInspector::decode(request.encode(), InspectorVersion::CURRENT);
            assert_eq!(again.ok(), Some(request), "{version:?}");
        }
    }
}

pub fn inspector_response(bytes: &[u8]) {
    if let Ok(response) = ToInspector::decode(Bytes::copy_from_slice(bytes)) {
        let written = response.encode(InspectorVersion::CURRENT);
        assert_eq!(ToInspector::decode(written).ok().as_ref(), Some(&response));
        for version in inspector_versions() {
            assert!(!response.encode(version).is_empty(), "{version:?}");
        }
    }
}
