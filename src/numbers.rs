//! JavaScript numbers as the whole numbers the runtime counts in.

use std::time::Duration;

use greenroom_error::{Error, Result};
use napi::bindgen_prelude::BigInt;

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

/// An option that counts something of which there has to be one.
pub(crate) fn positive(name: &str, number: f64) -> Result<usize> {
    match count(name, number)? {
        0 => Err(Error::invalid_argument(name, "must be at least 1")),
        count => Ok(count as usize),
    }
}

/// The same where more than `u32::MAX` is a mistake, not "as many as there are".
pub(crate) fn exact_count(name: &str, number: f64) -> Result<u32> {
    if number > f64::from(u32::MAX) {
        return Err(Error::invalid_argument(name, "exceeds u32 range"));
    }
    count(name, number)
}

/// A stretch of milliseconds, not negative.
pub(crate) fn millis(name: &str, number: f64) -> Result<u64> {
    // Fractions are cut, numbers beyond the range become its end.
    count(name, number).map(|_| number as u64)
}

/// The same as an optional span.
pub(crate) fn span(name: &str, number: Option<f64>) -> Result<Option<Duration>> {
    let millis = number.map(|number| millis(name, number)).transpose()?;
    Ok(millis.map(Duration::from_millis))
}

/// The largest number of which every smaller whole one is exact.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// A time in milliseconds since 1970. What is no time is refused, because any
/// reading of it would fire at once or never.
pub(crate) fn timestamp(name: &str, number: f64) -> Result<i64> {
    if !number.is_finite() {
        return Err(Error::invalid_argument(name, "must be a finite number"));
    }
    if number.abs() > MAX_SAFE_INTEGER {
        return Err(Error::invalid_argument(name, "is beyond the safe integers"));
    }
    Ok(truncated_i64(number))
}

/// A stretch of milliseconds from now to a time.
pub(crate) fn delay(name: &str, number: f64) -> Result<u64> {
    // NaN is what a count refuses in its own words.
    let millis = millis(name, number)?;
    timestamp(name, number).map(|_| millis)
}

/// A message id.
pub(crate) fn message_id(name: &str, id: &BigInt) -> Result<u64> {
    match id.get_u64() {
        (false, id, true) => Ok(id),
        _ => Err(Error::invalid_argument(
            name,
            "must be a non-negative 64-bit bigint",
        )),
    }
}
