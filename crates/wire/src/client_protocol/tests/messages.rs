use super::*;

fn init() -> ToClient {
    ToClient::Init {
        actor_id: ACTOR_ID.into(),
        connection_id: CONNECTION_ID.into(),
    }
}

fn user_error(action_id: Option<u64>) -> ToClient {
    ToClient::Error {
        error: ErrorBody {
            group: "user".into(),
            code: "user_error".into(),
            message: "boo2".into(),
            metadata: None,
            actor: Some(ActorSpecifier {
                actor_id: ACTOR_ID.into(),
                generation: 1,
                key: Some("a/b".into()),
            }),
        },
        action_id,
    }
}

/// `newCount(1, "two", 3n, undefined)`.
fn event() -> ToClient {
    ToClient::Event {
        name: "newCount".into(),
        args: Bytes::from_static(b"\x84\x01\x63two\x82\x67$BigInt\x613\x82\x6a$Undefined\x00"),
    }
}

fn response() -> ToClient {
    ToClient::ActionResponse {
        id: 0,
        output: Bytes::from_static(b"\x05"),
    }
}

fn request(args: &'static [u8]) -> ToServer {
    ToServer::ActionRequest {
        id: 0,
        name: "increment".into(),
        args: Bytes::from_static(args),
    }
}

fn subscribe() -> ToServer {
    ToServer::SubscriptionRequest {
        event_name: "newCount".into(),
        subscribe: true,
    }
}

#[test]
fn captured_messages_to_clients_are_written_and_read() {
    let id = ACTOR_ID.as_bytes();
    let error = b"\x04\x00\x01\x04user\x0auser_error\x04boo2\x00\x01\x03\x01\x1e";
    let args = b"\x84\x01\x63two\x82\x67$BigInt\x613\x82\x6a$Undefined\x00";
    for (message, bytes) in [
        (
            init(),
            concat(&[b"\x04\x00\x00\x1e", id, b"\x24", CONNECTION_ID.as_bytes()]),
        ),
        (
            user_error(Some(3)),
            concat(&[error, id, b"\x01\x01\x03a/b"]),
        ),
        (response(), concat(&[b"\x04\x00\x02\x00\x01\x05"])),
        (event(), concat(&[b"\x04\x00\x03\x08newCount\x1e", args])),
    ] {
        assert_eq!(message.encode(Encoding::Bare).unwrap().into_bytes(), bytes);
        assert_eq!(ToClient::decode(bytes, Encoding::Bare).unwrap(), message);
    }
}

#[test]
fn captured_messages_from_clients_are_read_and_written() {
    for (message, bytes) in [
        (
            request(b"\x81\x01"),
            concat(&[b"\x04\x00\x00\x00\x09increment\x02\x81\x01"]),
        ),
        (subscribe(), concat(&[b"\x04\x00\x01\x08newCount\x01"])),
    ] {
        assert_eq!(
            ToServer::decode(bytes.clone(), Encoding::Bare).unwrap(),
            message
        );
        assert_eq!(message.encode(Encoding::Bare).unwrap().into_bytes(), bytes);
    }
}

#[test]
fn json_messages_have_the_shapes_clients_check() {
    let of = |message: ToClient| text(message.encode(Encoding::Json).unwrap());
    assert_eq!(
        of(init()),
        format!(
            r#"{{"body":{{"tag":"Init","val":{{"actorId":"{ACTOR_ID}","connectionId":"{CONNECTION_ID}"}}}}}}"#
        )
    );
    assert_eq!(
        of(response()),
        r#"{"body":{"tag":"ActionResponse","val":{"id":["$BigInt","0"],"output":5}}}"#
    );
    assert_eq!(
        of(event()),
        r#"{"body":{"tag":"Event","val":{"name":"newCount","args":[1,"two",["$BigInt","3"],["$Undefined",0]]}}}"#
    );
    assert_eq!(
        of(user_error(Some(3))),
        format!(
            r#"{{"body":{{"tag":"Error","val":{{"actionId":["$BigInt","3"],"actor":{{"actorId":"{ACTOR_ID}","generation":1,"key":"a/b"}},"code":"user_error","group":"user","message":"boo2"}}}}}}"#
        )
    );
    assert!(of(user_error(None)).contains(r#""actionId":null"#));
    assert_eq!(
        text(request(b"\x80").encode(Encoding::Json).unwrap()),
        r#"{"body":{"tag":"ActionRequest","val":{"id":["$BigInt","0"],"name":"increment","args":[]}}}"#
    );
    assert_eq!(
        text(subscribe().encode(Encoding::Json).unwrap()),
        r#"{"body":{"tag":"SubscriptionRequest","val":{"eventName":"newCount","subscribe":true}}}"#
    );
}

#[test]
fn cbor_messages_have_their_integers_in_eight_bytes() {
    let bytes = response().encode(Encoding::Cbor).unwrap().into_bytes();
    assert_eq!(
        bytes,
        b"\xa1\x64body\xa2\x63tag\x6eActionResponse\x63val\xa2\x62id\x1b\0\0\0\0\0\0\0\0\x66output\x05"
            .as_slice()
    );
    let bytes = user_error(Some(3))
        .encode(Encoding::Cbor)
        .unwrap()
        .into_bytes();
    for wide in [
        b"actionId\x1b\0\0\0\0\0\0\0\x03".as_slice(),
        b"generation\x1b\0\0\0\0\0\0\0\x01",
    ] {
        assert!(bytes.windows(wide.len()).any(|window| window == wide));
    }
}

#[test]
fn payloads_of_responses_and_events_are_not_copied() {
    let payload = concat(&[b"\x81", J1]);
    for encoding in [Encoding::Bare, Encoding::Cbor] {
        let response = ToClient::ActionResponse {
            id: 1,
            output: payload.clone(),
        };
        let event = ToClient::Event {
            name: "e".into(),
            args: payload.clone(),
        };
        for message in [response, event] {
            let (_, written) = message.encode(encoding).unwrap().into_parts();
            assert_eq!(written.as_ptr(), payload.as_ptr());
        }
    }
    let message = concat(&[b"\x04\x00\x00\x00\x01a\x07\x81", J1]);
    let ToServer::ActionRequest { args, .. } =
        ToServer::decode(message.clone(), Encoding::Bare).unwrap()
    else {
        panic!("an action request was sent");
    };
    assert_eq!(args.as_ptr(), message[7..].as_ptr());
}

#[test]
fn ids_are_read_in_any_form() {
    let json_id = |id: &str| {
        let text = format!(
            r#"{{"body":{{"val":{{"args":[1],"name":"increment","id":{id}}},"tag":"ActionRequest"}}}}"#
        );
        ToServer::decode(json(&text), Encoding::Json)
    };
    for id in ["0", "0.0", "-0", r#"["$BigInt","0"]"#] {
        assert_eq!(json_id(id).unwrap(), request(b"\x81\x01"), "{id}");
    }
    for id in [
        "-1",
        "0.5",
        "null",
        "\"0\"",
        r#"["$BigInt","-1"]"#,
        r#"["$Int","0"]"#,
        r#"["$BigInt","0",1]"#,
    ] {
        assert!(json_id(id).is_err(), "{id}");
    }

    let cbor_id = |id: &[u8]| {
        let head = b"\xa1\x64body\xa2\x63val\xa3\x64args\x81\x01\x64name\x69increment\x62id";
        let message = concat(&[head, id, b"\x63tag\x6dActionRequest"]);
        ToServer::decode(message, Encoding::Cbor)
    };
    for id in [
        b"\x00".as_slice(),
        b"\x18\x00",
        b"\x1b\0\0\0\0\0\0\0\0",
        b"\xf9\x00\x00",
        b"\xfb\0\0\0\0\0\0\0\0",
        b"\xc2\x42\0\0",
        b"\x82\x67$BigInt\x610",
    ] {
        assert_eq!(cbor_id(id).unwrap(), request(b"\x81\x01"), "{id:x?}");
    }
    for id in [
        b"\x20".as_slice(),
        b"\xf6",
        b"\x610",
        b"\xf9\x38\x00",
        b"\xc2\x49\x01\0\0\0\0\0\0\0\0",
        b"\x82\x67$BigInt\x61x",
        b"\x83\x67$BigInt\x610\x610",
    ] {
        assert!(cbor_id(id).is_err(), "{id:x?}");
    }
}

#[test]
fn arguments_are_as_lenient_as_over_http() {
    for args in ["", r#","args":null"#, r#","args":[]"#] {
        let text = format!(
            r#"{{"body":{{"tag":"ActionRequest","val":{{"id":0,"name":"increment"{args}}}}}}}"#
        );
        assert_eq!(
            ToServer::decode(json(&text), Encoding::Json).unwrap(),
            request(b"\x80")
        );
    }
    let bare = Bytes::from_static(b"\x04\x00\x00\x00\x09increment\x00");
    assert_eq!(
        ToServer::decode(bare, Encoding::Bare).unwrap(),
        request(b"\x80")
    );
}

#[test]
fn malformed_messages_are_invalid_requests() {
    let messages: &[(Encoding, &[u8])] = &[
        (Encoding::Bare, b""),
        (Encoding::Bare, b"\x04\x00\x02"),
        (Encoding::Bare, b"\x05\x00\x01\x01a\x01"),
        (Encoding::Bare, b"\x04\x00\x01\x01a\x01\x00"),
        (Encoding::Bare, b"\x04\x00\x01\x01a\x02"),
        (Encoding::Bare, b"\x04\x00\x00\x00\x01a\x01\x81"),
        (Encoding::Cbor, b"\xa1\x64body\x80"),
        (Encoding::Cbor, b"\xa1\x64body\xa1\x63tag\x6dActionRequest"),
        (Encoding::Cbor, b"\xa0"),
        (Encoding::Json, b"{}"),
        (Encoding::Json, br#"{"body":["ActionRequest",{}]}"#),
        (Encoding::Json, br#"{"body":{"tag":"Nonsense","val":{}}}"#),
        (
            Encoding::Json,
            br#"{"body":{"tag":"SubscriptionRequest","val":{"eventName":"a"}}}"#,
        ),
        (
            Encoding::Json,
            br#"{"body":{"tag":"SubscriptionRequest","val":{"eventName":1,"subscribe":true}}}"#,
        ),
    ];
    for (encoding, message) in messages {
        let message = Bytes::copy_from_slice(message);
        let error = ToServer::decode(message.clone(), *encoding).unwrap_err();
        assert!(error.is(&code::ACTOR_INVALID_REQUEST), "{message:x?}");
        assert_eq!(error.close_code(), 1011);
        assert!(ToClient::decode(message, *encoding).is_err());
    }
}

#[test]
fn older_versions_are_read_upwards() {
    let init = ToClient::decode(
        Bytes::from_static(b"\x01\x00\x00\x01a\x01c\x05token"),
        Encoding::Bare,
    );
    let expected = ToClient::Init {
        actor_id: "a".into(),
        connection_id: "c".into(),
    };
    assert_eq!(init.unwrap(), expected);
    let error = ToClient::decode(
        Bytes::from_static(b"\x03\x00\x01\x01g\x01c\x01m\x00\x01\x03"),
        Encoding::Bare,
    );
    let ToClient::Error { error, action_id } = error.unwrap() else {
        panic!("an error was sent");
    };
    assert_eq!((error.actor, action_id), (None, Some(3)));
}

#[test]
fn a_shared_message_is_encoded_once_per_encoding() {
    let shared = SharedMessage::new(event());
    for encoding in Encoding::ALL {
        let first = shared.encode(encoding).unwrap();
        assert_eq!(first, event().encode(encoding).unwrap().into_bytes());
        assert_eq!(shared.encode(encoding).unwrap().as_ptr(), first.as_ptr());
    }
    let unfit = SharedMessage::new(ToClient::Event {
        name: "e".into(),
        args: Bytes::from_static(b"\x81\xa1\x80\x01"),
    });
    assert!(unfit.encode(Encoding::Bare).is_ok());
    for _ in 0..2 {
        assert!(
            unfit
                .encode(Encoding::Json)
                .unwrap_err()
                .is(&code::ACTOR_SEND_FAILED)
        );
    }
}

fn to_client() -> impl Strategy<Value = ToClient> {
    let actor = (any::<String>(), any::<u32>(), any::<Option<String>>()).prop_map(
        |(actor_id, generation, key)| ActorSpecifier {
            actor_id,
            generation,
            key,
        },
    );
    let error = (
        any::<(String, String, String)>(),
        prop::option::of(payload()),
        prop::option::of(actor),
    )
        .prop_map(|((group, code, message), metadata, actor)| ErrorBody {
            group,
            code,
            message,
            metadata,
            actor,
        });
    prop_oneof![
        any::<(String, String)>().prop_map(|(actor_id, connection_id)| ToClient::Init {
            actor_id,
            connection_id
        }),
        (error, any::<Option<u64>>())
            .prop_map(|(error, action_id)| ToClient::Error { error, action_id }),
        (any::<u64>(), payload()).prop_map(|(id, output)| ToClient::ActionResponse { id, output }),
        (any::<String>(), args()).prop_map(|(name, args)| ToClient::Event { name, args }),
    ]
}

fn to_server() -> impl Strategy<Value = ToServer> {
    prop_oneof![
        (any::<u64>(), any::<String>(), args())
            .prop_map(|(id, name, args)| ToServer::ActionRequest { id, name, args }),
        any::<(String, bool)>().prop_map(|(event_name, subscribe)| {
            ToServer::SubscriptionRequest {
                event_name,
                subscribe,
            }
        }),
    ]
}

proptest! {
    #[test]
    fn messages_survive_every_encoding(down in to_client(), up in to_server()) {
        for encoding in Encoding::ALL {
            let bytes = down.encode(encoding).unwrap().into_bytes();
            prop_assert_eq!(&ToClient::decode(bytes, encoding).unwrap(), &down);
            let bytes = up.encode(encoding).unwrap().into_bytes();
            prop_assert_eq!(&ToServer::decode(bytes, encoding).unwrap(), &up);
        }
    }

    #[test]
    fn arbitrary_messages_never_panic(bytes: Vec<u8>, tag in 0..5u8) {
        let mut versioned = vec![VERSION as u8, 0, tag];
        versioned.extend(&bytes);
        for message in [Bytes::from(bytes), Bytes::from(versioned)] {
            for encoding in Encoding::ALL {
                let _ = ToServer::decode(message.clone(), encoding);
                let _ = ToClient::decode(message.clone(), encoding);
            }
        }
    }

    #[test]
    fn a_damaged_message_never_panics(up in to_server(), at: prop::sample::Index, byte: u8) {
        for encoding in Encoding::ALL {
            let mut bytes = up.encode(encoding).unwrap().into_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = ToServer::decode(Bytes::from(bytes), encoding);
        }
    }
}
