use serde_json::json;

use crate::{ActorSpecifier, Error, MASKED_MESSAGE, bridge, code};

#[test]
fn each_pair_has_one_meaning() {
    for (at, row) in code::ALL.iter().enumerate() {
        for other in &code::ALL[at + 1..] {
            let same = row.group == other.group && row.code == other.code;
            // A decode failure is an internal error with another HTTP status.
            let allowed = row.group == "core" && row.exposure == other.exposure;
            assert!(!same || allowed, "{}.{} stands twice", row.group, row.code);
        }
    }
}

#[test]
fn metadata_fills_the_template() {
    let error = Error::with(&code::QUEUE_FULL, json!({ "limit": 3 }));
    assert_eq!(error.message(), "Queue is full. Limit is 3 messages.");
    let error = Error::invalid_argument("limit", "must be non-negative");
    assert_eq!(
        error.message(),
        "Invalid native argument 'limit': must be non-negative"
    );
}

#[test]
fn private_text_is_masked_and_public_text_kept() {
    let private = Error::foreign("billing", "secret", "card 42").with_metadata(json!({"n": 1}));
    let view = private.client_view();
    assert_eq!(
        (view.message.as_str(), view.metadata),
        (MASKED_MESSAGE, None)
    );
    assert_eq!(
        (view.group.as_str(), view.code.as_str()),
        ("billing", "secret")
    );

    let user = Error::foreign("user", "too_late", "shop is closed").with_metadata(json!({"n": 1}));
    let view = user.client_view();
    assert_eq!(
        (view.message.as_str(), view.metadata),
        ("shop is closed", Some(json!({"n": 1})))
    );
    assert_eq!(user.http_status(), 500);
    assert_eq!(user.bridge_status(), Some(400));
}

#[test]
fn overloaded_keeps_the_metadata_that_clients_retry_on() {
    let metadata =
        json!({"channel": "dispatch_inbox", "operation": "dispatch_queue_send", "capacity": 1});
    let view = Error::with(&code::ACTOR_OVERLOADED, metadata.clone()).client_view();
    assert_eq!(view.metadata, Some(metadata));
    assert_eq!(view.message, MASKED_MESSAGE);
}

#[test]
fn outgoing_text_has_every_key_in_the_observed_order() {
    let error = Error::with(&code::QUEUE_TIMED_OUT, json!({ "timeout_ms": 200 }));
    assert_eq!(
        bridge::encode(&error),
        r#"__RIVET_ERROR_JSON__:{"actor":null,"code":"timed_out","group":"queue","message":"Queue wait timed out after 200 ms.","metadata":{"timeout_ms":200},"public":true,"rayId":null,"statusCode":400}"#
    );
}

#[test]
fn a_structured_error_survives_the_bridge() {
    let error = Error::foreign("user", "nope", "no")
        .with_metadata(json!(null))
        .with_ray_id("r1")
        .with_actor(ActorSpecifier {
            actor_id: "a".into(),
            generation: 3,
            key: Some("k/1".into()),
        });
    let back = bridge::decode(&format!("Error: {}", bridge::encode(&error)));
    assert_eq!(back.full_view(), error.full_view());
    assert_eq!(back.ray_id(), Some("r1"));
}

#[test]
fn broken_bridge_text_is_an_internal_error_that_keeps_the_text() {
    for text in [
        "boom",
        "__RIVET_ERROR_JSON__:{",
        "__RIVET_ERROR_JSON__:[]",
        "__RIVET_ERROR_JSON__:{\"group\":1}",
    ] {
        let error = bridge::decode(text);
        assert!(error.is(&code::INTERNAL));
        assert_eq!(error.metadata(), Some(&json!({ "error": text })));
    }
}

#[test]
fn the_innermost_actor_is_kept() {
    let actor = |id: &str| ActorSpecifier {
        actor_id: id.into(),
        generation: 1,
        key: None,
    };
    let error = Error::new(&code::ACTOR_STOPPING)
        .with_actor(actor("inner"))
        .with_actor(actor("outer"));
    assert_eq!(error.actor().map(|a| a.actor_id.as_str()), Some("inner"));
}
