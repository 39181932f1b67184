//! Bodies of `POST /queue/{name}`.

use bytes::Bytes;
use greenroom_error::Result;
use serde::Deserialize;

use super::fields::{boolean, incoming, milliseconds, outgoing, read_milliseconds};
use super::{
    Frame, Object, VERSION_WITH_QUEUE, optional, read_map, read_version, text, write_version,
};
use crate::Encoding;
use crate::bare::{Reader as BareReader, Writer};
use crate::cbor::{self, Reader};
use crate::malformed::{Malformed, Read};
use crate::value::{self, CborFromJson, write_json_str};

/// A message for a queue of an actor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpQueueSendRequest {
    /// CBOR of the message; no bytes stand for `undefined`.
    pub body: Bytes,
    /// Name of the queue; the one in the path wins over it.
    pub name: Option<String>,
    /// Whether to answer only when the message was completed; absent means no.
    pub wait: Option<bool>,
    /// How long to wait for the completion.
    pub timeout_ms: Option<u64>,
}

impl HttpQueueSendRequest {
    /// Reads a request body.
    ///
    /// # Errors
    /// `core/internal_error` with status 400 for any malformed body.
    pub fn decode(body: Bytes, encoding: Encoding) -> Result<Self> {
        match encoding {
            Encoding::Bare => read_bare_request(body),
            Encoding::Cbor => read_cbor_request(&body),
            Encoding::Json => read_json_request(&body),
        }
        .map_err(Malformed::in_body)
    }

    /// Writes a request body.
    ///
    /// # Errors
    /// `actor/send_failed` if the message has no JSON form.
    pub fn encode(&self, encoding: Encoding) -> Result<Frame> {
        let body = outgoing(&self.body);
        match encoding {
            Encoding::Bare => Ok(Frame::whole(self.write_bare(&body))),
            Encoding::Cbor => Ok(Frame::whole(self.write_cbor(&body))),
            Encoding::Json => self
                .write_json(&body)
                .map(Frame::whole)
                .map_err(Malformed::in_outgoing),
        }
    }

    fn write_bare(&self, body: &[u8]) -> Bytes {
        let mut writer = write_version(body.len() + 32);
        writer.data(body);
        writer.optional(self.name.as_deref(), Writer::str);
        writer.optional(self.wait, Writer::bool);
        writer.optional(self.timeout_ms, Writer::u64);
        writer.into_bytes()
    }

    fn write_cbor(&self, body: &[u8]) -> Vec<u8> {
        let optional_fields = [
            self.name.is_some(),
            self.wait.is_some(),
            self.timeout_ms.is_some(),
        ];
        let mut out = Vec::with_capacity(body.len() + 64);
        let present = optional_fields.into_iter().filter(|is| *is).count();
        cbor::write::map(&mut out, 1 + present);
        cbor::write::text(&mut out, "body");
        out.extend_from_slice(body);
        if let Some(name) = &self.name {
            cbor::write::text(&mut out, "name");
            cbor::write::text(&mut out, name);
        }
        if let Some(wait) = self.wait {
            cbor::write::text(&mut out, "wait");
            cbor::write::bool(&mut out, wait);
        }
        if let Some(timeout_ms) = self.timeout_ms {
            cbor::write::text(&mut out, "timeout");
            cbor::write::number(&mut out, timeout_ms as f64);
        }
        out
    }

    fn write_json(&self, body: &[u8]) -> Read<Vec<u8>> {
        let mut out = Vec::with_capacity(body.len() * 2 + 64);
        out.extend_from_slice(b"{\"body\":");
        value::write_json(&mut out, body)?;
        if let Some(name) = &self.name {
            out.extend_from_slice(b",\"name\":");
            write_json_str(&mut out, name);
        }
        if let Some(wait) = self.wait {
            out.extend_from_slice(format!(",\"wait\":{wait}").as_bytes());
        }
        if let Some(timeout_ms) = self.timeout_ms {
            out.extend_from_slice(format!(",\"timeout\":{timeout_ms}").as_bytes());
        }
        out.push(b'}');
        Ok(out)
    }
}

fn read_bare_request(body: Bytes) -> Read<HttpQueueSendRequest> {
    let mut reader = read_queue_version(body)?;
    let request = HttpQueueSendRequest {
        body: incoming(reader.data()?)?,
        name: reader.optional(BareReader::string)?,
        wait: reader.optional(BareReader::bool)?,
        timeout_ms: reader.optional(BareReader::u64)?,
    };
    reader.finish()?;
    Ok(request)
}

fn read_cbor_request(body: &Bytes) -> Read<HttpQueueSendRequest> {
    let mut request = HttpQueueSendRequest::default();
    let mut reader = Reader::new(body);
    read_map(&mut reader, |key, reader| {
        match key {
            "body" => request.body = body.slice(reader.item()?),
            "name" => request.name = optional(reader, text)?.map(|name| name.into_owned()),
            "wait" => request.wait = optional(reader, boolean)?,
            "timeout" => request.timeout_ms = optional(reader, read_milliseconds)?.flatten(),
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    reader.finish()?;
    request.body = incoming(request.body)?;
    Ok(request)
}

fn read_json_request(body: &[u8]) -> Read<HttpQueueSendRequest> {
    #[derive(Deserialize)]
    struct Fields {
        #[serde(default, deserialize_with = "super::present")]
        body: Option<CborFromJson>,
        name: Option<String>,
        wait: Option<bool>,
        timeout: Option<f64>,
    }
    let Object(fields) = serde_json::from_slice::<Object<Fields>>(body)?;
    let body = fields
        .body
        .map_or_else(Bytes::new, |CborFromJson(cbor)| cbor.into());
    Ok(HttpQueueSendRequest {
        body: incoming(body)?,
        name: fields.name,
        wait: fields.wait,
        timeout_ms: fields.timeout.map_or(Ok(None), milliseconds)?,
    })
}

/// How a queue message ended for its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueSendStatus {
    /// Stored, or completed if the sender waited.
    Completed,
    /// Not completed within the time the sender gave it.
    TimedOut,
}

impl QueueSendStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            QueueSendStatus::Completed => "completed",
            QueueSendStatus::TimedOut => "timedOut",
        }
    }

    fn from_name(name: &str) -> Read<Self> {
        [QueueSendStatus::Completed, QueueSendStatus::TimedOut]
            .into_iter()
            .find(|status| status.as_str() == name)
            .ok_or(Malformed::new("queue status is unknown"))
    }
}

/// The answer to a queue message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpQueueSendResponse {
    pub status: QueueSendStatus,
    /// CBOR of what the consumer completed the message with.
    pub response: Option<Bytes>,
}

impl HttpQueueSendResponse {
    /// Writes a response body; BARE and CBOR bodies share the response's buffer.
    ///
    /// # Errors
    /// `actor/send_failed` if the response has no JSON form.
    pub fn encode(&self, encoding: Encoding) -> Result<Frame> {
        let status = self.status.as_str();
        let response = self.response.as_ref().map(outgoing);
        match encoding {
            Encoding::Bare => {
                let mut writer = write_version(32);
                writer.str(status);
                writer.optional(response.as_ref(), |writer, response| {
                    writer.data_head(response.len());
                });
                Ok(Frame::new(
                    writer.into_bytes(),
                    response.unwrap_or_default(),
                ))
            }
            Encoding::Cbor => {
                let mut head = Vec::with_capacity(32);
                cbor::write::map(&mut head, 1 + usize::from(response.is_some()));
                cbor::write::text(&mut head, "status");
                cbor::write::text(&mut head, status);
                if response.is_some() {
                    cbor::write::text(&mut head, "response");
                }
                Ok(Frame::new(head, response.unwrap_or_default()))
            }
            Encoding::Json => {
                let mut out = format!("{{\"status\":\"{status}\"").into_bytes();
                if let Some(response) = response {
                    out.extend_from_slice(b",\"response\":");
                    value::write_json(&mut out, &response).map_err(Malformed::in_outgoing)?;
                }
                out.push(b'}');
                Ok(Frame::whole(out))
            }
        }
    }

    /// Reads a response body.
    ///
    /// # Errors
    /// `core/internal_error` for any malformed body.
    pub fn decode(body: Bytes, encoding: Encoding) -> Result<Self> {
        match encoding {
            Encoding::Bare => read_bare_response(body),
            Encoding::Cbor => read_cbor_response(&body),
            Encoding::Json => read_json_response(&body),
        }
        .map_err(Malformed::in_body)
    }
}

fn read_bare_response(body: Bytes) -> Read<HttpQueueSendResponse> {
    let mut reader = read_queue_version(body)?;
    let status = QueueSendStatus::from_name(reader.str()?)?;
    let response = reader.optional(|reader| incoming(reader.data()?))?;
    reader.finish()?;
    Ok(HttpQueueSendResponse { status, response })
}

fn read_cbor_response(body: &Bytes) -> Read<HttpQueueSendResponse> {
    let (mut status, mut response) = (None, None);
    let mut reader = Reader::new(body);
    read_map(&mut reader, |key, reader| {
        match key {
            "status" => status = Some(QueueSendStatus::from_name(&text(reader)?)?),
            "response" => response = Some(body.slice(reader.item()?)),
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    reader.finish()?;
    let status = status.ok_or(Malformed::new("queue status is missing"))?;
    Ok(HttpQueueSendResponse { status, response })
}

fn read_json_response(body: &[u8]) -> Read<HttpQueueSendResponse> {
    #[derive(Deserialize)]
    struct Fields {
        status: String,
        #[serde(default, deserialize_with = "super::present")]
        response: Option<CborFromJson>,
    }
    let Object(Fields { status, response }) = serde_json::from_slice(body)?;
    Ok(HttpQueueSendResponse {
        status: QueueSendStatus::from_name(&status)?,
        response: response.map(|CborFromJson(cbor)| cbor.into()),
    })
}

fn read_queue_version(body: Bytes) -> Read<BareReader> {
    match read_version(body)? {
        (reader, VERSION_WITH_QUEUE..) => Ok(reader),
        _ => Err(Malformed::new("client protocol version has no queues")),
    }
}
