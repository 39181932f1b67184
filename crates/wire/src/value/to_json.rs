//! CBOR to JSON.

use super::text::{write_json_str, write_json_text};
use super::{tags, write_json_scalar};
use crate::cbor::{
    ARRAY, BYTES, Head, MAP, NEGATIVE, Reader, SIMPLE, TAG, TEXT, UNSIGNED, deeper, float,
};
use crate::malformed::{Malformed, Read};

/// Integers up to this are numbers in every JSON parser.
const SAFE_INTEGER_MAX: u64 = (1 << 53) - 1;

pub(super) fn write_item(reader: &mut Reader<'_>, out: &mut Vec<u8>, depth: usize) -> Read<()> {
    let head = reader.head()?;
    match head.major {
        UNSIGNED | NEGATIVE => write_integer(out, head),
        BYTES => {
            write_tagged_bytes(out, &reader.string(head)?);
            Ok(())
        }
        TEXT => write_json_text(out, &reader.string(head)?),
        ARRAY => write_array(reader, head, out, deeper(depth)?),
        MAP => write_object(reader, head, out, deeper(depth)?),
        TAG => tags::write_tagged(reader, head.argument, out, deeper(depth)?),
        SIMPLE => write_simple(out, head),
        8.. => unreachable!("a major type has three bits"),
    }
}

pub(super) fn write_array(
    reader: &mut Reader<'_>,
    head: Head,
    out: &mut Vec<u8>,
    depth: usize,
) -> Read<()> {
    let mut items = reader.items(head)?;
    let mut separator = b'[';
    while reader.more(&mut items)? {
        out.push(separator);
        separator = b',';
        write_item(reader, out, depth)?;
    }
    if separator == b'[' {
        out.push(b'[');
    }
    out.push(b']');
    Ok(())
}

fn write_object(reader: &mut Reader<'_>, head: Head, out: &mut Vec<u8>, depth: usize) -> Read<()> {
    let mut items = reader.items(head)?;
    let mut separator = b'{';
    while reader.more(&mut items)? {
        out.push(separator);
        separator = b',';
        write_key(reader, out)?;
        out.push(b':');
        write_item(reader, out, depth)?;
    }
    if separator == b'{' {
        out.push(b'{');
    }
    out.push(b'}');
    Ok(())
}

/// Writes a map key as JavaScript would turn it into a property name.
/// Containers are refused: quoting nested keys inside keys doubles escapes at
/// every level, so a short item could ask for any amount of memory.
fn write_key(reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Read<()> {
    let head = reader.head()?;
    match head.major {
        TEXT => return write_json_text(out, &reader.string(head)?),
        UNSIGNED | NEGATIVE => write_json_str(out, &integer(head).to_string()),
        SIMPLE if float(head).is_some() => {
            out.push(b'"');
            write_simple(out, head)?;
            out.push(b'"');
        }
        SIMPLE => out.extend_from_slice(match head.info {
            20 => b"\"false\"",
            21 => b"\"true\"",
            22 => b"\"null\"",
            _ => b"\"undefined\"",
        }),
        _ => return Err(Malformed::new("CBOR map key has no JSON form")),
    }
    Ok(())
}

fn integer(head: Head) -> i128 {
    let argument = i128::from(head.argument);
    if head.major == NEGATIVE {
        -1 - argument
    } else {
        argument
    }
}

fn write_integer(out: &mut Vec<u8>, head: Head) -> Read<()> {
    let value = integer(head);
    match i64::try_from(value) {
        Ok(value) if value.unsigned_abs() <= SAFE_INTEGER_MAX => write_json_scalar(out, value),
        _ => {
            write_big_int(out, &value.to_string());
            Ok(())
        }
    }
}

fn write_simple(out: &mut Vec<u8>, head: Head) -> Read<()> {
    match (head.info, float(head)) {
        (_, Some(value)) => return write_float(out, value),
        (20, _) => out.extend_from_slice(b"false"),
        (21, _) => out.extend_from_slice(b"true"),
        _ => out.extend_from_slice(b"null"),
    }
    Ok(())
}

/// Writes a float the way JavaScript prints it, as far as JSON readers can
/// tell: whole numbers without a fraction, `null` for what is not finite.
pub(super) fn write_float(out: &mut Vec<u8>, value: f64) -> Read<()> {
    if !value.is_finite() {
        out.extend_from_slice(b"null");
        Ok(())
    } else if value.trunc() == value && value.abs() <= SAFE_INTEGER_MAX as f64 {
        write_json_scalar(out, value as i64)
    } else {
        write_json_scalar(out, value)
    }
}

pub(super) fn write_big_int(out: &mut Vec<u8>, decimal: &str) {
    out.extend_from_slice(b"[\"$BigInt\",\"");
    out.extend_from_slice(decimal.as_bytes());
    out.extend_from_slice(b"\"]");
}

pub(super) fn write_tagged_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    out.extend_from_slice(b"[\"$Uint8Array\",\"");
    out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
    out.extend_from_slice(b"\"]");
}
