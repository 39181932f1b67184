//! WebSocket messages from a client.

use bytes::Bytes;
use greenroom_error::Result;
use serde::Deserialize;

use super::fields::{action_args, boolean, incoming_args, outgoing_args};
use super::{Frame, Object, WireUint, optional, read_map, read_version, text, uint, write_version};
use crate::Encoding;
use crate::cbor::{self, Reader};
use crate::malformed::{Malformed, Read};
use crate::value::{self, CborFromJson, write_json_str};

const ACTION_REQUEST: &str = "ActionRequest";
const SUBSCRIPTION_REQUEST: &str = "SubscriptionRequest";

/// A message from a client to its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToServer {
    ActionRequest {
        /// Chosen by the client; comes back in the response. 0 is an id.
        id: u64,
        name: String,
        /// CBOR array of the arguments.
        args: Bytes,
    },
    SubscriptionRequest {
        event_name: String,
        /// False to unsubscribe.
        subscribe: bool,
    },
}

impl ToServer {
    /// Reads one message. Arguments follow the rules of
    /// [`HttpActionRequest::decode`](super::HttpActionRequest::decode).
    ///
    /// # Errors
    /// `actor/invalid_request` for any malformed message.
    pub fn decode(message: Bytes, encoding: Encoding) -> Result<Self> {
        match encoding {
            Encoding::Bare => read_bare(message),
            Encoding::Cbor => read_cbor(&message),
            Encoding::Json => read_json(&message),
        }
        .map_err(Malformed::in_request)
    }

    /// Writes one message.
    ///
    /// # Errors
    /// `actor/send_failed` if the arguments have no JSON form.
    pub fn encode(&self, encoding: Encoding) -> Result<Frame> {
        match encoding {
            Encoding::Bare => Ok(self.write_bare()),
            Encoding::Cbor => Ok(self.write_cbor()),
            Encoding::Json => self.write_json().map_err(Malformed::in_outgoing),
        }
    }

    fn write_bare(&self) -> Frame {
        match self {
            ToServer::ActionRequest { id, name, args } => {
                let args = outgoing_args(args);
                let mut writer = write_version(name.len() + 32);
                writer.u8(0);
                writer.uint(*id);
                writer.str(name);
                writer.data_head(args.len());
                Frame::new(writer.into_bytes(), args)
            }
            ToServer::SubscriptionRequest {
                event_name,
                subscribe,
            } => {
                let mut writer = write_version(event_name.len() + 16);
                writer.u8(1);
                writer.str(event_name);
                writer.bool(*subscribe);
                Frame::whole(writer.into_bytes())
            }
        }
    }

    fn write_cbor(&self) -> Frame {
        let mut head = Vec::with_capacity(96);
        match self {
            ToServer::ActionRequest { id, name, args } => {
                write_cbor_envelope(&mut head, ACTION_REQUEST, 3);
                cbor::write::text(&mut head, "id");
                cbor::write::wide_uint(&mut head, *id);
                cbor::write::text(&mut head, "name");
                cbor::write::text(&mut head, name);
                cbor::write::text(&mut head, "args");
                Frame::new(head, outgoing_args(args))
            }
            ToServer::SubscriptionRequest {
                event_name,
                subscribe,
            } => {
                write_cbor_envelope(&mut head, SUBSCRIPTION_REQUEST, 2);
                cbor::write::text(&mut head, "eventName");
                cbor::write::text(&mut head, event_name);
                cbor::write::text(&mut head, "subscribe");
                cbor::write::bool(&mut head, *subscribe);
                Frame::whole(head)
            }
        }
    }

    fn write_json(&self) -> Read<Frame> {
        let mut out = Vec::with_capacity(128);
        match self {
            ToServer::ActionRequest { id, name, args } => {
                write_json_envelope(&mut out, ACTION_REQUEST);
                out.extend_from_slice(
                    format!("\"id\":[\"$BigInt\",\"{id}\"],\"name\":").as_bytes(),
                );
                write_json_str(&mut out, name);
                out.extend_from_slice(b",\"args\":");
                value::write_json(&mut out, &outgoing_args(args))?;
            }
            ToServer::SubscriptionRequest {
                event_name,
                subscribe,
            } => {
                write_json_envelope(&mut out, SUBSCRIPTION_REQUEST);
                out.extend_from_slice(b"\"eventName\":");
                write_json_str(&mut out, event_name);
                out.extend_from_slice(format!(",\"subscribe\":{subscribe}").as_bytes());
            }
        }
        out.extend_from_slice(JSON_ENVELOPE_END);
        Ok(Frame::whole(out))
    }
}

/// Writes everything up to the fields of a message in CBOR.
pub(super) fn write_cbor_envelope(out: &mut Vec<u8>, tag: &str, field_count: usize) {
    cbor::write::map(out, 1);
    cbor::write::text(out, "body");
    cbor::write::map(out, 2);
    cbor::write::text(out, "tag");
    cbor::write::text(out, tag);
    cbor::write::text(out, "val");
    cbor::write::map(out, field_count);
}

/// Writes everything up to the fields of a message in JSON.
pub(super) fn write_json_envelope(out: &mut Vec<u8>, tag: &str) {
    out.extend_from_slice(format!("{{\"body\":{{\"tag\":\"{tag}\",\"val\":{{").as_bytes());
}

pub(super) const JSON_ENVELOPE_END: &[u8] = b"}}}";

/// Reads a message in JSON into its tag and fields.
pub(super) fn read_json_envelope<'de, V: Deserialize<'de>>(
    message: &'de [u8],
) -> Read<(String, V)> {
    #[derive(Deserialize)]
    #[serde(bound = "V: Deserialize<'de>")]
    struct Envelope<V> {
        body: Object<Body<V>>,
    }
    #[derive(Deserialize)]
    #[serde(bound = "V: Deserialize<'de>")]
    struct Body<V> {
        tag: String,
        val: Object<V>,
    }
    let Object(envelope) = serde_json::from_slice::<Object<Envelope<V>>>(message)?;
    let Body { tag, val } = envelope.body.0;
    Ok((tag, val.0))
}

/// Reads a message in CBOR: answers its tag and gives each field to `field`,
/// whichever of tag and fields stands first.
pub(super) fn read_cbor_envelope<'a>(
    message: &'a [u8],
    mut field: impl FnMut(&str, &mut Reader<'a>) -> Read<()>,
) -> Read<String> {
    let mut tag = None;
    let mut reader = Reader::new(message);
    read_map(&mut reader, |key, reader| match key {
        "body" => read_map(reader, |key, reader| match key {
            "tag" => {
                tag = Some(text(reader)?.into_owned());
                Ok(())
            }
            "val" => read_map(reader, &mut field),
            _ => reader.skip(),
        }),
        _ => reader.skip(),
    })?;
    reader.finish()?;
    tag.ok_or(Malformed::new("message has no tag"))
}

fn read_bare(message: Bytes) -> Read<ToServer> {
    let (mut reader, _) = read_version(message)?;
    let message = match reader.u8()? {
        0 => ToServer::ActionRequest {
            id: reader.uint()?,
            name: reader.string()?,
            args: incoming_args(reader.data()?)?,
        },
        1 => ToServer::SubscriptionRequest {
            event_name: reader.string()?,
            subscribe: reader.bool()?,
        },
        _ => return Err(UNKNOWN),
    };
    reader.finish()?;
    Ok(message)
}

const UNKNOWN: Malformed = Malformed::new("message has an unknown tag");
const INCOMPLETE: Malformed = Malformed::new("message lacks a field");

/// The fields of every message; which of them count is up to the tag.
#[derive(Default)]
struct Fields {
    id: Option<u64>,
    name: Option<String>,
    args: Bytes,
    event_name: Option<String>,
    subscribe: Option<bool>,
}

impl Fields {
    fn into_message(self, tag: &str) -> Read<ToServer> {
        match tag {
            ACTION_REQUEST => Ok(ToServer::ActionRequest {
                id: self.id.ok_or(INCOMPLETE)?,
                name: self.name.ok_or(INCOMPLETE)?,
                args: action_args(self.args)?,
            }),
            SUBSCRIPTION_REQUEST => Ok(ToServer::SubscriptionRequest {
                event_name: self.event_name.ok_or(INCOMPLETE)?,
                subscribe: self.subscribe.ok_or(INCOMPLETE)?,
            }),
            _ => Err(UNKNOWN),
        }
    }
}

fn read_cbor(message: &Bytes) -> Read<ToServer> {
    let mut fields = Fields::default();
    let owned = |text: std::borrow::Cow<'_, str>| text.into_owned();
    let tag = read_cbor_envelope(message, |key, reader| {
        match key {
            "id" => fields.id = optional(reader, uint)?,
            "name" => fields.name = optional(reader, text)?.map(owned),
            "args" => fields.args = message.slice(reader.item()?),
            "eventName" => fields.event_name = optional(reader, text)?.map(owned),
            "subscribe" => fields.subscribe = optional(reader, boolean)?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    fields.into_message(&tag)
}

fn read_json(message: &[u8]) -> Read<ToServer> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct JsonFields {
        id: Option<WireUint>,
        name: Option<String>,
        args: Option<CborFromJson>,
        event_name: Option<String>,
        subscribe: Option<bool>,
    }
    let (tag, fields) = read_json_envelope::<JsonFields>(message)?;
    Fields {
        id: fields.id.map(|WireUint(id)| id),
        name: fields.name,
        args: fields
            .args
            .map_or_else(Bytes::new, |CborFromJson(cbor)| cbor.into()),
        event_name: fields.event_name,
        subscribe: fields.subscribe,
    }
    .into_message(&tag)
}
