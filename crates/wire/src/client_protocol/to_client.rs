//! WebSocket messages to a client.

use bytes::Bytes;
use greenroom_error::Result;
use serde::Deserialize;

use super::fields::{incoming, incoming_args, outgoing, outgoing_args};
use super::to_server::{
    JSON_ENVELOPE_END, read_cbor_envelope, read_json_envelope, write_cbor_envelope,
    write_json_envelope,
};
use super::{
    Frame, VERSION_WITH_ACTOR, VERSION_WITHOUT_TOKEN, WireUint, optional, read_version, text, uint,
    write_version,
};
use crate::Encoding;
use crate::bare::{Reader as BareReader, Writer};
use crate::cbor;
use crate::error_body::{self, ErrorBody};
use crate::malformed::{Malformed, Read};
use crate::value::{self, CborFromJson, write_json_str};

const INIT: &str = "Init";
const ERROR: &str = "Error";
const ACTION_RESPONSE: &str = "ActionResponse";
const EVENT: &str = "Event";

/// A message from a connection to its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToClient {
    /// The first message of a connection.
    Init {
        actor_id: String,
        connection_id: String,
    },
    /// A failure: of one action, or of the connection if `action_id` is absent.
    Error {
        error: ErrorBody,
        action_id: Option<u64>,
    },
    ActionResponse {
        /// The id of the request.
        id: u64,
        /// CBOR of the result; no bytes stand for `undefined`.
        output: Bytes,
    },
    Event {
        name: String,
        /// CBOR array of the arguments.
        args: Bytes,
    },
}

impl ToClient {
    /// Writes one message; BARE and CBOR responses and events share the
    /// payload's buffer.
    ///
    /// # Errors
    /// `actor/send_failed` if a payload has no JSON form.
    pub fn encode(&self, encoding: Encoding) -> Result<Frame> {
        match encoding {
            Encoding::Bare => Ok(self.write_bare()),
            Encoding::Cbor => Ok(self.write_cbor()),
            Encoding::Json => self.write_json().map_err(Malformed::in_outgoing),
        }
    }

    /// Reads one message.
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

    fn write_bare(&self) -> Frame {
        let mut writer = write_version(96);
        match self {
            ToClient::Init {
                actor_id,
                connection_id,
            } => {
                writer.u8(0);
                writer.str(actor_id);
                writer.str(connection_id);
            }
            ToClient::Error { error, action_id } => {
                writer.u8(1);
                error.write_bare_text(&mut writer);
                writer.optional(*action_id, Writer::uint);
                error.write_bare_actor(&mut writer);
            }
            ToClient::ActionResponse { id, output } => {
                let output = outgoing(output);
                writer.u8(2);
                writer.uint(*id);
                writer.data_head(output.len());
                return Frame::new(writer.into_bytes(), output);
            }
            ToClient::Event { name, args } => {
                let args = outgoing_args(args);
                writer.u8(3);
                writer.str(name);
                writer.data_head(args.len());
                return Frame::new(writer.into_bytes(), args);
            }
        }
        Frame::whole(writer.into_bytes())
    }

    fn write_cbor(&self) -> Frame {
        let mut out = Vec::with_capacity(128);
        match self {
            ToClient::Init {
                actor_id,
                connection_id,
            } => {
                write_cbor_envelope(&mut out, INIT, 2);
                cbor::write::text(&mut out, "actorId");
                cbor::write::text(&mut out, actor_id);
                cbor::write::text(&mut out, "connectionId");
                cbor::write::text(&mut out, connection_id);
            }
            ToClient::Error { error, action_id } => {
                let place = error_body::Place::Message(*action_id);
                write_cbor_envelope(&mut out, ERROR, error.field_count(place));
                error.write_cbor_fields(&mut out, place);
            }
            ToClient::ActionResponse { id, output } => {
                write_cbor_envelope(&mut out, ACTION_RESPONSE, 2);
                cbor::write::text(&mut out, "id");
                cbor::write::wide_uint(&mut out, *id);
                cbor::write::text(&mut out, "output");
                return Frame::new(out, outgoing(output));
            }
            ToClient::Event { name, args } => {
                write_cbor_envelope(&mut out, EVENT, 2);
                cbor::write::text(&mut out, "name");
                cbor::write::text(&mut out, name);
                cbor::write::text(&mut out, "args");
                return Frame::new(out, outgoing_args(args));
            }
        }
        Frame::whole(out)
    }

    fn write_json(&self) -> Read<Frame> {
        let mut out = Vec::with_capacity(160);
        match self {
            ToClient::Init {
                actor_id,
                connection_id,
            } => {
                write_json_envelope(&mut out, INIT);
                out.extend_from_slice(b"\"actorId\":");
                write_json_str(&mut out, actor_id);
                out.extend_from_slice(b",\"connectionId\":");
                write_json_str(&mut out, connection_id);
            }
            ToClient::Error { error, action_id } => {
                write_json_envelope(&mut out, ERROR);
                error.write_json_fields(&mut out, error_body::Place::Message(*action_id));
            }
            ToClient::ActionResponse { id, output } => {
                write_json_envelope(&mut out, ACTION_RESPONSE);
                let id = format!("\"id\":[\"$BigInt\",\"{id}\"],\"output\":");
                out.extend_from_slice(id.as_bytes());
                value::write_json(&mut out, &outgoing(output))?;
            }
            ToClient::Event { name, args } => {
                write_json_envelope(&mut out, EVENT);
                out.extend_from_slice(b"\"name\":");
                write_json_str(&mut out, name);
                out.extend_from_slice(b",\"args\":");
                value::write_json(&mut out, &outgoing_args(args))?;
            }
        }
        out.extend_from_slice(JSON_ENVELOPE_END);
        Ok(Frame::whole(out))
    }
}

const UNKNOWN: Malformed = Malformed::new("message has an unknown tag");
const INCOMPLETE: Malformed = Malformed::new("message lacks a field");

fn read_bare(message: Bytes) -> Read<ToClient> {
    let (mut reader, version) = read_version(message)?;
    let message = match reader.u8()? {
        0 => {
            let actor_id = reader.string()?;
            let connection_id = reader.string()?;
            if version < VERSION_WITHOUT_TOKEN {
                reader.str()?;
            }
            ToClient::Init {
                actor_id,
                connection_id,
            }
        }
        1 => {
            let mut error = ErrorBody::read_bare_text(&mut reader)?;
            let action_id = reader.optional(BareReader::uint)?;
            if version >= VERSION_WITH_ACTOR {
                error.read_bare_actor(&mut reader)?;
            }
            ToClient::Error { error, action_id }
        }
        2 => ToClient::ActionResponse {
            id: reader.uint()?,
            output: incoming(reader.data()?)?,
        },
        3 => ToClient::Event {
            name: reader.string()?,
            args: incoming_args(reader.data()?)?,
        },
        _ => return Err(UNKNOWN),
    };
    reader.finish()?;
    Ok(message)
}

/// The fields of every message but errors; which count is up to the tag.
#[derive(Default)]
struct Fields {
    actor_id: Option<String>,
    connection_id: Option<String>,
    error: error_body::Fields,
    action_id: Option<u64>,
    id: Option<u64>,
    output: Bytes,
    name: Option<String>,
    args: Option<Bytes>,
}

impl Fields {
    fn into_message(self, tag: &str) -> Read<ToClient> {
        match tag {
            INIT => Ok(ToClient::Init {
                actor_id: self.actor_id.ok_or(INCOMPLETE)?,
                connection_id: self.connection_id.ok_or(INCOMPLETE)?,
            }),
            ERROR => Ok(ToClient::Error {
                error: self.error.into_body()?,
                action_id: self.action_id,
            }),
            ACTION_RESPONSE => Ok(ToClient::ActionResponse {
                id: self.id.ok_or(INCOMPLETE)?,
                output: incoming(self.output)?,
            }),
            EVENT => Ok(ToClient::Event {
                name: self.name.ok_or(INCOMPLETE)?,
                args: self.args.ok_or(INCOMPLETE)?,
            }),
            _ => Err(UNKNOWN),
        }
    }
}

fn read_cbor(message: &Bytes) -> Read<ToClient> {
    let mut fields = Fields::default();
    let owned = |text: std::borrow::Cow<'_, str>| text.into_owned();
    let tag = read_cbor_envelope(message, |key, reader| {
        match key {
            "actorId" => fields.actor_id = optional(reader, text)?.map(owned),
            "connectionId" => fields.connection_id = optional(reader, text)?.map(owned),
            "actionId" => fields.action_id = optional(reader, uint)?,
            "id" => fields.id = optional(reader, uint)?,
            "output" => fields.output = message.slice(reader.item()?),
            "name" => fields.name = optional(reader, text)?.map(owned),
            "args" => fields.args = Some(message.slice(reader.item()?)),
            _ => return fields.error.read_cbor(key, reader, message),
        }
        Ok(())
    })?;
    fields.into_message(&tag)
}

fn read_json(message: &[u8]) -> Read<ToClient> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct JsonFields {
        actor_id: Option<String>,
        connection_id: Option<String>,
        #[serde(flatten)]
        error: error_body::JsonFields,
        action_id: Option<WireUint>,
        id: Option<WireUint>,
        #[serde(default, deserialize_with = "super::present")]
        output: Option<CborFromJson>,
        name: Option<String>,
        args: Option<CborFromJson>,
    }
    let (tag, fields) = read_json_envelope::<JsonFields>(message)?;
    Fields {
        actor_id: fields.actor_id,
        connection_id: fields.connection_id,
        error: fields.error.into(),
        action_id: fields.action_id.map(|WireUint(id)| id),
        id: fields.id.map(|WireUint(id)| id),
        output: fields
            .output
            .map_or_else(Bytes::new, |CborFromJson(cbor)| cbor.into()),
        name: fields.name,
        args: fields.args.map(|CborFromJson(cbor)| cbor.into()),
    }
    .into_message(&tag)
}
