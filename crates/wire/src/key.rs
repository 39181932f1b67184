//! Actor keys: the list of strings that, with a name, addresses an actor.
//!
//! A key has two text forms. The *serialized* form separates parts by `/` and
//! escapes; it is lossless, is what directories store, and is held here as the
//! value itself. The *comma* form of gateway queries is not lossless: a part
//! that contains a comma comes back as two. Both forms are bounded by
//! [`SERIALIZED_BYTES_MAX`]. Names and ids are not handled here.

use std::fmt;
use std::sync::Arc;

use greenroom_error::{Error, Result, code};
use serde_json::json;

/// Longest serialized key, in bytes.
pub const SERIALIZED_BYTES_MAX: usize = 1024;

const PREVIEW_BYTES_MAX: usize = 64;
const NO_PARTS: &str = "/";
const EMPTY_PART: &str = "\\0";

/// The key of an actor. Cloning copies one pointer.
///
/// Invariant: the text is canonical, as [`ActorKey::new`] would write it for
/// [`ActorKey::parts`]. The canonical form is one-to-one, so comparing texts
/// compares the lists of parts. Ordering is that of the serialized text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActorKey(Arc<str>);

impl ActorKey {
    /// Builds a key from its parts; no parts and empty parts are allowed.
    ///
    /// # Errors
    /// `actor/key_too_large` above [`SERIALIZED_BYTES_MAX`].
    pub fn new<S: AsRef<str>>(parts: impl IntoIterator<Item = S>) -> Result<Self> {
        let mut text = String::new();
        let mut any = false;
        for part in parts {
            if any {
                text.push('/');
            }
            any = true;
            push_part(&mut text, part.as_ref());
            if text.len() > SERIALIZED_BYTES_MAX {
                return Err(too_large(&text));
            }
        }
        Ok(Self(Arc::from(if any { &text } else { NO_PARTS })))
    }

    /// Reads the serialized form. Spellings that are not canonical are
    /// understood and made canonical.
    ///
    /// # Errors
    /// `actor/empty_key` for the empty string, `actor/key_too_large` above
    /// [`SERIALIZED_BYTES_MAX`].
    pub fn from_serialized(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Err(Error::new(&code::ACTOR_EMPTY_KEY));
        }
        if text.len() > SERIALIZED_BYTES_MAX {
            return Err(too_large(text));
        }
        Self::new(split_serialized(text))
    }

    /// Reads the comma form: empty text is the key without parts, otherwise
    /// every comma separates.
    ///
    /// # Errors
    /// `actor/key_too_large` if the serialized form passes the limit.
    pub fn from_comma(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        Self::new(text.split(','))
    }

    /// The serialized form, `/` for a key without parts.
    pub fn as_serialized(&self) -> &str {
        &self.0
    }

    /// The comma form; lossy for parts that hold commas, and for one empty part.
    pub fn to_comma(&self) -> String {
        self.parts().join(",")
    }

    /// The parts, unescaped.
    pub fn parts(&self) -> Vec<String> {
        split_serialized(&self.0)
    }

    /// True for the key without parts.
    pub fn is_empty(&self) -> bool {
        &*self.0 == NO_PARTS
    }
}

fn push_part(text: &mut String, part: &str) {
    if part.is_empty() {
        return text.push_str(EMPTY_PART);
    }
    for character in part.chars() {
        if matches!(character, '\\' | '/') {
            text.push('\\');
        }
        text.push(character);
    }
}

fn split_serialized(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    if text.is_empty() || text == NO_PARTS {
        return parts;
    }
    let mut part = String::new();
    let mut marked_empty = false;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '/' => {
                parts.push(take_part(&mut part, marked_empty));
                marked_empty = false;
            }
            '\\' => match characters.next() {
                Some('0') => marked_empty = true,
                Some(escaped) => part.push(escaped),
                None => part.push('\\'),
            },
            plain => part.push(plain),
        }
    }
    parts.push(take_part(&mut part, marked_empty));
    parts
}

fn take_part(part: &mut String, marked_empty: bool) -> String {
    let part = std::mem::take(part);
    if marked_empty { String::new() } else { part }
}

fn too_large(text: &str) -> Error {
    let mut end = PREVIEW_BYTES_MAX.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Error::with(
        &code::ACTOR_KEY_TOO_LARGE,
        json!({ "max_size": SERIALIZED_BYTES_MAX, "key_preview": &text[..end] }),
    )
}

impl Default for ActorKey {
    /// The key without parts.
    fn default() -> Self {
        Self(Arc::from(NO_PARTS))
    }
}

impl fmt::Display for ActorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ActorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.parts()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(text: &str) -> Vec<String> {
        ActorKey::from_serialized(text).unwrap().parts()
    }

    #[test]
    fn parts_are_escaped_and_joined_by_slashes() {
        let key = ActorKey::new(["c1", "a/b", "", "x,y"]).unwrap();
        assert_eq!(key.as_serialized(), r"c1/a\/b/\0/x,y");
        assert_eq!(parts(r"c1/a\/b/\0/x,y"), ["c1", "a/b", "", "x,y"]);
        assert_eq!(ActorKey::default().as_serialized(), "/");
        assert_eq!(ActorKey::new([""]).unwrap().as_serialized(), r"\0");
    }

    #[test]
    fn unusual_spellings_are_read_and_made_canonical() {
        assert_eq!(parts(r"ab\0"), [""]);
        assert_eq!(parts(r"a\b"), ["ab"]);
        assert_eq!(parts("a\\"), ["a\\"]);
        assert_eq!(parts("/a"), ["", "a"]);
        assert_eq!(parts("a/"), ["a", ""]);
        let key = ActorKey::from_serialized("/a").unwrap();
        assert_eq!(key.as_serialized(), r"\0/a");
    }

    #[test]
    fn the_comma_form_splits_at_every_comma() {
        let key = ActorKey::from_comma("c1,a/b,,x,y").unwrap();
        assert_eq!(key.as_serialized(), r"c1/a\/b/\0/x/y");
        assert!(ActorKey::from_comma("").unwrap().is_empty());
        assert_eq!(ActorKey::from_comma(",").unwrap().parts(), ["", ""]);
    }

    #[test]
    fn limits_are_structured_errors() {
        let error = ActorKey::from_serialized("").unwrap_err();
        assert!(error.is(&code::ACTOR_EMPTY_KEY));
        assert!(ActorKey::new(["é".repeat(512)]).is_ok());
        for error in [
            ActorKey::new(["é".repeat(513)]).unwrap_err(),
            ActorKey::from_serialized(&"é".repeat(513)).unwrap_err(),
            ActorKey::from_comma(&"/".repeat(513)).unwrap_err(),
        ] {
            assert!(error.is(&code::ACTOR_KEY_TOO_LARGE));
            assert_eq!(error.metadata().unwrap()["max_size"], 1024);
        }
    }

    proptest! {
        #[test]
        fn the_serialized_form_is_lossless(parts in prop::collection::vec("[/\\\\0,aé]{0,4}", 0..8)) {
            let key = ActorKey::new(&parts).unwrap();
            prop_assert_eq!(&key.parts(), &parts);
            prop_assert_eq!(ActorKey::from_serialized(key.as_serialized()).unwrap(), key);
        }

        #[test]
        fn any_text_reads_to_a_canonical_key(text in "[/\\\\0,aé]{1,20}") {
            let key = ActorKey::from_serialized(&text).unwrap();
            prop_assert_eq!(ActorKey::new(key.parts()).unwrap(), key);
        }

        #[test]
        fn the_comma_form_is_lossless_without_commas(parts in prop::collection::vec("[/\\\\0aé]{1,4}", 0..8)) {
            let key = ActorKey::new(&parts).unwrap();
            prop_assert_eq!(ActorKey::from_comma(&key.to_comma()).unwrap(), key);
        }
    }
}
