//! Headers of a response, in messages that hold one value per name.
//!
//! Values of a repeated header are joined, as HTTP allows. Cookies cannot be: each
//! gets a spelling of the name of its own, `set-cookie`, `Set-cookie` and so on.
//! The gateway adds one header after the other and knows no case, so that all of
//! them arrive, in an order of its own.

use std::collections::HashMap;

use http::HeaderMap;
use http::header::SET_COOKIE;

pub(super) fn single(headers: &HeaderMap) -> HashMap<String, String> {
    let mut single: HashMap<String, String> = HashMap::with_capacity(headers.keys_len());
    for name in headers.keys() {
        let values = headers.get_all(name).into_iter();
        let values = values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        if *name == SET_COOKIE {
            single.extend(spellings(name.as_str()).zip(values));
        } else {
            let joined: Vec<String> = values.collect();
            single.insert(name.as_str().to_owned(), joined.join(", "));
        }
    }
    single
}

/// Every way to write a name with small and capital letters, all small first.
fn spellings(name: &str) -> impl Iterator<Item = String> {
    let letters = name.chars().filter(char::is_ascii_alphabetic).count();
    (0..1_u64 << letters.min(63)).map(move |capitals| {
        let mut left = capitals;
        let spelled = name.chars().map(|letter| {
            if !letter.is_ascii_alphabetic() {
                return letter;
            }
            let is_capital = left & 1 == 1;
            left >>= 1;
            match is_capital {
                true => letter.to_ascii_uppercase(),
                false => letter,
            }
        });
        spelled.collect()
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn repeated_values_are_joined_and_cookies_are_kept_apart() {
        let mut headers = HeaderMap::new();
        for (name, value) in [("vary", "a"), ("vary", "b"), ("x", "1")] {
            headers.append(name, HeaderValue::from_static(value));
        }
        for number in 0..600 {
            let cookie = HeaderValue::try_from(format!("c{number}=1, 2")).unwrap();
            headers.append(SET_COOKIE, cookie);
        }
        let single = single(&headers);
        assert_eq!((&*single["vary"], &*single["x"]), ("a, b", "1"));
        assert_eq!(single["set-cookie"], "c0=1, 2");
        assert_eq!(single["Set-cookie"], "c1=1, 2");
        // As many as the name has spellings.
        assert_eq!(single.len(), 2 + 512);
        let is_cookie = |name: &&String| name.eq_ignore_ascii_case("set-cookie");
        assert_eq!(single.keys().filter(is_cookie).count(), 512);
    }
}
