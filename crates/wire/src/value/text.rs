//! Text of CBOR as JSON strings.

use crate::malformed::{Malformed, Read};

/// Writes text as a JSON string.
pub(crate) fn write_json_str(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("writing text to memory cannot fail");
}

/// Writes the bytes of a CBOR text string as a JSON string.
///
/// JavaScript strings may hold half of a surrogate pair, which their encoders
/// write as three bytes that UTF-8 forbids; JSON has an escape for it.
pub(super) fn write_json_text(out: &mut Vec<u8>, bytes: &[u8]) -> Read<()> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        write_json_str(out, text);
        return Ok(());
    }
    let mut rest = bytes;
    out.push(b'"');
    loop {
        let error = match std::str::from_utf8(rest) {
            Ok(text) => {
                write_inner(out, text);
                break;
            }
            Err(error) => error,
        };
        let (valid, invalid) = rest.split_at(error.valid_up_to());
        write_inner(out, std::str::from_utf8(valid).unwrap_or_default());
        let [0xed, high @ 0xa0..=0xbf, low @ 0x80..=0xbf, after @ ..] = invalid else {
            return Err(Malformed::new("CBOR text is not UTF-8"));
        };
        let unit = 0xd000 | u16::from(high & 0x3f) << 6 | u16::from(low & 0x3f);
        out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
        rest = after;
    }
    out.push(b'"');
    Ok(())
}

/// Writes text as the inside of a JSON string.
fn write_inner(out: &mut Vec<u8>, text: &str) {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    write_json_str(&mut quoted, text);
    out.extend_from_slice(&quoted[1..quoted.len() - 1]);
}
