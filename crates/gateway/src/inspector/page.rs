//! The inspector's own page: one self-contained document.
//!
//! It holds nothing of any actor and is the same for all of them; what it shows it
//! asks for over the inspector's socket, with the token that whoever looks brings.
//! Its policy allows the script and the styles in it by their hashes, and nothing
//! else; a test in `__test__/inspector.test.ts` says which they are now.

use http::StatusCode;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};

use crate::body::ReplyBody;
use crate::reply::{self, HttpReply};

const PAGE: &str = concat!(
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
    "<title>Inspector</title>\n<style>",
    include_str!("page/page.css"),
    "</style>\n</head>\n<body>\n",
    include_str!("page/page.html"),
    "<script type=\"module\">",
    include_str!("page/bytes.js"),
    include_str!("page/session.js"),
    include_str!("page/page.js"),
    "</script>\n</body>\n</html>\n",
);

/// It may be shown in a frame of any dashboard: without the token there is nothing
/// to see or to click on.
const POLICY: &str = "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    script-src 'sha256-sNGtjT+AqT2DukAAfmCB0Xik/C6EBI+fXlc9htafw1A='; \
    style-src 'sha256-GDMMhWERIfc9Gf5JzELd611NEBxd19YhcUEYB33ZGJg='";

/// The page at a path below `/inspector/ui`; `None` if there is no such file.
pub(super) fn at(path: &str) -> Option<HttpReply> {
    if !matches!(path, "" | "/" | "/index.html") {
        return None;
    }
    let page = ReplyBody::whole(PAGE);
    let mut page = reply::of(StatusCode::OK, "text/html; charset=utf-8", page);
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-cache"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        page.headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    Some(page)
}
