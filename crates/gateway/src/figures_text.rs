//! The text form that Prometheus reads: families, samples, distributions.
//!
//! Knows no figure; [`super::figures`] says what there is.

use std::fmt::{Display, Write};

use greenroom_core::figures::Histogram;

/// Pairs of a label's name and value.
pub(crate) type Labels<'a> = &'a [(&'a str, &'a str)];

#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

#[derive(Default)]
pub(crate) struct Text(String);

/// Samples of one family, which is named with the first of them.
pub(crate) struct Family<'a> {
    text: &'a mut String,
    name: &'a str,
    head: Option<String>,
}

// Writing to a string does not fail.
impl Text {
    pub(crate) fn family<'a>(&'a mut self, name: &'a str, kind: Kind, help: &str) -> Family<'a> {
        let word = kind.word();
        Family {
            text: &mut self.0,
            name,
            head: Some(format!("# HELP {name} {help}\n# TYPE {name} {word}\n")),
        }
    }

    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

impl Family<'_> {
    pub(crate) fn sample(&mut self, labels: Labels<'_>, value: impl Display) {
        self.line("", labels, None, value);
    }

    pub(crate) fn histogram(&mut self, labels: Labels<'_>, histogram: &Histogram) {
        let mut within = 0;
        for (bound, count) in histogram.bounds.iter().zip(&histogram.counts) {
            within += count;
            self.line("_bucket", labels, Some(&bound.to_string()), within);
        }
        let count = histogram.count();
        self.line("_bucket", labels, Some("+Inf"), count);
        self.line("_sum", labels, None, histogram.sum_seconds);
        self.line("_count", labels, None, count);
    }

    fn line(&mut self, suffix: &str, labels: Labels<'_>, le: Option<&str>, value: impl Display) {
        self.text.extend(self.head.take());
        let _ = write!(self.text, "{}{suffix}", self.name);
        let labels = labels.iter().copied().chain(le.map(|bound| ("le", bound)));
        let mut before = "{";
        for (name, value) in labels {
            let _ = write!(self.text, "{before}{name}=\"{}\"", escaped(value));
            before = ",";
        }
        let end = if before == "{" { "" } else { "}" };
        let _ = writeln!(self.text, "{end} {value}");
    }
}

fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_name_their_labels_and_hide_what_would_end_a_line() {
        let mut text = Text::default();
        let mut family = text.family("things", Kind::Gauge, "Things.");
        family.sample(&[], 1);
        family.sample(&[("name", "a\"b\\c\nd"), ("kind", "x")], 2.5);
        let wanted = "# HELP things Things.\n# TYPE things gauge\nthings 1\n\
            things{name=\"a\\\"b\\\\c\\nd\",kind=\"x\"} 2.5\n";
        assert_eq!(text.into_string(), wanted);
    }

    #[test]
    fn a_family_without_samples_is_not_mentioned() {
        let mut text = Text::default();
        text.family("things", Kind::Counter, "Things.");
        assert_eq!(text.into_string(), "");
    }

    #[test]
    fn a_distribution_adds_up_towards_its_end() {
        let mut text = Text::default();
        let histogram = Histogram {
            bounds: &[0.5, 1.0],
            counts: vec![2, 0, 1],
            sum_seconds: 3.25,
        };
        let mut family = text.family("took", Kind::Histogram, "Time.");
        family.histogram(&[("of", "x")], &histogram);
        let lines = text.into_string();
        let lines: Vec<_> = lines.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "took_bucket{of=\"x\",le=\"0.5\"} 2",
                "took_bucket{of=\"x\",le=\"1\"} 2",
                "took_bucket{of=\"x\",le=\"+Inf\"} 3",
                "took_sum{of=\"x\"} 3.25",
                "took_count{of=\"x\"} 3",
            ]
        );
    }
}
