//! Leaving an engine: its actors move on, and nothing is left behind.
//!
//! Every step is bounded by one deadline of ours, because the client's own end
//! waits for acknowledgements that some engines send rarely or never.

use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::join::EngineHost;
use crate::shared::Stage;

/// Time for actors that the engine has not stopped to stop by themselves.
const SAVING_TIME: Duration = Duration::from_secs(10);
/// Time to find out who else is there.
const ASK_TIME: Duration = Duration::from_secs(2);
/// Time for what runs after the actors have gone.
const REST_TIME: Duration = Duration::from_secs(5);

impl EngineHost {
    /// Stops all actors so that they can move, closes the session and the store.
    /// Repeated calls wait for the first.
    pub async fn shutdown(&self) {
        let shared = self.shared();
        if self.enter(Stage::Open, Stage::Emptying) {
            self.leave().await;
            self.0.has_left.store(true, Ordering::SeqCst);
            shared.stage.send_replace(Stage::Closed);
        }
        let mut stage = shared.stage.subscribe();
        // The sender lives in what this holds.
        let _ = stage.wait_for(|stage| *stage == Stage::Closed).await;
    }

    /// Ends as a crash of the process would: no hooks, no last saves. The engine
    /// takes the actors for lost when its threshold has passed.
    pub async fn crash(&self) {
        let shared = self.shared();
        shared.stage.send_replace(Stage::Closed);
        self.0.has_left.store(true, Ordering::SeqCst);
        self.0.session.close();
        shared.abandon_all().await;
        shared.sockets.leaving.cancel();
        shared.store.close().await;
    }

    async fn leave(&self) {
        let shared = self.shared();
        let session = &self.0.session;
        let clock = shared.clock();
        self.drain().await;
        session.close();
        shared.abandon_all().await;
        shared.sockets.leaving.cancel();
        shared.sockets.tasks.close();
        shared.tasks.close();
        let rest = async {
            session.closed().await;
            shared.sockets.tasks.wait().await;
            shared.tasks.wait().await;
        };
        if clock.timeout(REST_TIME, rest).await.is_err() {
            tracing::warn!("the session with the engine did not end in time");
        }
        shared.store.close().await;
    }
}

impl EngineHost {
    /// Has the engine stop all actors, and those stop by themselves that it does not get to.
    async fn drain(&self) {
        let shared = self.shared();
        let clock = shared.clock();
        let whole = shared.options.drain_timeout;
        let saving = SAVING_TIME.min(whole * 2 / 3);
        let began = clock.now();
        let engines = whole - saving;
        let _ = clock.timeout(engines, self.put_to_sleep(engines)).await;
        self.enter(Stage::Emptying, Stage::Leaving);
        let rest = (began + engines).since(clock.now());
        if let Ok(true) = clock.timeout(rest, self.stopped_by_engine()).await {
            return;
        }
        let count = || shared.generations.count();
        if count() > 0 {
            tracing::warn!(
                actors = count(),
                "actors stop that the engine has not stopped yet"
            );
        }
        let rest = (began + whole).since(clock.now());
        let stopped = clock.timeout(rest, self.stopped_by_themselves()).await;
        if stopped.is_err() && count() > 0 {
            tracing::warn!(
                actors = count(),
                "actors did not stop in time and are abandoned"
            );
        }
    }

    /// True if it was in the first of the two.
    fn enter(&self, from: Stage, to: Stage) -> bool {
        self.shared().stage.send_if_modified(|stage| {
            let is_next = *stage == from;
            if is_next {
                *stage = to;
            }
            is_next
        })
    }

    /// Puts actors to sleep that nobody would take over, within that time. An engine that
    /// is to move them looks for a place again and again, each time after twice as long,
    /// and hears no calls for them meanwhile.
    async fn put_to_sleep(&self, time: Duration) {
        let shared = self.shared();
        let clock = shared.clock();
        let is_alone = clock.timeout(ASK_TIME.min(time / 4), self.is_alone());
        if is_alone.await != Ok(true) {
            return;
        }
        let asleep = async {
            shared.sleep_all().await;
            // Whom somebody has called meanwhile, they have nowhere else to be.
            shared.sleep_all().await;
        };
        tokio::select! {
            _ = clock.timeout(time / 2, asleep) => {}
            () = shared.cut_off() => {}
        }
        // What is told next would move those whose end the engine has not heard of.
        self.0.session.settle(clock).await;
    }

    async fn is_alone(&self) -> bool {
        let shared = self.shared();
        // The engine finds a place for those in any case.
        if shared.options.is_serverless {
            return false;
        }
        let pool = &shared.options.pool_name;
        let others = shared.api.has_others(pool, self.envoy_key()).await;
        others.is_ok_and(|others| !others)
    }

    async fn drained(&self) {
        let shared = self.shared();
        let left = || shared.generations.is_anyone_left();
        let link_up = shared.link_up.subscribe();
        self.0.session.drain(shared.clock(), link_up, left).await;
    }

    /// False once there is no session: the engine stops nobody then.
    async fn stopped_by_engine(&self) -> bool {
        tokio::select! {
            () = self.drained() => true,
            () = self.shared().cut_off() => false,
        }
    }

    /// What is saved while the engine is away leaves when it is back.
    async fn stopped_by_themselves(&self) {
        let shared = self.shared();
        let left = async {
            shared.stop_left().await;
            // Also those that the engine has stopped and that still save.
            shared.all_ended().await;
        };
        let (mut left, mut drained) = (pin!(left), pin!(self.drained()));
        tokio::select! {
            () = &mut drained => left.await,
            () = &mut left => tokio::select! {
                // Nobody else gets them before the engine has heard that they stopped.
                () = drained => {}
                () = shared.cut_off() => {}
            },
        }
    }
}
