//! Values to bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use greenroom_wire::cbor::{self, DEPTH_MAX, write};

use super::path::{Step, Stop};
use super::{
    ARRAY_BUFFER, BIG_INT, SET, TAG_DATE, TAG_GENERIC, TAG_MAP, UINT8_ARRAY, typed_arrays,
};
use crate::bridge::{JsResult, Kind, Scope, Value};

/// Major type of tags.
const TAG: u8 = 6;

pub(super) fn encode<'s>(scope: &Scope<'s>, value: Value<'s>, root: &str) -> JsResult<Vec<u8>> {
    let mut encoder = Encoder {
        scope,
        out: Vec::with_capacity(64),
    };
    match encoder.value(value, 0) {
        Ok(()) => Ok(encoder.out),
        Err(stop) => Err(stop.into_fault(root)),
    }
}

struct Encoder<'a, 's> {
    scope: &'a Scope<'s>,
    out: Vec<u8>,
}

impl<'s> Encoder<'_, 's> {
    fn value(&mut self, value: Value<'s>, depth: usize) -> Result<(), Stop> {
        match self.scope.kind(value)? {
            Kind::Undefined => self.out.extend_from_slice(cbor::UNDEFINED_TAG),
            Kind::Null => write::null(&mut self.out),
            Kind::Boolean => write::bool(&mut self.out, self.scope.bool(value)?),
            Kind::Number => write::number(&mut self.out, self.scope.f64(value)?),
            Kind::Text => self.text(value)?,
            Kind::BigInt => {
                let digits = self.scope.to_text(value)?;
                self.tagged_text(BIG_INT, &digits);
            }
            Kind::Object => return self.object(value, depth),
            Kind::Function => return Err(Stop::because("is a function and cannot be serialized")),
            Kind::Symbol => return Err(Stop::because("is a symbol and cannot be serialized")),
            Kind::External => return Err(Stop::because("is native and cannot be serialized")),
        }
        Ok(())
    }

    fn text(&mut self, value: Value<'s>) -> JsResult<()> {
        let text = self.scope.string(value)?;
        write::text(&mut self.out, &text);
        Ok(())
    }

    fn tagged_text(&mut self, tag: &str, text: &str) {
        write::array(&mut self.out, 2);
        write::text(&mut self.out, tag);
        write::text(&mut self.out, text);
    }

    fn object(&mut self, value: Value<'s>, depth: usize) -> Result<(), Stop> {
        let scope = self.scope;
        if depth >= DEPTH_MAX {
            let reason = format!("is nested deeper than {DEPTH_MAX} levels, or is part of itself");
            return Err(Stop::because(reason));
        }
        if scope.is_array(value)? {
            return self.array(value, depth);
        }
        if self.is_plain(value)? {
            return self.plain(value, depth);
        }
        if scope.is_typed_array(value)? {
            return self.typed_array(value);
        }
        if scope.is_date(value)? {
            write::head(&mut self.out, TAG, TAG_DATE);
            write::number(&mut self.out, scope.date_ms(value)? / 1000.0);
            return Ok(());
        }
        if scope.is_array_buffer(value)? {
            let bytes = STANDARD.encode(scope.array_buffer(value)?);
            self.tagged_text(ARRAY_BUFFER, &bytes);
            return Ok(());
        }
        self.built_in(value, depth)
    }

    /// An object literal or `Object.create(null)`, of any realm: at most one
    /// prototype, and that the end of the chain.
    fn is_plain(&self, value: Value<'s>) -> JsResult<bool> {
        let scope = self.scope;
        let prototype = scope.prototype(value)?;
        if scope.kind(prototype)? == Kind::Null {
            return Ok(true);
        }
        if scope.kind(scope.prototype(prototype)?)? != Kind::Null {
            return Ok(false);
        }
        scope.has_own(prototype, c"isPrototypeOf")
    }

    fn array(&mut self, array: Value<'s>, depth: usize) -> Result<(), Stop> {
        let scope = self.scope;
        let length = scope.length(array)?;
        write::array(&mut self.out, length as usize);
        for at in 0..length {
            let item = scope.element(array, at)?;
            if at == 0 && length == 2 && scope.kind(item)? == Kind::Text {
                let text = scope.string(item)?;
                // It would be taken for a tag.
                let escape = if text.starts_with('$') { "$" } else { "" };
                write::text(&mut self.out, &format!("{escape}{text}"));
                continue;
            }
            self.value(item, depth + 1)
                .map_err(|stop| stop.at(|| Step::Index(at)))?;
        }
        Ok(())
    }

    fn plain(&mut self, object: Value<'s>, depth: usize) -> Result<(), Stop> {
        let scope = self.scope;
        let keys = scope.own_keys(object)?;
        let count = scope.length(keys)?;
        write::map(&mut self.out, count as usize);
        for at in 0..count {
            let key = scope.element(keys, at)?;
            self.text(key)?;
            let item = scope.get(object, key)?;
            if let Err(stop) = self.value(item, depth + 1) {
                let name = scope.string(key)?;
                return Err(stop.at(|| Step::Key(name)));
            }
        }
        Ok(())
    }

    fn typed_array(&mut self, value: Value<'s>) -> Result<(), Stop> {
        let view = self.scope.view(value)?;
        let tag = typed_arrays::tag_of(view.element)
            .ok_or_else(|| Stop::because("is a typed array of an unknown kind"))?;
        if tag == 64 {
            let bytes = STANDARD.encode(&view.bytes);
            self.tagged_text(UINT8_ARRAY, &bytes);
        } else {
            write::head(&mut self.out, TAG, tag);
            write::bytes(&mut self.out, &view.bytes);
        }
        Ok(())
    }

    /// Map, Set, RegExp, Error; anything else has no form.
    fn built_in(&mut self, value: Value<'s>, depth: usize) -> Result<(), Stop> {
        let scope = self.scope;
        if scope.is_error(value)? {
            let name = scope.to_text(scope.named(value, c"name")?)?;
            let message = scope.to_text(scope.named(value, c"message")?)?;
            self.generic(&[&name, &message]);
            return Ok(());
        }
        let is = |class| scope.instance_of(value, scope.global(class)?);
        if is(c"Map")? {
            return self.map(value, depth);
        }
        if is(c"Set")? {
            return self.set(value, depth);
        }
        if is(c"RegExp")? {
            let source = scope.to_text(scope.named(value, c"source")?)?;
            let flags = scope.to_text(scope.named(value, c"flags")?)?;
            self.generic(&["RegExp", &source, &flags]);
            return Ok(());
        }
        Err(Stop::because(self.describe(value)?))
    }

    fn describe(&self, value: Value<'s>) -> JsResult<String> {
        let scope = self.scope;
        let class = scope.named(value, c"constructor")?;
        if scope.kind(class)? == Kind::Function {
            let name = scope.to_text(scope.named(class, c"name")?)?;
            if !name.is_empty() {
                return Ok(format!("is an instance of {name} and cannot be serialized"));
            }
        }
        Ok("is an object with its own prototype and cannot be serialized".to_owned())
    }

    fn generic(&mut self, parts: &[&str]) {
        write::head(&mut self.out, TAG, TAG_GENERIC);
        write::array(&mut self.out, parts.len());
        for part in parts {
            write::text(&mut self.out, part);
        }
    }

    fn map(&mut self, map: Value<'s>, depth: usize) -> Result<(), Stop> {
        let scope = self.scope;
        let entries = self.listed(map)?;
        let count = scope.length(entries)?;
        write::head(&mut self.out, TAG, TAG_MAP);
        write::map(&mut self.out, count as usize);
        for at in 0..count {
            let entry = scope.element(entries, at)?;
            let key = scope.element(entry, 0)?;
            self.value(key, depth + 1)
                .map_err(|stop| stop.at(|| Step::MapKey(at)))?;
            let item = scope.element(entry, 1)?;
            self.value(item, depth + 1)
                .map_err(|stop| stop.at(|| Step::MapValue(at)))?;
        }
        Ok(())
    }

    fn set(&mut self, set: Value<'s>, depth: usize) -> Result<(), Stop> {
        let scope = self.scope;
        let items = self.listed(set)?;
        let count = scope.length(items)?;
        write::array(&mut self.out, 2);
        write::text(&mut self.out, SET);
        write::array(&mut self.out, count as usize);
        for at in 0..count {
            let item = scope.element(items, at)?;
            self.value(item, depth + 1)
                .map_err(|stop| stop.at(|| Step::SetItem(at)))?;
        }
        Ok(())
    }

    /// The contents of a Map or Set as an array.
    fn listed(&self, collection: Value<'s>) -> JsResult<Value<'s>> {
        let array = self.scope.global(c"Array")?;
        let from = self.scope.named(array, c"from")?;
        self.scope.call_on(array, from, &[collection])
    }
}
