//! Percent-decoding, of path parts and of form values.
//!
//! Both keep a malformed escape such as `%zz` as it is written, and fail only
//! when the decoded bytes are not UTF-8.

use std::borrow::Cow;
use std::str::Utf8Error;

use percent_encoding::percent_decode_str;

/// Decodes a part of a path.
pub(crate) fn decode(text: &str) -> Result<Cow<'_, str>, Utf8Error> {
    percent_decode_str(text).decode_utf8()
}

/// Decodes a form value, in which `+` stands for a space.
pub(crate) fn decode_form(text: &str) -> Result<Cow<'_, str>, Utf8Error> {
    if text.contains('+') {
        let spaced = text.replace('+', " ");
        return decode(&spaced).map(|text| Cow::Owned(text.into_owned()));
    }
    decode(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_forms_turn_plus_into_a_space() {
        assert_eq!(decode("a+b%20c%2b").unwrap(), "a+b c+");
        assert_eq!(decode_form("a+b%20c%2b").unwrap(), "a b c+");
    }

    #[test]
    fn malformed_escapes_stay_and_malformed_text_fails() {
        assert_eq!(decode("%zz%4%").unwrap(), "%zz%4%");
        assert_eq!(decode_form("%c3%a9").unwrap(), "é");
        assert!(decode("%ff").is_err());
        assert!(decode_form("+%c3").is_err());
    }
}
