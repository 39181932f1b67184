//! Which actor somebody means.

use bytes::Bytes;
use greenroom_error::{Error, code};
use greenroom_wire::{ActorId, ActorKey};

/// An actor, by its id or by name and key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Id(ActorId),
    Key {
        name: String,
        key: ActorKey,
        /// What to do if there is no such actor.
        missing: Missing,
    },
}

/// What becomes of a call to an actor that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It fails with `actor/not_found`.
    Fail,
    /// The actor is created with this input (CBOR).
    Create { input: Option<Bytes> },
}

impl Target {
    pub fn get(name: impl Into<String>, key: ActorKey) -> Self {
        Self::Key {
            name: name.into(),
            key,
            missing: Missing::Fail,
        }
    }

    pub fn get_or_create(name: impl Into<String>, key: ActorKey, input: Option<Bytes>) -> Self {
        Self::Key {
            name: name.into(),
            key,
            missing: Missing::Create { input },
        }
    }
}

/// The answer for every actor that is not there.
pub(crate) fn not_found() -> Error {
    Error::new(&code::ACTOR_NOT_FOUND).with_message("The actor does not exist or was destroyed.")
}
