//! Raw HTTP bodies in both directions, and requests as JavaScript objects.

use bytes::Bytes;
use greenroom_core::Request;
use greenroom_core::actor::messages::BodyStream;
use napi::bindgen_prelude::Env;
use napi_derive::napi;
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio_util::sync::CancellationToken;

use crate::bridge::{Buffer, JsResult, Promise, Rejection, Scope, Value, enter, promise};

/// Chunks a response may be ahead of its client.
const RESPONSE_CHUNKS_MAX: usize = 16;

/// `{method, uri, headers, body, bodyStream}`; either body is undefined.
pub(crate) fn request_object<'s>(scope: &Scope<'s>, request: Request) -> JsResult<Value<'s>> {
    let (body, stream) = match request.stream {
        None => (scope.buffer(&request.body)?, scope.undefined()?),
        Some(rest) => {
            let stream = HttpRequestBodyStream::new(request.body, rest);
            (scope.undefined()?, scope.native(stream)?)
        }
    };
    scope.object(&[
        (c"method", scope.text(&request.method)?),
        (c"uri", scope.text(&request.uri)?),
        (c"headers", headers_object(scope, &request.headers)?),
        (c"body", body),
        (c"bodyStream", stream),
    ])
}

/// Repeated headers become one, joined as HTTP says.
pub(crate) fn headers_object<'s>(
    scope: &Scope<'s>,
    headers: &[(String, String)],
) -> JsResult<Value<'s>> {
    let object = scope.new_object()?;
    for (at, (name, first)) in headers.iter().enumerate() {
        if headers[..at].iter().any(|(earlier, _)| earlier == name) {
            continue;
        }
        let mut joined = std::borrow::Cow::Borrowed(first.as_str());
        let separator = if name == "cookie" { "; " } else { ", " };
        for (_, more) in headers[at + 1..].iter().filter(|(later, _)| later == name) {
            joined.to_mut().push_str(separator);
            joined.to_mut().push_str(more);
        }
        scope.define(object, scope.text(name)?, scope.text(&joined)?)?;
    }
    Ok(object)
}

/// Reader of a request body that arrives in pieces.
#[napi]
pub struct HttpRequestBodyStream(std::sync::Arc<RequestBody>);

struct RequestBody {
    /// Bytes that came with the head.
    first: Mutex<Option<Bytes>>,
    rest: AsyncMutex<BodyStream>,
    cancelled: CancellationToken,
}

impl HttpRequestBodyStream {
    pub(crate) fn new(first: Bytes, rest: BodyStream) -> Self {
        Self(std::sync::Arc::new(RequestBody {
            first: Mutex::new(Some(first).filter(|bytes| !bytes.is_empty())),
            rest: AsyncMutex::new(rest),
            cancelled: CancellationToken::new(),
        }))
    }
}

impl RequestBody {
    async fn read(&self) -> Result<Option<Bytes>, Rejection> {
        if self.cancelled.is_cancelled() {
            return Ok(None);
        }
        if let Some(first) = self.first.lock().take() {
            return Ok(Some(first));
        }
        let next = async { self.rest.lock().await.recv().await };
        let next = tokio::select! {
            biased;
            () = self.cancelled.cancelled() => None,
            next = next => next,
        };
        match next {
            None => Ok(None),
            Some(Ok(chunk)) => Ok(Some(chunk)),
            Some(Err(reason)) => {
                let text = format!("streaming request body aborted: {reason}");
                Err(Rejection::Plain(text))
            }
        }
    }
}

#[napi]
impl HttpRequestBodyStream {
    /// The next piece; null at the end and after `cancel`.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer | null>")]
    pub fn read(&self, env: Env) -> napi::Result<Promise<Option<Buffer>>> {
        let body = self.0.clone();
        enter(&env, |scope| {
            promise(scope, async move {
                Ok::<_, Rejection>(body.read().await?.map(Buffer))
            })
        })
    }

    /// Ends reading; a pending read resolves to null.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn cancel(&self, env: Env) -> napi::Result<Promise<()>> {
        self.0.cancelled.cancel();
        let body = self.0.clone();
        enter(&env, |scope| {
            promise(scope, async move {
                body.first.lock().take();
                body.rest.lock().await.close();
                Ok::<_, Rejection>(())
            })
        })
    }
}

type BodyWriter = mpsc::Sender<Result<Bytes, String>>;

/// A connected writer and reader of a response body.
pub(crate) fn response_body() -> (BodyWriter, BodyStream) {
    mpsc::channel(RESPONSE_CHUNKS_MAX)
}

/// Writer of a response body that leaves in pieces.
#[napi]
pub struct HttpResponseBodyStream {
    /// `None` once ended.
    writer: Mutex<Option<BodyWriter>>,
    /// Those who wait for the reader to go hold the body open; this ends them.
    ended: CancellationToken,
}

impl HttpResponseBodyStream {
    pub(crate) fn new(writer: BodyWriter) -> Self {
        Self {
            writer: Mutex::new(Some(writer)),
            ended: CancellationToken::new(),
        }
    }

    /// Fires at the end that JavaScript gives it, or when it is forgotten.
    pub(crate) fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }

    fn writer(&self) -> Option<BodyWriter> {
        self.writer.lock().clone()
    }

    fn take_writer(&self) -> Option<BodyWriter> {
        let writer = self.writer.lock().take();
        self.ended.cancel();
        writer
    }
}

impl Drop for HttpResponseBodyStream {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

const CLOSED: &str = "http response body stream is already closed";
const DROPPED: &str = "http response body stream receiver dropped";

#[napi]
impl HttpResponseBodyStream {
    /// Resolves when nobody reads any more, also after the regular end.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn cancelled(&self, env: Env) -> napi::Result<Promise<()>> {
        let (writer, ended) = (self.writer(), self.ended.clone());
        enter(&env, |scope| {
            promise(scope, async move {
                if let Some(writer) = writer {
                    tokio::select! {
                        () = writer.closed() => {}
                        () = ended.cancelled() => {}
                    }
                }
                Ok::<_, Rejection>(())
            })
        })
    }

    /// Sends a piece; waits until there is room for it.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn write(&self, env: Env, chunk: Buffer) -> napi::Result<Promise<()>> {
        let writer = self.writer();
        enter(&env, |scope| {
            promise(scope, async move {
                let writer = writer.ok_or(Rejection::Plain(CLOSED.into()))?;
                let sent = writer.send(Ok(chunk.0)).await;
                sent.map_err(|_| Rejection::Plain(DROPPED.into()))
            })
        })
    }

    /// Ends the body regularly.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn end(&self, env: Env) -> napi::Result<Promise<()>> {
        let writer = self.take_writer();
        enter(&env, |scope| {
            promise(scope, async move {
                writer.map(drop).ok_or(Rejection::Plain(CLOSED.into()))
            })
        })
    }

    /// Aborts the response.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn error(&self, env: Env, message: String) -> napi::Result<Promise<()>> {
        let writer = self.take_writer();
        enter(&env, |scope| {
            promise(scope, async move {
                let writer = writer.ok_or(Rejection::Plain(CLOSED.into()))?;
                let sent = writer.send(Err(message)).await;
                sent.map_err(|_| Rejection::Plain(DROPPED.into()))
            })
        })
    }
}
