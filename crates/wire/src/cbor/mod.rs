//! CBOR as bytes: finding where an item ends, reading and writing heads.
//!
//! Payloads of user code are CBOR that this process mostly does not look into.
//! What it needs is to find them inside a map, check that they are one
//! well-formed item, and pass the bytes on. No value model is built here;
//! conversion to and from JSON is [`crate::value`].
//!
//! Every form a well-formed item may take is accepted: lengths that are longer
//! than needed, indefinite lengths, any tag. Items nested deeper than
//! [`DEPTH_MAX`] are refused.

mod read;
pub mod write;

pub use read::{Head, Items, Reader};
pub(crate) use read::{deeper, float, half};

use crate::malformed::{Malformed, Read};

/// How deep arrays, maps and tags may nest; a scalar has depth 0.
pub const DEPTH_MAX: usize = 128;

/// The item `null`.
pub const NULL: &[u8] = &[0xf6];
/// The item `undefined`.
pub const UNDEFINED: &[u8] = &[0xf7];
/// The array without elements.
pub const EMPTY_ARRAY: &[u8] = &[0x80];
/// What user code writes for `undefined`: the array `["$Undefined", 0]`.
pub const UNDEFINED_TAG: &[u8] = b"\x82\x6a$Undefined\x00";

pub(crate) const UNSIGNED: u8 = 0;
pub(crate) const NEGATIVE: u8 = 1;
pub(crate) const BYTES: u8 = 2;
pub(crate) const TEXT: u8 = 3;
pub(crate) const ARRAY: u8 = 4;
pub(crate) const MAP: u8 = 5;
pub(crate) const TAG: u8 = 6;
pub(crate) const SIMPLE: u8 = 7;

/// Length in bytes of the item at the front of `bytes`.
///
/// # Errors
/// If it is not well-formed, ends early or nests too deep.
pub fn item_len(bytes: &[u8]) -> Read<usize> {
    let mut reader = Reader::new(bytes);
    reader.skip()?;
    Ok(reader.position())
}

/// Checks that `bytes` are exactly one well-formed item.
///
/// # Errors
/// As [`item_len`], and if bytes are left over.
pub fn check(bytes: &[u8]) -> Read<()> {
    if item_len(bytes)? == bytes.len() {
        Ok(())
    } else {
        Err(Malformed::new("bytes are left after the CBOR item"))
    }
}

#[cfg(test)]
mod tests;
