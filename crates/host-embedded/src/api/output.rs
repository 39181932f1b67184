//! Actors as the API shows them.

use serde_json::{Value, json};

use crate::directory::ActorRecord;
use crate::shared::Shared;

impl Shared {
    pub(super) fn actor_json(&self, record: &ActorRecord) -> Value {
        let clock = self.clock();
        let live_for = self
            .residents
            .by_id(&record.id)
            .and_then(|resident| resident.live_for(clock.now()));
        let connectable_ts = live_for.map(|span| clock.now_ms() - span.as_millis() as i64);
        let mut actor = json!({
            "actor_id": record.id.as_str(),
            "name": record.name,
            "key": record.key.as_serialized(),
            "namespace_id": self.namespace_id.as_str(),
            "datacenter": super::cluster::DATACENTER,
            "runner_name_selector": self.options.pool_name,
            "crash_policy": "sleep",
            "create_ts": record.create_ts,
            "start_ts": record.start_ts,
            "pending_allocation_ts": null,
            "connectable_ts": connectable_ts,
            "sleep_ts": if connectable_ts.is_some() { None } else { record.sleep_ts },
            "reschedule_ts": null,
            "destroy_ts": record.destroy_ts,
        });
        if let Some(text) = &record.error {
            actor["error"] = json!({ "crashed": { "message": text } });
        }
        actor
    }
}

/// The end of a list.
pub(super) fn pagination(cursor: Option<String>) -> Value {
    json!({ "cursor": cursor })
}
