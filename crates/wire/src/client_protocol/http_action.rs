//! Bodies of `POST /action/{name}`.

use bytes::Bytes;
use greenroom_error::Result;
use serde::Deserialize;

use super::fields::{action_args, incoming, incoming_args, outgoing, outgoing_args};
use super::{Frame, Object, read_map, read_version, write_version};
use crate::Encoding;
use crate::bare::Reader as BareReader;
use crate::cbor::{self, Reader};
use crate::malformed::{Malformed, Read};
use crate::value::{self, CborFromJson};

const ARGS: &str = "args";
const OUTPUT: &str = "output";

/// What a client sends to run an action; the name is in the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpActionRequest {
    /// CBOR array of the arguments.
    pub args: Bytes,
}

impl HttpActionRequest {
    /// Reads a request body. Missing or `null` arguments are no arguments, and
    /// a value that is no array is the only argument.
    ///
    /// # Errors
    /// `core/internal_error` with status 400 for any malformed body.
    pub fn decode(body: Bytes, encoding: Encoding) -> Result<Self> {
        read_single(body, encoding, ARGS, incoming_args)
            .and_then(|args| action_args(args.unwrap_or_default()))
            .map(|args| Self { args })
            .map_err(Malformed::in_body)
    }

    /// Writes a request body.
    ///
    /// # Errors
    /// `actor/send_failed` if the arguments have no JSON form.
    pub fn encode(&self, encoding: Encoding) -> Result<Frame> {
        write_single(encoding, ARGS, outgoing_args(&self.args))
    }
}

/// What an action answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpActionResponse {
    /// CBOR of the result; no bytes stand for `undefined`.
    pub output: Bytes,
}

impl HttpActionResponse {
    /// Writes a response body; BARE and CBOR bodies share the output's buffer.
    ///
    /// # Errors
    /// `actor/send_failed` if the output has no JSON form.
    pub fn encode(&self, encoding: Encoding) -> Result<Frame> {
        write_single(encoding, OUTPUT, outgoing(&self.output))
    }

    /// Reads a response body; an output that is missing is `undefined`.
    ///
    /// # Errors
    /// `core/internal_error` for any malformed body.
    pub fn decode(body: Bytes, encoding: Encoding) -> Result<Self> {
        read_single(body, encoding, OUTPUT, incoming)
            .and_then(|output| incoming(output.unwrap_or_default()))
            .map(|output| Self { output })
            .map_err(Malformed::in_body)
    }
}

/// Reads a body with one payload field, called `name` where fields have names.
fn read_single(
    body: Bytes,
    encoding: Encoding,
    name: &'static str,
    check: impl FnOnce(Bytes) -> Read<Bytes>,
) -> Read<Option<Bytes>> {
    match encoding {
        Encoding::Bare => {
            let (mut reader, _) = read_version(body)?;
            let payload = BareReader::data(&mut reader)?;
            reader.finish()?;
            check(payload).map(Some)
        }
        Encoding::Cbor => {
            let mut payload = None;
            let mut reader = Reader::new(&body);
            read_map(&mut reader, |key, reader| {
                let place = reader.item()?;
                if key == name {
                    payload = Some(body.slice(place));
                }
                Ok(())
            })?;
            reader.finish()?;
            Ok(payload)
        }
        Encoding::Json => {
            #[derive(Deserialize)]
            struct Fields {
                args: Option<CborFromJson>,
                #[serde(default, deserialize_with = "super::present")]
                output: Option<CborFromJson>,
            }
            let Object(Fields { args, output }) = serde_json::from_slice(&body)?;
            let payload = if name == ARGS { args } else { output };
            Ok(payload.map(|CborFromJson(cbor)| cbor.into()))
        }
    }
}

fn write_single(encoding: Encoding, name: &str, payload: Bytes) -> Result<Frame> {
    match encoding {
        Encoding::Bare => {
            let mut writer = write_version(10);
            writer.data_head(payload.len());
            Ok(Frame::new(writer.into_bytes(), payload))
        }
        Encoding::Cbor => {
            let mut head = Vec::with_capacity(name.len() + 2);
            cbor::write::map(&mut head, 1);
            cbor::write::text(&mut head, name);
            Ok(Frame::new(head, payload))
        }
        Encoding::Json => {
            let mut text = Vec::with_capacity(payload.len() * 2 + name.len() + 8);
            text.extend_from_slice(b"{\"");
            text.extend_from_slice(name.as_bytes());
            text.extend_from_slice(b"\":");
            value::write_json(&mut text, &payload).map_err(Malformed::in_outgoing)?;
            text.push(b'}');
            Ok(Frame::whole(text))
        }
    }
}
