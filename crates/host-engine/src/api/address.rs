//! Where an engine listens.

use std::fmt;

use greenroom_error::{Error, Result, code};
use http::Uri;
use serde_json::json;

/// Host and port of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    is_secure: bool,
    host: String,
    port: u16,
}

impl Address {
    /// Reads a base URL without a path.
    ///
    /// # Errors
    /// `engine/invalid_endpoint`.
    pub(crate) fn parse(endpoint: &str) -> Result<Self> {
        let invalid = |reason: &str| {
            Error::with(
                &code::ENGINE_INVALID_ENDPOINT,
                json!({ "endpoint": endpoint, "reason": reason }),
            )
        };
        let uri: Uri = endpoint
            .parse()
            .map_err(|error: http::uri::InvalidUri| invalid(&error.to_string()))?;
        let is_secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(invalid("it has to begin with http:// or https://")),
        };
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(invalid("it must not have a path"));
        }
        let authority = uri.authority().ok_or_else(|| invalid("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(invalid("it must not hold credentials"));
        }
        let default_port = if is_secure { 443 } else { 80 };
        Ok(Self {
            is_secure,
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(default_port),
        })
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.is_secure
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// True if only this machine can be meant.
    pub(crate) fn is_loopback(&self) -> bool {
        let address = self.host.parse::<std::net::IpAddr>();
        self.host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        match self.host.contains(':') {
            true => write!(f, "{scheme}://[{}]:{}", self.host, self.port),
            false => write!(f, "{scheme}://{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_host_and_a_port() {
        let read = |text| Address::parse(text).map(|address| address.to_string()).ok();
        let same = "http://127.0.0.1:6420";
        assert_eq!(read(same).as_deref(), Some(same));
        assert_eq!(read("http://engine/").as_deref(), Some("http://engine:80"));
        assert_eq!(read("http://[::1]:9").as_deref(), Some("http://[::1]:9"));
        assert_eq!(read("https://x").as_deref(), Some("https://x:443"));
        for wrong in ["", "engine", "ftp://x", "http://x/path", "http://a@x"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_this_machine_is_loopback() {
        let is = |text| Address::parse(text).unwrap().is_loopback();
        assert!(is("http://localhost:1") && is("http://127.8.0.1:1") && is("http://[::1]:1"));
        assert!(!is("http://10.0.0.1:1") && !is("http://engine:1"));
    }
}
