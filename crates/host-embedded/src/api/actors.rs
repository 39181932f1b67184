//! `/actors`: create, find, list, destroy.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use greenroom_gateway::ActorSource;
use greenroom_store::ListQuery;
use greenroom_wire::{ActorId, ActorKey, cbor};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::cluster::DATACENTER;
use super::input::{PathSegment, Query, bad_request};
use super::output::pagination;
use crate::ready::Seeker;
use crate::resident::{Phase, Wish};
use crate::shared::Shared;
use crate::target::{Target, not_found};

/// Ids that one request may ask for.
const IDS_MAX: usize = 32;
const PAGE_DEFAULT: usize = 100;
const PAGE_MAX: usize = 1_000;
/// Largest creation input, decoded.
const INPUT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Body of both ways to create an actor.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateBody {
    name: String,
    key: Option<String>,
    /// Base64 of CBOR.
    input: Option<String>,
    datacenter: Option<String>,
    #[serde(rename = "runner_name_selector")]
    _runner_name_selector: Option<String>,
    #[serde(rename = "crash_policy")]
    _crash_policy: Option<CrashPolicy>,
}

/// Understood and without effect: an actor that crashed sleeps.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum CrashPolicy {
    Restart,
    Sleep,
    Destroy,
}

impl CreateBody {
    fn key(&self) -> Result<ActorKey> {
        ActorKey::from_serialized(self.key.as_deref().unwrap_or_default())
    }

    fn input(&self) -> Result<Option<Bytes>> {
        let Some(input) = &self.input else {
            return Ok(None);
        };
        let input = STANDARD
            .decode(input)
            .map_err(|error| bad_request(format!("input is not base64: {error}")))?;
        if input.len() > INPUT_BYTES_MAX {
            return Err(Error::with(
                &code::ACTOR_INPUT_TOO_LARGE,
                json!({ "max_size": INPUT_BYTES_MAX }),
            ));
        }
        cbor::check(&input).map_err(|error| bad_request(format!("input is not CBOR: {error}")))?;
        Ok(Some(input.into()))
    }

    fn check_datacenter(&self) -> Result<()> {
        match self.datacenter.as_deref() {
            None | Some(DATACENTER) => Ok(()),
            Some(_) => Err(Error::new(&code::DATACENTER_NOT_FOUND)),
        }
    }
}

pub(super) async fn get_or_create(shared: &Shared, body: CreateBody) -> Result<Value> {
    body.check_datacenter()?;
    let key = body.key()?;
    let created = shared.get_or_create(&body.name, &key, body.input()?);
    let (record, created) = created.await?;
    Ok(json!({ "actor": shared.actor_json(&record), "created": created }))
}

pub(super) async fn create(shared: &Shared, body: CreateBody) -> Result<Value> {
    body.check_datacenter()?;
    let record = shared
        .create(&body.name, &body.key()?, body.input()?)
        .await?;
    Ok(json!({ "actor": shared.actor_json(&record) }))
}

pub(super) async fn list(shared: &Shared, query: &mut Query) -> Result<Value> {
    let wanted = wanted(query)?;
    let limit = wanted.limit;
    let by_id = !wanted.ids.is_empty();
    let records = shared.directory.list(wanted).await?;
    let last = records.last().map(|record| record.create_ts.to_string());
    let cursor = last.filter(|_| !by_id && records.len() >= limit);
    let actors: Vec<Value> = records.iter().map(|r| shared.actor_json(r)).collect();
    Ok(json!({ "actors": actors, "pagination": pagination(cursor) }))
}

fn wanted(query: &mut Query) -> Result<ListQuery> {
    let invalid = |message: &str| {
        Error::with(
            &code::VALIDATION_INVALID_INPUT,
            json!({ "message": message }),
        )
    };
    let lists = query.one("actor_ids")?;
    let mut ids = query.all("actor_id");
    if let Some(list) = &lists {
        ids.extend(list.split(',').map(str::to_owned));
    }
    let asks_for_ids = lists.is_some() || !ids.is_empty();
    let (name, key) = (query.one("name")?, query.one("key")?);
    let include_destroyed = query.bool("include_destroyed")?;
    let limit = query.limit(PAGE_DEFAULT, PAGE_MAX)?;
    let cursor = query.one("cursor")?.map(|cursor| cursor.parse::<i64>());
    let before_create_ts = cursor
        .transpose()
        .map_err(|_| bad_request("query parameter `cursor` is not one that was handed out"))?;
    if asks_for_ids {
        if name.is_some() || key.is_some() {
            return Err(invalid("Cannot provide both actor IDs and a name or key."));
        }
        if ids.len() > IDS_MAX {
            return Err(Error::with(
                &code::VALIDATION_TOO_MANY_ACTOR_IDS,
                json!({ "max": IDS_MAX, "count": ids.len() }),
            ));
        }
        // What is not an id names nobody. With none left, one that nobody has
        // keeps the list from meaning everything.
        let mut ids: Vec<String> = ids
            .iter()
            .filter_map(|id| ActorId::parse(id))
            .map(|id| id.to_string())
            .collect();
        if ids.is_empty() {
            ids.push(String::new());
        }
        return Ok(ListQuery {
            ids,
            include_destroyed: true,
            limit: IDS_MAX,
            ..ListQuery::default()
        });
    }
    match (&name, &key) {
        (None, Some(_)) => return Err(invalid("Name is required when key is provided.")),
        (None, None) => return Err(invalid("Name is required when not using actor_ids.")),
        (Some(_), _) => {}
    }
    let key = key.map(|key| ActorKey::from_serialized(&key)).transpose()?;
    Ok(ListQuery {
        name,
        key: key.map(|key| key.as_serialized().to_owned()),
        include_destroyed,
        limit,
        before_create_ts,
        ..ListQuery::default()
    })
}

/// The registered actor types, in order.
pub(super) fn names(shared: &Shared, query: &mut Query) -> Result<Value> {
    let limit = query.limit(PAGE_DEFAULT, PAGE_MAX)?;
    let after = query.one("cursor")?;
    let mut types: Vec<_> = shared
        .registry
        .factories()
        .filter(|(name, _)| after.as_deref().is_none_or(|after| *name > after))
        .collect();
    types.sort_by_key(|(name, _)| *name);
    let is_full = types.len() > limit;
    types.truncate(limit);
    let cursor = types.last().filter(|_| is_full);
    let cursor = cursor.map(|(name, _)| (*name).to_owned());
    let mut names = Map::new();
    for (name, factory) in types {
        let config = factory.config();
        let mut metadata = Map::new();
        if let Some(icon) = &config.icon {
            metadata.insert("icon".to_owned(), json!(icon));
        }
        if let Some(display) = &config.name {
            metadata.insert("name".to_owned(), json!(display));
        }
        names.insert(name.to_owned(), json!({ "metadata": metadata }));
    }
    Ok(json!({ "names": names, "pagination": pagination(cursor) }))
}

pub(super) async fn destroy(shared: &Shared, id: PathSegment<'_>) -> Result<Value> {
    shared.destroy(&id.actor_id()?).await?;
    Ok(json!({}))
}

pub(super) async fn sleep(shared: &Shared, id: PathSegment<'_>) -> Result<Value> {
    let resident = shared.find(&Target::Id(id.actor_id()?)).await?;
    if let Phase::Live(handle) = resident.phase() {
        shared.begin_stop(handle.actor(), Wish::Sleep);
    }
    Ok(json!({}))
}

/// Wakes an actor; one that is awake is where it belongs.
pub(super) async fn reschedule(shared: &Shared, id: PathSegment<'_>) -> Result<Value> {
    let resident = shared.find(&Target::Id(id.actor_id()?)).await?;
    shared.begin_start(&resident);
    Ok(json!({}))
}

/// The key under which dashboards look for an actor's inspector token.
const INSPECTOR_TOKEN_KEY: &[u8] = &[3];

/// Stored keys are not shown here, but for the one that dashboards need. Reading it
/// wakes the actor, which they are about to do anyway.
pub(super) async fn kv_key(
    shared: &Shared,
    id: PathSegment<'_>,
    key: PathSegment<'_>,
) -> Result<Value> {
    let record = shared.directory.by_id(&id.actor_id()?).await?;
    let record = record.ok_or_else(not_found)?;
    if key.bytes()? != INSPECTOR_TOKEN_KEY {
        return Err(Error::new(&code::ACTOR_KV_KEY_NOT_FOUND));
    }
    let target = Target::Id(id.actor_id()?);
    let actor = Seeker::new(shared, &target).acquire(None).await?;
    let token = actor.ctx().inspector_token();
    let token = token.ok_or_else(|| Error::new(&code::ACTOR_KV_KEY_NOT_FOUND))?;
    Ok(json!({ "value": STANDARD.encode(token), "update_ts": record.create_ts }))
}
