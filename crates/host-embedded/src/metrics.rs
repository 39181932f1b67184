//! Figures of the process.

use greenroom_gateway::HostFigures;

use crate::embedded::EmbeddedHost;
use crate::shared::Shared;

impl EmbeddedHost {
    /// Figures of this host, as a scraper reads them.
    pub fn metrics(&self) -> String {
        self.shared().metrics()
    }
}

impl Shared {
    pub(crate) fn metrics(&self) -> String {
        let figures = HostFigures {
            actors_awake: self.registry.instance_count(),
            databases_open: self.store.open_count(),
            sockets_open: self.sockets.open_count(),
            types: self.registry.type_reports(),
        };
        figures.text()
    }
}
