//! The three encodings a client can speak, and how it names its choice.

use std::fmt;

use greenroom_error::{Error, Result, code};

/// How the messages of one client are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    Json,
    Cbor,
    Bare,
}

impl Encoding {
    /// Every encoding, in the order of [`Encoding::index`].
    pub const ALL: [Encoding; 3] = [Encoding::Json, Encoding::Cbor, Encoding::Bare];

    /// The encoding of an HTTP request from its `x-rivet-encoding` header.
    /// Absent and unknown values mean JSON; `content-type` has no say.
    pub fn from_header(value: Option<&[u8]>) -> Self {
        value
            .and_then(|value| std::str::from_utf8(value).ok())
            .and_then(Self::from_name)
            .unwrap_or(Encoding::Json)
    }

    /// The encoding of a WebSocket from the rest of its `rivet_encoding.`
    /// subprotocol. Absent means JSON.
    ///
    /// # Errors
    /// `actor/unsupported_websocket_encoding` for an unknown name; to be sent
    /// as a close frame after the upgrade.
    pub fn from_subprotocol(name: Option<&str>) -> Result<Self> {
        match name {
            None => Ok(Encoding::Json),
            Some(name) => {
                Self::from_name(name).ok_or_else(|| Error::new(&code::ACTOR_UNSUPPORTED_ENCODING))
            }
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Encoding::Json => "json",
            Encoding::Cbor => "cbor",
            Encoding::Bare => "bare",
        }
    }

    /// `content-type` of an HTTP body in this encoding.
    pub const fn content_type(self) -> &'static str {
        match self {
            Encoding::Json => "application/json",
            Encoding::Cbor | Encoding::Bare => "application/octet-stream",
        }
    }

    /// True if WebSocket messages of this encoding go into binary frames.
    pub const fn is_binary(self) -> bool {
        !matches!(self, Encoding::Json)
    }

    /// Position in [`Encoding::ALL`], for tables with one slot per encoding.
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_treats_any_unknown_choice_as_json() {
        let of = |value: &'static str| Encoding::from_header(Some(value.as_bytes()));
        assert_eq!(of("bare"), Encoding::Bare);
        assert_eq!(of("cbor"), Encoding::Cbor);
        for other in ["json", "", "BARE", "msgpack"] {
            assert_eq!(of(other), Encoding::Json);
        }
        assert_eq!(Encoding::from_header(None), Encoding::Json);
        assert_eq!(Encoding::from_header(Some(b"\xff")), Encoding::Json);
    }

    #[test]
    fn a_websocket_with_an_unknown_choice_is_refused() {
        assert_eq!(Encoding::from_subprotocol(None).unwrap(), Encoding::Json);
        assert_eq!(
            Encoding::from_subprotocol(Some("cbor")).unwrap(),
            Encoding::Cbor
        );
        let error = Encoding::from_subprotocol(Some("xml")).unwrap_err();
        assert!(error.is(&code::ACTOR_UNSUPPORTED_ENCODING));
        assert_eq!(error.close_code(), 1003);
    }

    #[test]
    fn the_index_is_the_position_in_the_list() {
        for (at, encoding) in Encoding::ALL.into_iter().enumerate() {
            assert_eq!(encoding.index(), at);
            assert_eq!(Encoding::from_name(encoding.as_str()), Some(encoding));
        }
    }
}
