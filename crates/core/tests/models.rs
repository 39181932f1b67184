//! The queue and the schedules beside plain models of them, under random
//! operations and crashes.

mod fixture;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fixture::{World, settle};
use greenroom_core::*;
use proptest::prelude::*;

const VISIBILITY_MS: i64 = 10_000;
const MAX_ATTEMPTS: u32 = 3;

fn run_async(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(test);
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 12,
        ..ProptestConfig::default()
    }
}

#[derive(Clone, Debug)]
enum QueueStep {
    Send(usize),
    /// Which names, as bits; none means any.
    Take {
        names: u8,
        count: u32,
        keep: bool,
    },
    /// Ends the oldest message in hand.
    Complete,
    Retry(u64),
    Fail,
    Advance(u64),
    Reset,
    Crash,
    Sleep,
}

const NAMES: [&str; 3] = ["a", "b", "leased"];

fn queue_step() -> impl Strategy<Value = QueueStep> {
    prop_oneof![
        8 => (0..3_usize).prop_map(QueueStep::Send),
        8 => (0..8_u8, 1..4_u32, any::<bool>())
            .prop_map(|(names, count, keep)| QueueStep::Take { names, count, keep }),
        4 => Just(QueueStep::Complete),
        2 => (0..20_u64).prop_map(QueueStep::Retry),
        1 => Just(QueueStep::Fail),
        3 => (1..12_u64).prop_map(QueueStep::Advance),
        1 => Just(QueueStep::Reset),
        2 => Just(QueueStep::Crash),
        1 => Just(QueueStep::Sleep),
    ]
}

/// What a message should be, by its id.
#[derive(Clone, Debug)]
struct Modelled {
    name: &'static str,
    attempt: u32,
    visible_at: i64,
    leased: bool,
}

struct QueueModel {
    world: World,
    handle: Arc<ActorHandle>,
    rows: BTreeMap<u64, Modelled>,
    next_id: u64,
    in_hand: VecDeque<QueueMessage>,
}

impl QueueModel {
    async fn new() -> Self {
        let policy = QueuePolicy {
            max_attempts: MAX_ATTEMPTS,
            visibility_timeout: Duration::from_millis(VISIBILITY_MS as u64),
            ..QueuePolicy::default()
        };
        let mut world = World::with_config(ActorConfig {
            queues: BTreeMap::from([("leased".to_owned(), policy)]),
            no_sleep: true,
            ..ActorConfig::default()
        });
        let handle = world.start().await.expect("start");
        Self {
            world,
            handle,
            rows: BTreeMap::new(),
            next_id: 1,
            in_hand: VecDeque::new(),
        }
    }

    async fn step(&mut self, step: QueueStep) {
        match step {
            QueueStep::Send(name) => self.send(NAMES[name]).await,
            QueueStep::Take { names, count, keep } => self.take(names, count, keep).await,
            QueueStep::Complete => self.complete().await,
            QueueStep::Retry(seconds) => self.retry(seconds).await,
            QueueStep::Fail => self.fail().await,
            QueueStep::Advance(seconds) => {
                self.world.time.advance(Duration::from_secs(seconds));
            }
            QueueStep::Reset => {
                self.handle.ctx().queue_reset().await.expect("reset");
                self.rows.clear();
            }
            QueueStep::Crash => {
                self.handle = self.world.crash().await;
                self.forget_generation();
            }
            QueueStep::Sleep => {
                self.world.stop(StopReason::GoingAway).await.expect("sleep");
                self.handle = self.world.start().await.expect("wake");
                self.forget_generation();
            }
        }
    }

    /// Leases end with the generation.
    fn forget_generation(&mut self) {
        self.in_hand.clear();
        for row in self.rows.values_mut().filter(|row| row.leased) {
            (row.leased, row.visible_at) = (false, 0);
        }
    }

    async fn send(&mut self, name: &'static str) {
        let message = Outgoing {
            name: name.into(),
            body: Bytes::from(self.next_id.to_be_bytes().to_vec()),
            ..Outgoing::default()
        };
        let sent = self.handle.ctx().queue_send(message).await.expect("send");
        assert_eq!(sent.id(), self.next_id);
        let row = Modelled {
            name,
            attempt: 0,
            visible_at: 0,
            leased: false,
        };
        self.rows.insert(self.next_id, row);
        self.next_id += 1;
    }

    async fn take(&mut self, names: u8, count: u32, keep: bool) {
        let chosen = |n: usize| names & (1 << n) != 0;
        let wanted: Vec<&str> = (0..3).filter(|n| chosen(*n)).map(|n| NAMES[n]).collect();
        let receive = Receive {
            names: wanted.iter().map(|name| (*name).to_owned()).collect(),
            count,
            timeout: Some(Duration::ZERO),
            completable: keep,
            ..Receive::default()
        };
        let now = self.world.clock.now_ms();
        let got = self.handle.ctx().queue_next_batch(receive).await;
        let got = got.expect("receive");
        let expected: Vec<u64> = self
            .rows
            .iter()
            .filter(|(_, row)| wanted.is_empty() || wanted.contains(&row.name))
            .filter(|(_, row)| row.visible_at <= now && row.attempt < MAX_ATTEMPTS)
            .map(|(id, _)| *id)
            .take(count as usize)
            .collect();
        let ids: Vec<u64> = got.iter().map(QueueMessage::id).collect();
        assert_eq!(ids, expected);
        for message in got {
            assert_eq!(message.body()[..], message.id().to_be_bytes());
            let row = self.rows.get_mut(&message.id()).expect("in the model");
            if row.name == "leased" {
                row.attempt += 1;
                row.leased = true;
                row.visible_at = now + VISIBILITY_MS;
                assert_eq!(message.attempt(), Some(row.attempt));
            }
            if keep {
                self.in_hand.push_back(message);
            } else {
                self.rows.remove(&message.id());
            }
        }
    }

    /// The oldest message in hand and whether it is still the holder's to end.
    fn next_in_hand(&mut self) -> Option<(QueueMessage, bool)> {
        let message = self.in_hand.pop_front()?;
        let row = self.rows.get(&message.id());
        // Under a lease, whoever took the message away has ended this delivery.
        let ours = message
            .attempt()
            .is_none_or(|attempt| row.is_some_and(|row| row.attempt == attempt));
        Some((message, ours))
    }

    async fn complete(&mut self) {
        let Some((message, ours)) = self.next_in_hand() else {
            return;
        };
        assert_eq!(message.complete(None).await.is_ok(), ours);
        if ours {
            self.rows.remove(&message.id());
        }
    }

    async fn retry(&mut self, seconds: u64) {
        let Some((message, ours)) = self.next_in_hand() else {
            return;
        };
        let given = message
            .retry(Some(Duration::from_secs(seconds)), None)
            .await;
        let leased = message.attempt().is_some();
        assert_eq!(given.is_ok(), ours && leased);
        let now = self.world.clock.now_ms();
        if given.is_ok()
            && let Some(row) = self.rows.get_mut(&message.id())
        {
            row.leased = false;
            row.visible_at = now + seconds as i64 * 1_000;
            if row.attempt >= MAX_ATTEMPTS {
                self.rows.remove(&message.id());
            }
        }
    }

    async fn fail(&mut self) {
        let Some((message, ours)) = self.next_in_hand() else {
            return;
        };
        let failed = message.fail("no".into()).await;
        assert_eq!(failed.is_ok(), ours && message.attempt().is_some());
        if failed.is_ok() {
            self.rows.remove(&message.id());
        }
    }

    /// Everything that is stored is in the model, and the other way round, but
    /// for messages that are given up when they are next looked at.
    async fn check(&self) {
        let ctx = self.handle.ctx();
        let heads = ctx.queue_inspect().await.expect("inspect");
        let stored: BTreeSet<u64> = heads.iter().map(|head| head.id).collect();
        let dead = ctx
            .dead_letters(None, 0, 1_000)
            .await
            .expect("dead letters");
        let dead: BTreeSet<u64> = dead.iter().map(|letter| letter.message.id).collect();
        for (id, row) in &self.rows {
            let given_up = row.attempt >= MAX_ATTEMPTS && dead.contains(id);
            assert!(stored.contains(id) != given_up, "{id}: {row:?}");
        }
        assert!(stored.iter().all(|id| self.rows.contains_key(id)));
        assert!(stored.is_disjoint(&dead));
    }
}

#[derive(Clone, Debug)]
enum ScheduleStep {
    After(u64),
    Every(usize, i64),
    Cancel(usize),
    Delete(usize),
    Advance(u64),
    Sleep(u64),
    Crash(u64),
}

fn schedule_step() -> impl Strategy<Value = ScheduleStep> {
    prop_oneof![
        4 => (0..60_u64).prop_map(ScheduleStep::After),
        3 => (0..3_usize, 5..20_i64).prop_map(|(job, s)| ScheduleStep::Every(job, s)),
        1 => (0..4_usize).prop_map(ScheduleStep::Cancel),
        1 => (0..3_usize).prop_map(ScheduleStep::Delete),
        5 => (1..40_u64).prop_map(ScheduleStep::Advance),
        2 => (1..40_u64).prop_map(ScheduleStep::Sleep),
        2 => (1..40_u64).prop_map(ScheduleStep::Crash),
    ]
}

struct ScheduleModel {
    world: World,
    handle: Arc<ActorHandle>,
    /// Ids with their times.
    once: Vec<(String, i64)>,
    /// Next fire and interval by name.
    jobs: BTreeMap<String, (i64, i64)>,
}

impl ScheduleModel {
    async fn new() -> Self {
        let mut world = World::with_config(ActorConfig {
            no_sleep: true,
            ..ActorConfig::default()
        });
        let handle = world.start().await.expect("start");
        Self {
            world,
            handle,
            once: Vec::new(),
            jobs: BTreeMap::new(),
        }
    }

    async fn step(&mut self, step: ScheduleStep) {
        let now = self.world.clock.now_ms();
        match step {
            ScheduleStep::After(seconds) => {
                let after = self.handle.ctx().schedule_after(seconds * 1_000, call());
                let id = after.await.expect("after");
                self.once.push((id, now + seconds as i64 * 1_000));
                self.advance(0).await;
            }
            ScheduleStep::Every(job, seconds) => {
                let (name, interval) = (format!("job{job}"), seconds * 1_000);
                let new = NewJob {
                    name: name.clone(),
                    call: call(),
                    max_history: None,
                };
                let set = self.handle.ctx().cron_every(new, interval).await;
                set.expect("every");
                let known = self.jobs.get(&name);
                if known.is_none_or(|(_, old)| *old != interval) {
                    self.jobs.insert(name, (now + interval, interval));
                }
            }
            ScheduleStep::Cancel(at) => {
                if at < self.once.len() {
                    let (id, _) = self.once.remove(at);
                    assert!(self.handle.ctx().schedule_cancel(id).await.expect("cancel"));
                }
            }
            ScheduleStep::Delete(job) => {
                let name = format!("job{job}");
                let existed = self.jobs.remove(&name).is_some();
                let deleted = self.handle.ctx().cron_delete(&name).await;
                assert_eq!(deleted.expect("delete"), existed);
            }
            ScheduleStep::Advance(seconds) => self.advance(seconds).await,
            ScheduleStep::Sleep(seconds) => {
                self.world.stop(StopReason::GoingAway).await.expect("sleep");
                self.wake_after(seconds).await;
            }
            ScheduleStep::Crash(seconds) => {
                self.world.registry.abandon_actor(self.world.actor()).await;
                self.wake_after(seconds).await;
            }
        }
    }

    async fn wake_after(&mut self, seconds: u64) {
        self.world.time.advance(Duration::from_secs(seconds));
        self.handle = self.world.start().await.expect("wake");
        settle().await;
        self.advance(0).await;
    }

    /// Lets time pass for actor and model, and compares what fired.
    async fn advance(&mut self, seconds: u64) {
        let from = self.world.clock.now_ms();
        let span = Duration::from_secs(seconds);
        self.world.advance_firing(&self.handle, span).await;
        let to = self.world.clock.now_ms();
        let mut expected = self.model_fires(from, to);
        let fires = self.world.script.take_fires();
        assert!(fires.is_sorted_by_key(|fire| (fire.fired_at, fire.scheduled_at)));
        let mut got: Vec<_> = fires.into_iter().map(|f| (f.fired_at, f.id)).collect();
        expected.sort();
        got.sort();
        assert_eq!(got, expected);
    }

    fn model_fires(&mut self, from: i64, to: i64) -> Vec<(i64, String)> {
        let mut fires = Vec::new();
        self.once.retain(|(id, at)| {
            let fires_now = *at <= to;
            if fires_now {
                fires.push(((*at).max(from), id.clone()));
            }
            !fires_now
        });
        for (name, (next, interval)) in &mut self.jobs {
            while *next <= to {
                let at = (*next).max(from);
                fires.push((at, name.clone()));
                *next += *interval * ((at - *next) / *interval + 1);
            }
        }
        fires
    }
}

fn call() -> ScheduledCall {
    ScheduledCall {
        action: "tick".into(),
        ..ScheduledCall::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_queue_is_the_model_of_a_queue(steps in prop::collection::vec(queue_step(), 1..60)) {
        run_async(async {
            let mut model = QueueModel::new().await;
            for step in steps {
                model.step(step).await;
            }
            model.check().await;
        });
    }

    #[test]
    fn the_schedules_are_the_model_of_schedules(
        steps in prop::collection::vec(schedule_step(), 1..30)
    ) {
        run_async(async {
            let mut model = ScheduleModel::new().await;
            for step in steps {
                model.step(step).await;
            }
        });
    }
}
