//! `/request…`: user code answers by itself, streaming in both directions.
//!
//! Message limits do not apply here, only the size of any request's body.

use std::fmt::Display;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use bytes::Bytes;
use greenroom_core::actor::messages::BodyStream;
use greenroom_core::{Answer, Request, Response};
use greenroom_error::{Error, Result, code};
use http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{Method, StatusCode};
use http_body::Body;
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::body::{self, DISCARD_TIME, REQUEST_BYTES_MAX, ReplyBody, read_body};
use crate::head;
use crate::live::{ActorSource, LiveActor};
use crate::reply::HttpReply;
use crate::serve::Gateway;
use crate::upload::{Upload, UploadEnd, Uploading};

/// A body that announces no more than this is handed over whole.
const WHOLE_BYTES_MAX: u32 = 64 * 1024;

/// The head of a raw request.
pub(crate) struct RawCall<'a> {
    pub(crate) method: &'a Method,
    pub(crate) uri: &'a str,
    pub(crate) headers: Vec<(String, String)>,
}

/// What user code gets to read.
struct Given {
    body: Bytes,
    stream: Option<BodyStream>,
}

impl RawCall<'_> {
    pub(crate) async fn run<B, S>(
        self,
        body: B,
        actor: &mut LiveActor<S>,
        gateway: &Gateway,
    ) -> Result<HttpReply>
    where
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Display,
        S: ActorSource,
    {
        let size = body.size_hint();
        if size.lower() > REQUEST_BYTES_MAX {
            return Err(body::too_large());
        }
        let cancelled = CancellationToken::new();
        let abandoned = cancelled.clone().drop_guard();
        if size
            .upper()
            .is_some_and(|size| size <= u64::from(WHOLE_BYTES_MAX))
        {
            let body = read_body(body, WHOLE_BYTES_MAX, &gateway.clock).await?;
            let response = self.send_whole(body, &cancelled, actor).await?;
            return self.respond(response, None, abandoned);
        }
        let (mut upload, stream) = Upload::new(body);
        let response = self
            .send_streaming(&mut upload, stream, &cancelled, actor)
            .await;
        let uploading = upload.into_uploading();
        match response {
            Ok(response) if response.stream.is_some() => {
                self.respond(response, uploading, abandoned)
            }
            answered => {
                // Nobody drives the upload after this, and a client that is still
                // sending when the connection closes may lose the answer.
                if let Some(uploading) = uploading {
                    let _ = gateway.clock.timeout(DISCARD_TIME, uploading).await;
                }
                self.respond(answered?, None, abandoned)
            }
        }
    }

    fn request(&self, given: Given, cancelled: &CancellationToken) -> Box<Request> {
        Box::new(Request {
            method: self.method.as_str().to_owned(),
            uri: self.uri.to_owned(),
            headers: self.headers.clone(),
            body: given.body,
            stream: given.stream,
            cancelled: cancelled.clone(),
            region: None,
        })
    }

    async fn send_whole<S: ActorSource>(
        &self,
        body: Bytes,
        cancelled: &CancellationToken,
        actor: &mut LiveActor<S>,
    ) -> Result<Response> {
        loop {
            let given = Given {
                body: body.clone(),
                stream: None,
            };
            let answer = actor.handle().http(self.request(given, cancelled)).await;
            if let Some(result) = actor.settle(answer).await {
                return result;
            }
        }
    }

    async fn send_streaming<B, S>(
        &self,
        upload: &mut Upload<B>,
        stream: BodyStream,
        cancelled: &CancellationToken,
        actor: &mut LiveActor<S>,
    ) -> Result<Response>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: Display,
        S: ActorSource,
    {
        let mut stream = Some(stream);
        loop {
            let given = Given {
                body: Bytes::new(),
                stream: stream.take(),
            };
            let answered = actor.handle().http(self.request(given, cancelled));
            let answer = alongside(answered, upload).await?;
            if let Some(result) = actor.settle(answer).await {
                return result;
            }
            stream = upload.restart();
            if stream.is_none() {
                // The generation took some of the body and refused all the same.
                return Err(Error::new(&code::ACTOR_STOPPING));
            }
        }
    }

    fn respond(
        &self,
        response: Response,
        uploading: Option<Uploading>,
        abandoned: DropGuard,
    ) -> Result<HttpReply> {
        let status = StatusCode::from_u16(response.status)
            .ok()
            .filter(|status| !status.is_informational())
            .ok_or_else(|| invalid("status", response.status.to_string()))?;
        let headers = headers(response.headers)?;
        let is_bodiless = self.method == Method::HEAD
            || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        let body = match response.stream {
            Some(chunks) if !is_bodiless => {
                ReplyBody::stream(chunks, uploading, (abandoned, response.region))
            }
            _ => {
                abandoned.disarm();
                if is_bodiless {
                    ReplyBody::empty()
                } else {
                    falls_short(&headers, response.body.len())?;
                    ReplyBody::whole(response.body)
                }
            }
        };
        let mut reply = HttpReply::new(body);
        *reply.status_mut() = status;
        *reply.headers_mut() = headers;
        if !is_bodiless && reply.body().is_whole() {
            // Counted by whoever writes it.
            reply.headers_mut().remove(CONTENT_LENGTH);
        }
        if self.method == Method::HEAD {
            let length = reply.headers_mut().entry(CONTENT_LENGTH);
            length.or_insert(HeaderValue::from_static("0"));
        }
        Ok(reply)
    }
}

/// Waits for an answer and moves the upload along meanwhile.
async fn alongside<B>(
    answered: impl Future<Output = Answer<Response>>,
    upload: &mut Upload<B>,
) -> Result<Answer<Response>>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Display,
{
    let mut answered = pin!(answered);
    poll_fn(|cx| {
        // The answer first: a refusal must not find its body thrown away.
        if let Poll::Ready(answer) = answered.as_mut().poll(cx) {
            return Poll::Ready(Ok(answer));
        }
        if !upload.is_finished() && upload.poll(cx) == Poll::Ready(UploadEnd::TooLarge) {
            return Poll::Ready(Err(body::too_large()));
        }
        Poll::Pending
    })
    .await
}

/// The headers of user code, without those that belong to the connection.
fn headers(given: Vec<(String, String)>) -> Result<HeaderMap> {
    const OF_THE_CONNECTION: [HeaderName; 5] = [
        CONNECTION,
        TRANSFER_ENCODING,
        UPGRADE,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("proxy-connection"),
    ];
    let mut headers = HeaderMap::with_capacity(given.len() + 8);
    for (name, value) in given {
        let parsed = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| invalid("header name", format!("{name:?}")))?;
        if OF_THE_CONNECTION.contains(&parsed) {
            continue;
        }
        let value = head::to_latin1(&value)
            .and_then(|value| HeaderValue::from_bytes(&value).ok())
            .ok_or_else(|| invalid("header value", format!("of {name}")))?;
        headers.append(parsed, value);
    }
    Ok(headers)
}

/// Refuses a body that is less than its own headers announce: something cut it off
/// on its way here, and its client must not take it for all there is. The length of
/// an encoded body says nothing: `fetch` decodes what it hands on with its headers.
fn falls_short(headers: &HeaderMap, bytes: usize) -> Result<()> {
    if headers.contains_key(CONTENT_ENCODING) {
        return Ok(());
    }
    let announced = headers
        .get_all(CONTENT_LENGTH)
        .iter()
        .filter_map(|value| value.to_str().ok()?.trim().parse::<u64>().ok())
        .max()
        .unwrap_or(0);
    if announced <= bytes as u64 {
        return Ok(());
    }
    let reason = format!("it announces {announced} bytes of a body that has {bytes}");
    Err(invalid("content-length", reason))
}

fn invalid(field: &str, reason: String) -> Error {
    Error::with(
        &code::PROTOCOL_INVALID_HTTP_RESPONSE,
        json!({ "field": field, "reason": reason }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn headers_of_the_connection_are_not_user_codes_to_set() {
        let given = vec![
            pair("Set-Cookie", "a=1"),
            pair("set-cookie", "b=2"),
            pair("Transfer-Encoding", "chunked"),
            pair("connection", "close"),
            pair("x-name", "ü"),
        ];
        let headers = headers(given).unwrap();
        assert_eq!(headers.len(), 3);
        assert_eq!(headers.get_all("set-cookie").iter().count(), 2);
        assert_eq!(headers["x-name"].as_bytes(), b"\xfc");
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_an_error() {
        for (name, value) in [("bad name", "x"), ("x", "a\r\nb: c"), ("x", "€"), ("", "x")] {
            let error = headers(vec![pair(name, value)]).unwrap_err();
            assert!(
                error.is(&code::PROTOCOL_INVALID_HTTP_RESPONSE),
                "{name:?} {value:?}"
            );
        }
    }
}
