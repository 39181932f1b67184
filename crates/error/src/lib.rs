//! Structured errors: what went wrong, told once, readable at every edge.
//!
//! An [`Error`] carries `group`, `code`, a message, optional metadata, the actor
//! it happened in and an optional cause. [`code`] holds the table that decides
//! how each pair looks to a remote client; [`bridge`] turns errors into the text
//! form that crosses the Node boundary and back.
//!
//! This crate does no I/O, logs nothing and knows no transport.

pub mod bridge;
pub mod code;

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

pub use code::{Code, Exposure};

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The text remote clients get in place of a private message.
pub const MASKED_MESSAGE: &str = "An internal error occurred";

/// Names the actor generation an error happened in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActorSpecifier {
    pub actor_id: String,
    pub generation: u32,
    /// Serialized key (`a/b`), when known.
    pub key: Option<String>,
}

/// A structured error. Cheap to move (one pointer); not `Clone`, because causes
/// are not: use [`Error::duplicate`] to answer several waiters with one failure.
pub struct Error(Box<Inner>);

struct Inner {
    group: Cow<'static, str>,
    code: Cow<'static, str>,
    message: Cow<'static, str>,
    metadata: Option<Value>,
    actor: Option<ActorSpecifier>,
    ray_id: Option<String>,
    exposure: Exposure,
    http: u16,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What a remote client may see of an error.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientError {
    pub group: String,
    pub code: String,
    pub message: String,
    /// `None` means absent; `Some(Value::Null)` is an explicit null.
    pub metadata: Option<Value>,
    pub actor: Option<ActorSpecifier>,
}

impl From<&'static Code> for Error {
    fn from(row: &'static Code) -> Self {
        Self(Box::new(Inner {
            group: Cow::Borrowed(row.group),
            code: Cow::Borrowed(row.code),
            message: Cow::Borrowed(row.message),
            metadata: None,
            actor: None,
            ray_id: None,
            exposure: row.exposure,
            http: row.http,
            source: None,
        }))
    }
}

impl Error {
    /// An error with the row's default text and no metadata.
    pub fn new(row: &'static Code) -> Self {
        row.into()
    }

    /// An error whose `metadata` (a JSON object) fills the `{name}`
    /// placeholders of the row's template.
    pub fn with(row: &'static Code, metadata: Value) -> Self {
        let mut error = Self::new(row);
        error.0.message = Cow::Owned(fill(row.message, &metadata));
        error.0.metadata = Some(metadata);
        error
    }

    /// An error of a pair this process did not define: thrown by user code or
    /// received from another runtime. The table still decides who may read it.
    pub fn foreign(
        group: impl Into<String>,
        code: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        let (group, code) = (group.into(), code.into());
        let (exposure, http) = match code::lookup(&group, &code) {
            Some(row) => (row.exposure, row.http),
            None => code::fallback(&group),
        };
        Self(Box::new(Inner {
            group: Cow::Owned(group),
            code: Cow::Owned(code),
            message: Cow::Owned(message.into()),
            metadata: None,
            actor: None,
            ray_id: None,
            exposure,
            http,
            source: None,
        }))
    }

    /// `core/internal_error` with the text of what happened as `metadata.error`.
    /// The text never reaches remote clients.
    pub fn internal(text: impl Into<String>) -> Self {
        Self::new(&code::INTERNAL).with_metadata(serde_json::json!({ "error": text.into() }))
    }

    /// The `actor/not_configured` answer of a capability that is absent here.
    pub fn not_configured(component: &str) -> Self {
        Self::with(
            &code::ACTOR_NOT_CONFIGURED,
            serde_json::json!({ "component": component }),
        )
    }

    /// `napi/invalid_argument` for `argument`, with the reason it was refused.
    pub fn invalid_argument(argument: &str, reason: impl Into<String>) -> Self {
        Self::with(
            &code::NAPI_INVALID_ARGUMENT,
            serde_json::json!({ "argument": argument, "reason": reason.into() }),
        )
    }

    /// `napi/invalid_state`: `state` names the object, `reason` its condition.
    pub fn invalid_state(state: &str, reason: impl Into<String>) -> Self {
        Self::with(
            &code::NAPI_INVALID_STATE,
            serde_json::json!({ "state": state, "reason": reason.into() }),
        )
    }

    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.0.message = Cow::Owned(message.into());
        self
    }

    pub fn with_metadata(mut self, metadata: Value) -> Self {
        self.0.metadata = Some(metadata);
        self
    }

    pub fn without_metadata(mut self) -> Self {
        self.0.metadata = None;
        self
    }

    /// Names the actor; an error that already has one keeps it, because the
    /// innermost actor is where it happened.
    pub fn with_actor(mut self, actor: ActorSpecifier) -> Self {
        self.0.actor.get_or_insert(actor);
        self
    }

    pub fn with_ray_id(mut self, ray_id: impl Into<String>) -> Self {
        self.0.ray_id = Some(ray_id.into());
        self
    }

    /// Overrides the HTTP status the table gives.
    pub fn with_http_status(mut self, status: u16) -> Self {
        self.0.http = status;
        self
    }

    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self
    }

    pub fn group(&self) -> &str {
        &self.0.group
    }
    pub fn code(&self) -> &str {
        &self.0.code
    }
    pub fn message(&self) -> &str {
        &self.0.message
    }
    pub fn metadata(&self) -> Option<&Value> {
        self.0.metadata.as_ref()
    }
    pub fn actor(&self) -> Option<&ActorSpecifier> {
        self.0.actor.as_ref()
    }
    pub fn ray_id(&self) -> Option<&str> {
        self.0.ray_id.as_deref()
    }
    pub fn is_public(&self) -> bool {
        matches!(self.0.exposure, Exposure::Public(_))
    }
    /// HTTP status of a reply that carries this error.
    pub fn http_status(&self) -> u16 {
        self.0.http
    }
    /// `statusCode` on the Node bridge; `None` for private errors.
    pub fn bridge_status(&self) -> Option<u16> {
        match self.0.exposure {
            Exposure::Public(status) => Some(status),
            Exposure::Private => None,
        }
    }
    /// WebSocket close code when this error ends a socket.
    pub fn close_code(&self) -> u16 {
        code::lookup(self.group(), self.code()).map_or(1011, |row| row.close)
    }
    pub fn is_retryable(&self) -> bool {
        code::lookup(self.group(), self.code()).is_some_and(|row| row.retryable)
    }
    /// True if this error is of the row's pair.
    pub fn is(&self, row: &Code) -> bool {
        self.group() == row.group && self.code() == row.code
    }

    /// The view a remote client gets: private text and metadata are replaced.
    /// `actor/overloaded` keeps its metadata, because published clients decide
    /// by it whether to try again.
    pub fn client_view(&self) -> ClientError {
        let keep_metadata = self.is_public() || self.is(&code::ACTOR_OVERLOADED);
        ClientError {
            group: self.group().to_owned(),
            code: self.code().to_owned(),
            message: if self.is_public() {
                self.message().to_owned()
            } else {
                MASKED_MESSAGE.to_owned()
            },
            metadata: keep_metadata.then(|| self.0.metadata.clone()).flatten(),
            actor: self.0.actor.clone(),
        }
    }

    /// The view with nothing masked, for trusted readers.
    pub fn full_view(&self) -> ClientError {
        ClientError {
            group: self.group().to_owned(),
            code: self.code().to_owned(),
            message: self.message().to_owned(),
            metadata: self.0.metadata.clone(),
            actor: self.0.actor.clone(),
        }
    }

    /// The same error for another waiter, its cause flattened to text.
    pub fn duplicate(&self) -> Self {
        Self(Box::new(Inner {
            group: self.0.group.clone(),
            code: self.0.code.clone(),
            message: self.0.message.clone(),
            metadata: self.0.metadata.clone(),
            actor: self.0.actor.clone(),
            ray_id: self.0.ray_id.clone(),
            exposure: self.0.exposure,
            http: self.0.http,
            source: self
                .0
                .source
                .as_ref()
                .map(|source| source.to_string().into()),
        }))
    }
}

fn fill(template: &str, metadata: &Value) -> String {
    let mut out = String::with_capacity(template.len() + 32);
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let Some(close) = rest[open..].find('}').map(|at| open + at) else {
            break;
        };
        out.push_str(&rest[..open]);
        match metadata.get(&rest[open + 1..close]) {
            Some(Value::String(text)) => out.push_str(text),
            Some(value) => out.push_str(&value.to_string()),
            None => out.push_str(&rest[open..=close]),
        }
        rest = &rest[close + 1..];
    }
    out.push_str(rest);
    out
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}: {}", self.group(), self.code(), self.message())?;
        if let Some(text) = self.metadata().and_then(|m| m.get("error")?.as_str()) {
            write!(f, " ({text})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("group", &self.0.group)
            .field("code", &self.0.code)
            .field("message", &self.0.message)
            .field("metadata", &self.0.metadata)
            .field("actor", &self.0.actor)
            .field("source", &self.0.source)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests;
