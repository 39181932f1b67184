//! This host as a cluster of one: one namespace, one datacenter, one envoy.

use std::sync::atomic::Ordering;

use greenroom_error::{Error, Result, code};
use greenroom_gateway::COMPATIBLE_VERSION;
use http::{HeaderMap, Method};
use serde::Deserialize;
use serde_json::{Value, json};

use super::host_of;
use super::input::{Query, bad_request};
use super::output::pagination;
use crate::shared::Shared;

pub(super) const DATACENTER: &str = "default";
const PROTOCOL_VERSION: u32 = 8;
const PAGE_MAX: usize = 1_000;

pub(super) fn metadata(shared: &Shared) -> Value {
    let mut names = serde_json::Map::new();
    for (name, factory) in shared.registry.factories() {
        let config = factory.config();
        let metadata = json!({ "name": config.name, "icon": config.icon });
        names.insert(name.to_owned(), json!({ "metadata": metadata }));
    }
    json!({
        "runtime": "engine",
        "version": COMPATIBLE_VERSION,
        "envoy_protocol_version": PROTOCOL_VERSION,
        "implementation": { "name": "greenroom", "version": env!("CARGO_PKG_VERSION") },
        "actorNames": names,
    })
}

pub(super) fn health() -> Value {
    json!({ "runtime": "engine", "status": "ok", "version": COMPATIBLE_VERSION })
}

pub(super) fn health_fanout() -> Value {
    json!({
        "datacenters": [{
            "datacenter_label": greenroom_wire::LOCAL_DATACENTER,
            "datacenter_name": DATACENTER,
            "status": "ok",
            "rtt_ms": 0,
            "response": health(),
            "error": null,
        }]
    })
}

fn namespace(shared: &Shared) -> Value {
    json!({
        "namespace_id": shared.namespace_id.as_str(),
        "name": shared.options.namespace,
        "display_name": shared.options.namespace,
        "create_ts": shared.opened_ms,
    })
}

/// Pages hold everything there is, so a cursor is only checked for being one.
fn page(query: &mut Query) -> Result<()> {
    query.limit(PAGE_MAX, PAGE_MAX)?;
    query.one("cursor").map(drop)
}

pub(super) fn namespaces(shared: &Shared, query: &mut Query) -> Result<Value> {
    page(query)?;
    let name = query.one("name")?;
    query.all("namespace_id");
    query.all("namespace_ids");
    let shown = name.is_none_or(|name| shared.knows_namespace(&name));
    let namespaces: Vec<Value> = shown.then(|| namespace(shared)).into_iter().collect();
    Ok(json!({ "namespaces": namespaces, "pagination": pagination(None) }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NamespaceBody {
    name: String,
    #[serde(rename = "display_name")]
    _display_name: Option<String>,
}

/// The namespace of the options is there from the start; programs that make theirs
/// before they use it are told that they did, once.
pub(super) fn create_namespace(shared: &Shared, body: NamespaceBody) -> Result<Value> {
    let ours = body.name == shared.options.namespace;
    if ours && !shared.namespace_made.swap(true, Ordering::Relaxed) {
        return Ok(json!({ "namespace": namespace(shared) }));
    }
    if shared.knows_namespace(&body.name) {
        return Err(Error::new(&code::NAMESPACE_NAME_NOT_UNIQUE));
    }
    Err(bad_request(
        "an embedded host has one namespace, which is set in its options",
    ))
}

pub(super) fn datacenters(shared: &Shared, headers: &HeaderMap) -> Value {
    let url = match host_of(headers) {
        Some(host) => Some(format!("http://{host}")),
        None => shared.endpoint.read().url.clone(),
    };
    let datacenter = json!({
        "label": greenroom_wire::LOCAL_DATACENTER,
        "name": DATACENTER,
        "url": url,
    });
    json!({ "datacenters": [datacenter], "pagination": pagination(None) })
}

pub(super) fn runner_configs(shared: &Shared, query: &mut Query) -> Result<Value> {
    page(query)?;
    query.one("variant")?;
    let mut names = query.all("runner_name");
    names.extend(
        query
            .all("runner_names")
            .iter()
            .flat_map(|list| list.split(',').map(str::to_owned).collect::<Vec<_>>()),
    );
    let pool = &shared.options.pool_name;
    let mut configs = json!({});
    if names.is_empty() || names.contains(pool) {
        configs[pool] = json!({
            "datacenters": {
                DATACENTER: {
                    "normal": {
                        "drain_on_version_upgrade": true,
                        "actor_eviction_delay": 0,
                        "actor_eviction_period": 0,
                        "actor_eviction_rate": 1.0,
                    },
                    "protocol_version": PROTOCOL_VERSION,
                }
            }
        });
    }
    Ok(json!({ "runner_configs": configs, "pagination": pagination(None) }))
}

/// There is nothing to configure: the pool is this process.
pub(super) fn change_runner_config(method: &Method) -> Value {
    match *method {
        Method::PUT => json!({ "endpoint_config_changed": false }),
        _ => json!({}),
    }
}

pub(super) fn envoys(shared: &Shared, query: &mut Query) -> Result<Value> {
    page(query)?;
    query.one("name")?;
    query.all("envoy_key");
    let now = shared.clock().now_ms();
    let envoy = json!({
        "envoy_key": shared.envoy_key.to_string(),
        "namespace_id": shared.namespace_id.as_str(),
        "datacenter": DATACENTER,
        "pool_name": shared.options.pool_name,
        "version": 1,
        "slots": shared.registry.instance_count(),
        "create_ts": shared.opened_ms,
        "stop_ts": null,
        "last_ping_ts": now,
        "last_connected_ts": shared.opened_ms,
        "last_rtt": 0,
        "metadata": { "rivetkit": { "version": COMPATIBLE_VERSION } },
    });
    Ok(json!({ "envoys": [envoy], "pagination": pagination(None) }))
}

pub(super) fn runners(query: &mut Query) -> Result<Value> {
    page(query)?;
    query.one("name")?;
    query.all("runner_ids");
    query.bool("include_stopped")?;
    Ok(json!({ "runners": [], "pagination": pagination(None) }))
}

pub(super) fn runner_names(query: &mut Query) -> Result<Value> {
    page(query)?;
    Ok(json!({ "names": [], "pagination": pagination(None) }))
}
