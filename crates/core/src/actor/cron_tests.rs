//! Cron expressions at the edges of the calendar and of daylight saving time.

use greenroom_error::code;
use jiff::Timestamp;

use super::CronSpec;

fn ms(instant: &str) -> i64 {
    instant
        .parse::<Timestamp>()
        .expect("an instant")
        .as_millisecond()
}

/// The next `count` matches after an instant, as UTC texts.
fn matches(expression: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let spec = CronSpec::parse(expression, zone).expect("valid");
    let mut now = ms(after);
    let next = std::iter::from_fn(|| {
        now = spec.next_after(now)?;
        Some(
            Timestamp::from_millisecond(now)
                .expect("in range")
                .to_string(),
        )
    });
    next.take(count).collect()
}

/// `(expression, zone, after, the matches that follow)`, all instants in UTC.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

/// Wall times that are skipped or come twice.
const CHANGES_OF_CLOCKS: &[Row] = &[
    // Berlin goes from 02:00 to 03:00 on 29 March 2026, at 01:00 UTC.
    (
        "30 2 * * *",
        "Europe/Berlin",
        "2026-03-28T00:00:00Z",
        &["2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"],
    ),
    (
        "0 3 * * *",
        "Europe/Berlin",
        "2026-03-28T12:00:00Z",
        &["2026-03-29T01:00:00Z"],
    ),
    (
        "*/30 * * * *",
        "Europe/Berlin",
        "2026-03-29T00:15:00Z",
        &[
            "2026-03-29T00:30:00Z",
            "2026-03-29T01:00:00Z",
            "2026-03-29T01:30:00Z",
        ],
    ),
    // And from 03:00 back to 02:00 on 25 October, at 01:00 UTC.
    (
        "30 2 * * *",
        "Europe/Berlin",
        "2026-10-24T12:00:00Z",
        &["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"],
    ),
    (
        "30 2 * * *",
        "Europe/Berlin",
        "2026-10-25T01:10:00Z",
        &["2026-10-26T01:30:00Z"],
    ),
    (
        "*/30 * * * *",
        "Europe/Berlin",
        "2026-10-24T23:45:00Z",
        &[
            "2026-10-25T00:00:00Z",
            "2026-10-25T00:30:00Z",
            "2026-10-25T01:00:00Z",
            "2026-10-25T01:30:00Z",
            "2026-10-25T02:00:00Z",
        ],
    ),
    (
        "15 2,3 * * *",
        "Europe/Berlin",
        "2026-10-25T00:00:00Z",
        &[
            "2026-10-25T00:15:00Z",
            "2026-10-25T01:15:00Z",
            "2026-10-25T02:15:00Z",
        ],
    ),
    // New York: 8 March at 07:00 UTC, 1 November at 06:00 UTC.
    (
        "30 2 * * *",
        "America/New_York",
        "2026-03-07T12:00:00Z",
        &["2026-03-09T06:30:00Z"],
    ),
    (
        "30 1 * * *",
        "America/New_York",
        "2026-10-31T12:00:00Z",
        &["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"],
    ),
    (
        "0 * * * *",
        "America/New_York",
        "2026-11-01T04:30:00Z",
        &[
            "2026-11-01T05:00:00Z",
            "2026-11-01T06:00:00Z",
            "2026-11-01T07:00:00Z",
        ],
    ),
    // Lord Howe moves by half an hour: 4 October at 15:30 UTC of the day
    // before, 5 April at 15:00 UTC of the day before.
    (
        "15 2 * * *",
        "Australia/Lord_Howe",
        "2026-10-02T15:00:00Z",
        &["2026-10-02T15:45:00Z", "2026-10-04T15:15:00Z"],
    ),
    (
        "45 1 * * *",
        "Australia/Lord_Howe",
        "2026-04-04T00:00:00Z",
        &["2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"],
    ),
    (
        "*/15 * * * *",
        "Australia/Lord_Howe",
        "2026-04-04T14:40:00Z",
        &[
            "2026-04-04T14:45:00Z",
            "2026-04-04T15:00:00Z",
            "2026-04-04T15:15:00Z",
            "2026-04-04T15:30:00Z",
        ],
    ),
    // Apia left out 30 December 2011 when it crossed the date line.
    (
        "0 9 * * *",
        "Pacific/Apia",
        "2011-12-29T00:00:00Z",
        &["2011-12-29T19:00:00Z", "2011-12-30T19:00:00Z"],
    ),
    (
        "0 12 30 12 *",
        "Pacific/Apia",
        "2011-01-01T00:00:00Z",
        &["2012-12-29T22:00:00Z"],
    ),
    // And ended its last summer time on 4 April 2021, at 14:00 UTC before.
    (
        "30 3 * * *",
        "Pacific/Apia",
        "2021-04-03T00:00:00Z",
        &["2021-04-03T13:30:00Z", "2021-04-04T14:30:00Z"],
    ),
    // Havana and others change at midnight: a job at midnight is not lost for
    // long and not doubled.
    (
        "0 0 * * *",
        "America/Havana",
        "2024-03-09T12:00:00Z",
        &["2024-03-11T04:00:00Z"],
    ),
    (
        "0 0 * * *",
        "America/Havana",
        "2024-11-02T12:00:00Z",
        &["2024-11-03T04:00:00Z", "2024-11-04T05:00:00Z"],
    ),
];

#[test]
fn wall_times_that_are_skipped_or_repeated() {
    for (expression, zone, after, expected) in CHANGES_OF_CLOCKS {
        let found = matches(expression, zone, after, expected.len());
        assert_eq!(&found, expected, "{expression} in {zone} after {after}");
    }
}

#[test]
fn fields_match_as_cron_users_expect() {
    let rows: &[Row] = &[
        (
            "* * * * *",
            "UTC",
            "2026-01-01T00:00:30.500Z",
            &["2026-01-01T00:01:00Z"],
        ),
        (
            "0 0 29 2 *",
            "UTC",
            "2026-01-01T00:00:00Z",
            &["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"],
        ),
        (
            "0 0 29 2 *",
            "UTC",
            "2096-03-01T00:00:00Z",
            &["2104-02-29T00:00:00Z"],
        ),
        // Both days restricted: either matches.
        (
            "0 0 13 * 5",
            "UTC",
            "2026-02-01T00:00:00Z",
            &["2026-02-06T00:00:00Z", "2026-02-13T00:00:00Z"],
        ),
        (
            "0 0 * * 7",
            "UTC",
            "2026-01-01T00:00:00Z",
            &["2026-01-04T00:00:00Z"],
        ),
        (
            "0 0 * JAN-MAR MON-FRI",
            "UTC",
            "2026-03-31T00:00:00Z",
            &["2027-01-01T00:00:00Z"],
        ),
        (
            "0 0 31 * *",
            "UTC",
            "2026-01-31T00:00:00Z",
            &["2026-03-31T00:00:00Z", "2026-05-31T00:00:00Z"],
        ),
        (
            "0 0 L * *",
            "UTC",
            "2026-02-01T00:00:00Z",
            &["2026-02-28T00:00:00Z"],
        ),
        (
            "59 23 31 12 *",
            "UTC",
            "2026-12-31T23:58:59Z",
            &["2026-12-31T23:59:00Z", "2027-12-31T23:59:00Z"],
        ),
    ];
    for (expression, zone, after, expected) in rows {
        let found = matches(expression, zone, after, expected.len());
        assert_eq!(&found, expected, "{expression}");
    }
}

#[test]
fn matches_are_strictly_after_the_time_asked_for() {
    let spec = CronSpec::parse("0 9 * * *", "UTC").expect("valid");
    let nine = ms("2026-05-05T09:00:00Z");
    assert_eq!(spec.next_after(nine - 1), Some(nine));
    assert_eq!(spec.next_after(nine), Some(nine + 86_400_000));
}

#[test]
fn a_date_that_never_comes_has_no_match() {
    for expression in ["0 0 30 2 *", "0 0 31 4,6,9,11 *"] {
        let spec = CronSpec::parse(expression, "UTC").expect("well formed");
        assert_eq!(spec.next_after(0), None, "{expression}");
    }
}

#[test]
fn malformed_expressions_say_why() {
    for expression in [
        "",
        "* * * *",
        "0 * * * * *",
        "@daily",
        "60 * * * *",
        "* 24 * * *",
        "* * 32 * *",
        "* * * 13 *",
        "* * * * 8",
        "*/0 * * * *",
        "5-1 * * * *",
        "a * * * *",
        "-1 * * * *",
    ] {
        let error = CronSpec::parse(expression, "UTC").err().expect("malformed");
        assert!(
            error.is(&code::SCHEDULE_INVALID_CRON_EXPRESSION),
            "{expression}"
        );
        assert!(error.metadata().is_some_and(|m| m["reason"].is_string()));
    }
}

#[test]
fn zones_are_iana_names_and_get_the_databases_spelling() {
    for name in ["Mars/Base", "", "Etc/Unknown", "GMT+1", "localtime"] {
        let error = CronSpec::parse("* * * * *", name).err().expect("unknown");
        assert!(error.is(&code::SCHEDULE_INVALID_TIMEZONE), "{name}");
    }
    let spec = CronSpec::parse("* * * * *", "europe/BERLIN").expect("known");
    assert_eq!(spec.zone_name(), "Europe/Berlin");
    let spec = CronSpec::parse("* * * * *", "UTC").expect("known");
    assert_eq!(spec.zone_name(), "UTC");
}

#[test]
fn a_wildcard_job_beats_evenly_through_every_change_of_clocks() {
    for zone in [
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "Pacific/Apia",
    ] {
        let spec = CronSpec::parse("*/15 * * * *", zone).expect("valid");
        let mut now = ms("2009-01-01T00:00:00Z");
        let end = ms("2013-01-01T00:00:00Z");
        while now < end {
            let next = spec.next_after(now).expect("always");
            assert_eq!(next - now, 900_000, "{zone} at {now}");
            now = next;
        }
    }
}

#[test]
fn a_daily_job_fires_once_on_each_day_that_has_its_time() {
    for zone in ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"] {
        let spec = CronSpec::parse("30 2 * * *", zone).expect("valid");
        let mut now = ms("2026-01-01T00:00:00Z");
        let end = ms("2030-01-01T00:00:00Z");
        let mut fires = 0;
        while now < end {
            let next = spec.next_after(now).expect("always");
            let hours = (next - now) as f64 / 3_600_000.0;
            assert!(
                (22.0..=49.0).contains(&hours) || fires == 0,
                "{zone} at {now}"
            );
            (now, fires) = (next, fires + 1);
        }
        // 1,461 days; a skipped 02:30 each spring where the gap covers it.
        let skipped = if zone == "Australia/Lord_Howe" { 0 } else { 4 };
        assert!(
            (1_461 - skipped..=1_462 - skipped).contains(&fires),
            "{zone}: {fires}"
        );
    }
}
