//! Batches of schedule operations on real files.

use std::sync::Arc;

use bytes::Bytes;
use greenroom_error::code;

use super::fixture::Fixture;
use crate::{
    Cadence, Claim, ClaimedFire, Database, FireError, FireResult, ScheduleBatch, ScheduleOutcome,
    ScheduleRow, ScheduleWrite, ScheduleWritten, Trace,
};

struct Schedules {
    database: Database,
    len: Option<u64>,
    unpruned: u32,
    max_len: u64,
}

impl Schedules {
    fn new(database: Database) -> Self {
        Self {
            database,
            len: None,
            unpruned: 0,
            max_len: 1_000,
        }
    }

    async fn run(&mut self, writes: Vec<ScheduleWrite>) -> ScheduleOutcome {
        let batch = ScheduleBatch {
            writes,
            len: self.len,
            max_len: self.max_len,
            unpruned: self.unpruned,
        };
        let outcome = self.database.schedule_write(batch).await.unwrap();
        self.len = Some(outcome.len);
        self.unpruned = outcome.unpruned;
        outcome
    }

    async fn one(&mut self, write: ScheduleWrite) -> ScheduleWritten {
        self.run(vec![write]).await.written.remove(0)
    }

    async fn claim(&mut self, now: i64, running: &[&str]) -> Vec<ClaimedFire> {
        let claim = Claim {
            now,
            limit: 128,
            running: running.iter().map(|id| (*id).to_owned()).collect(),
            next: Arc::new(|row, now| match row.cadence {
                Cadence::Every { interval_ms } => Some(now + interval_ms),
                _ => None,
            }),
        };
        match self.one(ScheduleWrite::Claim(claim)).await {
            ScheduleWritten::Claimed { fires, more: false } => fires,
            other => panic!("{other:?}"),
        }
    }
}

fn once(id: &str, trigger_at: i64) -> ScheduleRow {
    ScheduleRow {
        event_id: id.to_owned(),
        trigger_at,
        action: "act".to_owned(),
        args: Bytes::from_static(b"\x80"),
        cadence: Cadence::Once,
        last_started_at: None,
        max_history: 0,
        trace: Trace::default(),
    }
}

fn every(id: &str, trigger_at: i64) -> ScheduleRow {
    ScheduleRow {
        cadence: Cadence::Every { interval_ms: 5_000 },
        max_history: 2,
        ..once(id, trigger_at)
    }
}

fn fired(fires: &[ClaimedFire]) -> Vec<&str> {
    fires
        .iter()
        .map(|fire| fire.row.event_id.as_str())
        .collect()
}

#[tokio::test]
async fn what_is_due_is_claimed_once_in_order_of_time_and_id() {
    let mut fixture = Fixture::new();
    let mut schedules = Schedules::new(fixture.existing("a", "s").await);
    let rows = [once("b", 5), once("a", 5), once("c", 3), once("later", 9)];
    let adds = rows.map(ScheduleWrite::Add).to_vec();
    assert_eq!(schedules.run(adds).await.next, Some(3));
    assert_eq!(fired(&schedules.claim(5, &[]).await), ["c", "a", "b"]);
    fixture.restart().await;
    let mut schedules = Schedules::new(fixture.database("a"));
    assert!(schedules.claim(5, &[]).await.is_empty(), "claimed for good");
    assert_eq!(schedules.len, Some(1));
}

#[tokio::test]
async fn rows_come_back_as_they_were_stored() {
    let fixture = Fixture::new();
    let mut schedules = Schedules::new(fixture.existing("a", "s").await);
    let cron = ScheduleRow {
        cadence: Cadence::Cron {
            expression: "0 9 * * *".to_owned(),
            timezone: "Europe/Berlin".to_owned(),
        },
        args: Bytes::new(),
        trace: Trace {
            ray_id: Some("r".to_owned()),
            traceparent: Some("p".to_owned()),
            tracestate: Some("t".to_owned()),
        },
        max_history: 1_000,
        ..once("cron:daily", 8)
    };
    let rows = [once("a", 1), every("cron:x", 2), cron];
    for row in &rows {
        let write = match row.cadence {
            Cadence::Once => ScheduleWrite::Add(row.clone()),
            _ => ScheduleWrite::Put(row.clone()),
        };
        assert_eq!(schedules.one(write).await, ScheduleWritten::Stored);
    }
    assert_eq!(schedules.database.schedules().await.unwrap(), rows);
    let one = schedules.database.schedule("cron:x".into()).await.unwrap();
    assert_eq!(one.as_ref(), Some(&rows[1]));
}

#[tokio::test]
async fn the_limit_counts_new_rows_and_lets_replacements_through() {
    let fixture = Fixture::new();
    let mut schedules = Schedules::new(fixture.existing("a", "s").await);
    schedules.max_len = 2;
    let writes = vec![
        ScheduleWrite::Put(every("cron:x", 1)),
        ScheduleWrite::Add(once("a", 1)),
        ScheduleWrite::Add(once("b", 1)),
        ScheduleWrite::Put(every("cron:x", 1)),
        ScheduleWrite::Put(every("cron:y", 1)),
        ScheduleWrite::Cancel { id: "a".into() },
        ScheduleWrite::Put(every("cron:y", 1)),
    ];
    use ScheduleWritten::{Deleted, Full, Stored};
    let written = schedules.run(writes).await.written;
    assert_eq!(
        written,
        [Stored, Stored, Full, Stored, Full, Deleted(true), Stored]
    );
}

#[tokio::test]
async fn setting_a_schedule_again_keeps_its_due_time_unless_its_cadence_changed() {
    let fixture = Fixture::new();
    let mut schedules = Schedules::new(fixture.existing("a", "s").await);
    schedules
        .one(ScheduleWrite::Put(every("cron:x", 100)))
        .await;
    schedules.claim(100, &[]).await;
    schedules.one(ScheduleWrite::Put(every("cron:x", 7))).await;
    let kept = schedules
        .database
        .schedule("cron:x".into())
        .await
        .unwrap()
        .unwrap();
    assert_eq!((kept.trigger_at, kept.last_started_at), (5_100, Some(100)));
    let slower = ScheduleRow {
        cadence: Cadence::Every { interval_ms: 6_000 },
        ..every("cron:x", 7)
    };
    schedules.one(ScheduleWrite::Put(slower)).await;
    let moved = schedules
        .database
        .schedule("cron:x".into())
        .await
        .unwrap()
        .unwrap();
    assert_eq!((moved.trigger_at, moved.last_started_at), (7, Some(100)));
}

#[tokio::test]
async fn a_fire_that_overlaps_is_skipped_and_remembered_as_such() {
    let fixture = Fixture::new();
    let mut schedules = Schedules::new(fixture.existing("a", "s").await);
    schedules.one(ScheduleWrite::Put(every("cron:x", 1))).await;
    let fire = schedules.claim(1, &[]).await.remove(0);
    assert!(schedules.claim(6_000, &["cron:x"]).await.is_empty());
    let error = FireError {
        group: "g".into(),
        code: "c".into(),
        message: "m".into(),
        metadata: Some(vec![0xf6]),
    };
    let finish = ScheduleWrite::Finish {
        history_id: fire.history_id.unwrap(),
        finished_at: 9,
        error: Some(error.clone()),
    };
    schedules.one(finish).await;
    let history = schedules
        .database
        .schedule_history("cron:x".into(), 20)
        .await
        .unwrap();
    assert_eq!(history[0].result, FireResult::Skipped);
    assert_eq!(history[0].finished_at, Some(6_000));
    assert_eq!(history[1].result, FireResult::Error(error));
}

#[tokio::test]
async fn history_keeps_what_each_schedule_asked_for() {
    let fixture = Fixture::new();
    let mut schedules = Schedules::new(fixture.existing("a", "s").await);
    schedules.one(ScheduleWrite::Put(every("cron:x", 1))).await;
    let silent = ScheduleRow {
        max_history: 0,
        ..every("cron:y", 1)
    };
    schedules.one(ScheduleWrite::Put(silent)).await;
    for round in 1..=4 {
        schedules.claim(round * 10_000, &[]).await;
    }
    let history = schedules
        .database
        .schedule_history("cron:x".into(), 20)
        .await
        .unwrap();
    let times: Vec<i64> = history.iter().map(|fire| fire.fired_at).collect();
    assert_eq!(times, [40_000, 30_000]);
    let silent = schedules
        .database
        .schedule_history("cron:y".into(), 20)
        .await
        .unwrap();
    assert!(silent.is_empty());
    let fewer = ScheduleRow {
        max_history: 1,
        ..every("cron:x", 1)
    };
    schedules.one(ScheduleWrite::Put(fewer)).await;
    let history = schedules
        .database
        .schedule_history("cron:x".into(), 20)
        .await
        .unwrap();
    assert_eq!(history.len(), 1);
    schedules
        .one(ScheduleWrite::Delete {
            id: "cron:x".into(),
        })
        .await;
    let history = schedules
        .database
        .schedule_history("cron:x".into(), 20)
        .await
        .unwrap();
    assert!(history.is_empty(), "a name that is used again starts empty");
}

#[tokio::test]
async fn the_history_of_all_schedules_together_is_bounded() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "s").await;
    database
        .write(|conn| {
            conn.execute_batch(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 11000)
                 INSERT INTO _rivet_schedule_history
                 SELECT i, 'cron:' || (i % 500), 'a', i, i, i, 1, NULL, NULL, NULL, NULL FROM n",
            )
            .unwrap();
            Ok(())
        })
        .await
        .unwrap();
    let mut schedules = Schedules::new(database);
    schedules.unpruned = 99;
    schedules
        .one(ScheduleWrite::Put(every("cron:new", 20_000)))
        .await;
    schedules.claim(20_000, &[]).await;
    let (count, oldest): (i64, i64) = schedules
        .database
        .read(|conn| {
            let sql = "SELECT count(*), min(fired_at) FROM _rivet_schedule_history";
            Ok(conn
                .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
                .unwrap())
        })
        .await
        .unwrap();
    assert_eq!((count, oldest), (9_900, 1_102));
    assert_eq!(schedules.unpruned, 0);
}

#[tokio::test]
async fn a_fire_that_a_crash_cut_off_is_marked_at_the_next_start() {
    let mut fixture = Fixture::new();
    let mut schedules = Schedules::new(fixture.existing("a", "s").await);
    schedules.one(ScheduleWrite::Put(every("cron:x", 1))).await;
    schedules.claim(1, &[]).await;
    fixture.restart().await;
    let database = fixture.database("a");
    let startup = database.start().await.unwrap();
    assert!(startup.interrupted_fires);
    assert_eq!(startup.next_schedule, Some(5_001));
    database.interrupt_schedules(77).await.unwrap();
    let history = database.schedule_history("cron:x".into(), 1).await.unwrap();
    assert_eq!(history[0].finished_at, Some(77));
    match &history[0].result {
        FireResult::Error(error) => assert_eq!(error.code, "interrupted"),
        other => panic!("{other:?}"),
    }
    assert!(!database.start().await.unwrap().interrupted_fires);
}

#[tokio::test]
async fn a_damaged_row_fails_reads_but_holds_up_no_other_and_can_be_set_again() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "s").await;
    database
        .write(|conn| {
            conn.execute_batch(
                "INSERT INTO _rivet_schedule_events VALUES
                 ('cron:bad', 1, 'a', NULL, 2, NULL, NULL, 4999, NULL, 1, NULL, NULL, NULL)",
            )
            .unwrap();
            Ok(())
        })
        .await
        .unwrap();
    let mut schedules = Schedules::new(database);
    schedules.one(ScheduleWrite::Add(once("good", 2))).await;
    let error = schedules.database.schedules().await.unwrap_err();
    assert!(error.is(&code::SCHEDULE_INVALID_ROW));
    assert_eq!(fired(&schedules.claim(5, &[]).await), ["good"]);
    assert!(schedules.claim(5, &[]).await.is_empty());
    schedules
        .one(ScheduleWrite::Put(every("cron:bad", 6)))
        .await;
    assert_eq!(fired(&schedules.claim(6, &[]).await), ["cron:bad"]);
}

#[tokio::test]
async fn a_missing_action_deletes_only_the_job_that_still_calls_it() {
    let fixture = Fixture::new();
    let mut schedules = Schedules::new(fixture.existing("a", "s").await);
    schedules.one(ScheduleWrite::Put(every("cron:x", 1))).await;
    schedules.claim(1, &[]).await;
    let delete = |action: &str| ScheduleWrite::DeleteIfAction {
        id: "cron:x".into(),
        action: action.into(),
    };
    assert_eq!(
        schedules.one(delete("other")).await,
        ScheduleWritten::Deleted(false)
    );
    assert_eq!(
        schedules.one(delete("act")).await,
        ScheduleWritten::Deleted(true)
    );
    let history = schedules
        .database
        .schedule_history("cron:x".into(), 9)
        .await
        .unwrap();
    assert_eq!(history.len(), 1, "the history tells why");
}

#[tokio::test]
async fn cancelling_touches_one_shots_only() {
    let fixture = Fixture::new();
    let mut schedules = Schedules::new(fixture.existing("a", "s").await);
    schedules.one(ScheduleWrite::Put(every("cron:x", 1))).await;
    let cancel = ScheduleWrite::Cancel {
        id: "cron:x".into(),
    };
    assert_eq!(schedules.one(cancel).await, ScheduleWritten::Deleted(false));
    assert_eq!(schedules.len, Some(1));
}
