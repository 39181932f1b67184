//! Pages of actors, and the names there are.

use std::cmp::Reverse;

use greenroom_error::Result;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::record::{ActorRecord, ListQuery};
use super::sql::{by_id, from_row};
use crate::failure::SqlResult;

const COLUMNS: &str = "id, name, key, create_ts, start_ts, sleep_ts, destroy_ts, generation, \
    next_alarm, error, seq";

const FIRST_NAME: &str = "SELECT min(name) FROM actors";
const NEXT_NAME: &str = "SELECT min(name) FROM actors WHERE name > ?1";

pub(super) fn list(conn: &Connection, query: &ListQuery) -> Result<Vec<ActorRecord>> {
    if !query.ids.is_empty() {
        return list_ids(conn, query);
    }
    let mut page = fetch(conn, &list_sql(query, Rest::Page), page_values(query))?;
    if page.len() < query.limit {
        return Ok(strip(page));
    }
    // Complete the last millisecond, so that the next page may begin before it.
    if let Some((last, seq)) = page.last().map(|(record, seq)| (record.create_ts, *seq)) {
        let mut values = filter_values(query);
        values.extend([Value::Integer(last), Value::Integer(seq)]);
        page.extend(fetch(conn, &list_sql(query, Rest::SameTime), values)?);
    }
    Ok(strip(page))
}

fn list_ids(conn: &Connection, query: &ListQuery) -> Result<Vec<ActorRecord>> {
    let fits = |record: &ActorRecord| {
        query.name.as_ref().is_none_or(|name| *name == record.name)
            && query.key.as_ref().is_none_or(|key| *key == record.key)
            && (query.include_destroyed || record.destroy_ts.is_none())
            && query
                .before_create_ts
                .is_none_or(|ts| record.create_ts < ts)
    };
    let mut found = Vec::new();
    for id in &query.ids {
        found.extend(by_id(conn, id)?.filter(fits));
    }
    for record in &mut found {
        record.input = None;
    }
    found.sort_by_key(|record| Reverse(record.create_ts));
    found.truncate(query.limit);
    Ok(found)
}

/// The part of a listing to fetch.
#[derive(Clone, Copy)]
enum Rest {
    Page,
    /// Older rows of the millisecond the page ended in.
    SameTime,
}

/// Text of a listing; its values come from [`filter_values`] and [`page_values`].
fn list_sql(query: &ListQuery, rest: Rest) -> String {
    let mut conditions = Vec::new();
    if query.name.is_some() {
        conditions.push("name = ?");
        conditions.extend(query.key.is_some().then_some("key = ?"));
    }
    if !query.include_destroyed {
        conditions.push("destroy_ts IS NULL");
    }
    let limit = match rest {
        Rest::Page => {
            conditions.push("create_ts < ?");
            " LIMIT ?"
        }
        Rest::SameTime => {
            conditions.push("create_ts = ? AND seq < ?");
            ""
        }
    };
    format!(
        "SELECT {COLUMNS} FROM actors WHERE {} ORDER BY create_ts DESC, seq DESC{limit}",
        conditions.join(" AND ")
    )
}

fn filter_values(query: &ListQuery) -> Vec<Value> {
    let key = query.name.as_ref().and(query.key.as_ref());
    let texts = query.name.iter().chain(key);
    texts.map(|text| Value::Text(text.clone())).collect()
}

fn page_values(query: &ListQuery) -> Vec<Value> {
    let mut values = filter_values(query);
    values.push(Value::Integer(query.before_create_ts.unwrap_or(i64::MAX)));
    values.push(Value::Integer(row_limit(query.limit)));
    values
}

fn fetch(conn: &Connection, sql: &str, values: Vec<Value>) -> Result<Vec<(ActorRecord, i64)>> {
    let doing = "list actors";
    let mut statement = conn.prepare_cached(sql).sql(doing)?;
    let rows = statement
        .query_map(params_from_iter(values), |row| {
            Ok((from_row(row)?, row.get(10)?))
        })
        .sql(doing)?;
    rows.collect::<rusqlite::Result<_>>().sql(doing)
}

fn strip(page: Vec<(ActorRecord, i64)>) -> Vec<ActorRecord> {
    page.into_iter().map(|(record, _)| record).collect()
}

pub(super) fn row_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Hops from name to name along the index, so the cost is one lookup per name
/// however many actors share it.
pub(super) fn names(conn: &Connection, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
    let doing = "list names of actors";
    let mut next = conn.prepare_cached(NEXT_NAME).sql(doing)?;
    let mut names: Vec<String> = Vec::new();
    while names.len() < limit {
        let found: Option<String> = match names.last().map(String::as_str).or(after) {
            Some(last) => next.query_row([last], |row| row.get(0)).sql(doing)?,
            None => conn
                .query_row(FIRST_NAME, [], |row| row.get(0))
                .sql(doing)?,
        };
        let Some(name) = found else { break };
        names.push(name);
    }
    Ok(names)
}

/// Every statement this file can run, for the test that reads query plans.
#[cfg(test)]
pub(super) fn statements() -> Vec<String> {
    let mut all = vec![FIRST_NAME.to_owned(), NEXT_NAME.to_owned()];
    for (name, key) in [(false, false), (true, false), (true, true)] {
        for include_destroyed in [false, true] {
            let query = ListQuery {
                name: name.then(String::new),
                key: key.then(String::new),
                include_destroyed,
                ..ListQuery::default()
            };
            all.extend([Rest::Page, Rest::SameTime].map(|rest| list_sql(&query, rest)));
        }
    }
    all
}
