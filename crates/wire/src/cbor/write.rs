//! Writing CBOR in its shortest form.
//!
//! Numbers follow the dialect of JavaScript peers, whose decoder makes a BigInt
//! of every 8-byte integer: a number that needs more than 32 bits is written as
//! a float, and [`wide_uint`] is for fields where a BigInt is wanted.

use super::{ARRAY, BYTES, MAP, NEGATIVE, TEXT, UNSIGNED};

/// Integers from `-U32_RANGE` to `U32_RANGE - 1` are written as integers.
const U32_RANGE: f64 = 4_294_967_296.0;

pub fn head(out: &mut Vec<u8>, major: u8, argument: u64) {
    let major = major << 5;
    if argument < 24 {
        out.push(major | argument as u8);
    } else if let Ok(argument) = u8::try_from(argument) {
        out.extend_from_slice(&[major | 24, argument]);
    } else if let Ok(argument) = u16::try_from(argument) {
        out.push(major | 25);
        out.extend_from_slice(&argument.to_be_bytes());
    } else if let Ok(argument) = u32::try_from(argument) {
        out.push(major | 26);
        out.extend_from_slice(&argument.to_be_bytes());
    } else {
        out.push(major | 27);
        out.extend_from_slice(&argument.to_be_bytes());
    }
}

/// The head of an array of `len` elements, which the caller writes next.
pub fn array(out: &mut Vec<u8>, len: usize) {
    head(out, ARRAY, len as u64);
}

/// The head of a map of `len` pairs, which the caller writes next.
pub fn map(out: &mut Vec<u8>, len: usize) {
    head(out, MAP, len as u64);
}

pub fn text(out: &mut Vec<u8>, text: &str) {
    head(out, TEXT, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

pub fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    head(out, BYTES, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

pub fn null(out: &mut Vec<u8>) {
    out.extend_from_slice(super::NULL);
}

pub fn bool(out: &mut Vec<u8>, value: bool) {
    out.push(if value { 0xf5 } else { 0xf4 });
}

/// An unsigned integer in its shortest form.
pub fn uint(out: &mut Vec<u8>, value: u64) {
    head(out, UNSIGNED, value);
}

/// An unsigned integer in its 8-byte form whatever its value.
pub fn wide_uint(out: &mut Vec<u8>, value: u64) {
    out.push(UNSIGNED << 5 | 27);
    out.extend_from_slice(&value.to_be_bytes());
}

/// A number as JavaScript has them: whole and within 32 bits as an integer,
/// anything else as a 64-bit float.
pub fn number(out: &mut Vec<u8>, value: f64) {
    let is_whole = value.trunc() == value && !(value == 0.0 && value.is_sign_negative());
    if is_whole && (0.0..U32_RANGE).contains(&value) {
        head(out, UNSIGNED, value as u64);
    } else if is_whole && (-U32_RANGE..0.0).contains(&value) {
        head(out, NEGATIVE, (-1.0 - value) as u64);
    } else {
        out.push(0xfb);
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// A container of unknown length whose head is filled in at its end.
#[must_use = "the head is wrong until `close` is called"]
pub(crate) struct Open {
    at: usize,
    major: u8,
}

pub(crate) fn open(out: &mut Vec<u8>, major: u8) -> Open {
    let at = out.len();
    out.push(0);
    Open { at, major }
}

/// Writes the head of `container`. Its contents move if the head takes more
/// than the byte that was kept free, which is so from 24 elements on.
pub(crate) fn close(out: &mut Vec<u8>, container: Open, len: u64) {
    let Open { at, major } = container;
    if len < 24 {
        out[at] = major << 5 | len as u8;
        return;
    }
    let mut full = Vec::with_capacity(9);
    head(&mut full, major, len);
    out.splice(at..=at, full);
}
