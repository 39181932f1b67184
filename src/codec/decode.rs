//! Bytes to values.

use greenroom_error::Error;
use greenroom_wire::cbor::{DEPTH_MAX, Head, Reader};

use super::revive;
use super::{TAG_MAP, typed_arrays};
use crate::bridge::{JsResult, Scope, Value};

/// A `$` tag is an array around its value, so half of the depth may be tags.
const READ_DEPTH_MAX: usize = 2 * DEPTH_MAX;
/// Numbers hold integers exactly up to here.
/// Additional information of a head with an argument of eight bytes.
const WIDE: u8 = 27;

pub(super) fn decode<'s>(scope: &Scope<'s>, bytes: &[u8]) -> JsResult<Value<'s>> {
    if bytes.is_empty() {
        return scope.undefined();
    }
    let mut decoder = Decoder {
        scope,
        reader: Reader::new(bytes),
    };
    let value = decoder.value(0)?;
    decoder.reader.finish().map_err(malformed)?;
    Ok(value)
}

pub(super) fn malformed(reason: impl ToString) -> Error {
    Error::invalid_argument("bytes", reason.to_string())
}

pub(super) struct Decoder<'a, 's> {
    pub(super) scope: &'a Scope<'s>,
    reader: Reader<'a>,
}

impl<'s> Decoder<'_, 's> {
    fn value(&mut self, depth: usize) -> JsResult<Value<'s>> {
        if depth > READ_DEPTH_MAX {
            return Err(malformed(format!("nested deeper than {DEPTH_MAX} levels")).into());
        }
        let head = self.reader.head().map_err(malformed)?;
        match head.major {
            0 => self.unsigned(head),
            1 => self.negative(head),
            2 => {
                let bytes = self.reader.string(head).map_err(malformed)?;
                self.scope.uint8_array(&bytes)
            }
            3 => {
                let text = self.reader.text(head).map_err(malformed)?;
                self.scope.text(&text)
            }
            4 => self.array(head, depth),
            5 => self.object(head, depth),
            6 => self.tagged(head.argument, depth),
            _ => self.simple(head),
        }
    }

    /// Encoders of this ecosystem write numbers beyond 32 bits as floats and only
    /// a BigInt in eight bytes, however small it is.
    fn unsigned(&self, head: Head) -> JsResult<Value<'s>> {
        if head.info == WIDE {
            self.scope.bigint(head.argument)
        } else {
            self.scope.number(head.argument as f64)
        }
    }

    /// The argument stands for `-1 - argument`.
    fn negative(&self, head: Head) -> JsResult<Value<'s>> {
        let argument = head.argument;
        match i64::try_from(argument) {
            Ok(n) if head.info == WIDE => self.scope.bigint_i64(-1 - n),
            Ok(n) => self.scope.number((-1 - n) as f64),
            Err(_) => self.scope.bigint_words(
                true,
                &[argument.wrapping_add(1), u64::from(argument == u64::MAX)],
            ),
        }
    }

    fn simple(&self, head: Head) -> JsResult<Value<'s>> {
        match head.info {
            20 => self.scope.boolean(false),
            21 => self.scope.boolean(true),
            22 => self.scope.null(),
            23 => self.scope.undefined(),
            25 => self.scope.number(half(head.argument as u16)),
            26 => self
                .scope
                .number(f32::from_bits(head.argument as u32).into()),
            27 => self.scope.number(f64::from_bits(head.argument)),
            info => Err(malformed(format!("simple value {info}")).into()),
        }
    }

    fn array(&mut self, head: Head, depth: usize) -> JsResult<Value<'s>> {
        if !head.is_indefinite() && head.argument == 2 {
            return self.pair(depth);
        }
        let mut items = self.reader.items(head).map_err(malformed)?;
        let array = self.scope.array(0)?;
        let mut length = 0;
        while self.reader.more(&mut items).map_err(malformed)? {
            let item = self.value(depth + 1)?;
            self.scope.set_element(array, length, item)?;
            length += 1;
        }
        if length == 2 {
            // Written without a length, it may still be a tag.
            let first = self.scope.element(array, 0)?;
            let second = self.scope.element(array, 1)?;
            return self.finish_pair(first, second);
        }
        Ok(array)
    }

    /// An array of two, which may be a `$` tag and its value.
    fn pair(&mut self, depth: usize) -> JsResult<Value<'s>> {
        let first = self.reader.peek().map_err(malformed)?;
        if first.major == 3 {
            let head = self.reader.head().map_err(malformed)?;
            let name = self.reader.text(head).map_err(malformed)?;
            if name.starts_with('$') {
                return self.dollar(&name, depth);
            }
            let first = self.scope.text(&name)?;
            let second = self.value(depth + 1)?;
            return self.two(first, second);
        }
        let first = self.value(depth + 1)?;
        let second = self.value(depth + 1)?;
        self.two(first, second)
    }

    fn two(&self, first: Value<'s>, second: Value<'s>) -> JsResult<Value<'s>> {
        let array = self.scope.array(2)?;
        self.scope.set_element(array, 0, first)?;
        self.scope.set_element(array, 1, second)?;
        Ok(array)
    }

    fn dollar(&mut self, name: &str, depth: usize) -> JsResult<Value<'s>> {
        let next = self.reader.peek().map_err(malformed)?;
        if next.major == 3 && revive::takes_text(name) {
            // No JavaScript string is made of what is only read here.
            let head = self.reader.head().map_err(malformed)?;
            let text = self.reader.text(head).map_err(malformed)?;
            return revive::text_tag(self.scope, name, &text);
        }
        let value = self.value(depth + 1)?;
        self.revived(name, value)
    }

    fn finish_pair(&self, first: Value<'s>, second: Value<'s>) -> JsResult<Value<'s>> {
        if self.scope.kind(first)? == crate::bridge::Kind::Text {
            let name = self.scope.string(first)?;
            if name.starts_with('$') {
                return self.revived(&name, second);
            }
        }
        self.two(first, second)
    }

    fn revived(&self, name: &str, value: Value<'s>) -> JsResult<Value<'s>> {
        match name.strip_prefix('$') {
            Some(rest) if rest.starts_with('$') => {
                let first = self.scope.text(rest)?;
                self.two(first, value)
            }
            _ => revive::value_tag(self.scope, name, value),
        }
    }

    fn object(&mut self, head: Head, depth: usize) -> JsResult<Value<'s>> {
        let mut items = self.reader.items(head).map_err(malformed)?;
        let object = self.scope.new_object()?;
        while self.reader.more(&mut items).map_err(malformed)? {
            let key = self.key()?;
            let item = self.value(depth + 1)?;
            if key == "__proto__" {
                self.scope.define(object, self.scope.text(&key)?, item)?;
            } else {
                self.scope.set(object, self.scope.text(&key)?, item)?;
            }
        }
        Ok(object)
    }

    /// Keys of objects are text; numbers are taken as what they look like.
    fn key(&mut self) -> JsResult<String> {
        let head = self.reader.head().map_err(malformed)?;
        match head.major {
            0 => Ok(head.argument.to_string()),
            1 => Ok((-1 - i128::from(head.argument)).to_string()),
            3 => Ok(self.reader.text(head).map_err(malformed)?.into_owned()),
            _ => Err(malformed("a map with keys other than text and integers").into()),
        }
    }

    fn tagged(&mut self, tag: u64, depth: usize) -> JsResult<Value<'s>> {
        let next = self.reader.peek().map_err(malformed)?;
        match (tag, next.major) {
            (TAG_MAP, 5) => self.map(depth + 1),
            (TAG_MAP, _) => Err(malformed("tag 259 does not hold a map").into()),
            (2 | 3, 2) => {
                let head = self.reader.head().map_err(malformed)?;
                let magnitude = self.reader.string(head).map_err(malformed)?;
                revive::big_integer(self.scope, tag == 3, &magnitude)
            }
            (_, 2) if typed_arrays::layout(tag).is_some() => {
                let head = self.reader.head().map_err(malformed)?;
                let bytes = self.reader.string(head).map_err(malformed)?;
                revive::typed_array(self.scope, tag, &bytes)
            }
            _ => {
                let value = self.value(depth + 1)?;
                revive::cbor_tag(self.scope, tag, value)
            }
        }
    }

    fn map(&mut self, depth: usize) -> JsResult<Value<'s>> {
        let head = self.reader.head().map_err(malformed)?;
        let mut items = self.reader.items(head).map_err(malformed)?;
        let map = self.scope.construct(self.scope.global(c"Map")?, &[])?;
        let set = self.scope.named(map, c"set")?;
        while self.reader.more(&mut items).map_err(malformed)? {
            let key = self.value(depth + 1)?;
            let item = self.value(depth + 1)?;
            self.scope.call_on(map, set, &[key, item])?;
        }
        Ok(map)
    }
}

fn half(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff);
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    sign * magnitude
}
