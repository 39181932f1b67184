//! Where diagnostics go: one line each on stderr, in the form `key=value`.
//!
//! Installed once per process, by whoever constructs a registry or a factory
//! first; a subscriber that the process has already is left alone. Levels come
//! from `RIVET_LOG_LEVEL`, `LOG_LEVEL` or `RUST_LOG`, in this order; default
//! `warn`.

use std::fmt::{self, Write};
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::variables::variable;

const FILTER_ENV: [&str; 3] = ["RIVET_LOG_LEVEL", "LOG_LEVEL", "RUST_LOG"];
const TARGET_ENV: [&str; 2] = ["RUST_LOG_TARGET", "RIVET_LOG_TARGET"];
const DEFAULT_FILTER: &str = "warn";

pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(filter())
            .with_writer(|| Lenient(std::io::stderr()))
            .log_internal_errors(false)
            .event_format(Logfmt {
                target: TARGET_ENV
                    .iter()
                    .any(|name| variable(name).as_deref() == Some("1")),
            })
            .finish();
        // Fails only if somebody was first.
        let _ = tracing::subscriber::set_global_default(subscriber);
    });
}

fn filter() -> EnvFilter {
    let wanted = FILTER_ENV.iter().find_map(|name| variable(name));
    let wanted = wanted.as_deref().unwrap_or(DEFAULT_FILTER);
    EnvFilter::try_new(wanted).unwrap_or_else(|_| EnvFilter::new(DEFAULT_FILTER))
}

/// A log that cannot be written, on a full disk say, is no reason to fail: the
/// subscriber would report it on the same stream, and panic.
struct Lenient(std::io::Stderr);

impl std::io::Write for Lenient {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _ = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}

struct Logfmt {
    target: bool,
}

impl<S, N> FormatEvent<S, N> for Logfmt
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        writer.write_str("ts=")?;
        SystemTime.format_time(&mut writer)?;
        write!(
            writer,
            " level={}",
            event.metadata().level().as_str().to_lowercase()
        )?;
        if self.target {
            write!(writer, " target={}", event.metadata().target())?;
        }
        let mut line = Line {
            writer: &mut writer,
            result: Ok(()),
        };
        event.record(&mut line);
        line.result?;
        writeln!(writer)
    }
}

struct Line<'a, 'w> {
    writer: &'a mut Writer<'w>,
    result: fmt::Result,
}

impl Line<'_, '_> {
    fn pair(&mut self, name: &str, value: &str) {
        self.result = self.result.and_then(|()| {
            let bare = |c: char| c.is_ascii_alphanumeric() || "-_.:/+".contains(c);
            if name != "message" && !value.is_empty() && value.chars().all(bare) {
                write!(self.writer, " {name}={value}")
            } else {
                write!(self.writer, " {name}={value:?}")
            }
        });
    }
}

impl Visit for Line<'_, '_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.pair(field.name(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = String::new();
        if write!(text, "{value:?}").is_ok() {
            self.pair(field.name(), &text);
        }
    }
}
