//! The byte stream under the session.

use std::sync::Arc;

use rivet_envoy_client::callbacks::BoxFuture;
use rivet_envoy_client::config::{EnvoyConnector, EnvoyStream};

use super::backlog::{Backlog, Counted};
use super::credit::Credit;
use crate::net::Net;

/// Connects as the calls to the engine's API do.
pub(super) struct Connector {
    pub(super) net: Net,
    pub(super) backlog: Arc<Backlog>,
}

impl EnvoyConnector for Connector {
    fn connect(&self, _url: &str) -> BoxFuture<anyhow::Result<EnvoyStream>> {
        let net = self.net.clone();
        let backlog = Arc::clone(&self.backlog);
        Box::pin(async move {
            let stream = net.connect().await?;
            let counted = Counted::new(stream, backlog);
            Ok(Box::new(Credit::new(counted)) as EnvoyStream)
        })
    }
}
