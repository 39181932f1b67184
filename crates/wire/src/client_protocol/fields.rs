//! Parts the message types share: payload rules, and readers of the fields of
//! JSON objects and CBOR maps.

use std::fmt;
use std::marker::PhantomData;

use bytes::{BufMut, Bytes, BytesMut};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de::IgnoredAny};

use crate::cbor::{self, ARRAY, MAP, Reader, SIMPLE, TAG, TEXT, UNSIGNED};
use crate::malformed::{Malformed, Read};
use crate::value::CborFromJson;

/// Numbers up to this are whole in a 64-bit float.
const FLOAT_INTEGER_MAX: f64 = 9_007_199_254_740_992.0;
const BIG_INT_TAG: &str = "$BigInt";

/// The argument array of an action: nothing stands for no arguments, and a
/// value that is no array for one argument.
pub(super) fn action_args(args: Bytes) -> Read<Bytes> {
    if args.is_empty() {
        return Ok(Bytes::from_static(cbor::EMPTY_ARRAY));
    }
    let head = Reader::new(&args).peek()?;
    if head.is_nothing() {
        return Ok(Bytes::from_static(cbor::EMPTY_ARRAY));
    }
    if head.major == ARRAY {
        return Ok(args);
    }
    let mut wrapped = BytesMut::with_capacity(args.len() + 1);
    wrapped.put_slice(&[0x81]);
    wrapped.put(args);
    Ok(wrapped.freeze())
}

/// A payload to send; no bytes at all stand for `undefined`.
pub(super) fn outgoing(payload: &Bytes) -> Bytes {
    if payload.is_empty() {
        Bytes::from_static(cbor::UNDEFINED_TAG)
    } else {
        payload.clone()
    }
}

/// A received payload, checked to be one item; no bytes stand for `undefined`.
pub(crate) fn incoming(payload: Bytes) -> Read<Bytes> {
    if payload.is_empty() {
        return Ok(Bytes::from_static(cbor::UNDEFINED_TAG));
    }
    cbor::check(&payload)?;
    Ok(payload)
}

/// As [`incoming`], for the arguments of an action.
pub(super) fn incoming_args(args: Bytes) -> Read<Bytes> {
    if !args.is_empty() {
        cbor::check(&args)?;
    }
    action_args(args)
}

/// As [`outgoing`], for argument arrays.
pub(super) fn outgoing_args(args: &Bytes) -> Bytes {
    if args.is_empty() {
        Bytes::from_static(cbor::EMPTY_ARRAY)
    } else {
        args.clone()
    }
}

/// A JSON object; serde would take an array for a struct as well.
pub(crate) struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OnlyMap<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for OnlyMap<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer
            .deserialize_map(OnlyMap(PhantomData))
            .map(Object)
    }
}

/// Tells a field that is `null` from one that is missing.
pub(crate) fn present<'de, D>(deserializer: D) -> Result<Option<CborFromJson>, D::Error>
where
    D: Deserializer<'de>,
{
    CborFromJson::deserialize(deserializer).map(Some)
}

/// An unsigned integer of a JSON message: a whole number or a BigInt tag.
pub(crate) struct WireUint(pub u64);

impl<'de> Deserialize<'de> for WireUint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UintVisitor).map(WireUint)
    }
}

struct UintVisitor;

impl<'de> Visitor<'de> for UintVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an unsigned integer")
    }

    fn visit_u64<E>(self, value: u64) -> Result<u64, E> {
        Ok(value)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<u64, E> {
        whole(value).ok_or_else(|| E::custom("not an unsigned integer"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<u64, A::Error> {
        let tag: Option<String> = elements.next_element()?;
        let digits: Option<String> = elements.next_element()?;
        let rest: Option<IgnoredAny> = elements.next_element()?;
        match (tag.as_deref(), digits, rest) {
            (Some(BIG_INT_TAG), Some(digits), None) => digits.parse().map_err(de::Error::custom),
            _ => Err(de::Error::custom("not a BigInt tag")),
        }
    }
}

fn whole(value: f64) -> Option<u64> {
    (value.trunc() == value && (0.0..=FLOAT_INTEGER_MAX).contains(&value)).then_some(value as u64)
}

/// Reads a CBOR map, giving each value with a text key to `field`, which must
/// pass it. Entries with other keys are passed here.
pub(crate) fn read_map<'a>(
    reader: &mut Reader<'a>,
    mut field: impl FnMut(&str, &mut Reader<'a>) -> Read<()>,
) -> Read<()> {
    let head = reader.head()?;
    if head.major != MAP {
        return Err(Malformed::new("a CBOR map was expected"));
    }
    let mut entries = reader.items(head)?;
    while reader.more(&mut entries)? {
        if reader.peek()?.major == TEXT {
            let key = text(reader)?;
            field(&key, reader)?;
        } else {
            reader.skip()?;
            reader.skip()?;
        }
    }
    Ok(())
}

/// The next item unless it is `null` or `undefined`.
pub(crate) fn optional<'a, T>(
    reader: &mut Reader<'a>,
    read: impl FnOnce(&mut Reader<'a>) -> Read<T>,
) -> Read<Option<T>> {
    if reader.peek()?.is_nothing() {
        reader.head()?;
        return Ok(None);
    }
    read(reader).map(Some)
}

pub(crate) fn text<'a>(reader: &mut Reader<'a>) -> Read<std::borrow::Cow<'a, str>> {
    let head = reader.head()?;
    if head.major != TEXT {
        return Err(Malformed::new("a CBOR text string was expected"));
    }
    reader.text(head)
}

pub(super) fn boolean(reader: &mut Reader<'_>) -> Read<bool> {
    let head = reader.head()?;
    match (head.major, head.info) {
        (SIMPLE, 20) => Ok(false),
        (SIMPLE, 21) => Ok(true),
        _ => Err(Malformed::new("a CBOR boolean was expected")),
    }
}

/// An unsigned integer in whatever form a peer may write one: an integer of
/// any width, a whole float, a bignum, a BigInt tag.
pub(crate) fn uint(reader: &mut Reader<'_>) -> Read<u64> {
    const WRONG: Malformed = Malformed::new("a CBOR unsigned integer was expected");
    const BIGNUM: u64 = 2;

    let head = reader.head()?;
    match head.major {
        UNSIGNED => Ok(head.argument),
        SIMPLE => cbor::float(head).and_then(whole).ok_or(WRONG),
        TAG if head.argument == BIGNUM => {
            let magnitude = reader.head()?;
            if magnitude.major != cbor::BYTES {
                return Err(WRONG);
            }
            let magnitude = reader.string(magnitude)?;
            magnitude.iter().try_fold(0u64, |value, byte| {
                let shifted = value.checked_mul(256).ok_or(WRONG)?;
                Ok(shifted | u64::from(*byte))
            })
        }
        ARRAY => {
            let mut items = reader.items(head)?;
            let mut next = |reader: &mut Reader<'_>| match reader.more(&mut items)? {
                true => text(reader).map(|text| text.into_owned()),
                false => Err(WRONG),
            };
            let (tag, digits) = (next(reader)?, next(reader)?);
            if tag != BIG_INT_TAG || next(reader) != Err(WRONG) {
                return Err(WRONG);
            }
            digits.parse().map_err(|_| WRONG)
        }
        _ => Err(WRONG),
    }
}

/// A span of milliseconds from a number that may have a fraction; a number
/// that is not finite means no limit.
pub(super) fn milliseconds(value: f64) -> Read<Option<u64>> {
    if !value.is_finite() {
        Ok(None)
    } else if value < 0.0 {
        Err(Malformed::new("a span of time is negative"))
    } else {
        Ok(Some(value as u64))
    }
}

/// As [`milliseconds`], from a CBOR number.
pub(super) fn read_milliseconds(reader: &mut Reader<'_>) -> Read<Option<u64>> {
    match cbor::float(reader.peek()?) {
        Some(value) => {
            reader.head()?;
            milliseconds(value)
        }
        None => uint(reader).map(Some),
    }
}
