//! The reason text of a WebSocket close frame.
//!
//! Clients learn from it what went wrong: `group.code`, or `group.code#ray`
//! when the failure lies before the actor. A close frame holds little text, so
//! the ray id is what gives way.

use greenroom_error::Error;

use crate::RayId;

/// Longest reason a close frame can carry, in bytes.
pub const REASON_BYTES_MAX: usize = 123;

/// The reason text for an error; with `ray_id` if the gateway closes.
pub fn of_error(error: &Error, ray_id: Option<&RayId>) -> String {
    let mut reason = format!("{}.{}", error.group(), error.code());
    if let Some(ray_id) = ray_id {
        reason.push('#');
        reason.push_str(ray_id.as_str());
    }
    truncate(&reason).to_owned()
}

/// The longest front part of a text that fits a close frame.
pub fn truncate(reason: &str) -> &str {
    let mut end = REASON_BYTES_MAX.min(reason.len());
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    &reason[..end]
}

/// Group and code of a reason text; `None` if it does not name both.
pub fn parse(reason: &str) -> Option<(&str, &str)> {
    let name = reason.split('#').next()?;
    let mut parts = name.split('.');
    let (group, code) = (parts.next()?, parts.next()?);
    (!group.is_empty() && !code.is_empty()).then_some((group, code))
}

#[cfg(test)]
mod tests {
    use greenroom_error::code;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_reason_names_the_error_and_the_request() {
        let error = Error::new(&code::ACTOR_NOT_FOUND);
        assert_eq!(of_error(&error, None), "actor.not_found");
        let ray_id = RayId::parse(b"r1").unwrap();
        let reason = of_error(&error, Some(&ray_id));
        assert_eq!(reason, "actor.not_found#r1");
        assert_eq!(parse(&reason), Some(("actor", "not_found")));
    }

    #[test]
    fn a_reason_without_both_names_is_none() {
        for reason in ["", "bye", "actor.", ".x", "#actor.x", "Server Error"] {
            assert_eq!(parse(reason), None, "{reason}");
        }
    }

    proptest! {
        #[test]
        fn any_reason_fits_a_close_frame(group: String, code in "é{0,90}") {
            let error = Error::foreign(group, code, "");
            let reason = of_error(&error, Some(&RayId::generate()));
            prop_assert!(reason.len() <= REASON_BYTES_MAX);
            let _ = parse(&reason);
        }
    }
}
