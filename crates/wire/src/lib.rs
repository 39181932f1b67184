//! Bytes in and out: what greenroom and its clients say to each other.
//!
//! This crate owns the forms of names and messages: keys and ids, the paths
//! that address an actor, the client protocol in its three encodings, errors as
//! clients read them, and the conversion of user values between JSON and CBOR.
//! Everything is a function of its input: decoders never panic, never trust a
//! length and give a structured error for whatever they refuse.
//!
//! It does no I/O, keeps no state, applies no size limit to whole messages and
//! does not decide what a client may see of an error.
#![forbid(unsafe_code)]

pub mod bare;
pub mod cbor;
pub mod client_protocol;
pub mod close_reason;
pub mod conn_params;
mod encoding;
pub mod error_body;
pub mod gateway_path;
mod id;
pub mod inspector_protocol;
mod key;
mod malformed;
mod percent;
mod subprotocols;
pub mod value;

pub use encoding::Encoding;
pub use id::{ActorId, LOCAL_DATACENTER, RayId, TEXT_LEN as ID_TEXT_LEN};
pub use key::{ActorKey, SERIALIZED_BYTES_MAX as KEY_BYTES_MAX};
pub use malformed::Malformed;
pub use subprotocols::{SELECTED as SELECTED_SUBPROTOCOL, Subprotocols};
