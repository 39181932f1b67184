use super::*;

/// `(123n, Uint8Array [1, 2], undefined, null, ["$a", 2])`.
const TRICKY_ARGS: &[u8] = b"\x85\x82\x67$BigInt\x63123\x82\x6b$Uint8Array\x64AQI=\
    \x82\x6a$Undefined\x00\xf6\x82\x63$$a\x02";

fn action_args(body: &[u8], encoding: Encoding) -> Bytes {
    let request = HttpActionRequest::decode(Bytes::copy_from_slice(body), encoding);
    request.unwrap().args
}

fn action_bytes(args: &'static [u8], encoding: Encoding) -> Bytes {
    let args = Bytes::from_static(args);
    HttpActionRequest { args }
        .encode(encoding)
        .unwrap()
        .into_bytes()
}

fn response_bytes(output: &'static [u8], encoding: Encoding) -> Bytes {
    let output = Bytes::from_static(output);
    HttpActionResponse { output }
        .encode(encoding)
        .unwrap()
        .into_bytes()
}

#[test]
fn captured_action_bodies_are_read_and_written() {
    for (args, body) in [
        (b"\x81\x04".as_slice(), concat(&[b"\x04\x00\x02\x81\x04"])),
        (b"\x80", concat(&[b"\x04\x00\x01\x80"])),
        (TRICKY_ARGS, concat(&[b"\x04\x00\x34", TRICKY_ARGS])),
    ] {
        assert_eq!(action_args(&body, Encoding::Bare), args);
        assert_eq!(action_bytes(args, Encoding::Bare), body);
    }
    assert_eq!(
        response_bytes(b"\x04", Encoding::Bare),
        b"\x04\x00\x01\x04".as_slice()
    );
    assert_eq!(
        response_bytes(b"\xf6", Encoding::Bare),
        b"\x04\x00\x01\xf6".as_slice()
    );
}

#[test]
fn every_version_of_an_action_is_read() {
    for version in VERSION_MIN..=VERSION {
        let body = [version as u8, 0, 1, 0x80];
        assert_eq!(action_args(&body, Encoding::Bare), cbor::EMPTY_ARRAY);
    }
    for version in [0, VERSION as u8 + 1] {
        let body = Bytes::copy_from_slice(&[version, 0, 1, 0x80]);
        assert!(HttpActionRequest::decode(body, Encoding::Bare).is_err());
    }
}

#[test]
fn a_bare_action_is_not_copied_on_the_way_in_or_out() {
    let body = concat(&[b"\x04\x00\x02\x81\x04"]);
    let request = HttpActionRequest::decode(body.clone(), Encoding::Bare).unwrap();
    assert_eq!(request.args.as_ptr(), body[3..].as_ptr());

    let output = request.args;
    for encoding in [Encoding::Bare, Encoding::Cbor] {
        let response = HttpActionResponse {
            output: output.clone(),
        };
        let (_, payload) = response.encode(encoding).unwrap().into_parts();
        assert_eq!(payload.as_ptr(), output.as_ptr());
    }
}

#[test]
fn cbor_payloads_are_spliced_out_of_their_map() {
    let body = concat(&[b"\xb9\x00\x02\x61x\x82\x01\x02\x64args\x81", J1]);
    let request = HttpActionRequest::decode(body.clone(), Encoding::Cbor).unwrap();
    assert_eq!(request.args, concat(&[b"\x81", J1]));
    assert_eq!(request.args.as_ptr(), body[13..].as_ptr());

    // Tags, byte strings and indefinite lengths pass as they are.
    let tagged = b"\xbf\x64args\x9f\xc1\x01\x41a\xff\xff";
    assert_eq!(
        action_args(tagged, Encoding::Cbor),
        b"\x9f\xc1\x01\x41a\xff".as_slice()
    );
    assert_eq!(
        response_bytes(b"\xc1\x01", Encoding::Cbor),
        b"\xa1\x66output\xc1\x01".as_slice()
    );
}

#[test]
fn missing_and_single_arguments_are_made_into_a_list() {
    let none = cbor::EMPTY_ARRAY;
    for body in ["{}", r#"{"args":null}"#, r#"{"args":[]}"#, r#" {"x":[1]} "#] {
        assert_eq!(action_args(body.as_bytes(), Encoding::Json), none, "{body}");
    }
    for body in [
        b"\xa0".as_slice(),
        b"\xa1\x64args\xf6",
        b"\xa1\x64args\xf7",
        b"\xa1\x01\x02",
    ] {
        assert_eq!(action_args(body, Encoding::Cbor), none, "{body:x?}");
    }
    for body in [b"\x04\x00\x00".as_slice(), b"\x04\x00\x01\xf6"] {
        assert_eq!(action_args(body, Encoding::Bare), none, "{body:x?}");
    }
    let one = b"\x81\xb9\x00\x01\x61j\x01".as_slice();
    assert_eq!(
        action_args(&concat(&[b"\xa1\x64args", J1]), Encoding::Cbor),
        one
    );
    assert_eq!(
        action_args(&concat(&[b"\x04\x00\x06", J1]), Encoding::Bare),
        one
    );
    assert_eq!(
        action_args(br#"{"args":{"j":1}}"#, Encoding::Json),
        b"\x81\xa1\x61j\x01".as_slice()
    );
    assert_eq!(
        action_args(br#"{"args":5}"#, Encoding::Json),
        b"\x81\x05".as_slice()
    );
}

#[test]
fn malformed_bodies_are_the_clients_fault_and_say_nothing() {
    let bodies: &[(Encoding, &[u8])] = &[
        (Encoding::Json, b""),
        (Encoding::Json, b"{"),
        (Encoding::Json, b"[[1]]"),
        (Encoding::Json, b"null"),
        (Encoding::Json, b"{} {}"),
        (Encoding::Cbor, b""),
        (Encoding::Cbor, b"\x80"),
        (Encoding::Cbor, b"\xa0\xa0"),
        (Encoding::Cbor, b"\xa1\x64args\x82\x01"),
        (Encoding::Cbor, b"\xbf\x64args\x80"),
        (Encoding::Bare, b""),
        (Encoding::Bare, b"\x04"),
        (Encoding::Bare, b"\x04\x00"),
        (Encoding::Bare, b"\x04\x00\x02\x81"),
        (Encoding::Bare, b"\x04\x00\x01\x80\x00"),
        (Encoding::Bare, b"\x04\x00\x02\x80\x80"),
        (Encoding::Bare, b"\x04\x00\x01\x81"),
    ];
    for (encoding, body) in bodies {
        let body = Bytes::copy_from_slice(body);
        let error = HttpActionRequest::decode(body.clone(), *encoding).unwrap_err();
        assert!(error.is(&code::MALFORMED_BODY), "{encoding} {body:x?}");
        assert_eq!((error.http_status(), error.is_public()), (400, false));
        assert!(HttpQueueSendRequest::decode(body, *encoding).is_err());
    }
}

#[test]
fn an_undefined_result_has_a_form_in_every_encoding() {
    let tag = [b"\x04\x00\x0d", cbor::UNDEFINED_TAG].concat();
    assert_eq!(response_bytes(b"", Encoding::Bare), tag);
    let map = [b"\xa1\x66output", cbor::UNDEFINED_TAG].concat();
    assert_eq!(response_bytes(b"", Encoding::Cbor), map);
    assert_eq!(
        response_bytes(b"", Encoding::Json),
        r#"{"output":["$Undefined",0]}"#
    );
}

#[test]
fn json_results_are_converted_and_fail_where_they_cannot_be() {
    assert_eq!(
        response_bytes(TRICKY_ARGS, Encoding::Json),
        r#"{"output":[["$BigInt","123"],["$Uint8Array","AQI="],["$Undefined",0],null,["$$a",2]]}"#
    );
    let output = Bytes::from_static(b"\xa1\x80\x01");
    let error = HttpActionResponse { output }
        .encode(Encoding::Json)
        .unwrap_err();
    assert!(error.is(&code::ACTOR_SEND_FAILED));
}

#[test]
fn captured_queue_messages_are_read_and_written() {
    let request = HttpQueueSendRequest {
        body: Bytes::from_static(J1),
        name: Some("jobs".into()),
        wait: Some(false),
        timeout_ms: None,
    };
    let body = concat(&[b"\x04\x00\x06", J1, b"\x01\x04jobs\x01\x00\x00"]);
    assert_eq!(
        HttpQueueSendRequest::decode(body.clone(), Encoding::Bare).unwrap(),
        request
    );
    assert_eq!(request.encode(Encoding::Bare).unwrap().into_bytes(), body);

    let body = b"\x04\x00\x06\xb9\x00\x01\x61j\x02\x01\x04ackd\x01\x01\x01\x88\x13\0\0\0\0\0\0";
    let request = HttpQueueSendRequest::decode(Bytes::from_static(body), Encoding::Bare).unwrap();
    assert_eq!((request.wait, request.timeout_ms), (Some(true), Some(5000)));
    assert_eq!(
        request.encode(Encoding::Bare).unwrap().into_bytes(),
        body.as_slice()
    );
}

#[test]
fn captured_queue_answers_are_read_and_written() {
    let got = b"\xb9\x00\x01\x63got\xb9\x00\x01\x61j\x02".as_slice();
    let response = Some(Bytes::from_static(got));
    for (status, response, body) in [
        (
            QueueSendStatus::Completed,
            None,
            concat(&[b"\x04\x00\x09completed\x00"]),
        ),
        (
            QueueSendStatus::Completed,
            response,
            concat(&[b"\x04\x00\x09completed\x01\x0d", got]),
        ),
        (
            QueueSendStatus::TimedOut,
            None,
            concat(&[b"\x04\x00\x08timedOut\x00"]),
        ),
    ] {
        let answer = HttpQueueSendResponse { status, response };
        assert_eq!(answer.encode(Encoding::Bare).unwrap().into_bytes(), body);
        assert_eq!(
            HttpQueueSendResponse::decode(body, Encoding::Bare).unwrap(),
            answer
        );
    }
}

#[test]
fn queue_fields_are_optional_and_lenient() {
    let of = |text: &str| HttpQueueSendRequest::decode(json(text), Encoding::Json);
    let request = of(r#"{"body":null,"name":null,"wait":null,"timeout":null}"#).unwrap();
    assert_eq!(request.body, cbor::NULL);
    assert_eq!(
        (request.name, request.wait, request.timeout_ms),
        (None, None, None)
    );
    assert_eq!(of("{}").unwrap().body, cbor::UNDEFINED_TAG);
    assert_eq!(of(r#"{"timeout":300.5}"#).unwrap().timeout_ms, Some(300));
    assert_eq!(of(r#"{"timeout":0}"#).unwrap().timeout_ms, Some(0));
    assert!(of(r#"{"timeout":-1}"#).is_err());
    assert!(of(r#"{"timeout":"1"}"#).is_err());

    let of = |body: &'static [u8]| {
        HttpQueueSendRequest::decode(Bytes::from_static(body), Encoding::Cbor)
    };
    let request = of(b"\xa3\x64body\xf7\x64wait\xf5\x67timeout\xfb\x40\xb3\x88\0\0\0\0\0").unwrap();
    assert_eq!(request.body, cbor::UNDEFINED);
    assert_eq!((request.wait, request.timeout_ms), (Some(true), Some(5000)));
    assert_eq!(of(b"\xa1\x67timeout\xf9\x7c\x00").unwrap().timeout_ms, None);
    assert_eq!(
        of(b"\xa1\x67timeout\x1b\0\0\0\0\0\0\0\x07")
            .unwrap()
            .timeout_ms,
        Some(7)
    );
    assert!(of(b"\xa1\x67timeout\x20").is_err());
    assert!(of(b"\xa1\x64wait\x01").is_err());
}

#[test]
fn queues_came_with_the_third_version() {
    for (version, is_read) in [(2, false), (3, true)] {
        let body = concat(&[&[version, 0], b"\x01\xf6\x00\x00\x00"]);
        let request = HttpQueueSendRequest::decode(body, Encoding::Bare);
        assert_eq!(request.is_ok(), is_read);
    }
}

proptest! {
    #[test]
    fn action_bodies_survive_every_encoding(args in args(), output in payload()) {
        for encoding in Encoding::ALL {
            let request = HttpActionRequest { args: args.clone() };
            let body = request.encode(encoding).unwrap().into_bytes();
            prop_assert_eq!(HttpActionRequest::decode(body, encoding).unwrap(), request);

            let response = HttpActionResponse { output: output.clone() };
            let frame = response.encode(encoding).unwrap();
            let len = frame.len();
            let body = frame.into_bytes();
            prop_assert_eq!(body.len(), len);
            prop_assert_eq!(HttpActionResponse::decode(body, encoding).unwrap(), response);
        }
    }

    #[test]
    fn queue_bodies_survive_every_encoding(
        body in payload(),
        name: Option<String>,
        wait: Option<bool>,
        timeout_ms in prop::option::of(0..1u64 << 53),
        response in prop::option::of(payload()),
        in_time: bool,
    ) {
        let status = if in_time { QueueSendStatus::Completed } else { QueueSendStatus::TimedOut };
        for encoding in Encoding::ALL {
            let request = HttpQueueSendRequest {
                body: body.clone(),
                name: name.clone(),
                wait,
                timeout_ms,
            };
            let bytes = request.encode(encoding).unwrap().into_bytes();
            prop_assert_eq!(HttpQueueSendRequest::decode(bytes, encoding).unwrap(), request);

            let answer = HttpQueueSendResponse { status, response: response.clone() };
            let bytes = answer.encode(encoding).unwrap().into_bytes();
            prop_assert_eq!(HttpQueueSendResponse::decode(bytes, encoding).unwrap(), answer);
        }
    }

    #[test]
    fn arbitrary_bodies_never_panic(body: Vec<u8>) {
        let mut versioned = vec![VERSION as u8, 0];
        versioned.extend(&body);
        for body in [Bytes::from(body), Bytes::from(versioned)] {
            for encoding in Encoding::ALL {
                if let Ok(request) = HttpActionRequest::decode(body.clone(), encoding) {
                    prop_assert_eq!(cbor::check(&request.args), Ok(()));
                }
                let _ = HttpActionResponse::decode(body.clone(), encoding);
                let _ = HttpQueueSendRequest::decode(body.clone(), encoding);
                let _ = HttpQueueSendResponse::decode(body.clone(), encoding);
            }
        }
    }
}
