//! What browsers are told about who may call.
//!
//! Everybody may: there is nothing to protect by origin, because nothing is
//! granted to a browser's cookies.

use greenroom_gateway::{HttpReply, ReplyBody};
use http::StatusCode;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderValue, ORIGIN,
    VARY,
};

const ANY: HeaderValue = HeaderValue::from_static("*");
const TRUE: HeaderValue = HeaderValue::from_static("true");

/// What a request says that its answer depends on.
#[derive(Clone, Debug, Default)]
pub struct CorsRequest {
    origin: Option<HeaderValue>,
    method: Option<HeaderValue>,
    headers: Option<HeaderValue>,
}

impl CorsRequest {
    pub fn read(headers: &HeaderMap) -> Self {
        let get = |name| headers.get(name).cloned();
        Self {
            origin: get(ORIGIN),
            method: get(ACCESS_CONTROL_REQUEST_METHOD),
            headers: get(ACCESS_CONTROL_REQUEST_HEADERS),
        }
    }

    /// On every answer of an actor, or of the way to one.
    pub fn stamp_gateway(&self, reply: &mut HeaderMap) {
        if self.origin.is_some() {
            // Joins what user code says its answer varies by.
            reply.append(VARY, HeaderValue::from_static("Origin"));
        }
        let origin = self.origin.clone().unwrap_or(ANY);
        reply.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        reply.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, TRUE);
        reply.insert(ACCESS_CONTROL_EXPOSE_HEADERS, ANY);
    }

    /// The answer to a preflight of a request for an actor.
    pub fn gateway_preflight(&self) -> HttpReply {
        let mut reply = HttpReply::new(ReplyBody::empty());
        *reply.status_mut() = StatusCode::NO_CONTENT;
        self.stamp_gateway_preflight(reply.headers_mut());
        reply
    }

    fn stamp_gateway_preflight(&self, reply: &mut HeaderMap) {
        self.stamp_gateway(reply);
        reply.insert(
            ACCESS_CONTROL_ALLOW_METHODS,
            HeaderValue::from_static("GET, POST, PUT, DELETE, OPTIONS, PATCH"),
        );
        let headers = self.headers.clone().unwrap_or(ANY);
        reply.insert(ACCESS_CONTROL_ALLOW_HEADERS, headers);
        reply.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    }

    /// On every answer of the endpoint API.
    pub(super) fn stamp_api(&self, reply: &mut HeaderMap) {
        let vary = "origin, access-control-request-method, access-control-request-headers";
        reply.insert(VARY, HeaderValue::from_static(vary));
        reply.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, TRUE);
        if let Some(origin) = &self.origin {
            reply.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        }
    }

    /// On the answer to a preflight of the endpoint API.
    pub(super) fn stamp_api_preflight(&self, reply: &mut HeaderMap) {
        self.stamp_api(reply);
        if let Some(method) = &self.method {
            reply.insert(ACCESS_CONTROL_ALLOW_METHODS, method.clone());
        }
        if let Some(headers) = &self.headers {
            reply.insert(ACCESS_CONTROL_ALLOW_HEADERS, headers.clone());
        }
    }
}
