//! A host's figures in Prometheus text form.

use std::fmt::Write;

/// Content type of the text.
pub const METRICS_TYPE: &str = "text/plain; version=0.0.4";

/// What every host counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostFigures {
    pub actors_awake: usize,
    pub databases_open: usize,
    pub sockets_open: usize,
}

impl HostFigures {
    /// The figures as a scraper reads them.
    pub fn text(&self) -> String {
        let mut text = Text::default();
        let version = env!("CARGO_PKG_VERSION");
        let info = text.family("greenroom_info", "What runs here.");
        let _ = writeln!(info, "greenroom_info{{version=\"{version}\"}} 1");
        text.gauge(
            "greenroom_actors_awake",
            "Actors with an instance in this process.",
            self.actors_awake,
        );
        text.gauge(
            "greenroom_databases_open",
            "Actor databases that hold files open.",
            self.databases_open,
        );
        text.gauge(
            "greenroom_sockets_open",
            "Sockets of clients, those of sleeping actors included.",
            self.sockets_open,
        );
        text.0
    }
}

#[derive(Default)]
struct Text(String);

// Writing to a string does not fail.
impl Text {
    /// Begins a family of gauges.
    fn family(&mut self, name: &str, help: &str) -> &mut String {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} gauge");
        &mut self.0
    }

    fn gauge(&mut self, name: &str, help: &str, value: usize) {
        let lines = self.family(name, help);
        let _ = writeln!(lines, "{name} {value}");
    }
}
