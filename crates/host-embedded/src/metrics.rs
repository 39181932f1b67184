//! Figures of the process in Prometheus text form.

use std::fmt::Write;

use crate::embedded::EmbeddedHost;
use crate::shared::Shared;

/// Content type of the text.
pub const METRICS_TYPE: &str = "text/plain; version=0.0.4";

impl EmbeddedHost {
    /// Figures of this host, as a scraper reads them.
    pub fn metrics(&self) -> String {
        self.shared().metrics()
    }
}

impl Shared {
    pub(crate) fn metrics(&self) -> String {
        let mut text = Text::default();
        let version = env!("CARGO_PKG_VERSION");
        let info = text.family("greenroom_info", "What runs here.");
        let _ = writeln!(info, "greenroom_info{{version=\"{version}\"}} 1");
        text.gauge(
            "greenroom_actors_awake",
            "Actors with an instance in this process.",
            self.registry.instance_count(),
        );
        text.gauge(
            "greenroom_databases_open",
            "Actor databases that hold files open.",
            self.store.open_count(),
        );
        text.gauge(
            "greenroom_sockets_open",
            "Sockets of clients, those of sleeping actors included.",
            self.sockets.open_count(),
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
