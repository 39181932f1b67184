//! `LocalFetch`: an HTTP request of this process to an actor.

use std::sync::Arc;

use bytes::Bytes;
use greenroom_core::{Request, Response};
use greenroom_error::{Error, Result};
use napi::bindgen_prelude::Env;
use napi_derive::napi;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::{CoreRegistry, Registry};
use crate::bridge::{Buffer, Promise, enter, promise, to_napi};
use crate::http::{HttpRequestBodyStream, HttpResponseBodyStream, response_body};

#[napi(object)]
pub struct JsLocalRequest {
    pub method: String,
    /// Gateway path with its query.
    pub path: String,
    /// Any path of the port will do, also one of the endpoint API.
    pub any_path: Option<bool>,
    /// Names and values in turn; names may repeat.
    pub headers: Vec<String>,
    /// The whole body; leave it out if there is none or it is written in pieces.
    pub body: Option<Buffer>,
    /// The body is written to `upload()`.
    pub streams: Option<bool>,
}

#[napi(object)]
pub struct JsLocalResponse {
    pub status: u32,
    /// Names and values in turn; names may repeat.
    pub headers: Vec<String>,
    /// Read the body from `download()`.
    pub streams: bool,
}

/// One request on its way; dropping it changes nothing.
#[napi]
pub struct LocalFetch(Arc<Fetch>);

struct Fetch {
    registry: Arc<Registry>,
    any_path: bool,
    request: Mutex<Option<Request>>,
    upload: Mutex<Option<HttpResponseBodyStream>>,
    download: Mutex<Option<HttpRequestBodyStream>>,
    cancelled: CancellationToken,
}

impl Fetch {
    async fn run(&self) -> Result<JsLocalResponse> {
        let taken = self.request.lock().take();
        let request = taken.ok_or_else(|| Error::invalid_state("local fetch", "already sent"))?;
        let host = self.registry.embedded()?;
        let fetching = async {
            match self.any_path {
                true => host.fetch_any(request).await,
                false => host.fetch(request).await,
            }
        };
        let Response {
            status,
            headers,
            body,
            stream,
            // The host's gateway has counted it.
            region: _,
        } = tokio::select! {
            answered = fetching => answered?,
            () = self.cancelled.cancelled() => {
                return Err(Error::new(&greenroom_error::code::ACTOR_ABORTED));
            }
        };
        let streams = stream.is_some();
        *self.download.lock() = stream.map(|rest| HttpRequestBodyStream::new(body, rest));
        Ok(JsLocalResponse {
            status: status.into(),
            headers: headers
                .into_iter()
                .flat_map(|(name, value)| [name, value])
                .collect(),
            streams,
        })
    }
}

#[napi]
impl LocalFetch {
    /// Sends the request; resolves with the head of its response.
    #[napi(catch_unwind)]
    pub fn response(&self, env: Env) -> napi::Result<Promise<JsLocalResponse>> {
        let fetch = Arc::clone(&self.0);
        enter(&env, |scope| {
            promise(scope, async move { fetch.run().await })
        })
    }

    /// Writer of a body that is sent in pieces; once.
    #[napi(catch_unwind)]
    pub fn upload(&self) -> Option<HttpResponseBodyStream> {
        self.0.upload.lock().take()
    }

    /// Reader of the response's body, if it has one; once.
    #[napi(catch_unwind)]
    pub fn download(&self) -> Option<HttpRequestBodyStream> {
        self.0.download.lock().take()
    }

    /// Gives the request up; the actor hears that nobody listens.
    #[napi(catch_unwind)]
    pub fn abort(&self) {
        self.0.cancelled.cancel();
    }
}

#[napi]
impl CoreRegistry {
    /// Makes a request to an actor, as a client of the port would.
    #[napi(catch_unwind)]
    pub fn local_fetch(&self, request: JsLocalRequest) -> napi::Result<LocalFetch> {
        if !request.headers.len().is_multiple_of(2) {
            let error = Error::invalid_argument("headers", "a name without a value");
            return Err(to_napi(&error));
        }
        let pairs = request.headers.chunks_exact(2);
        let headers = pairs.map(|pair| (pair[0].to_ascii_lowercase(), pair[1].clone()));
        let cancelled = CancellationToken::new();
        let (upload, stream) = if request.streams == Some(true) {
            let (writer, reader) = response_body();
            (Some(HttpResponseBodyStream::new(writer)), Some(reader))
        } else {
            (None, None)
        };
        let core = Request {
            method: request.method,
            uri: request.path,
            headers: headers.collect(),
            body: request.body.map_or_else(Bytes::new, |body| body.0),
            stream,
            cancelled: cancelled.clone(),
            region: None,
        };
        Ok(LocalFetch(Arc::new(Fetch {
            registry: Arc::clone(&self.0),
            any_path: request.any_path.unwrap_or(false),
            request: Mutex::new(Some(core)),
            upload: Mutex::new(upload),
            download: Mutex::new(None),
            cancelled,
        })))
    }
}
