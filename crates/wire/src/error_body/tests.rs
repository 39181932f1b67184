use greenroom_error::{Error, code};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const ACTOR_ID: &str = "x45shjmfofvy2hsn71ye5t4dkwal00";

fn not_found() -> ClientError {
    Error::new(&code::ACTOR_ACTION_NOT_FOUND)
        .with_message("Action `nosuch` was not found.")
        .with_actor(ActorSpecifier {
            actor_id: ACTOR_ID.into(),
            generation: 1,
            key: Some(r"c1/a\/b/\0/x,y".into()),
        })
        .client_view()
}

fn json(error: &ClientError) -> Value {
    serde_json::from_slice(&encode(error, Encoding::Json)).unwrap()
}

#[test]
fn the_bare_form_is_that_of_the_captured_error() {
    let expected = [
        b"\x04\x00\x05actor\x10action_not_found".as_slice(),
        b"\x1eAction `nosuch` was not found.\x00\x01\x1e",
        ACTOR_ID.as_bytes(),
        b"\x01\x01\x0e",
        br"c1/a\/b/\0/x,y",
    ]
    .concat();
    assert_eq!(encode(&not_found(), Encoding::Bare), expected);
}

#[test]
fn the_json_form_lists_its_fields_in_order() {
    assert_eq!(
        encode(&not_found(), Encoding::Json),
        format!(
            r#"{{"actor":{{"actorId":"{ACTOR_ID}","generation":1,"key":"c1/a\\/b/\\0/x,y"}},"code":"action_not_found","group":"actor","message":"Action `nosuch` was not found."}}"#
        )
    );
}

#[test]
fn the_cbor_form_has_a_minimal_generation() {
    let mut error = not_found();
    error.actor.as_mut().unwrap().key = None;
    let body = encode(&error, Encoding::Cbor);
    let needle = b"\x6ageneration\x01";
    assert!(body.windows(needle.len()).any(|window| window == needle));
    assert_eq!(body[0], 0xa4);
}

#[test]
fn absent_fields_are_left_out_and_null_metadata_is_kept() {
    let bare_error = Error::foreign("user", "nope", "no");
    let keys = |error: &ClientError| -> Vec<String> {
        json(error).as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(
        keys(&bare_error.client_view()),
        ["code", "group", "message"]
    );
    let with_null = bare_error.with_metadata(Value::Null).client_view();
    assert_eq!(json(&with_null)["metadata"], Value::Null);
    assert_eq!(keys(&with_null), ["code", "group", "message", "metadata"]);
    for encoding in Encoding::ALL {
        let back = decode(encode(&with_null, encoding), encoding).unwrap();
        assert_eq!(back.metadata, Some(Value::Null), "{encoding}");
    }
}

#[test]
fn older_bare_errors_have_no_actor() {
    let body = Bytes::from_static(b"\x03\x00\x01g\x01c\x01m\x01\x01\x07");
    let error = decode(body, Encoding::Bare).unwrap();
    assert_eq!((error.metadata, error.actor), (Some(json!(7)), None));
}

#[test]
fn a_lenient_reader_takes_a_null_actor_and_a_tagged_generation() {
    let body = br#"{"group":"g","code":"c","message":"m","actor":null}"#;
    let error = decode(Bytes::from_static(body), Encoding::Json).unwrap();
    assert_eq!((error.actor, error.metadata), (None, None));
    let body = br#"{"group":"g","code":"c","message":"m","actor":{"actorId":"a","generation":["$BigInt","2"],"key":null}}"#;
    let error = decode(Bytes::from_static(body), Encoding::Json).unwrap();
    assert_eq!(error.actor.unwrap().generation, 2);
}

#[test]
fn what_is_no_error_is_refused() {
    for (encoding, body) in [
        (Encoding::Json, b"<html>".as_slice()),
        (Encoding::Json, br#"{"group":"g","code":"c"}"#),
        (Encoding::Json, br#"["g","c","m"]"#),
        (Encoding::Json, br#"{"group":"g","code":"c","message":"m","actor":{"actorId":"a","generation":4294967296}}"#),
        (Encoding::Cbor, b"\xa1\x65group\x61g"),
        (Encoding::Cbor, b""),
        (Encoding::Bare, b"\x05\x00\x00\x00\x00\x00\x00"),
        (Encoding::Bare, b"\x04\x00\x00\x00\x00\x00\x00\x00"),
    ] {
        let error = decode(Bytes::copy_from_slice(body), encoding).unwrap_err();
        assert!(error.is(&code::MALFORMED_BODY));
        assert_eq!(error.http_status(), 400);
    }
}

fn error() -> impl Strategy<Value = ClientError> {
    let actor = (any::<String>(), any::<u32>(), any::<Option<String>>()).prop_map(
        |(actor_id, generation, key)| ActorSpecifier {
            actor_id,
            generation,
            key,
        },
    );
    let metadata = prop_oneof![
        Just(None),
        Just(Some(Value::Null)),
        any::<(String, i32)>().prop_map(|(key, value)| Some(json!({ key: [value] }))),
    ];
    let texts = any::<(String, String, String)>();
    (texts, metadata, prop::option::of(actor)).prop_map(
        |((group, code, message), metadata, actor)| ClientError {
            group,
            code,
            message,
            metadata,
            actor,
        },
    )
}

proptest! {
    #[test]
    fn an_error_survives_every_encoding(error in error()) {
        for encoding in Encoding::ALL {
            let body = encode(&error, encoding);
            prop_assert_eq!(&decode(body, encoding).unwrap(), &error);
        }
    }

    #[test]
    fn arbitrary_bodies_never_panic(body: Vec<u8>) {
        for encoding in Encoding::ALL {
            let _ = decode(Bytes::from(body.clone()), encoding);
        }
    }
}
