//! What an actor sends to a client of the connection protocol.

use greenroom_core::{ConnTransport, OutboundEvent};
use greenroom_error::{Error, Result, code};
use greenroom_wire::Encoding;
use greenroom_wire::client_protocol::{Frame, ToClient};
use greenroom_wire::error_body::ErrorBody;

use crate::websocket::{Farewell, Outbox, WireFrame};

/// The way to one client, in its encoding and within its limit.
#[derive(Clone)]
pub(super) struct ToClientWay {
    outbox: Outbox,
    encoding: Encoding,
    /// Longest message sent.
    max_bytes: usize,
}

impl ToClientWay {
    pub(super) fn new(outbox: Outbox, encoding: Encoding, max_bytes: u32) -> Self {
        Self {
            outbox,
            encoding,
            max_bytes: max_bytes as usize,
        }
    }

    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    pub(super) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    fn frame(&self, message: Frame) -> WireFrame {
        WireFrame::of_message(message, self.encoding.is_binary())
    }

    /// The first message of the connection, before everything held back.
    pub(super) fn init(&self, actor_id: &str, connection_id: &str) {
        let init = ToClient::Init {
            actor_id: actor_id.to_owned(),
            connection_id: connection_id.to_owned(),
        };
        match init.encode(self.encoding) {
            Ok(message) => self.outbox.uncork(self.frame(message)),
            Err(_) => self.outbox.close_with(&Error::new(&code::ACTOR_INIT_ERROR)),
        }
    }

    /// Answers an action. A result that is too long or cannot be encoded fails the
    /// action, not the connection.
    pub(super) fn answer(&self, id: u64, result: Result<bytes::Bytes>) {
        let sent = result.and_then(|output| {
            let message = ToClient::ActionResponse { id, output }.encode(self.encoding)?;
            if message.len() > self.max_bytes {
                return Err(Error::new(&code::MESSAGE_OUTGOING_TOO_LONG));
            }
            Ok(message)
        });
        match sent {
            // A failed push has closed the outbox, or found it closed.
            Ok(message) => drop(self.outbox.push(self.frame(message))),
            Err(error) => {
                if let Some(frame) = self.error(&error, Some(id)) {
                    let _ = self.outbox.push(frame);
                }
            }
        }
    }

    /// Tells why the connection did not come about, and closes.
    pub(super) fn reject(&self, error: &Error) {
        let farewell = Farewell::of_error(error);
        match self.error(error, None) {
            Some(frame) => self.outbox.reject(frame, farewell),
            None => self.outbox.close(farewell),
        }
    }

    fn error(&self, error: &Error, action_id: Option<u64>) -> Option<WireFrame> {
        let mut body = ErrorBody::from(&error.client_view());
        if action_id.is_none() {
            body.actor = None;
        }
        let mut message = ToClient::Error {
            error: body,
            action_id,
        };
        let mut encoded = message.encode(self.encoding);
        if let ToClient::Error { error, .. } = &mut message
            && !matches!(&encoded, Ok(frame) if frame.len() <= self.max_bytes)
        {
            // Metadata is what can be too long, or without a form in JSON.
            error.metadata = None;
            encoded = message.encode(self.encoding);
        }
        encoded.ok().map(|message| self.frame(message))
    }
}

impl ConnTransport for ToClientWay {
    fn send_event(&self, event: &OutboundEvent) -> Result<()> {
        let framed = event.frame(self.encoding.index(), |event| {
            let message = ToClient::Event {
                name: event.name.clone(),
                args: event.args.clone(),
            };
            let message = message.encode(self.encoding).ok()?;
            Some(self.frame(message).into_shared())
        });
        let sent = match framed {
            None => Err(Error::new(&code::ACTOR_SEND_FAILED)),
            Some(framed) => {
                let frame = WireFrame::from_shared(framed);
                if frame.message_len() > self.max_bytes {
                    Err(Error::new(&code::MESSAGE_OUTGOING_TOO_LONG))
                } else {
                    return self.outbox.push_as_one_of(event.fan_out(), frame);
                }
            }
        };
        // An event that is missing would leave the client with a wrong picture.
        sent.inspect_err(|error| self.outbox.close_with(error))
    }

    fn close(&self, code: u16, reason: &str) {
        self.outbox.close(Farewell::new(code, reason));
    }
}
