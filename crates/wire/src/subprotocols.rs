//! What a client says in the subprotocols it offers for a WebSocket.
//!
//! Browsers cannot set headers on an upgrade, so published clients put their
//! choices into `sec-websocket-protocol`. The server must select [`SELECTED`];
//! everything here only reads the offer.

use std::borrow::Cow;

use bytes::Bytes;
use greenroom_error::Result;

use crate::Encoding;
use crate::conn_params;

/// The subprotocol a server answers with.
pub const SELECTED: &str = "rivet";

/// The parts of an offer, as they were sent. Where a part is offered twice,
/// the first counts; unknown protocols are passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subprotocols<'a> {
    /// True if [`SELECTED`] itself was offered.
    pub offers_rivet: bool,
    /// Name of the message encoding; see [`Subprotocols::encoding`].
    pub encoding: Option<&'a str>,
    /// The kind of target a WebSocket without a gateway path is for.
    pub target: Option<&'a str>,
    /// Percent-encoded id of the target actor.
    pub actor: Option<&'a str>,
    pub token: Option<&'a str>,
    pub skip_ready_wait: bool,
    /// Form-encoded JSON; see [`Subprotocols::conn_params`].
    pub conn_params: Option<&'a str>,
    pub inspector_token: Option<&'a str>,
}

impl<'a> Subprotocols<'a> {
    /// Reads the values of all `sec-websocket-protocol` headers. Values that
    /// are not ASCII are passed over.
    pub fn parse(values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut offer = Self::default();
        for value in values {
            let Some(value) = std::str::from_utf8(value).ok().filter(|it| it.is_ascii()) else {
                continue;
            };
            for protocol in value.split(',') {
                offer.add(protocol.trim_matches([' ', '\t']));
            }
        }
        offer
    }

    fn add(&mut self, protocol: &'a str) {
        let Some((name, value)) = protocol.split_once('.') else {
            match protocol {
                SELECTED => self.offers_rivet = true,
                "rivet_skip_ready_wait" => self.skip_ready_wait = true,
                _ => {}
            }
            return;
        };
        let part = match name {
            "rivet_encoding" => &mut self.encoding,
            "rivet_target" => &mut self.target,
            "rivet_actor" => &mut self.actor,
            "rivet_token" => &mut self.token,
            "rivet_conn_params" => &mut self.conn_params,
            "rivet_inspector_token" => &mut self.inspector_token,
            _ => return,
        };
        part.get_or_insert(value);
    }

    /// # Errors
    /// `actor/unsupported_websocket_encoding` for an unknown name.
    pub fn encoding(&self) -> Result<Encoding> {
        Encoding::from_subprotocol(self.encoding)
    }

    /// The connection parameters as CBOR.
    ///
    /// # Errors
    /// `actor/invalid_request` if they are not JSON.
    pub fn conn_params(&self) -> Result<Bytes> {
        conn_params::from_subprotocol(self.conn_params)
    }

    /// The id of the target actor, decoded. Text that does not decode is kept,
    /// as it names no actor either way.
    pub fn actor_id(&self) -> Option<Cow<'a, str>> {
        let actor = self.actor?;
        Some(crate::percent::decode(actor).unwrap_or(Cow::Borrowed(actor)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_is_read_into_its_parts() {
        let offer = Subprotocols::parse([
            b"rivet, rivet_encoding.bare,rivet_target.actor".as_slice(),
            b"rivet_actor.a%2Db, rivet_token.a.b, rivet_skip_ready_wait",
            b"rivet_conn_params.%7B%7D, rivet_inspector_token.t, chat",
        ]);
        let expected = Subprotocols {
            offers_rivet: true,
            encoding: Some("bare"),
            target: Some("actor"),
            actor: Some("a%2Db"),
            token: Some("a.b"),
            skip_ready_wait: true,
            conn_params: Some("%7B%7D"),
            inspector_token: Some("t"),
        };
        assert_eq!(offer, expected);
        assert_eq!(offer.encoding().unwrap(), Encoding::Bare);
        assert_eq!(offer.conn_params().unwrap(), b"\xa0".as_slice());
        assert_eq!(offer.actor_id().as_deref(), Some("a-b"));
    }

    #[test]
    fn an_empty_offer_means_json_without_parameters() {
        let offer = Subprotocols::parse([b"".as_slice(), b"\xff"]);
        assert_eq!(offer, Subprotocols::default());
        assert_eq!(offer.encoding().unwrap(), Encoding::Json);
        assert_eq!(offer.conn_params().unwrap(), b"\xf6".as_slice());
        assert_eq!(offer.actor_id(), None);
    }

    #[test]
    fn the_first_of_two_offers_counts() {
        let offer = Subprotocols::parse([b"rivet_encoding.cbor, rivet_encoding.json".as_slice()]);
        assert_eq!(offer.encoding().unwrap(), Encoding::Cbor);
    }
}
