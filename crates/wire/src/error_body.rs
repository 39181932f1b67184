//! Errors as clients read them, in every encoding.
//!
//! The body of a failed HTTP request and the error message of a WebSocket have
//! the same fields. Two rules hold everywhere: an absent field is left out in
//! JSON and CBOR, because published clients cannot read an `actor` or `key`
//! that is `null`; and metadata that is `null` is a value, not an absence.
//! What a client may see of an error is decided before, by
//! [`Error::client_view`](greenroom_error::Error::client_view).

use bytes::Bytes;
use greenroom_error::{ActorSpecifier, ClientError, Result};
use serde::Deserialize;

use crate::Encoding;
use crate::bare;
use crate::cbor::{self, Reader};
use crate::client_protocol::{
    Object, VERSION_WITH_ACTOR, WireUint, incoming, optional, read_map, read_version, text, uint,
    write_version,
};
use crate::malformed::{Malformed, Read};
use crate::value::{self, CborFromJson, write_json_str};

/// The fields of an error on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorBody {
    pub group: String,
    pub code: String,
    pub message: String,
    /// CBOR of the metadata; `None` means absent.
    pub metadata: Option<Bytes>,
    /// The actor the error happened in, once an instance is known.
    pub actor: Option<ActorSpecifier>,
}

/// Where an error is written, as far as its form depends on it.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// The body of an HTTP response.
    Http,
    /// A WebSocket message about an action, or about the connection.
    Message(Option<u64>),
}

/// Writes an error as the body of an HTTP response.
pub fn encode(error: &ClientError, encoding: Encoding) -> Bytes {
    ErrorBody::from(error).encode(encoding)
}

/// Reads the body of a failed HTTP response.
///
/// # Errors
/// `core/internal_error` if the body is not an error in this encoding.
pub fn decode(body: Bytes, encoding: Encoding) -> Result<ClientError> {
    ErrorBody::decode(body, encoding).map(ClientError::from)
}

impl ErrorBody {
    /// Writes the body of an HTTP response. Metadata that has no JSON form is
    /// left out in JSON, since an error cannot itself fail.
    pub fn encode(&self, encoding: Encoding) -> Bytes {
        match encoding {
            Encoding::Bare => {
                let mut writer = write_version(160);
                self.write_bare_text(&mut writer);
                self.write_bare_actor(&mut writer);
                writer.into_bytes()
            }
            Encoding::Cbor => {
                let mut out = Vec::with_capacity(160);
                cbor::write::map(&mut out, self.field_count(Place::Http));
                self.write_cbor_fields(&mut out, Place::Http);
                out.into()
            }
            Encoding::Json => {
                let mut out = Vec::with_capacity(160);
                out.push(b'{');
                self.write_json_fields(&mut out, Place::Http);
                out.push(b'}');
                out.into()
            }
        }
    }

    /// Reads the body of a failed HTTP response.
    ///
    /// # Errors
    /// `core/internal_error` if the body is not an error in this encoding.
    pub fn decode(body: Bytes, encoding: Encoding) -> Result<Self> {
        match encoding {
            Encoding::Bare => read_bare(body),
            Encoding::Cbor => read_cbor(&body),
            Encoding::Json => read_json(&body),
        }
        .map_err(Malformed::in_body)
    }

    pub(crate) fn write_bare_text(&self, writer: &mut bare::Writer) {
        writer.str(&self.group);
        writer.str(&self.code);
        writer.str(&self.message);
        writer.optional(self.metadata.as_deref(), bare::Writer::data);
    }

    pub(crate) fn write_bare_actor(&self, writer: &mut bare::Writer) {
        writer.optional(self.actor.as_ref(), |writer, actor| {
            writer.str(&actor.actor_id);
            writer.uint(actor.generation.into());
            writer.optional(actor.key.as_deref(), bare::Writer::str);
        });
    }

    pub(crate) fn read_bare_text(reader: &mut bare::Reader) -> Read<Self> {
        Ok(Self {
            group: reader.string()?,
            code: reader.string()?,
            message: reader.string()?,
            metadata: reader.optional(|reader| incoming(reader.data()?))?,
            actor: None,
        })
    }

    pub(crate) fn read_bare_actor(&mut self, reader: &mut bare::Reader) -> Read<()> {
        self.actor = reader.optional(|reader| {
            Ok(ActorSpecifier {
                actor_id: reader.string()?,
                generation: generation(reader.uint()?)?,
                key: reader.optional(bare::Reader::string)?,
            })
        })?;
        Ok(())
    }

    /// How many fields [`ErrorBody::write_cbor_fields`] writes.
    pub(crate) fn field_count(&self, place: Place) -> usize {
        3 + usize::from(self.metadata.is_some())
            + usize::from(self.actor.is_some())
            + usize::from(matches!(place, Place::Message(_)))
    }

    /// Writes the fields in alphabetical order. WebSocket messages have their
    /// integers in the 8-byte form, which JavaScript reads as BigInt.
    pub(crate) fn write_cbor_fields(&self, out: &mut Vec<u8>, place: Place) {
        if let Place::Message(action_id) = place {
            cbor::write::text(out, "actionId");
            match action_id {
                Some(id) => cbor::write::wide_uint(out, id),
                None => cbor::write::null(out),
            }
        }
        if let Some(actor) = &self.actor {
            cbor::write::text(out, "actor");
            cbor::write::map(out, 2 + usize::from(actor.key.is_some()));
            cbor::write::text(out, "actorId");
            cbor::write::text(out, &actor.actor_id);
            cbor::write::text(out, "generation");
            match place {
                Place::Http => cbor::write::uint(out, actor.generation.into()),
                Place::Message(_) => cbor::write::wide_uint(out, actor.generation.into()),
            }
            if let Some(key) = &actor.key {
                cbor::write::text(out, "key");
                cbor::write::text(out, key);
            }
        }
        for (name, value) in self.text_fields() {
            cbor::write::text(out, name);
            cbor::write::text(out, value);
        }
        if let Some(metadata) = &self.metadata {
            cbor::write::text(out, "metadata");
            out.extend_from_slice(metadata);
        }
    }

    fn text_fields(&self) -> [(&'static str, &str); 3] {
        [
            ("code", &self.code),
            ("group", &self.group),
            ("message", &self.message),
        ]
    }

    /// Writes the fields in alphabetical order, without the braces.
    pub(crate) fn write_json_fields(&self, out: &mut Vec<u8>, place: Place) {
        match place {
            Place::Http => {}
            Place::Message(None) => out.extend_from_slice(b"\"actionId\":null,"),
            Place::Message(Some(id)) => {
                out.extend_from_slice(format!("\"actionId\":[\"$BigInt\",\"{id}\"],").as_bytes());
            }
        }
        if let Some(actor) = &self.actor {
            out.extend_from_slice(b"\"actor\":{\"actorId\":");
            write_json_str(out, &actor.actor_id);
            out.extend_from_slice(format!(",\"generation\":{}", actor.generation).as_bytes());
            if let Some(key) = &actor.key {
                out.extend_from_slice(b",\"key\":");
                write_json_str(out, key);
            }
            out.extend_from_slice(b"},");
        }
        for (index, (name, value)) in self.text_fields().into_iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            out.extend_from_slice(format!("{separator}\"{name}\":").as_bytes());
            write_json_str(out, value);
        }
        let metadata = self.metadata.as_deref().map(value::cbor_to_json);
        if let Some(Ok(metadata)) = metadata {
            out.extend_from_slice(b",\"metadata\":");
            out.extend_from_slice(&metadata);
        }
    }
}

fn generation(value: u64) -> Read<u32> {
    u32::try_from(value).map_err(|_| Malformed::new("actor generation exceeds 32 bits"))
}

fn read_bare(body: Bytes) -> Read<ErrorBody> {
    let (mut reader, version) = read_version(body)?;
    let mut error = ErrorBody::read_bare_text(&mut reader)?;
    if version >= VERSION_WITH_ACTOR {
        error.read_bare_actor(&mut reader)?;
    }
    reader.finish()?;
    Ok(error)
}

fn read_cbor(body: &Bytes) -> Read<ErrorBody> {
    let mut fields = Fields::default();
    let mut reader = Reader::new(body);
    read_map(&mut reader, |key, reader| {
        fields.read_cbor(key, reader, body)
    })?;
    reader.finish()?;
    fields.into_body()
}

fn read_json(body: &[u8]) -> Read<ErrorBody> {
    let Object(fields) = serde_json::from_slice::<Object<JsonFields>>(body)?;
    Fields::from(fields).into_body()
}

/// The fields of an error while they are collected.
#[derive(Default)]
pub(crate) struct Fields {
    group: Option<String>,
    code: Option<String>,
    message: Option<String>,
    metadata: Option<Bytes>,
    actor: Option<ActorFields>,
}

#[derive(Default)]
struct ActorFields {
    actor_id: Option<String>,
    generation: Option<u64>,
    key: Option<String>,
}

impl Fields {
    pub(crate) fn into_body(self) -> Read<ErrorBody> {
        const INCOMPLETE: Malformed = Malformed::new("error lacks a field");
        let actor = match self.actor {
            None => None,
            Some(actor) => Some(ActorSpecifier {
                actor_id: actor.actor_id.ok_or(INCOMPLETE)?,
                generation: generation(actor.generation.ok_or(INCOMPLETE)?)?,
                key: actor.key,
            }),
        };
        Ok(ErrorBody {
            group: self.group.ok_or(INCOMPLETE)?,
            code: self.code.ok_or(INCOMPLETE)?,
            message: self.message.ok_or(INCOMPLETE)?,
            metadata: self.metadata,
            actor,
        })
    }

    /// Reads the field `key` of the map that `reader` is in; `input` is what
    /// the reader reads. Fields of no interest are passed.
    pub(crate) fn read_cbor(
        &mut self,
        key: &str,
        reader: &mut Reader<'_>,
        input: &Bytes,
    ) -> Read<()> {
        match key {
            "group" => self.group = Some(text(reader)?.into_owned()),
            "code" => self.code = Some(text(reader)?.into_owned()),
            "message" => self.message = Some(text(reader)?.into_owned()),
            "metadata" => self.metadata = Some(input.slice(reader.item()?)),
            "actor" => self.actor = optional(reader, read_cbor_actor)?,
            _ => reader.skip()?,
        }
        Ok(())
    }
}

fn read_cbor_actor(reader: &mut Reader<'_>) -> Read<ActorFields> {
    let mut actor = ActorFields::default();
    read_map(reader, |key, reader| {
        match key {
            "actorId" => actor.actor_id = Some(text(reader)?.into_owned()),
            "generation" => actor.generation = Some(uint(reader)?),
            "key" => actor.key = optional(reader, text)?.map(|key| key.into_owned()),
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok(actor)
}

#[derive(Deserialize)]
pub(crate) struct JsonFields {
    group: Option<String>,
    code: Option<String>,
    message: Option<String>,
    #[serde(default, deserialize_with = "crate::client_protocol::present")]
    metadata: Option<CborFromJson>,
    actor: Option<Object<JsonActor>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonActor {
    actor_id: Option<String>,
    generation: Option<WireUint>,
    key: Option<String>,
}

impl From<JsonFields> for Fields {
    fn from(fields: JsonFields) -> Self {
        Self {
            group: fields.group,
            code: fields.code,
            message: fields.message,
            metadata: fields.metadata.map(|CborFromJson(cbor)| cbor.into()),
            actor: fields.actor.map(|Object(actor)| ActorFields {
                actor_id: actor.actor_id,
                generation: actor.generation.map(|WireUint(generation)| generation),
                key: actor.key,
            }),
        }
    }
}

impl From<&ClientError> for ErrorBody {
    fn from(error: &ClientError) -> Self {
        Self {
            group: error.group.clone(),
            code: error.code.clone(),
            message: error.message.clone(),
            metadata: error.metadata.as_ref().map(value::from_value),
            actor: error.actor.clone(),
        }
    }
}

impl From<ErrorBody> for ClientError {
    /// Metadata that has no JSON form is dropped.
    fn from(error: ErrorBody) -> Self {
        Self {
            group: error.group,
            code: error.code,
            message: error.message,
            metadata: error
                .metadata
                .and_then(|metadata| value::to_value(&metadata).ok()),
            actor: error.actor,
        }
    }
}

#[cfg(test)]
mod tests;
