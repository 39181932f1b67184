//! Cron expressions: five fields in a time zone, and the time they match next.
//!
//! Parsing and the search on the calendar are croner's; how a calendar time
//! becomes an instant is decided here, because that is where a daily job is lost
//! or doubled:
//!
//! - A wall time that a zone skips (clocks go forward, a day is left out) does
//!   not happen: the job waits for the next match.
//! - A wall time that happens twice (clocks go back) counts once, the first time,
//!   for a job at one fixed minute of one fixed hour. Any other job, such as one
//!   every ten minutes, fires in both passes.
//!
//! Zones come from the IANA database built into the program, so the machine's own
//! does not matter.

use std::str::FromStr;

use croner::{Cron, JobType};
use greenroom_error::{Error, Result, code};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

const FIELDS: usize = 5;
pub(crate) const DEFAULT_ZONE: &str = "UTC";

/// An expression in its zone.
pub(crate) struct CronSpec {
    cron: Cron,
    zone: TimeZone,
    /// One fixed minute of one fixed hour.
    fixed_time: bool,
}

impl CronSpec {
    /// Errors: `schedule/invalid_cron_expression`, `schedule/invalid_timezone`.
    pub(crate) fn parse(expression: &str, zone: &str) -> Result<Self> {
        if expression.split_whitespace().count() != FIELDS {
            return Err(invalid("expected exactly five fields"));
        }
        let cron = Cron::from_str(expression).map_err(|error| invalid(&error.to_string()))?;
        let fixed_time = cron.determine_job_type() == JobType::FixedTime;
        Ok(Self {
            cron,
            zone: find_zone(zone)?,
            fixed_time,
        })
    }

    /// The zone's name as the database spells it.
    pub(crate) fn zone_name(&self) -> &str {
        self.zone.iana_name().unwrap_or(DEFAULT_ZONE)
    }

    /// The first match after `now_ms`, both in Unix milliseconds; `None` if there
    /// will never be one.
    pub(crate) fn next_after(&self, now_ms: i64) -> Option<i64> {
        let now = Timestamp::from_millisecond(now_ms).ok()?;
        let ahead = self.first_match(self.zone.to_datetime(now), now);
        let again = self.first_match_of_second_pass(now);
        let next = ahead.into_iter().chain(again).min()?;
        Some(next.as_millisecond())
    }

    /// The first match with a wall time after `wall` that is an instant after
    /// `now`.
    fn first_match(&self, mut wall: DateTime, now: Timestamp) -> Option<Timestamp> {
        loop {
            wall = self.cron.find_next_occurrence(&wall, false).ok()?;
            let offset = self.zone.to_ambiguous_timestamp(wall).offset();
            let candidates = match offset {
                AmbiguousOffset::Unambiguous { offset } => [Some(offset), None],
                AmbiguousOffset::Gap { .. } => [None, None],
                AmbiguousOffset::Fold { before, after } => {
                    [Some(before), (!self.fixed_time).then_some(after)]
                }
            };
            let mut instants = candidates
                .into_iter()
                .flatten()
                .filter_map(|offset| offset.to_timestamp(wall).ok());
            if let Some(instant) = instants.find(|instant| *instant > now) {
                return Some(instant);
            }
        }
    }

    /// In the first pass of wall times that come twice, a walk along the wall
    /// clock leads past the second pass: that is walked from its beginning.
    fn first_match_of_second_pass(&self, now: Timestamp) -> Option<Timestamp> {
        if self.fixed_time {
            return None;
        }
        let wall = self.zone.to_datetime(now);
        match self.zone.to_ambiguous_timestamp(wall).offset() {
            AmbiguousOffset::Fold { before, .. } if before == self.offset_at(now) => {}
            _ => return None,
        }
        let turned_back = self.zone.following(now).next()?.timestamp();
        let just_before = SignedDuration::from_secs(1);
        let start = self.zone.to_datetime(turned_back).checked_sub(just_before);
        let earlier = turned_back.checked_sub(just_before).ok()?;
        self.first_match(start.ok()?, earlier)
    }

    fn offset_at(&self, now: Timestamp) -> Offset {
        self.zone.to_offset(now)
    }
}

fn find_zone(name: &str) -> Result<TimeZone> {
    let unknown = || {
        Error::with(
            &code::SCHEDULE_INVALID_TIMEZONE,
            json!({ "timezone": name }),
        )
    };
    let zone = TimeZone::get(name).map_err(|_| unknown())?;
    // The database's entry for "no zone known" has no name.
    if zone.iana_name().is_none() {
        return Err(unknown());
    }
    Ok(zone)
}

pub(crate) fn invalid(reason: &str) -> Error {
    Error::with(
        &code::SCHEDULE_INVALID_CRON_EXPRESSION,
        json!({ "reason": reason }),
    )
}

#[cfg(test)]
#[path = "cron_tests.rs"]
mod tests;
