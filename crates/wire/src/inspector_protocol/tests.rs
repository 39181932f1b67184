use proptest::prelude::*;

use super::*;

fn version(number: u16) -> InspectorVersion {
    InspectorVersion::new(number).unwrap()
}

fn requests() -> Vec<ToServer> {
    let text = || "t".to_owned();
    vec![
        ToServer::PatchState {
            state: Bytes::from_static(&[0xf6]),
        },
        ToServer::State { id: 0 },
        ToServer::Connections { id: 1 },
        ToServer::Action {
            id: 2,
            name: text(),
            args: Bytes::from_static(&[0x80]),
        },
        ToServer::RpcsList { id: 300 },
        ToServer::TraceQuery {
            id: 4,
            start_ms: 5,
            end_ms: u64::MAX,
            limit: 7,
        },
        ToServer::Queue { id: 5, limit: 200 },
        ToServer::WorkflowHistory { id: 6 },
        ToServer::WorkflowReplay {
            id: 7,
            entry_id: Some(text()),
        },
        ToServer::WorkflowReplay {
            id: 7,
            entry_id: None,
        },
        ToServer::DatabaseSchema { id: 8 },
        ToServer::DatabaseTableRows {
            id: 9,
            table: text(),
            limit: 500,
            offset: 3,
        },
        ToServer::Schedules { id: 10 },
        ToServer::ScheduleHistory {
            id: 11,
            schedule_id: text(),
            limit: 1_000,
        },
        ToServer::ScheduleDelete {
            id: 12,
            schedule_id: text(),
            kind: "cron".to_owned(),
        },
    ]
}

fn schedule() -> Schedule {
    Schedule {
        id: "daily".to_owned(),
        name: Some("daily".to_owned()),
        kind: "cron".to_owned(),
        action: "fire".to_owned(),
        args: Bytes::from_static(&[0x80]),
        next_run_at: 1_700_000_000_000,
        last_run_at: None,
        expression: Some("* * * * *".to_owned()),
        timezone: Some("UTC".to_owned()),
        interval_ms: None,
        max_history: Some(100),
    }
}

fn init() -> Init {
    Init {
        connections: vec![Connection {
            id: "c".to_owned(),
            details: Bytes::from_static(&[0xa0]),
        }],
        state: Some(Bytes::from_static(&[1])),
        is_state_enabled: true,
        rpcs: vec!["a".to_owned(), "b".to_owned()],
        is_database_enabled: true,
        queue_size: 3,
        workflow_history: Some(Bytes::from_static(&[0, 0, 0])),
        is_workflow_enabled: true,
        tab_config: vec![TabConfigEntry {
            id: "t".to_owned(),
            label: Some("T".to_owned()),
            icon: None,
            hidden: false,
        }],
        schedules: vec![schedule()],
    }
}

fn fire() -> ScheduleFire {
    ScheduleFire {
        action: "fire".to_owned(),
        scheduled_at: 1,
        fired_at: 2,
        finished_at: Some(3),
        result: "error".to_owned(),
        error: Some(FireError {
            group: "user".to_owned(),
            code: "x".to_owned(),
            message: "y".to_owned(),
            metadata: Some(Bytes::from_static(&[0xf6])),
        }),
    }
}

fn status() -> QueueStatus {
    QueueStatus {
        size: 2,
        max_size: 1_000,
        messages: vec![Queued {
            id: 1,
            name: "jobs".to_owned(),
            created_at_ms: 9,
        }],
        truncated: true,
    }
}

fn messages() -> Vec<ToClient> {
    let mut messages = updates_and_first_answers();
    messages.extend(later_answers());
    messages
}

fn data() -> Bytes {
    Bytes::from_static(&[0x83, 1, 2, 3])
}

fn updates_and_first_answers() -> Vec<ToClient> {
    let rid = 7;
    vec![
        ToClient::State {
            rid,
            state: None,
            is_state_enabled: false,
        },
        ToClient::Connections {
            rid,
            connections: init().connections,
        },
        ToClient::Action {
            rid,
            output: data(),
        },
        ToClient::ConnectionsUpdated {
            connections: init().connections,
        },
        ToClient::QueueUpdated { queue_size: 128 },
        ToClient::StateUpdated { state: data() },
        ToClient::WorkflowHistoryUpdated { history: data() },
        ToClient::SchedulesUpdated {
            schedules: vec![schedule()],
        },
        ToClient::RpcsList {
            rid,
            rpcs: init().rpcs,
        },
        ToClient::TraceQuery {
            rid,
            payload: Bytes::new(),
        },
    ]
}

fn later_answers() -> Vec<ToClient> {
    let (rid, history) = (7, Some(data()));
    vec![
        ToClient::Queue {
            rid,
            status: status(),
        },
        ToClient::WorkflowHistory {
            rid,
            history: history.clone(),
            is_workflow_enabled: true,
        },
        ToClient::WorkflowReplay {
            rid,
            history,
            is_workflow_enabled: true,
        },
        ToClient::Schedules {
            rid,
            schedules: vec![schedule()],
        },
        ToClient::ScheduleHistory {
            rid,
            schedule_id: "daily".to_owned(),
            history: vec![fire()],
        },
        ToClient::ScheduleDelete {
            rid,
            schedule_id: "daily".to_owned(),
            deleted: true,
        },
        ToClient::Error {
            message: "oh".to_owned(),
        },
        ToClient::Init(Box::new(init())),
        ToClient::DatabaseSchema {
            rid,
            schema: data(),
        },
        ToClient::DatabaseTableRows {
            rid,
            result: data(),
        },
    ]
}

#[test]
fn current_messages_are_numbered_in_order_and_come_back() {
    let mut numbers = Vec::new();
    for request in requests() {
        let bytes = request.encode();
        numbers.push(bytes[0]);
        assert_eq!(
            ToServer::decode(bytes, InspectorVersion::CURRENT).unwrap(),
            request
        );
    }
    numbers.dedup();
    assert_eq!(numbers, (0..14).collect::<Vec<u8>>());
    for (number, message) in messages().into_iter().enumerate() {
        let bytes = message.encode(InspectorVersion::CURRENT);
        assert_eq!(usize::from(bytes[0]), number);
        assert_eq!(ToClient::decode(bytes).unwrap(), message);
    }
}

#[test]
fn every_version_asks_what_it_knows() {
    let known = |number: u16| {
        let all = requests().into_iter();
        let known = all.filter_map(|request| Some((request.write(version(number))?, request)));
        known.collect::<Vec<_>>()
    };
    for (number, count) in [(1, 5), (2, 8), (3, 10), (4, 12), (5, 12), (6, 15)] {
        assert_eq!(known(number).len(), count, "version {number}");
        for (bytes, request) in known(number) {
            let upgraded = upgrade_request(bytes, version(number)).unwrap();
            assert_eq!(upgraded, request.encode(), "version {number}");
        }
    }
    // Version 1: the event log, which no version after it has.
    for tag in [4, 5] {
        assert!(upgrade_request(Bytes::from(vec![tag, 1]), version(1)).is_err());
    }
    assert_eq!(
        &upgrade_request(Bytes::from_static(&[6, 9]), version(1)).unwrap()[..],
        &[4, 9]
    );
    assert_eq!(
        &upgrade_request(Bytes::from_static(&[8, 9]), version(3)).unwrap()[..],
        &[9, 9]
    );
}

#[test]
fn what_an_older_version_does_not_know_is_named_in_an_error() {
    let sent = |message: &ToClient, number| message.encode(version(number));
    let error = |tag: u8, text: &str| {
        let mut bytes = vec![tag, text.len() as u8];
        bytes.extend_from_slice(text.as_bytes());
        bytes
    };
    let all = messages();
    for (at, number, expected) in [
        (4, 1, error(8, "inspector.queue_dropped")),
        (9, 1, error(8, "inspector.trace_dropped")),
        (6, 1, error(8, "inspector.workflow_history_dropped")),
        (12, 3, error(11, "inspector.workflow_history_dropped")),
        (18, 2, error(11, "inspector.database_dropped")),
        (7, 5, error(12, "inspector.schedules_dropped")),
    ] {
        assert_eq!(
            sent(&all[at], number),
            expected,
            "message {at} for version {number}"
        );
    }
    assert_eq!(sent(&all[16], 1)[0], 8);
    for (number, tag) in [(1, 9), (2, 12), (3, 12), (4, 13), (5, 13), (6, 17)] {
        assert_eq!(sent(&all[17], number)[0], tag, "Init of version {number}");
    }
}

#[test]
fn the_first_message_grows_with_the_versions() {
    let init = ToClient::Init(Box::new(init()));
    let current = init.encode(InspectorVersion::CURRENT);
    let body = |number| init.encode(version(number)).slice(1..);
    // What a version adds stands at the end.
    assert_eq!(body(2), body(3));
    assert_eq!(body(3), body(4));
    assert!(body(5).starts_with(&body(4)) && body(5).len() > body(4).len());
    assert!(current.slice(1..).starts_with(&body(5)) && current.len() > body(5).len() + 1);
    let connections = 1 + 2 + 2;
    assert_eq!(body(1)[..connections], body(2)[..connections]);
    assert_eq!(body(1)[connections], 0, "no events");
    assert!(body(2)[connections..].starts_with(&body(1)[connections + 1..]));
    assert_eq!(
        downgrade_response(current, version(4)).unwrap().slice(1..),
        body(4)
    );
}

#[test]
fn versions_that_are_none_have_no_name() {
    assert_eq!(InspectorVersion::new(0), None);
    assert_eq!(InspectorVersion::new(7), None);
    assert_eq!(InspectorVersion::new(6), Some(InspectorVersion::CURRENT));
}

proptest! {
    #[test]
    fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), number in 1u16..=6) {
        let bytes = Bytes::from(bytes);
        if let Ok(request) = ToServer::decode(bytes.clone(), version(number)) {
            prop_assert_eq!(request.write(version(number)).unwrap(), bytes.clone());
        }
        if let Ok(message) = ToClient::decode(bytes.clone()) {
            prop_assert_eq!(message.encode(InspectorVersion::CURRENT), bytes);
        }
    }

    #[test]
    fn a_message_that_ends_early_is_refused(at in 0usize..20, cut in 1usize..100) {
        let whole = messages()[at].encode(InspectorVersion::CURRENT);
        let cut = whole.len().saturating_sub(cut);
        prop_assert!(ToClient::decode(whole.slice(..cut)).is_err());
    }
}
