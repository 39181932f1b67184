//! The HTTP routes of one actor.
//!
//! A host finds out which actor a request is for and calls [`Gateway::serve`]
//! with an [`ActorSource`], from which the gateway gets the live generation and,
//! if that one turns the work away, the next. What comes back is a response
//! whose body shares the buffers it was made from.
//!
//! This crate owns routes, encodings, message limits, statuses and the
//! `x-rivet-actor*` headers. It knows no listener, no directory of actors, no
//! CORS and no endpoint API, and it starts no task: everything but the reading of
//! static files runs inside the future of the request.
#![forbid(unsafe_code)]

mod action;
mod body;
pub mod connect;
mod figures;
mod figures_text;
pub mod files;
mod head;
pub mod inspector;
mod live;
mod queue;
mod raw;
pub mod raw_socket;
mod reply;
mod route;
mod serve;
mod upload;
pub mod websocket;

pub use body::{BodyAborted, ReplyBody, discard_body, read_body};
pub use figures::{HostFigures, METRICS_TYPE};
pub use head::for_user_code as user_headers;
pub use live::{ActorSource, LiveActor};
pub use reply::{
    ACTOR_GENERATION_HEADER, ACTOR_HEADER, ACTOR_KEY_HEADER, ERROR_HEADER, HttpReply, error_reply,
    host_error_reply, of as reply_of,
};
pub use serve::{ActorRequest, Gateway};

/// The release of the published packages whose interfaces this runtime speaks.
pub const COMPATIBLE_VERSION: &str = "2.3.19";
