//! `/gateway/{name}[/{path}]?{user query}&rvt-…=…`.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use greenroom_error::{Code, Error, Result, code};
use serde_json::json;

use super::{CrashPolicy, CreateOptions, GatewayRoute, QueryMethod, QueryTarget, Target, join};
use crate::{ActorKey, cbor, percent};

const PARAMETER_PREFIX: &str = "rvt-";

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// True for a raw `key=value` pair that is addressed to the gateway.
pub(super) fn is_parameter(pair: &str) -> bool {
    pair.starts_with(PARAMETER_PREFIX)
}

pub(super) fn parse(segment: &str, actor_path: &str, query: &str) -> Result<GatewayRoute> {
    let name = actor_name(segment)?;
    let mut parameters = Parameters::default();
    let mut user_query = None::<String>;
    for pair in query.split('&') {
        if is_parameter(pair) {
            parameters.add(pair)?;
            continue;
        }
        match &mut user_query {
            None => user_query = Some(pair.to_owned()),
            Some(query) => {
                query.push('&');
                query.push_str(pair);
            }
        }
    }
    let user_query = user_query.filter(|query| !query.is_empty());
    Ok(GatewayRoute {
        path_and_query: join(actor_path, user_query.as_deref()),
        skip_ready_wait: parameters.skip_ready_wait()?,
        token: parameters.token.take().map(Cow::into_owned),
        target: Target::Query(parameters.into_target(name)?),
    })
}

fn actor_name(segment: &str) -> Result<String> {
    if segment.contains('@') {
        return Err(Error::new(&code::GUARD_QUERY_PATH_TOKEN_SYNTAX));
    }
    if segment.is_empty() {
        return Err(Error::new(&code::GUARD_QUERY_EMPTY_ACTOR_NAME));
    }
    percent::decode(segment)
        .map(Cow::into_owned)
        .map_err(|_| not_utf8("actor name"))
}

/// The decoded values of the `rvt-*` pairs.
#[derive(Default)]
struct Parameters<'a> {
    namespace: Option<Cow<'a, str>>,
    method: Option<Cow<'a, str>>,
    key: Option<Cow<'a, str>>,
    runner: Option<Cow<'a, str>>,
    pool: Option<Cow<'a, str>>,
    input: Option<Cow<'a, str>>,
    region: Option<Cow<'a, str>>,
    crash_policy: Option<Cow<'a, str>>,
    token: Option<Cow<'a, str>>,
    skip_ready_wait: Option<Cow<'a, str>>,
}

impl<'a> Parameters<'a> {
    fn add(&mut self, pair: &'a str) -> Result<()> {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let parameter = match name {
            "rvt-namespace" => &mut self.namespace,
            "rvt-method" => &mut self.method,
            "rvt-key" => &mut self.key,
            "rvt-runner" => &mut self.runner,
            "rvt-pool" => &mut self.pool,
            "rvt-input" => &mut self.input,
            "rvt-region" => &mut self.region,
            "rvt-crash-policy" => &mut self.crash_policy,
            "rvt-token" => &mut self.token,
            "rvt-skip-ready-wait" => &mut self.skip_ready_wait,
            _ => return Err(invalid(format!("unknown param {name}"))),
        };
        if parameter.is_some() {
            return Err(Error::with(
                &code::GUARD_QUERY_DUPLICATE_PARAM,
                json!({ "name": name }),
            ));
        }
        *parameter = Some(percent::decode_form(value).map_err(|_| not_utf8(name))?);
        Ok(())
    }

    fn skip_ready_wait(&self) -> Result<bool> {
        match self.skip_ready_wait.as_deref() {
            None => Ok(false),
            Some(value) => boolean(value)
                .ok_or_else(|| invalid("rvt-skip-ready-wait is not a boolean".to_owned())),
        }
    }

    fn into_target(mut self, name: String) -> Result<QueryTarget> {
        let missing = |name: &str| invalid(format!("missing {name}"));
        let namespace = self
            .namespace
            .take()
            .ok_or_else(|| missing("rvt-namespace"))?;
        let method = self.method.take().ok_or_else(|| missing("rvt-method"))?;
        let key = ActorKey::from_comma(self.key.as_deref().unwrap_or_default())?;
        let method = match &*method {
            "get" => self.get()?,
            "getOrCreate" => self.get_or_create()?,
            _ => return Err(invalid("unknown rvt-method".to_owned())),
        };
        Ok(QueryTarget {
            namespace: namespace.into_owned(),
            name,
            key,
            method,
        })
    }

    fn get(self) -> Result<QueryMethod> {
        let disallowed = [self.input, self.region, self.crash_policy, self.runner];
        if disallowed.iter().any(Option::is_some) {
            return Err(Error::new(&code::GUARD_QUERY_GET_DISALLOWED_PARAMS));
        }
        Ok(QueryMethod::Get)
    }

    fn get_or_create(self) -> Result<QueryMethod> {
        let pool = match (self.runner, self.pool) {
            (Some(_), Some(_)) => {
                // Two names of one parameter.
                let metadata = json!({ "name": "rvt-pool" });
                return Err(Error::with(&code::GUARD_QUERY_DUPLICATE_PARAM, metadata));
            }
            (pool, alias) => pool
                .or(alias)
                .ok_or_else(|| Error::new(&code::GUARD_QUERY_MISSING_POOL))?,
        };
        let crash_policy = self.crash_policy.as_deref().map(|name| {
            CrashPolicy::from_name(name)
                .ok_or_else(|| invalid("unknown rvt-crash-policy".to_owned()))
        });
        Ok(QueryMethod::GetOrCreate(CreateOptions {
            pool: pool.into_owned(),
            input: self.input.as_deref().map(input).transpose()?,
            region: self.region.map(Cow::into_owned),
            crash_policy: crash_policy.transpose()?,
        }))
    }
}

/// Reads a boolean of the gateway.
pub(super) fn boolean(value: &str) -> Option<bool> {
    match value {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

fn input(value: &str) -> Result<Bytes> {
    let with_detail =
        |row: &'static Code, detail: String| Error::with(row, json!({ "detail": detail }));
    let cbor = BASE64
        .decode(value)
        .map_err(|error| with_detail(&code::GUARD_QUERY_INVALID_BASE64_INPUT, error.to_string()))?;
    cbor::check(&cbor)
        .map_err(|error| with_detail(&code::GUARD_QUERY_INVALID_CBOR_INPUT, error.to_string()))?;
    Ok(cbor.into())
}

fn invalid(detail: String) -> Error {
    Error::with(
        &code::GUARD_QUERY_INVALID_PARAMS,
        json!({ "detail": detail }),
    )
}

fn not_utf8(name: &str) -> Error {
    Error::with(
        &code::GUARD_QUERY_INVALID_PERCENT_ENCODING,
        json!({ "name": name }),
    )
}
