//! Bytes in and out: everything greenroom says to clients, without I/O.
#![forbid(unsafe_code)]

pub mod bare;
pub mod cbor;
mod encoding;
mod id;
mod key;
mod malformed;
pub mod value;

pub use encoding::Encoding;
pub use id::{ActorId, RayId};
pub use key::ActorKey;
pub use malformed::Malformed;
