//! What a request says before its body.

use greenroom_core::Incoming;
use greenroom_wire::{Encoding, RayId};
use http::{HeaderMap, header::AsHeaderName};

pub(crate) const ENCODING_HEADER: &str = "x-rivet-encoding";
pub(crate) const CONN_PARAMS_HEADER: &str = "x-rivet-conn-params";
pub(crate) const RAY_ID_HEADER: &str = "x-rivet-ray-id";
const ORIGINAL_URL_HEADER: &str = "x-rivet-internal-original-request-url";

pub(crate) fn encoding(headers: &HeaderMap) -> Encoding {
    Encoding::from_header(bytes(headers, ENCODING_HEADER))
}

pub(crate) fn bytes(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&[u8]> {
    headers.get(name).map(|value| value.as_bytes())
}

/// Trace and request identity that goes along with the call.
pub(crate) fn incoming(headers: &HeaderMap, ray_id: &RayId) -> Incoming {
    let text = |name| {
        let value = headers.get(name)?;
        value.to_str().ok().map(str::to_owned)
    };
    Incoming {
        ray_id: Some(ray_id.as_str().to_owned()),
        traceparent: text("traceparent"),
        tracestate: text("tracestate"),
        caller: None,
    }
}

/// The URL that the client says it asked for, if it is one that user code could
/// have been asked at.
pub(crate) fn original_url(headers: &HeaderMap) -> Option<&str> {
    let url = headers.get(ORIGINAL_URL_HEADER)?.to_str().ok()?;
    let is_absolute = url.starts_with("http://") || url.starts_with("https://");
    is_absolute.then_some(url)
}

/// The headers as user code sees them: each byte one character, as the Fetch
/// standard has it, and with the id under which the request is handled.
pub fn for_user_code(headers: &HeaderMap, ray_id: &RayId) -> Vec<(String, String)> {
    let mut out = Vec::with_capacity(headers.len() + 1);
    for (name, value) in headers {
        if name == ORIGINAL_URL_HEADER || name == RAY_ID_HEADER {
            continue;
        }
        out.push((name.as_str().to_owned(), latin1(value.as_bytes())));
    }
    out.push((RAY_ID_HEADER.to_owned(), ray_id.as_str().to_owned()));
    out
}

fn latin1(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => text.to_owned(),
        _ => bytes.iter().copied().map(char::from).collect(),
    }
}

/// Bytes of a header value that user code made; `None` for a character that has
/// no byte.
pub(crate) fn to_latin1(value: &str) -> Option<Vec<u8>> {
    value.chars().map(|c| u8::try_from(c).ok()).collect()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn user_code_sees_bytes_as_characters_and_the_adopted_ray_id() {
        let mut headers = HeaderMap::new();
        headers.insert("x-name", HeaderValue::from_bytes(b"\xfc").unwrap());
        headers.insert(RAY_ID_HEADER, HeaderValue::from_static("not valid!"));
        headers.insert(ORIGINAL_URL_HEADER, HeaderValue::from_static("http://a/b"));
        let ray_id = RayId::parse(b"ray-1").unwrap();
        let seen = for_user_code(&headers, &ray_id);
        let expected = [("x-name", "ü"), (RAY_ID_HEADER, "ray-1")];
        let expected = expected.map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(seen, expected);
        assert_eq!(to_latin1("ü"), Some(vec![0xfc]));
        assert_eq!(to_latin1("€"), None);
    }

    #[test]
    fn only_an_absolute_http_url_stands_in_for_the_path() {
        let mut headers = HeaderMap::new();
        assert_eq!(original_url(&headers), None);
        headers.insert(
            ORIGINAL_URL_HEADER,
            HeaderValue::from_static("https://h/p?q"),
        );
        assert_eq!(original_url(&headers), Some("https://h/p?q"));
        headers.insert(ORIGINAL_URL_HEADER, HeaderValue::from_static("file:///etc"));
        assert_eq!(original_url(&headers), None);
    }
}
