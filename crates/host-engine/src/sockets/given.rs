//! What a socket is made of, and what comes in through it. Plain data: what becomes of
//! it is `socket.rs`'s.

use std::collections::HashMap;

use bytes::Bytes;
use greenroom_core::HibernationId;
use greenroom_gateway::connect;

use crate::envoy::ToGateway;

/// A socket that the engine opens.
pub(crate) struct NewSocket {
    pub(crate) id: HibernationId,
    /// Path and query inside the actor.
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    /// Whether the engine keeps the client while the actor sleeps.
    pub(crate) is_hibernatable: bool,
    /// `None` for one that another process held, until the engine hands it over.
    pub(crate) way: Option<ToGateway>,
    /// What there is of a connection that began in another process.
    pub(crate) resumed: Option<Resumed>,
}

/// A connection that another process held, as far as serving its socket goes.
#[derive(Clone)]
pub(crate) struct Resumed {
    pub(crate) conn_id: String,
    /// The last message that was handled there.
    pub(crate) last_message: u16,
    pub(crate) kind: ResumedKind,
}

#[derive(Clone)]
pub(crate) enum ResumedKind {
    Connection(connect::Resumed),
    Raw,
}

/// A socket as the engine wants it named when its actor wakes.
pub(crate) struct KnownSocket {
    pub(crate) id: HibernationId,
    /// Index of the last message that arrived here.
    pub(crate) last_message: u16,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
}

/// Something the client did.
#[derive(Debug)]
pub(crate) enum Incoming {
    Message {
        data: Bytes,
        binary: bool,
        index: u16,
    },
    Close {
        code: u16,
        reason: String,
    },
}
