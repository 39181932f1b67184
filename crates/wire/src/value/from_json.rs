//! JSON to CBOR.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::Value;

use crate::cbor::{ARRAY, MAP, NULL, deeper, write};

/// A JSON value that turns into CBOR while it is parsed.
#[derive(Debug)]
pub(crate) struct CborFromJson(pub Vec<u8>);

impl<'de> Deserialize<'de> for CborFromJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut out = Vec::new();
        Append(&mut out).deserialize(deserializer)?;
        Ok(Self(out))
    }
}

/// Appends the value it meets.
struct Append<'a>(&'a mut Vec<u8>);

impl<'de> DeserializeSeed<'de> for Append<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        // Depth is bounded by the JSON parser, whose limit is below ours.
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Append<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        write::null(self.0);
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        write::bool(self.0, value);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        write::number(self.0, value as f64);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        write::number(self.0, value as f64);
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        write::number(self.0, value);
        Ok(())
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<(), E> {
        write::text(self.0, value);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let array = write::open(self.0, ARRAY);
        let mut len = 0;
        while elements.next_element_seed(Append(self.0))?.is_some() {
            len += 1;
        }
        write::close(self.0, array, len);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let map = write::open(self.0, MAP);
        let mut len = 0;
        while entries.next_key_seed(Append(self.0))?.is_some() {
            entries.next_value_seed(Append(self.0))?;
            len += 1;
        }
        write::close(self.0, map, len);
        Ok(())
    }
}

pub(super) fn write_value(out: &mut Vec<u8>, value: &Value, depth: usize) {
    match value {
        Value::Null => write::null(out),
        Value::Bool(value) => write::bool(out, *value),
        Value::Number(number) => match number.as_f64() {
            Some(number) => write::number(out, number),
            None => write::null(out),
        },
        Value::String(text) => write::text(out, text),
        Value::Array(elements) => {
            let Ok(depth) = deeper(depth) else {
                return out.extend_from_slice(NULL);
            };
            write::array(out, elements.len());
            for element in elements {
                write_value(out, element, depth);
            }
        }
        Value::Object(entries) => {
            let Ok(depth) = deeper(depth) else {
                return out.extend_from_slice(NULL);
            };
            write::map(out, entries.len());
            for (key, value) in entries {
                write::text(out, key);
                write_value(out, value, depth);
            }
        }
    }
}
