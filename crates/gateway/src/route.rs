//! Which route of an actor a path means.

use std::borrow::Cow;

use greenroom_error::{Error, Result, code};
use http::Method;
use percent_encoding::percent_decode_str;
use serde_json::json;

use crate::inspector::assets::Asset;

/// A route whose method is right.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    Banner,
    Health,
    Metadata,
    /// The name of the action.
    Action(Cow<'a, str>),
    /// The name of the queue.
    Queue(Cow<'a, str>),
    /// Path and query as user code sees them.
    Raw(Cow<'a, str>),
    /// A file of the inspector's page.
    InspectorAsset(Asset<'a>),
    /// Path and query of the inspector, for the runtime to answer.
    Inspector(&'a str),
}

impl<'a> Route<'a> {
    /// Finds the route of a path and query inside an actor.
    ///
    /// # Errors
    /// `actor/not_found` for an unknown path, `actor/method_not_allowed` for a
    /// known one, `envoy/fetch_failed` for a name that does not decode.
    pub(crate) fn find(method: &Method, path_and_query: &'a str) -> Result<Self> {
        let path = match path_and_query.split_once('?') {
            Some((path, _)) => path,
            None => path_and_query,
        };
        if let Some(rest) = path_and_query.strip_prefix("/request")
            && (rest.is_empty() || rest.starts_with(['/', '?']))
        {
            return Ok(Self::Raw(raw_path(rest)));
        }
        if let Some(rest) = path.strip_prefix("/inspector/") {
            let Some(asset) = Asset::find(rest) else {
                return Ok(Self::Inspector(path_and_query));
            };
            check_method(method, &Method::GET, path)?;
            return Ok(Self::InspectorAsset(asset));
        }
        let (route, allowed) = match path {
            "/" => (Self::Banner, Method::GET),
            "/health" => (Self::Health, Method::GET),
            "/metadata" => (Self::Metadata, Method::GET),
            _ => {
                if let Some(segment) = single_segment(path, "/action/") {
                    check_method(method, &Method::POST, path)?;
                    return decode(segment).map(Self::Action);
                }
                if let Some(segment) = single_segment(path, "/queue/") {
                    check_method(method, &Method::POST, path)?;
                    return decode(segment).map(Self::Queue);
                }
                return Err(unknown(path));
            }
        };
        check_method(method, &allowed, path)?;
        Ok(route)
    }
}

/// No route has this path.
pub(crate) fn unknown(path: &str) -> Error {
    Error::with(
        &code::ACTOR_NOT_FOUND,
        json!({ "resource": "route", "id": path }),
    )
}

fn raw_path(rest: &str) -> Cow<'_, str> {
    if rest.starts_with('/') {
        Cow::Borrowed(rest)
    } else {
        Cow::Owned(format!("/{rest}"))
    }
}

fn single_segment<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    let segment = path.strip_prefix(prefix)?;
    (!segment.is_empty() && !segment.contains('/')).then_some(segment)
}

fn check_method(method: &Method, allowed: &Method, path: &str) -> Result<()> {
    if method == allowed {
        return Ok(());
    }
    Err(Error::with(
        &code::ACTOR_METHOD_NOT_ALLOWED,
        json!({ "method": method.as_str(), "path": path }),
    ))
}

/// Decodes a path segment; half an escape or text that is not UTF-8 is an error
/// here, because a name that was guessed could be another action's.
fn decode(segment: &str) -> Result<Cow<'_, str>> {
    if !segment.contains('%') {
        return Ok(Cow::Borrowed(segment));
    }
    let escapes_hold = segment.split('%').skip(1).all(|rest| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    match percent_decode_str(segment).decode_utf8() {
        Ok(name) if escapes_hold => Ok(name),
        _ => Err(Error::with(&code::ENVOY_FETCH_FAILED, json!({}))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(path: &str) -> Result<Route<'_>> {
        Route::find(&Method::GET, path)
    }

    fn post(path: &str) -> Result<Route<'_>> {
        Route::find(&Method::POST, path)
    }

    #[test]
    fn paths_lead_to_their_routes() {
        assert_eq!(get("/").unwrap(), Route::Banner);
        assert_eq!(get("/health?x").unwrap(), Route::Health);
        assert_eq!(get("/metadata").unwrap(), Route::Metadata);
        assert_eq!(
            post("/action/grp.sub").unwrap(),
            Route::Action("grp.sub".into())
        );
        assert_eq!(
            post("/action/a%20b?x=1").unwrap(),
            Route::Action("a b".into())
        );
        assert_eq!(post("/queue/%C3%A9").unwrap(), Route::Queue("é".into()));
    }

    #[test]
    fn the_request_family_loses_its_prefix_and_nothing_else() {
        for (path, seen) in [
            ("/request", "/"),
            ("/request?x=%zz", "/?x=%zz"),
            ("/request/", "/"),
            ("/request//a/?b", "//a/?b"),
        ] {
            assert_eq!(get(path).unwrap(), Route::Raw(seen.into()));
        }
        assert!(get("/requestfoo").unwrap_err().is(&code::ACTOR_NOT_FOUND));
    }

    #[test]
    fn unknown_paths_are_named_without_their_query() {
        for path in [
            "/action/",
            "/action",
            "/action/a/b",
            "/queue/",
            "/connect",
            "/x",
        ] {
            let with_query = format!("{path}?secret=1");
            let error = post(&with_query).unwrap_err();
            assert!(error.is(&code::ACTOR_NOT_FOUND), "{path}");
            assert_eq!(
                error.message(),
                format!("Actor route '{path}' was not found.")
            );
        }
    }

    #[test]
    fn known_paths_take_one_method() {
        for path in ["/", "/health", "/metadata"] {
            for method in [Method::POST, Method::HEAD] {
                let error = Route::find(&method, path).unwrap_err();
                assert!(error.is(&code::ACTOR_METHOD_NOT_ALLOWED));
            }
        }
        for path in ["/action/a", "/queue/q"] {
            let error = get(path).unwrap_err();
            assert!(error.is(&code::ACTOR_METHOD_NOT_ALLOWED));
            let metadata = error.metadata().unwrap();
            assert_eq!(*metadata, json!({ "method": "GET", "path": path }));
        }
    }

    #[test]
    fn a_name_that_does_not_decode_is_not_guessed() {
        for path in [
            "/action/%",
            "/action/%4",
            "/action/%zz",
            "/action/%ff",
            "/queue/a%",
        ] {
            assert!(
                post(path).unwrap_err().is(&code::ENVOY_FETCH_FAILED),
                "{path}"
            );
        }
    }
}
