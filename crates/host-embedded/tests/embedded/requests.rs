//! Raw HTTP through an actor.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, StreamBody};
use hyper::{Request, body::Frame};
use serde_json::json;
use tokio::sync::mpsc;

use crate::client::*;
use crate::fixture::*;

async fn open() -> (World, Client, String) {
    let world = world().await;
    let listener = listen(&world.host).await;
    let client = Client::connect(listener.addr()).await;
    let id = world.call(&counter_of("a"), "id", json!([])).await.unwrap();
    let base = format!("/gateway/{}/request", id.as_str().unwrap());
    (world, client, base)
}

fn channel_body(chunks: mpsc::Receiver<Bytes>) -> BoxedBody {
    let stream = futures_util::stream::unfold(chunks, |mut chunks| async {
        let chunk = chunks.recv().await?;
        Some((Ok(Frame::data(chunk)), chunks))
    });
    BoxedBody::new(StreamBody::new(stream))
}

#[tokio::test]
async fn user_code_sees_the_request_as_it_was_sent() {
    let (_world, mut client, base) = open().await;
    for (path, seen) in [("", "/"), ("?x=%zz&&y", "/?x=%zz&&y"), ("/a/b?c", "/a/b?c")] {
        let reply = client.ask("PATCH", &format!("{base}{path}"), &[], "").await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("x-from"), Some("user"));
        let body = String::from_utf8(reply.body.to_vec()).unwrap();
        assert_eq!(body.lines().next(), Some(&*format!("PATCH {seen}")));
    }
    let headers = [
        (
            "x-rivet-internal-original-request-url",
            "https://example.org/p?q",
        ),
        ("x-rivet-ray-id", "ray_1"),
        ("x-rivet-token", "t"),
    ];
    let reply = client.ask("GET", &format!("{base}/a"), &headers, "").await;
    let body = String::from_utf8(reply.body.to_vec()).unwrap();
    let lines: Vec<&str> = body.lines().collect();
    assert_eq!(lines[0], "GET https://example.org/p?q");
    assert!(lines.contains(&"x-rivet-ray-id=ray_1"));
    assert!(lines.contains(&"x-rivet-token=t"));
    assert!(!body.contains("original-request-url"));
    assert_eq!(reply.header("x-rivet-ray-id"), Some("ray_1"));
}

#[tokio::test]
async fn a_large_body_streams_in_and_the_message_limit_does_not_apply() {
    let (_world, mut client, base) = open().await;
    for length in [0, 1, 65_536, 65_537, 5 << 20] {
        let body = vec![b'x'; length];
        let reply = client
            .ask("POST", &format!("{base}/length"), &[], body)
            .await;
        assert_eq!(reply.body, length.to_string().as_bytes());
    }
}

#[tokio::test]
async fn both_directions_stream_at_the_same_time() {
    let (_world, mut client, base) = open().await;
    let (sender, receiver) = mpsc::channel(1);
    let request = Request::post(format!("{base}/echo"))
        .body(channel_body(receiver))
        .unwrap();
    let response = client.send(request).await;
    assert!(response.headers().get("content-length").is_none());
    let mut body = response.into_body();
    // Each chunk comes back before the next is sent.
    for number in 0..20u8 {
        let sent = Bytes::from(vec![number; 1_000]);
        sender.send(sent.clone()).await.unwrap();
        let mut seen = Vec::new();
        while seen.len() < sent.len() {
            let frame = body.frame().await.expect("more to come").unwrap();
            seen.extend_from_slice(&frame.into_data().unwrap());
        }
        assert_eq!(seen, sent);
    }
    drop(sender);
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn a_body_over_the_limit_is_a_413_announced_or_not() {
    let (_world, mut client, base) = open().await;
    let path = format!("{base}/length");
    let body = vec![0; (20 << 20) + 1];
    let announced = client.ask("POST", &path, &[], body).await;
    assert_eq!(
        announced.error(),
        (413, "guard.invalid_request_body".to_owned())
    );
    let (world, mut client, base) = open().await;
    let (sender, receiver) = mpsc::channel(1);
    let sending =
        tokio::spawn(
            async move { while sender.send(Bytes::from(vec![0; 1 << 20])).await.is_ok() {} },
        );
    let request = Request::post(format!("{base}/length"))
        .body(channel_body(receiver))
        .unwrap();
    let response = client.send(request).await;
    assert_eq!(response.status(), 413);
    sending.abort();
    drop(world);
}

#[tokio::test]
async fn a_body_that_breaks_off_does_not_pass_for_a_whole_one() {
    let (world, mut client, base) = open().await;
    let (sender, receiver) = mpsc::channel(1);
    let request = Request::post(format!("{base}/length"));
    let request = request.body(channel_body(receiver)).unwrap();
    let sending = tokio::spawn(async move { client.send(request).await.status() });
    sender.send(Bytes::from_static(b"some")).await.unwrap();
    sender.send(Bytes::from_static(b"more")).await.unwrap();
    sending.abort();
    let broken = || world.script.times("broken body") == 1;
    eventually("user code is told", broken).await;
}

#[tokio::test]
async fn errors_of_user_code_are_mapped_and_its_own_statuses_kept() {
    let (_world, mut client, base) = open().await;
    let fail = client.get(&format!("{base}/fail")).await;
    assert_eq!(fail.error(), (500, "user.teapot".to_owned()));
    let throw = client.get(&format!("{base}/throw")).await;
    assert_eq!(throw.error(), (500, "core.internal_error".to_owned()));
    assert_eq!(throw.json()["message"], "An internal error occurred");
    let none = client.get(&format!("{base}/none")).await;
    assert_eq!((none.status, none.body.len()), (404, 0));
    assert_eq!(none.header("content-type"), None);
    let invalid = client.get(&format!("{base}/status")).await;
    assert_eq!(
        invalid.error(),
        (500, "protocol.invalid_http_response".to_owned())
    );
    let short = client.get(&format!("{base}/short")).await;
    assert_eq!(
        short.error(),
        (500, "protocol.invalid_http_response".to_owned())
    );
    let decoded = client.get(&format!("{base}/decoded")).await;
    assert_eq!(
        (decoded.status, decoded.header("content-length")),
        (200, Some("2"))
    );
    let inflated = client.get(&format!("{base}/long")).await;
    assert_eq!(inflated.header("content-length"), Some("8"));
    assert_eq!(inflated.body, "inflated");
    let head = client.ask("HEAD", &format!("{base}/a"), &[], "").await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("x-from"), Some("user"));
    assert_eq!(head.header("content-length"), Some("0"));
}

#[tokio::test]
async fn a_client_that_goes_ends_an_endless_response() {
    let (_world, mut client, base) = open().await;
    let request = Request::get(format!("{base}/ticks"))
        .body(full(""))
        .unwrap();
    let mut body = client.send(request).await.into_body();
    for _ in 0..10 {
        body.frame().await.expect("more to come").unwrap();
    }
    drop((body, client));
    // The next request proves that the actor is not stuck in the last one.
    let world = _world;
    assert_eq!(
        world
            .call(&counter_of("a"), "get", json!([]))
            .await
            .unwrap(),
        0
    );
}

#[tokio::test]
async fn a_client_that_goes_cancels_its_request() {
    let (world, mut client, base) = open().await;
    let request = Request::get(format!("{base}/hang")).body(full("")).unwrap();
    let sending = tokio::spawn(async move {
        let _ = tokio::time::timeout(Duration::from_secs(60), client.send(request)).await;
    });
    world.script.at_gate.notified().await;
    sending.abort();
    let cancelled = || world.script.times("request cancelled") == 1;
    eventually("user code hears of it", cancelled).await;
}
