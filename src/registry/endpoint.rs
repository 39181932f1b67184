//! The endpoint of a serve configuration.

use std::net::IpAddr;

use greenroom_error::{Error, Result, code};
use http::Uri;
use serde_json::json;

/// Host and port of an `http` or `https` URL.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// Without brackets.
    host: String,
    pub(super) port: u16,
}

impl Endpoint {
    /// # Errors
    /// `engine/invalid_endpoint`.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let invalid = |reason: &str| {
            let metadata = json!({ "endpoint": text, "reason": reason });
            Error::with(&code::ENGINE_INVALID_ENDPOINT, metadata)
        };
        let uri: Uri = text.parse().map_err(|_| invalid("it is not a URL"))?;
        let default_port = match uri.scheme_str() {
            Some("http") => 80,
            Some("https") => 443,
            _ => return Err(invalid("it must begin with http:// or https://")),
        };
        let host = uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(invalid("it names no host"));
        }
        let port = uri.port_u16().unwrap_or(default_port);
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }

    /// True for this machine: then the registry may host its actors itself.
    pub(super) fn is_loopback(&self) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(ip) => ip.is_loopback() || ip.is_unspecified(),
            Err(_) => self.host.eq_ignore_ascii_case("localhost"),
        }
    }

    /// True if both name the same place: names of this machine are one, and a
    /// region's own name (`api-us-west-1.`) stands for the common one (`api.`).
    pub(super) fn is_same_place(&self, other: &Self) -> bool {
        let same_host = self.common_host() == other.common_host();
        self.port == other.port && (same_host || (self.is_loopback() && other.is_loopback()))
    }

    fn common_host(&self) -> String {
        let host = self.host.to_ascii_lowercase();
        match host.split_once('.') {
            Some((first, rest)) if first.starts_with("api-") => format!("api.{rest}"),
            _ => host,
        }
    }

    /// `host:port`, as sockets and `host` headers take it.
    pub(super) fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_gives_host_and_port() {
        for (text, authority, loopback) in [
            ("http://127.0.0.1:6420", "127.0.0.1:6420", true),
            ("http://localhost", "localhost:80", true),
            ("http://LOCALHOST:1/", "LOCALHOST:1", true),
            ("http://[::1]:6420/base", "[::1]:6420", true),
            ("http://[::]:6420", "[::]:6420", true),
            ("http://0.0.0.0:6420", "0.0.0.0:6420", true),
            ("http://127.9.9.9:1", "127.9.9.9:1", true),
            ("https://api.rivet.dev", "api.rivet.dev:443", false),
            ("http://10.0.0.1:6420", "10.0.0.1:6420", false),
            ("http://localhost.example", "localhost.example:80", false),
        ] {
            let endpoint = Endpoint::parse(text).expect(text);
            assert_eq!(endpoint.authority(), authority, "{text}");
            assert_eq!(endpoint.is_loopback(), loopback, "{text}");
        }
    }

    #[test]
    fn names_of_one_place_are_the_same() {
        for (one, other, same) in [
            ("http://127.0.0.1:6420", "http://localhost:6420/", true),
            ("http://[::1]:6420", "http://0.0.0.0:6420", true),
            ("http://localhost:6420", "http://localhost:6421", false),
            ("https://API.rivet.dev", "https://api.rivet.dev:443", true),
            (
                "https://api-us-west-1.rivet.dev",
                "https://api.rivet.dev",
                true,
            ),
            ("https://api.rivet.dev", "https://evil.example", false),
        ] {
            let (one, other) = (Endpoint::parse(one), Endpoint::parse(other));
            assert_eq!(one.unwrap().is_same_place(&other.unwrap()), same);
        }
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for text in [
            "",
            "127.0.0.1:6420",
            "ftp://x",
            "http://",
            "http:// x",
            "/path",
        ] {
            let error = Endpoint::parse(text).expect_err(text);
            assert!(error.is(&code::ENGINE_INVALID_ENDPOINT), "{text}: {error}");
        }
    }
}
