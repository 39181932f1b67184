//! The byte stream under the session.

use rivet_envoy_client::callbacks::BoxFuture;
use rivet_envoy_client::config::{EnvoyConnector, EnvoyStream};

use super::credit::Credit;
use crate::net::Net;

/// Connects as the calls to the engine's API do.
pub(super) struct Connector(pub(super) Net);

impl EnvoyConnector for Connector {
    fn connect(&self, _url: &str) -> BoxFuture<anyhow::Result<EnvoyStream>> {
        let net = self.0.clone();
        Box::pin(async move {
            let stream = net.connect().await?;
            Ok(Box::new(Credit::new(stream)) as EnvoyStream)
        })
    }
}
