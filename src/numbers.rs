//! JavaScript numbers as the whole numbers the runtime counts in.

use greenroom_error::{Error, Result};

/// Fractions are cut, numbers beyond the range become its end, NaN becomes 0.
pub(crate) fn saturating_u32(number: f64) -> u32 {
    number as u32
}

/// Fractions are cut, numbers beyond the range become its end, NaN becomes 0.
pub(crate) fn truncated_i64(number: f64) -> i64 {
    number as i64
}

/// A time or span in milliseconds: not negative; fractions are cut.
pub(crate) fn milliseconds(name: &str, number: f64) -> Result<i64> {
    if number.is_nan() || number < 0.0 {
        let reason = "must be a number of milliseconds that is not negative";
        return Err(Error::invalid_argument(name, reason));
    }
    Ok(truncated_i64(number))
}

/// An option that counts something: whole, not negative, at most `u32::MAX`.
pub(crate) fn count(name: &str, number: f64) -> Result<u32> {
    if number.is_nan() {
        return Err(Error::invalid_argument(name, "must be a number"));
    }
    if number < 0.0 {
        return Err(Error::invalid_argument(name, "must be non-negative"));
    }
    Ok(saturating_u32(number))
}
