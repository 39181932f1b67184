//! Reading what API requests say: queries, bodies, path segments.
//!
//! Strict: what is not known is refused, so that a misspelt field does not pass
//! for its default.

use std::fmt::Display;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use greenroom_wire::ActorId;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use serde_json::json;

/// Largest API body: an input of 4 MiB in base64, and its surroundings.
pub(super) const BODY_BYTES_MAX: u32 = 6 * 1024 * 1024;

pub(super) fn bad_request(reason: impl Display) -> Error {
    let reason = reason.to_string();
    Error::with(&code::API_BAD_REQUEST, json!({ "reason": reason }))
}

/// Parameters that have not been taken yet.
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn parse(query: &str) -> Result<Self> {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode_form(name)?, decode_form(value)?))
        });
        pairs.collect::<Result<_>>().map(Self)
    }

    /// Takes every value of a parameter.
    pub(super) fn all(&mut self, name: &str) -> Vec<String> {
        let mut values = Vec::new();
        self.0.retain_mut(|(found, value)| {
            let taken = found == name;
            if taken {
                values.push(std::mem::take(value));
            }
            !taken
        });
        values
    }

    /// Takes a parameter that may be given once.
    pub(super) fn one(&mut self, name: &str) -> Result<Option<String>> {
        let mut values = self.all(name);
        if values.len() > 1 {
            return Err(bad_request(format!(
                "query parameter `{name}` is given twice"
            )));
        }
        Ok(values.pop())
    }

    pub(super) fn bool(&mut self, name: &str) -> Result<bool> {
        match self.one(name)?.as_deref() {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(_) => Err(bad_request(format!(
                "query parameter `{name}` is not a boolean"
            ))),
        }
    }

    /// A page size.
    pub(super) fn limit(&mut self, default: usize, max: usize) -> Result<usize> {
        match self.one("limit")? {
            None => Ok(default),
            Some(limit) => match limit.parse::<usize>() {
                Ok(limit) if limit > 0 => Ok(limit.min(max)),
                _ => Err(bad_request(
                    "query parameter `limit` is not a positive number",
                )),
            },
        }
    }

    /// # Errors
    /// `api/bad_request` if a parameter was not taken.
    pub(super) fn finish(&self) -> Result<()> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(bad_request(format!("unknown query parameter `{name}`"))),
        }
    }
}

fn decode_form(text: &str) -> Result<String> {
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8();
    let decoded = decoded.map_err(|_| bad_request("the query is not UTF-8"))?;
    Ok(decoded.into_owned())
}

/// A segment of the path as it was sent.
pub(super) struct PathSegment<'a>(pub(super) &'a str);

impl PathSegment<'_> {
    pub(super) fn actor_id(&self) -> Result<ActorId> {
        let text = percent_decode_str(self.0).decode_utf8();
        let id = text.ok().and_then(|text| ActorId::parse(&text));
        id.ok_or_else(|| bad_request("the path holds no actor id"))
    }

    /// Bytes written in base64.
    pub(super) fn bytes(&self) -> Result<Vec<u8>> {
        let text: Vec<u8> = percent_decode_str(self.0).collect();
        let bytes = STANDARD.decode(text);
        bytes.map_err(|_| bad_request("the path holds no key in base64"))
    }
}

/// Reads a JSON body.
pub(super) fn parse<T: DeserializeOwned>(body: Result<Bytes>) -> Result<T> {
    let body = body.map_err(|error| match error.is(&code::MESSAGE_INCOMING_TOO_LONG) {
        true => bad_request(format!("the body is larger than {BODY_BYTES_MAX} bytes")),
        false => error,
    })?;
    serde_json::from_slice(&body).map_err(bad_request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_form_decoded_and_taken_once() {
        let mut query = Query::parse("a=x+y%2Fz&&b&a_id=1&a_id=2").unwrap();
        assert_eq!(query.one("a").unwrap().as_deref(), Some("x y/z"));
        assert_eq!(query.one("b").unwrap().as_deref(), Some(""));
        assert_eq!(query.all("a_id"), ["1", "2"]);
        assert_eq!(query.one("a").unwrap(), None);
        query.finish().unwrap();
    }

    #[test]
    fn what_is_unknown_twice_or_not_utf8_is_a_bad_request() {
        let refused = [
            Query::parse("x=1").unwrap().finish().unwrap_err(),
            Query::parse("x=1&x=2").unwrap().one("x").unwrap_err(),
            Query::parse("x=%ff").err().unwrap(),
            Query::parse("x=maybe").unwrap().bool("x").unwrap_err(),
            Query::parse("limit=-1").unwrap().limit(1, 2).unwrap_err(),
            Query::parse("limit=0").unwrap().limit(1, 2).unwrap_err(),
        ];
        for error in refused {
            assert!(error.is(&code::API_BAD_REQUEST), "{error}");
            assert!(error.message().starts_with("Request is invalid: "));
        }
        assert_eq!(Query::parse("limit=9").unwrap().limit(1, 2).unwrap(), 2);
    }

    #[test]
    fn only_an_id_passes_for_an_id() {
        let id = ActorId::generate();
        assert_eq!(PathSegment(id.as_str()).actor_id().unwrap(), id);
        for text in ["", "x", "%ff", "../../etc/passwd"] {
            assert!(PathSegment(text).actor_id().is_err());
        }
    }
}
