//! Leaving an engine: its actors move on, and nothing is left behind.
//!
//! Every step is bounded by one deadline of ours, because the client's own end
//! waits for acknowledgements that some engines send rarely or never.

use std::pin::{Pin, pin};
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
        let is_first = shared.stage.send_if_modified(|stage| {
            let first = *stage == Stage::Open;
            if first {
                *stage = Stage::Leaving;
            }
            first
        });
        if is_first {
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
        let end = clock.now() + whole;
        let saving = SAVING_TIME.min(whole * 2 / 3);
        let drained = self.0.session.drain(clock, shared.link_up.subscribe());
        let mut drained = pin!(drained);
        let by_engine = self.stopped_by_engine(drained.as_mut());
        if let Ok(true) = clock.timeout(whole - saving, by_engine).await {
            return;
        }
        let count = || shared.generations.count();
        if count() > 0 {
            tracing::warn!(
                actors = count(),
                "actors stop that the engine has not stopped yet"
            );
        }
        let rest = self.stopped_by_themselves(drained);
        if clock.timeout(end.since(clock.now()), rest).await.is_err() && count() > 0 {
            tracing::warn!(
                actors = count(),
                "actors did not stop in time and are abandoned"
            );
        }
    }

    /// False once there is no session: the engine stops nobody then.
    async fn stopped_by_engine(&self, drained: Pin<&mut impl Future<Output = ()>>) -> bool {
        let shared = self.shared();
        let stopped = async {
            if self.is_alone().await {
                shared.sleep_all().await;
            }
            drained.await;
        };
        tokio::select! {
            () = stopped => true,
            () = shared.cut_off() => false,
        }
    }

    /// What is saved while the engine is away leaves when it is back.
    async fn stopped_by_themselves(&self, mut drained: Pin<&mut impl Future<Output = ()>>) {
        let shared = self.shared();
        let mut left = pin!(shared.stop_left());
        tokio::select! {
            () = &mut drained => left.await,
            () = &mut left => tokio::select! {
                // Nobody else gets them before the engine has heard that they stopped.
                () = drained => {}
                () = shared.cut_off() => {}
            },
        }
    }

    /// Whether nobody would take the actors over. An engine that is to move them looks for
    /// a place again and again, each time after twice as long, and hears no calls for them
    /// meanwhile.
    async fn is_alone(&self) -> bool {
        let shared = self.shared();
        let pool = &shared.options.pool_name;
        let found = shared.api.has_others(pool, self.envoy_key());
        matches!(shared.clock().timeout(ASK_TIME, found).await, Ok(Ok(false)))
    }
}
