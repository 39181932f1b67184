//! The port: routing, CORS, limits, malformed input, closing.

use std::time::Duration;

use greenroom_core::Clock;
use greenroom_error::code;
use greenroom_host_embedded::{ListenOptions, Occupant, probe};
use proptest::prelude::*;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::*;
use crate::fixture::*;

async fn open() -> (World, Client) {
    let world = world().await;
    let listener = listen(&world.host).await;
    let client = Client::connect(listener.addr()).await;
    (world, client)
}

const OK: &str = "rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default";
const GET: &str = "rvt-namespace=default&rvt-method=get";

#[tokio::test]
async fn a_query_that_breaks_a_rule_says_which() {
    let (world, mut client) = open().await;
    let long_key = format!("{OK}&rvt-key={}", "x".repeat(1_025));
    let other_namespace = OK.replace("=default&rvt-m", "=nope&rvt-m");
    let no_pool = OK.replace("&rvt-runner=default", "");
    for (query, status, expected) in [
        (&*no_pool, 400, "guard.query_missing_pool"),
        (&format!("{OK}&rvt-x=1"), 400, "guard.query_invalid_params"),
        (
            &format!("{OK}&rvt-method=get"),
            400,
            "guard.query_duplicate_param",
        ),
        (
            &format!("{GET}&rvt-region=x"),
            400,
            "guard.query_get_disallowed_params",
        ),
        (
            &format!("{OK}&rvt-input=!"),
            400,
            "guard.query_invalid_base64_input",
        ),
        (
            &format!("{OK}&rvt-input=_w"),
            400,
            "guard.query_invalid_cbor_input",
        ),
        (
            &format!("{OK}&rvt-key=%ff"),
            400,
            "guard.query_invalid_percent_encoding",
        ),
        (&long_key, 400, "actor.key_too_large"),
        (&other_namespace, 400, "namespace.not_found"),
        (&format!("{GET}&rvt-key=zz"), 404, "actor.not_found"),
    ] {
        let reply = client
            .get(&format!("/gateway/counter/health?{query}"))
            .await;
        assert_eq!(reply.error(), (status, expected.to_owned()), "{query}");
        assert_eq!(reply.header("x-rivet-error"), Some(expected));
        assert!(reply.header("x-rivet-ray-id").is_some());
    }
    assert_eq!(world.host.awake_count(), 0, "nobody was woken");
}

#[tokio::test]
async fn a_path_that_leads_nowhere_says_so() {
    let (world, mut client) = open().await;
    for (path, status, expected) in [
        (
            &*format!("/gateway/counter@t/health?{OK}"),
            400,
            "guard.query_path_token_syntax",
        ),
        (
            &format!("/gateway/?{OK}"),
            400,
            "guard.query_empty_actor_name",
        ),
        (
            &format!("/gateway/nosuch/health?{OK}"),
            404,
            "actor.not_found",
        ),
        ("/gateway/nobody/health", 404, "actor.not_found"),
        ("/gateway//health", 404, "api.not_found"),
        ("/nowhere", 404, "api.not_found"),
    ] {
        let reply = client.get(path).await;
        assert_eq!(reply.error(), (status, expected.to_owned()), "{path}");
    }
    assert_eq!(world.host.awake_count(), 0, "nobody was woken");
}

#[tokio::test]
async fn target_headers_reach_the_request_family_only() {
    let (world, mut client) = open().await;
    let id = world.call(&counter_of("a"), "id", json!([])).await.unwrap();
    let id = id.as_str().unwrap();
    let headers = [("x-rivet-target", "actor"), ("x-rivet-actor", id)];
    let reply = client.ask("GET", "/request/x", &headers, "").await;
    assert!(reply.body.starts_with(b"GET /x\n"));
    let reply = client.ask("POST", "/action/get", &headers, "{}").await;
    assert_eq!(reply.error(), (404, "guard.no_route".to_owned()));
    let reply = client.ask("GET", "/request", &headers[..1], "").await;
    assert_eq!(reply.error(), (400, "guard.missing_header".to_owned()));
    let path = format!("/gateway/{id}/health");
    let headers = [("x-rivet-skip-ready-wait", "maybe")];
    let reply = client.ask("GET", &path, &headers, "").await;
    assert_eq!(reply.error(), (400, "guard.invalid_header".to_owned()));
}

#[tokio::test]
async fn a_ray_id_is_adopted_if_it_is_one() {
    let (_world, mut client) = open().await;
    let reply = client
        .ask("GET", "/health", &[("x-rivet-ray-id", "my-ray_1")], "")
        .await;
    assert_eq!(reply.header("x-rivet-ray-id"), Some("my-ray_1"));
    let long = "x".repeat(31);
    for bad in ["", "a b", &long] {
        let reply = client
            .ask("GET", "/health", &[("x-rivet-ray-id", bad)], "")
            .await;
        let ray_id = reply.header("x-rivet-ray-id").unwrap();
        assert_eq!(ray_id.len(), 30, "{bad:?} is replaced");
    }
}

#[tokio::test]
async fn a_preflight_is_answered_without_waking_anybody() {
    let (world, mut client) = open().await;
    let headers = [
        ("origin", "http://o.p"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "x-rivet-encoding"),
    ];
    let reply = client
        .ask(
            "OPTIONS",
            &format!("/gateway/counter/action/get?{OK}"),
            &headers,
            "",
        )
        .await;
    assert_eq!((reply.status, reply.body.len()), (204, 0));
    for (name, value) in [
        ("access-control-allow-origin", "http://o.p"),
        ("access-control-allow-credentials", "true"),
        (
            "access-control-allow-methods",
            "GET, POST, PUT, DELETE, OPTIONS, PATCH",
        ),
        ("access-control-allow-headers", "x-rivet-encoding"),
        ("access-control-expose-headers", "*"),
        ("access-control-max-age", "86400"),
        ("vary", "Origin"),
    ] {
        assert_eq!(reply.header(name), Some(value), "{name}");
    }
    assert_eq!(world.host.awake_count(), 0);
    let api = client.ask("OPTIONS", "/actors", &headers, "").await;
    assert_eq!((api.status, api.body.len()), (200, 0));
    assert_eq!(
        api.header("access-control-allow-origin"),
        Some("http://o.p")
    );
    assert_eq!(api.header("access-control-allow-methods"), Some("POST"));
    assert_eq!(
        api.header("access-control-allow-headers"),
        Some("x-rivet-encoding")
    );
    assert_eq!(api.header("allow"), Some("GET,HEAD,PUT,POST"));
    let root = client.ask("OPTIONS", "/", &headers, "").await;
    assert_eq!(root.status, 200);
}

#[tokio::test]
async fn every_answer_says_who_may_read_it() {
    let (_world, mut client) = open().await;
    let path = format!("/gateway/counter/health?{OK}");
    let plain = client.get(&path).await;
    assert_eq!(plain.header("access-control-allow-origin"), Some("*"));
    assert_eq!(plain.header("vary"), None);
    let origin = [("origin", "http://o.p")];
    let missing = format!("/gateway/counter/health?{OK}&rvt-x");
    for path in [&*path, &*missing, "/gateway/nobody"] {
        let reply = client.ask("GET", path, &origin, "").await;
        assert_eq!(
            reply.header("access-control-allow-origin"),
            Some("http://o.p")
        );
        assert_eq!(
            reply.header("access-control-allow-credentials"),
            Some("true")
        );
        assert_eq!(reply.header("vary"), Some("Origin"));
    }
    let api = client.ask("GET", "/metadata", &origin, "").await;
    assert_eq!(
        api.header("access-control-allow-origin"),
        Some("http://o.p")
    );
    let api = client.get("/metadata").await;
    assert_eq!(api.header("access-control-allow-origin"), None);
    assert_eq!(api.header("access-control-allow-credentials"), Some("true"));
}

#[tokio::test]
async fn a_port_that_is_taken_is_an_error_with_its_address() {
    let world = world().await;
    let listener = listen(&world.host).await;
    let options = ListenOptions {
        port: listener.addr().port(),
        ..ListenOptions::default()
    };
    let error = world.host.listen(options).await.err().expect("taken");
    assert!(error.is(&code::HOST_PORT_UNAVAILABLE));
    assert!(error.message().contains(&listener.addr().to_string()));
    let options = ListenOptions {
        host: Some("no.such.host.invalid".to_owned()),
        port: 0,
        ..ListenOptions::default()
    };
    let error = world.host.listen(options).await.err().expect("unknown");
    assert!(error.is(&code::HOST_PORT_UNAVAILABLE));
}

#[tokio::test]
async fn several_ports_serve_the_same_actors_until_each_is_closed() {
    let world = world().await;
    let (first, second) = (listen(&world.host).await, listen(&world.host).await);
    for listener in [&first, &second] {
        let mut client = Client::connect(listener.addr()).await;
        assert_eq!(client.get("/health").await.json()["status"], "ok");
    }
    let mut idle = Client::connect(first.addr()).await;
    idle.get("/health").await;
    world.host.close(&first).await;
    assert!(TcpStream::connect(first.addr()).await.is_err());
    let mut client = Client::connect(second.addr()).await;
    assert_eq!(client.get("/health").await.status, 200);
    world.host.shutdown().await;
    assert!(TcpStream::connect(second.addr()).await.is_err());
}

#[tokio::test]
async fn localhost_means_both_families() {
    let world = world().await;
    let listener = listen(&world.host).await;
    let v6 = std::net::SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, listener.addr().port()));
    // Machines without IPv6 exist; where it does, the port answers there too.
    if tokio::net::TcpListener::bind((std::net::Ipv6Addr::LOCALHOST, 0))
        .await
        .is_ok()
    {
        let mut client = Client::connect(v6).await;
        assert_eq!(client.get("/health").await.status, 200);
    }
}

#[tokio::test]
async fn a_running_request_is_finished_before_a_shutdown() {
    let (world, mut client) = open().await;
    let path = format!("/gateway/counter/action/park?{OK}");
    let parked = tokio::spawn(async move { client.ask("POST", &path, &[], "{}").await });
    world.script.at_gate.notified().await;
    let closing = tokio::spawn({
        let host = world.host.clone();
        async move { host.shutdown().await }
    });
    while world.script.times("on sleep") == 0 {
        tokio::task::yield_now().await;
    }
    world.script.gate.add_permits(1);
    let reply = parked.await.unwrap();
    assert_eq!(reply.json(), json!({ "output": 0 }));
    closing.await.unwrap();
}

#[tokio::test]
async fn a_head_that_does_not_arrive_closes_the_connection() {
    let (clock, hands) = Clock::manual(0);
    let setup = Setup {
        clock,
        ..Setup::default()
    };
    let world = setup.open().await;
    let listener = listen(&world.host).await;
    let mut stream = TcpStream::connect(listener.addr()).await.unwrap();
    stream
        .write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n")
        .await
        .unwrap();
    eventually("the wait has an end", || hands.armed() > 0).await;
    hands.advance(ListenOptions::default().header_timeout);
    let mut rest = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut rest));
    closed.await.expect("closed").ok();
}

#[tokio::test]
async fn more_connections_than_places_wait_and_are_served() {
    let world = world().await;
    let options = ListenOptions {
        port: 0,
        max_connections: 2,
        ..ListenOptions::default()
    };
    let listener = world.host.listen(options).await.unwrap();
    let mut first = Client::connect(listener.addr()).await;
    first.get("/health").await;
    let mut waiting = Vec::new();
    for _ in 0..6 {
        let addr = listener.addr();
        waiting.push(tokio::spawn(async move {
            Client::connect(addr).await.get("/health").await.status
        }));
    }
    for client in waiting {
        assert_eq!(client.await.unwrap(), 200);
    }
}

#[tokio::test]
async fn an_answer_waits_for_the_rest_of_its_request() {
    let (world, _client) = open().await;
    let addr = listen(&world.host).await.addr();
    let mut stream = TcpStream::connect(addr).await.unwrap();
    for path in ["/gateway/nobody/action/x", "/nowhere", "/gateway/x?rvt-x"] {
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(b"2\r\n{}\r\n").await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
        stream.write_all(b"0\r\n\r\n").await.unwrap();
        let mut answer = vec![0; 4_096];
        let length = stream.read(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer[..length]);
        assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
        assert!(
            answer.ends_with('}'),
            "whole, and the connection goes on: {answer}"
        );
    }
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let (world, _client) = open().await;
    let listener = listen(&world.host).await;
    let mut request = b"GET /health HTTP/1.1\r\nx: ".to_vec();
    request.resize(200_000, b'x');
    request.extend_from_slice(b"\r\n\r\n");
    let answer = send_raw(listener.addr(), &request).await;
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 431"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn whatever_is_sent_the_port_goes_on(
        noise in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..12),
        paths in prop::collection::vec("/[ -~]{0,60}", 1..12),
        bodies in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = world().await;
            let listener = listen(&world.host).await;
            for bytes in &noise {
                send_raw(listener.addr(), bytes).await;
            }
            for path in &paths {
                for prefix in ["", "/gateway", "/gateway/counter", "/actors"] {
                    let head = format!(
                        "POST {prefix}{path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                        bodies.len()
                    );
                    let mut request = head.into_bytes();
                    request.extend_from_slice(&bodies);
                    let answer = send_raw(listener.addr(), &request).await;
                    let refused = answer.is_empty() || answer.starts_with(b"HTTP/1.1 4") || answer.starts_with(b"HTTP/1.1 5");
                    assert!(refused, "{prefix}{path}: {}", String::from_utf8_lossy(&answer));
                }
            }
            let mut client = Client::connect(listener.addr()).await;
            assert_eq!(client.get("/health").await.status, 200);
        });
    }
}

#[tokio::test]
async fn a_probe_tells_an_engine_from_another_program_and_from_nobody() {
    let clock = Clock::real();
    let world = world().await;
    let listener = listen(&world.host).await;
    let authority = listener.addr().to_string();
    let found = probe(&clock, &authority).await;
    assert!(matches!(found, Occupant::Engine { version } if !version.is_empty()));
    world.host.close(&listener).await;
    assert_eq!(probe(&clock, &authority).await, Occupant::Nobody);
    for (answer, runtime) in [
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 19\r\n\r\n{\"runtime\":\"shop\"} ",
            "shop",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
            "unknown",
        ),
        ("not HTTP at all\r\n\r\n", "unknown"),
        ("", "unknown"),
    ] {
        let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let authority = socket.local_addr().unwrap().to_string();
        let answering = async {
            let (mut stream, _) = socket.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1024]).await;
            stream.write_all(answer.as_bytes()).await.unwrap();
        };
        let (found, ()) = tokio::join!(probe(&clock, &authority), answering);
        let runtime = runtime.to_owned();
        assert_eq!(found, Occupant::Other { runtime }, "{answer:?}");
    }
}
