//! The JSON forms of tagged CBOR items.

use super::to_json::{write_array, write_big_int, write_float, write_item, write_tagged_bytes};
use crate::cbor::{ARRAY, BYTES, NEGATIVE, Reader, UNSIGNED, float, half};
use crate::malformed::{Malformed, Read};

const DATE: u64 = 1;
const BIGNUM: u64 = 2;
const NEGATIVE_BIGNUM: u64 = 3;
const UINT8_ARRAY: u64 = 64;
const SET: u64 = 258;

/// Longer bignums are refused: printing one takes quadratic time.
const BIGNUM_BYTES_MAX: usize = 1024;
/// The range of a JavaScript Date, in milliseconds from the epoch.
const DATE_MS_MAX: f64 = 8.64e15;

/// Writes the item behind a tag. An item of a kind the tag does not go with is
/// written as if it had no tag.
pub(super) fn write_tagged(
    reader: &mut Reader<'_>,
    tag: u64,
    out: &mut Vec<u8>,
    depth: usize,
) -> Read<()> {
    let head = reader.peek()?;
    match (tag, head.major) {
        (DATE, _) => {
            let seconds = match head.major {
                UNSIGNED => Some(head.argument as f64),
                NEGATIVE => Some(-1.0 - head.argument as f64),
                _ => float(head),
            };
            let Some(seconds) = seconds else {
                return write_item(reader, out, depth);
            };
            reader.head()?;
            write_date(out, seconds);
            Ok(())
        }
        (BIGNUM | NEGATIVE_BIGNUM, BYTES) => {
            reader.head()?;
            let magnitude = reader.string(head)?;
            write_bignum(out, &magnitude, tag == NEGATIVE_BIGNUM)
        }
        (UINT8_ARRAY..=87, BYTES) => {
            reader.head()?;
            let bytes = reader.string(head)?;
            write_typed_array(out, tag, &bytes)
        }
        (SET, ARRAY) => {
            reader.head()?;
            out.extend_from_slice(b"[\"$Set\",");
            write_array(reader, head, out, depth)?;
            out.push(b']');
            Ok(())
        }
        _ => write_item(reader, out, depth),
    }
}

fn write_date(out: &mut Vec<u8>, seconds: f64) {
    let ms = (seconds * 1000.0).round();
    if ms.is_nan() || ms.abs() > DATE_MS_MAX {
        return out.extend_from_slice(b"null");
    }
    let ms = ms as i64;
    let (day, ms_of_day) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    let (year, month, day) = civil_date(day);
    let year = match year {
        0..=9999 => format!("{year:04}"),
        _ => format!("{year:+07}"),
    };
    let (second_of_day, ms) = (ms_of_day / 1000, ms_of_day % 1000);
    let (hour, minute) = (second_of_day / 3600, second_of_day / 60 % 60);
    let second = second_of_day % 60;
    let text = format!("\"{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z\"");
    out.extend_from_slice(text.as_bytes());
}

/// Year, month and day of a day counted from 1970-01-01 in the Gregorian
/// calendar. Years are counted from March here, so that the leap day is the
/// last of its year and needs no case of its own.
fn civil_date(days_from_epoch: i64) -> (i64, i64, i64) {
    const DAYS_PER_ERA: i64 = 146_097;
    let days = days_from_epoch + 719_468;
    let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let first_day = 365 * year_of_era + year_of_era / 4 - year_of_era / 100;
    let day_of_year = day_of_era - first_day;
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let (month, carry) = match month_from_march {
        0..=9 => (month_from_march + 3, 0),
        _ => (month_from_march - 9, 1),
    };
    (era * 400 + year_of_era + carry, month, day)
}

fn write_bignum(out: &mut Vec<u8>, magnitude: &[u8], negative: bool) -> Read<()> {
    let leading_zeros = magnitude.iter().take_while(|byte| **byte == 0).count();
    let magnitude = &magnitude[leading_zeros..];
    if magnitude.len() > BIGNUM_BYTES_MAX {
        return Err(Malformed::new("CBOR bignum is too long for JSON"));
    }
    let mut limbs: Vec<u32> = magnitude
        .rchunks(4)
        .map(|chunk| chunk.iter().fold(0, |n, byte| n << 8 | u32::from(*byte)))
        .collect();
    if negative {
        // The tag stands for -1 - n.
        increment(&mut limbs);
    }
    let sign = if negative { "-" } else { "" };
    write_big_int(out, &format!("{sign}{}", decimal(limbs)));
    Ok(())
}

fn increment(limbs: &mut Vec<u32>) {
    for limb in limbs.iter_mut() {
        let (sum, overflowed) = limb.overflowing_add(1);
        *limb = sum;
        if !overflowed {
            return;
        }
    }
    limbs.push(1);
}

/// Decimal digits of a number given in 32-bit limbs, least significant first.
fn decimal(mut limbs: Vec<u32>) -> String {
    const GROUP: u64 = 1_000_000_000;
    let mut groups = Vec::new();
    while !limbs.is_empty() {
        let mut rest = 0;
        for limb in limbs.iter_mut().rev() {
            let value = rest << 32 | u64::from(*limb);
            *limb = (value / GROUP) as u32;
            rest = value % GROUP;
        }
        groups.push(rest);
        while limbs.last() == Some(&0) {
            limbs.pop();
        }
    }
    let mut text = groups.pop().unwrap_or(0).to_string();
    for group in groups.iter().rev() {
        text.push_str(&format!("{group:09}"));
    }
    text
}

/// Writes the elements of a typed array. Tags 64 to 87 say the element type in
/// their low bits: float, signed, little-endian, and two bits of width.
fn write_typed_array(out: &mut Vec<u8>, tag: u64, bytes: &[u8]) -> Read<()> {
    if tag == UINT8_ARRAY {
        write_tagged_bytes(out, bytes);
        return Ok(());
    }
    let is_float = tag & 0b1_0000 != 0;
    let is_signed = tag & 0b1000 != 0;
    let little_endian = tag & 0b100 != 0;
    let width = 1 << ((tag & 0b11) + u64::from(is_float));
    if width > 8 {
        return Err(Malformed::new("CBOR 128-bit floats have no JSON form"));
    }
    let elements = bytes.chunks_exact(width);
    if !elements.remainder().is_empty() {
        return Err(Malformed::new("CBOR typed array ends within an element"));
    }
    out.push(b'[');
    for (index, element) in elements.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        let push = |bits, byte: &u8| bits << 8 | u64::from(*byte);
        let bits = if little_endian {
            element.iter().rev().fold(0, push)
        } else {
            element.iter().fold(0, push)
        };
        write_element(out, bits, width, is_float, is_signed)?;
    }
    out.push(b']');
    Ok(())
}

fn write_element(
    out: &mut Vec<u8>,
    bits: u64,
    width: usize,
    is_float: bool,
    is_signed: bool,
) -> Read<()> {
    match (is_float, width) {
        (true, 2) => return write_float(out, half(bits as u16)),
        (true, 4) => return write_float(out, f32::from_bits(bits as u32).into()),
        (true, _) => return write_float(out, f64::from_bits(bits)),
        (false, _) => {}
    }
    let unused = 64 - 8 * width as u32;
    let signed = (bits << unused) as i64 >> unused;
    let text = if is_signed {
        signed.to_string()
    } else {
        bits.to_string()
    };
    // Elements of 64 bits are BigInts in JavaScript, whatever their value.
    if width == 8 {
        write_big_int(out, &text);
    } else {
        out.extend_from_slice(text.as_bytes());
    }
    Ok(())
}
