//! What a host promises.

use std::pin::Pin;

use serde_json::json;

use crate::{Under, eventually, in_time};

/// One promise, and the way to ask for it.
pub struct Scenario {
    pub name: &'static str,
    pub run: fn(Under) -> Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Hands the names of all scenarios to a macro, which makes tests of them.
#[macro_export]
macro_rules! for_each_scenario {
    ($make:ident) => {
        $make! {
            a_created_actor_answers_and_keeps_its_input,
            a_body_is_streamed_both_ways,
            a_slow_reader_gets_all_of_many_small_chunks,
            every_cookie_of_a_response_arrives,
            errors_of_user_code_reach_the_client,
            a_socket_echoes_text_and_bytes_and_closes_with_its_code,
            two_frames_in_a_row_arrive_in_order,
            a_saved_state_is_there_after_a_sleep,
            a_large_state_is_there_after_a_sleep,
            a_socket_that_hibernates_wakes_its_actor,
            an_alarm_wakes_a_sleeping_actor_once,
            a_crashed_actor_comes_back_with_what_was_saved,
            a_destroyed_actor_is_gone,
            many_actors_live_side_by_side,
        }
    };
}

macro_rules! list {
    ($($name:ident),* $(,)?) => {
        /// All of them, for a host that is too slow to open for each.
        pub fn all() -> Vec<Scenario> {
            vec![$( Scenario {
                name: stringify!($name),
                run: |under| Box::pin(async move { $name(&under).await }),
            } ),*]
        }
    };
}

for_each_scenario!(list);

pub async fn a_created_actor_answers_and_keeps_its_input(host: &Under) {
    let actor = host.create("created").await;
    assert_eq!(host.value(&actor, "input", 0).await, json!("created"));
    assert_eq!(host.create("created").await, actor, "the same key again");
    assert_eq!(host.action(&actor, "add", 3).await, 3);
    assert_eq!(host.action(&actor, "get", 0).await, 3);
}

pub async fn a_body_is_streamed_both_ways(host: &Under) {
    let actor = host.create("streams").await;
    let body: Vec<u8> = (0..3_000_000u32).map(|i| (i / 251) as u8).collect();
    let path = format!("/gateway/{actor}/request/echo");
    let reply = host.http("POST", &path, body.clone()).await;
    assert_eq!(reply.status, 201);
    assert_eq!(reply.headers["x-from"], "user");
    assert!(reply.body == body, "{} bytes", reply.body.len());
    let reply = host.http("GET", &path, "").await;
    assert_eq!((reply.status, reply.body.len()), (201, 0));
}

pub async fn a_slow_reader_gets_all_of_many_small_chunks(host: &Under) {
    let actor = host.create("crumbles").await;
    let path = format!("/gateway/{actor}/request/small");
    let pause = std::time::Duration::from_secs(2);
    let reply = host.get_slowly(&path, pause).await;
    assert_eq!((reply.status, reply.body.len()), (201, 20_000 * 700));
}

pub async fn every_cookie_of_a_response_arrives(host: &Under) {
    let actor = host.create("bakes").await;
    let path = format!("/gateway/{actor}/request/echo");
    let reply = host.http("GET", &path, "").await;
    let cookies = reply.headers.get_all("set-cookie").into_iter();
    let mut cookies: Vec<_> = cookies.map(|cookie| cookie.as_bytes()).collect();
    cookies.sort_unstable();
    assert_eq!(cookies, [&b"a=1"[..], b"b=2, 3"]);
}

pub async fn errors_of_user_code_reach_the_client(host: &Under) {
    let actor = host.create("fails").await;
    let reply = host.call(&actor, "fail", 0).await;
    let json = reply.json();
    assert_eq!(json["group"], "user");
    assert_eq!(json["code"], "teapot");
    let path = format!("/gateway/{actor}/request/throw");
    let reply = host.http("GET", &path, "").await;
    assert_eq!(reply.status, 500);
    let text = String::from_utf8_lossy(&reply.body);
    assert!(!text.contains("secret"), "{text}");
}

pub async fn a_socket_echoes_text_and_bytes_and_closes_with_its_code(host: &Under) {
    let actor = host.create("echoes").await;
    let mut socket = host.socket(&actor, "/websocket/").await;
    assert!(socket.text().await.starts_with("generation "));
    socket.say("hello").await;
    assert_eq!(socket.text().await, "hello");
    socket.send(&[0, 255, 1]).await;
    assert_eq!(&socket.bytes().await[..], [0, 255, 1]);
    socket.say("close").await;
    assert_eq!(socket.closed().await, (4001, "as asked".to_owned()));
}

pub async fn two_frames_in_a_row_arrive_in_order(host: &Under) {
    let actor = host.create("pairs").await;
    let mut socket = host.socket(&actor, "/websocket/").await;
    socket.text().await;
    for _ in 0..20 {
        socket.say("two").await;
        assert_eq!(socket.text().await, "two");
        assert_eq!(socket.text().await, "two");
        socket.say("one").await;
        assert_eq!(socket.text().await, "one");
    }
}

pub async fn a_saved_state_is_there_after_a_sleep(host: &Under) {
    let actor = host.create("sleeps").await;
    let first = host.action(&actor, "generation", 0).await;
    for round in 1..=3 {
        assert_eq!(host.action(&actor, "add", 1).await, round);
        host.sleep(&actor).await;
    }
    assert_eq!(host.action(&actor, "get", 0).await, 3);
    assert!(host.action(&actor, "generation", 0).await >= first + 3);
}

/// More pages than travel in one commit of an engine.
pub async fn a_large_state_is_there_after_a_sleep(host: &Under) {
    let actor = host.create("large").await;
    let length = 5_000_000;
    host.action(&actor, "keep", length).await;
    host.sleep(&actor).await;
    assert_eq!(host.action(&actor, "kept", 0).await, length);
}

pub async fn a_socket_that_hibernates_wakes_its_actor(host: &Under) {
    let actor = host.create("hibernates").await;
    let mut socket = host.socket(&actor, "/websocket/").await;
    let before = socket.text().await;
    socket.say("awake").await;
    assert_eq!(socket.text().await, "awake");
    host.sleep(&actor).await;
    socket.say("wake up").await;
    let after = socket.text().await;
    assert!(
        after.starts_with("generation ") && after != before,
        "{after}"
    );
    assert_eq!(socket.text().await, "wake up");
    socket.say("again").await;
    assert_eq!(socket.text().await, "again");
}

pub async fn an_alarm_wakes_a_sleeping_actor_once(host: &Under) {
    let actor = host.create("alarmed").await;
    host.action(&actor, "alarm_in", 1_500).await;
    host.sleep(&actor).await;
    eventually("the alarm wakes the actor", || (host.awake)() == 1).await;
    host.sleep(&actor).await;
    // An alarm that rang must not ring again; a wake would come within moments.
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    assert_eq!((host.awake)(), 0);
}

pub async fn a_crashed_actor_comes_back_with_what_was_saved(host: &Under) {
    let actor = host.create("crashes").await;
    assert_eq!(host.action(&actor, "add", 5).await, 5);
    let first = host.action(&actor, "generation", 0).await;
    host.call(&actor, "crash", 0).await;
    in_time("the next generation", async {
        while host.action(&actor, "generation", 0).await == first {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await;
    assert_eq!(host.action(&actor, "get", 0).await, 5);
}

pub async fn a_destroyed_actor_is_gone(host: &Under) {
    let actor = host.create("ends").await;
    host.action(&actor, "add", 1).await;
    let path = format!("/actors/{actor}?namespace=default");
    let reply = host.http("DELETE", &path, "").await;
    assert_eq!(reply.status, 200);
    host.nobody_awake().await;
    let reply = host.call(&actor, "get", 0).await;
    assert_eq!(reply.status, 404, "{:?}", reply.body);
    let next = host.create("ends").await;
    assert_ne!(next, actor);
    assert_eq!(host.action(&next, "get", 0).await, 0);
}

pub async fn many_actors_live_side_by_side(host: &Under) {
    let mut all = tokio::task::JoinSet::new();
    for number in 0..12 {
        let host = host.clone();
        all.spawn(async move {
            let actor = host.create(&format!("one of many {number}")).await;
            assert_eq!(host.action(&actor, "add", number).await, number);
            assert_eq!(host.action(&actor, "get", 0).await, number);
        });
    }
    while let Some(outcome) = all.join_next().await {
        outcome.expect("every actor answers for itself");
    }
}
