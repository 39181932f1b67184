use greenroom_error::Code;
use greenroom_error::code::*;
use proptest::prelude::*;

use super::*;
use crate::Subprotocols;

const ID: &str = "d9fv68dbvyvve6gcyrkqvyew5oal00";
const GET: &str = "rvt-namespace=default&rvt-method=get";
const CREATE: &str = "rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default";

fn route(path: &str) -> GatewayRoute {
    parse(path)
        .unwrap()
        .unwrap_or_else(|| panic!("{path} is a gateway path"))
}

fn query_target(path: &str) -> QueryTarget {
    match route(path).target {
        Target::Query(target) => target,
        Target::Direct(_) => panic!("{path} has the query form"),
    }
}

fn create_options(extra: &str) -> CreateOptions {
    match query_target(&format!("/gateway/counter?{CREATE}&{extra}")).method {
        QueryMethod::GetOrCreate(options) => options,
        QueryMethod::Get => panic!("the method is getOrCreate"),
    }
}

fn assert_refused(path: &str, row: &Code) {
    let error = parse(path).unwrap_err();
    assert!(error.is(row), "{path} gave {error}");
}

#[test]
fn the_captured_direct_path_is_read() {
    let route = route(&format!("/gateway/{ID}@mytoken/action/get"));
    let expected = GatewayRoute {
        target: Target::Direct(ID.parse().unwrap()),
        token: Some("mytoken".into()),
        skip_ready_wait: false,
        path_and_query: "/action/get".into(),
    };
    assert_eq!(route, expected);
}

#[test]
fn the_captured_query_path_is_read() {
    let route = route(
        "/gateway/counter/action/increment?rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default&rvt-key=c1%2Ca%2Fb%2C%2Cx%2Cy&rvt-input=uQABYmhpAQ&rvt-crash-policy=sleep&rvt-token=mytoken",
    );
    let expected = GatewayRoute {
        target: Target::Query(QueryTarget {
            namespace: "default".into(),
            name: "counter".into(),
            key: ActorKey::new(["c1", "a/b", "", "x", "y"]).unwrap(),
            method: QueryMethod::GetOrCreate(CreateOptions {
                pool: "default".into(),
                input: Some(Bytes::from_static(b"\xb9\x00\x01\x62hi\x01")),
                region: None,
                crash_policy: Some(CrashPolicy::Sleep),
            }),
        }),
        token: Some("mytoken".into()),
        skip_ready_wait: false,
        path_and_query: "/action/increment".into(),
    };
    assert_eq!(route, expected);
}

#[test]
fn what_the_actor_sees_stays_as_it_was_sent() {
    for (path, seen) in [
        (format!("/gateway/{ID}"), "/"),
        (format!("/gateway/{ID}/"), "/"),
        (format!("/gateway/{ID}?x=%20+&&y"), "/?x=%20+&&y"),
        (format!("/gateway/{ID}?"), "/?"),
        (
            format!("/gateway/{ID}/request/a//b%2f?q=?"),
            "/request/a//b%2f?q=?",
        ),
        (format!("/gateway/{ID}/r?x=rvt-key"), "/r?x=rvt-key"),
        (format!("/gateway/c?{GET}"), "/"),
        (
            format!("/gateway/c/r?b=%2B&{GET}&&a=+&b"),
            "/r?b=%2B&&a=+&b",
        ),
        (format!("/gateway/c/r?{GET}&"), "/r"),
        (format!("/gateway/c?{GET}&x=1?2"), "/?x=1?2"),
    ] {
        assert_eq!(route(&path).path_and_query, seen, "{path}");
    }
}

#[test]
fn other_paths_belong_to_the_api() {
    for path in [
        "",
        "/",
        "/actors",
        "/gateway",
        "/gateway?rvt-method=get",
        "/gateways/x",
        "/gateway/",
        "/gateway//action/x",
        "/gateway/@t/action/x",
        &format!("/gateway/{ID}@/action/x"),
        &format!("/gateway/{ID}//action/x"),
        &format!("/gateway/c//action?{GET}"),
    ] {
        assert_eq!(parse(path).unwrap(), None, "{path}");
    }
}

#[test]
fn direct_parts_are_decoded_apart() {
    let encoded = ID.replacen('d', "%64", 1);
    let route = route(&format!("/gateway/{encoded}@a%40b@c%2F"));
    assert_eq!(route.target, Target::Direct(ID.parse().unwrap()));
    assert_eq!(route.token.as_deref(), Some("a@b@c/"));
}

#[test]
fn direct_ids_that_cannot_be_here_are_told_apart() {
    let elsewhere = ActorId::from_parts(ActorId::parse(ID).unwrap().uuid(), 2);
    assert_refused("/gateway/nope/action/x", &ACTOR_NOT_FOUND);
    assert_refused("/gateway/%ff", &ACTOR_NOT_FOUND);
    assert_refused(&format!("/gateway/{elsewhere}"), &DATACENTER_NOT_FOUND);
    assert_refused(&format!("/gateway/{ID}@%ff"), &API_BAD_REQUEST);
}

#[test]
fn names_and_values_are_decoded_by_their_own_rules() {
    let target = query_target("/gateway/a+b%20c?rvt-namespace=a+b%zz&rvt-method=get&rvt-key=+%2B");
    assert_eq!((&*target.name, &*target.namespace), ("a+b c", "a b%zz"));
    assert_eq!(target.key.parts(), [" +"]);
    assert_eq!(target.method, QueryMethod::Get);
    for keyless in ["", "&rvt-key", "&rvt-key="] {
        assert!(
            query_target(&format!("/gateway/c?{GET}{keyless}"))
                .key
                .is_empty()
        );
    }
}

#[test]
fn creation_is_described_by_its_parameters() {
    let options = create_options("rvt-region=eu&rvt-crash-policy=destroy&rvt-input=gA==");
    assert_eq!(options.region.as_deref(), Some("eu"));
    assert_eq!(options.crash_policy, Some(CrashPolicy::Destroy));
    assert_eq!(options.input.as_deref(), Some(b"\x80".as_slice()));
    let pooled = query_target("/gateway/c?rvt-namespace=n&rvt-method=getOrCreate&rvt-pool=p");
    let QueryMethod::GetOrCreate(options) = pooled.method else {
        panic!("the method is getOrCreate");
    };
    assert_eq!((&*options.pool, options.input), ("p", None));
}

#[test]
fn skip_ready_wait_takes_four_spellings() {
    for (value, expected) in [("true", true), ("1", true), ("false", false), ("0", false)] {
        let path = format!("/gateway/c?{GET}&rvt-skip-ready-wait={value}");
        assert_eq!(route(&path).skip_ready_wait, expected);
        assert_eq!(skip_ready_wait(Some(value.as_bytes())).unwrap(), expected);
    }
    assert!(!skip_ready_wait(None).unwrap());
    for value in [b"yes".as_slice(), b"", b"\xff"] {
        assert!(
            skip_ready_wait(Some(value))
                .unwrap_err()
                .is(&GUARD_INVALID_HEADER)
        );
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one row per broken rule")]
fn each_broken_rule_of_the_query_form_has_its_code() {
    for (rest, row) in [
        (
            "c?rvt-namespace=n&rvt-method=getOrCreate".to_owned(),
            &GUARD_QUERY_MISSING_POOL,
        ),
        ("c?rvt-method=get".to_owned(), &GUARD_QUERY_INVALID_PARAMS),
        ("c?rvt-namespace=n".to_owned(), &GUARD_QUERY_INVALID_PARAMS),
        (
            "c?rvt-namespace=n&rvt-method=put".to_owned(),
            &GUARD_QUERY_INVALID_PARAMS,
        ),
        (
            format!("c?{GET}&rvt-unknown=1"),
            &GUARD_QUERY_INVALID_PARAMS,
        ),
        (format!("c?{GET}&rvt-"), &GUARD_QUERY_INVALID_PARAMS),
        (
            format!("c?{GET}&rvt-skip-ready-wait=yes"),
            &GUARD_QUERY_INVALID_PARAMS,
        ),
        (
            format!("c?{CREATE}&rvt-crash-policy=panic"),
            &GUARD_QUERY_INVALID_PARAMS,
        ),
        (
            format!("c?{GET}&rvt-method=get"),
            &GUARD_QUERY_DUPLICATE_PARAM,
        ),
        (
            format!("c?{CREATE}&rvt-pool=p"),
            &GUARD_QUERY_DUPLICATE_PARAM,
        ),
        (
            format!("c?{GET}&rvt-input=gA"),
            &GUARD_QUERY_GET_DISALLOWED_PARAMS,
        ),
        (
            format!("c?{GET}&rvt-region=eu"),
            &GUARD_QUERY_GET_DISALLOWED_PARAMS,
        ),
        (
            format!("c?{GET}&rvt-crash-policy=sleep"),
            &GUARD_QUERY_GET_DISALLOWED_PARAMS,
        ),
        (
            format!("c?{GET}&rvt-runner=default"),
            &GUARD_QUERY_GET_DISALLOWED_PARAMS,
        ),
        (format!("c@t?{GET}"), &GUARD_QUERY_PATH_TOKEN_SYNTAX),
        (format!("?{GET}"), &GUARD_QUERY_EMPTY_ACTOR_NAME),
        (format!("/x?{GET}"), &GUARD_QUERY_EMPTY_ACTOR_NAME),
        (
            format!("c?{CREATE}&rvt-input=%21"),
            &GUARD_QUERY_INVALID_BASE64_INPUT,
        ),
        (
            format!("c?{CREATE}&rvt-input=g+A"),
            &GUARD_QUERY_INVALID_BASE64_INPUT,
        ),
        (
            format!("c?{CREATE}&rvt-input="),
            &GUARD_QUERY_INVALID_CBOR_INPUT,
        ),
        (
            format!("c?{CREATE}&rvt-input=gIA"),
            &GUARD_QUERY_INVALID_CBOR_INPUT,
        ),
        (
            format!("c?{GET}&rvt-key=%ff"),
            &GUARD_QUERY_INVALID_PERCENT_ENCODING,
        ),
        (format!("%ff?{GET}"), &GUARD_QUERY_INVALID_PERCENT_ENCODING),
        (
            format!("c?{GET}&rvt-key={}", "k".repeat(1025)),
            &ACTOR_KEY_TOO_LARGE,
        ),
    ] {
        let path = format!("/gateway/{rest}");
        assert_refused(&path, row);
        assert_eq!(parse(&path).unwrap_err().http_status(), 400, "{path}");
    }
    // `get` has no use for a pool, but clients of old send one.
    assert!(parse(&format!("/gateway/c?{GET}&rvt-pool=default")).is_ok());
}

#[test]
fn headers_name_an_actor_for_request_paths_only() {
    let headers = TargetHeaders {
        target: Some(b"actor"),
        actor: Some(ID.as_bytes()),
        token: Some(b"t"),
        skip_ready_wait: Some(b"1"),
        host: Some(b"h:1"),
    };
    for path in ["/request", "/request/a?b", "/request?b"] {
        let expected = GatewayRoute {
            target: Target::Direct(ID.parse().unwrap()),
            token: Some("t".into()),
            skip_ready_wait: true,
            path_and_query: path.into(),
        };
        assert_eq!(from_headers(&headers, path).unwrap(), Some(expected));
    }
    for path in ["/requestfoo", "/action/x", "/"] {
        let error = from_headers(&headers, path).unwrap_err();
        assert!(error.is(&GUARD_NO_ROUTE));
        assert_eq!(error.metadata().unwrap()["path"], path);
    }
    let of = |headers: TargetHeaders<'_>| from_headers(&headers, "/request");
    let headerless = TargetHeaders {
        actor: None,
        ..headers
    };
    assert!(of(headerless).unwrap_err().is(&GUARD_MISSING_HEADER));
    let wrong_flag = TargetHeaders {
        skip_ready_wait: Some(b"?"),
        ..headers
    };
    assert!(of(wrong_flag).unwrap_err().is(&GUARD_INVALID_HEADER));
    let wrong_id = TargetHeaders {
        actor: Some(b"\xff"),
        ..headers
    };
    assert!(of(wrong_id).unwrap_err().is(&ACTOR_NOT_FOUND));
    for target in [None, Some(b"api-public".as_slice()), Some(b"runner")] {
        assert_eq!(of(TargetHeaders { target, ..headers }).unwrap(), None);
    }
}

#[test]
fn subprotocols_name_an_actor_for_any_path() {
    let value = format!("rivet, rivet_target.actor, rivet_actor.{ID}, rivet_skip_ready_wait");
    let offer = Subprotocols::parse([value.as_bytes()]);
    let Some(route) = from_subprotocols(&offer, "/connect?x").unwrap() else {
        panic!("the target is an actor");
    };
    assert_eq!(route.target, Target::Direct(ID.parse().unwrap()));
    assert_eq!(
        (&*route.path_and_query, route.skip_ready_wait),
        ("/connect?x", true)
    );

    let nameless = Subprotocols::parse([b"rivet_target.actor".as_slice()]);
    let error = from_subprotocols(&nameless, "/connect").unwrap_err();
    assert!(error.is(&GUARD_MISSING_HEADER));
    let untargeted = Subprotocols::parse([b"rivet".as_slice()]);
    assert_eq!(from_subprotocols(&untargeted, "/connect").unwrap(), None);
}

proptest! {
    #[test]
    fn arbitrary_paths_never_panic(rest: String) {
        let _ = parse(&format!("/gateway/{rest}"));
        let _ = parse(&format!("/gateway/c?{GET}&rvt-key={rest}"));
        let _ = parse(&format!("/gateway/c?{CREATE}&rvt-input={rest}"));
    }

    #[test]
    fn user_queries_pass_unchanged_around_parameters(
        pairs in prop::collection::vec("[a-z0-9=%+]{0,6}", 1..6),
        at in any::<prop::sample::Index>(),
    ) {
        let at = at.index(pairs.len());
        let (before, after) = (pairs[..at].join("&"), pairs[at..].join("&"));
        let separator = if before.is_empty() && at == 0 { "" } else { "&" };
        let route = route(&format!("/gateway/c/r?{before}{separator}{GET}&{after}"));
        let kept = pairs.join("&");
        let expected = if kept.is_empty() { "/r".to_owned() } else { format!("/r?{kept}") };
        prop_assert_eq!(route.path_and_query, expected);
    }
}
