//! Values behind tags: `$` names and CBOR's own.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use greenroom_error::Error;

use super::decode::malformed;
use super::{
    ARRAY_BUFFER, BIG_INT, SET, TAG_DATE, TAG_GENERIC, UINT8_ARRAY, UNDEFINED, typed_arrays,
};
use crate::bridge::{JsResult, Kind, Scope, Value};

const TAG_DATE_TEXT: u64 = 0;
const TAG_SET: u64 = 258;
const TAG_SELF: u64 = 55_799;

/// Error classes that keep their class.
const ERRORS: [&std::ffi::CStr; 6] = [
    c"EvalError",
    c"RangeError",
    c"ReferenceError",
    c"SyntaxError",
    c"TypeError",
    c"URIError",
];

/// Peers pad, but what is readable without padding is read.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// True for `$` names whose value is text.
pub(super) fn takes_text(name: &str) -> bool {
    matches!(name, BIG_INT | UINT8_ARRAY | ARRAY_BUFFER)
}

pub(super) fn text_tag<'s>(scope: &Scope<'s>, name: &str, text: &str) -> JsResult<Value<'s>> {
    if name == BIG_INT {
        return big_int_of_text(scope, text);
    }
    let bytes = BASE64.decode(text);
    let bytes = bytes.map_err(|_| malformed(format!("{name} does not hold base64")))?;
    if name == UINT8_ARRAY {
        scope.uint8_array(&bytes)
    } else {
        scope.new_array_buffer(&bytes)
    }
}

pub(super) fn value_tag<'s>(
    scope: &Scope<'s>,
    name: &str,
    value: Value<'s>,
) -> JsResult<Value<'s>> {
    match name {
        UNDEFINED => scope.undefined(),
        SET => set(scope, value, "$Set"),
        name if takes_text(name) => {
            if scope.kind(value)? != Kind::Text {
                return Err(malformed(format!("{name} does not hold text")).into());
            }
            text_tag(scope, name, &scope.string(value)?)
        }
        other => Err(malformed(format!("unknown value tag {other:?}")).into()),
    }
}

fn big_int_of_text<'s>(scope: &Scope<'s>, text: &str) -> JsResult<Value<'s>> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(malformed("$BigInt does not hold an integer").into());
    }
    if let Ok(small) = text.parse::<i64>() {
        return scope.bigint_i64(small);
    }
    let make = scope.global(c"BigInt")?;
    scope.call(make, &[scope.text(text)?])
}

/// Tags 2 and 3: an integer of any length; negative ones stand for `-1 - n`.
pub(super) fn big_integer<'s>(
    scope: &Scope<'s>,
    negative: bool,
    magnitude: &[u8],
) -> JsResult<Value<'s>> {
    let mut words: Vec<u64> = magnitude
        .rchunks(8)
        .map(|chunk| chunk.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)))
        .collect();
    if negative {
        let carried = words.iter_mut().all(|word| {
            *word = word.wrapping_add(1);
            *word == 0
        });
        if carried {
            words.push(1);
        }
    }
    while words.last() == Some(&0) {
        words.pop();
    }
    scope.bigint_words(negative && !words.is_empty(), &words)
}

fn set<'s>(scope: &Scope<'s>, items: Value<'s>, tag: &str) -> JsResult<Value<'s>> {
    if !scope.is_array(items)? {
        return Err(malformed(format!("{tag} does not hold an array")).into());
    }
    scope.construct(scope.global(c"Set")?, &[items])
}

pub(super) fn typed_array<'s>(scope: &Scope<'s>, tag: u64, bytes: &[u8]) -> JsResult<Value<'s>> {
    let layout = typed_arrays::layout(tag)
        .ok_or_else(|| Error::internal("a typed array tag without a layout"))?;
    let native = layout.native_order(bytes).ok_or_else(|| {
        let (count, width) = (bytes.len(), layout.width);
        malformed(format!(
            "tag {tag} holds {count} bytes, no multiple of {width}"
        ))
    })?;
    let buffer = scope.new_array_buffer(&native)?;
    scope.construct(scope.global(layout.class)?, &[buffer])
}

pub(super) fn cbor_tag<'s>(scope: &Scope<'s>, tag: u64, value: Value<'s>) -> JsResult<Value<'s>> {
    match tag {
        TAG_DATE_TEXT => scope.construct(scope.global(c"Date")?, &[value]),
        TAG_DATE => {
            if scope.kind(value)? != Kind::Number {
                return Err(malformed("tag 1 does not hold a number").into());
            }
            // Seconds; a float keeps milliseconds only after rounding.
            scope.date((scope.f64(value)? * 1000.0).round())
        }
        TAG_GENERIC => generic(scope, value),
        TAG_SET => set(scope, value, "tag 258"),
        TAG_SELF => Ok(value),
        other => Err(malformed(format!("unknown CBOR tag {other}")).into()),
    }
}

/// Tag 27: name of a class, and arguments of its constructor.
fn generic<'s>(scope: &Scope<'s>, parts: Value<'s>) -> JsResult<Value<'s>> {
    let shape = || malformed("tag 27 does not hold a named object");
    if !scope.is_array(parts)? {
        return Err(shape().into());
    }
    let name = scope.element(parts, 0)?;
    if scope.kind(name)? != Kind::Text {
        return Err(shape().into());
    }
    let text_at = |at| {
        let part = scope.element(parts, at)?;
        if scope.kind(part)?.is_nothing() {
            return scope.text("");
        }
        let text = scope.to_text(part)?;
        scope.text(&text)
    };
    let class = scope.string(name)?;
    if class == "RegExp" {
        let made = scope.construct(scope.global(c"RegExp")?, &[text_at(1)?, text_at(2)?]);
        return made.map_err(|fault| {
            drop(scope.error_of(fault));
            malformed("tag 27 holds no valid RegExp").into()
        });
    }
    let known = ERRORS
        .into_iter()
        .find(|known| known.to_bytes() == class.as_bytes());
    let error = scope.construct(scope.global(known.unwrap_or(c"Error"))?, &[text_at(1)?])?;
    if known.is_none() && class != "Error" {
        scope.set(error, scope.text("name")?, name)?;
    }
    Ok(error)
}
