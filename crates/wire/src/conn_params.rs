//! Connection parameters: plain JSON from the client, CBOR for user code.
//!
//! Over HTTP they come in a header, over WebSocket in a subprotocol; absent
//! parameters are `null`. They hold no `$` tags: what looks like one is data
//! all the same, and crosses as it is.

use bytes::Bytes;
use greenroom_error::Result;

use crate::cbor;
use crate::malformed::{Malformed, Read};
use crate::percent;
use crate::value::json_to_cbor;

/// The parameters of an HTTP request from its `x-rivet-conn-params` header.
///
/// Header values are bytes, and published clients put characters up to U+00FF
/// in as one byte each, so the value is read as Latin-1.
///
/// # Errors
/// `actor/invalid_request` if the value is not JSON.
pub fn from_header(value: Option<&[u8]>) -> Result<Bytes> {
    let Some(value) = value else {
        return Ok(absent());
    };
    let result = if value.is_ascii() {
        json_to_cbor(value)
    } else {
        let text: String = value.iter().copied().map(char::from).collect();
        json_to_cbor(text.as_bytes())
    };
    result.map_err(Malformed::in_request)
}

/// The parameters of a WebSocket from the rest of its `rivet_conn_params.`
/// subprotocol, which is form-encoded.
///
/// # Errors
/// `actor/invalid_request` if the value is not JSON.
pub fn from_subprotocol(value: Option<&str>) -> Result<Bytes> {
    match value {
        None => Ok(absent()),
        Some(value) => decode(value).map_err(Malformed::in_request),
    }
}

fn decode(value: &str) -> Read<Bytes> {
    let text = percent::decode_form(value)
        .map_err(|_| Malformed::new("connection parameters are not UTF-8"))?;
    json_to_cbor(text.as_bytes())
}

fn absent() -> Bytes {
    Bytes::from_static(cbor::NULL)
}

#[cfg(test)]
mod tests {
    use greenroom_error::code;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn absent_parameters_are_null() {
        assert_eq!(from_header(None).unwrap(), cbor::NULL);
        assert_eq!(from_subprotocol(None).unwrap(), cbor::NULL);
    }

    #[test]
    fn parameters_become_the_shortest_cbor() {
        let expected = b"\xa1\x63tok\x01".as_slice();
        assert_eq!(from_header(Some(br#"{"tok":1}"#)).unwrap(), expected);
        let encoded = "%7B%22tok%22%3A1%7D";
        assert_eq!(from_subprotocol(Some(encoded)).unwrap(), expected);
    }

    #[test]
    fn headers_are_latin_1_and_subprotocols_utf_8() {
        let expected = b"\x62\xc3\xbc".as_slice();
        assert_eq!(from_header(Some(b"\"\xfc\"")).unwrap(), expected);
        assert_eq!(from_subprotocol(Some("%22%C3%BC%22")).unwrap(), expected);
        assert_eq!(
            from_subprotocol(Some("%22a+b%22")).unwrap(),
            b"\x63a b".as_slice()
        );
    }

    #[test]
    fn what_is_not_json_is_an_invalid_request() {
        for error in [
            from_header(Some(b"")).unwrap_err(),
            from_header(Some(b"{")).unwrap_err(),
            from_subprotocol(Some("nope")).unwrap_err(),
            from_subprotocol(Some("%22%ff%22")).unwrap_err(),
        ] {
            assert!(error.is(&code::ACTOR_INVALID_REQUEST));
            assert_eq!((error.http_status(), error.close_code()), (400, 1011));
        }
    }

    proptest! {
        #[test]
        fn arbitrary_values_never_panic(bytes: Vec<u8>, text: String) {
            let _ = from_header(Some(&bytes));
            let _ = from_subprotocol(Some(&text));
        }
    }
}
