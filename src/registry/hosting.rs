//! The host of a registry, whichever it is, and what the registry adds to it.

use std::sync::Arc;

use greenroom_core::{ActorFactory, Clock, ManualClock};
use greenroom_error::{Error, Result};
use greenroom_host_embedded::EmbeddedHost;
use serde_json::{Value as Json, json};

use super::Factories;
use super::engine::{Joined, Serverless};
use super::phase::Mode;

/// Where the actors of a registry live.
pub(super) enum Place {
    Embedded(EmbeddedHost),
    Engine(Box<Joined>),
    /// Nowhere, until an engine brings the first actor with a request.
    Serverless(Box<Serverless>),
}

/// An open host.
pub(super) struct Hosting {
    pub(super) place: Place,
    pub(super) manual_clock: Option<ManualClock>,
    /// Names and display data, for metadata.
    pub(super) actor_names: Json,
    pub(super) identity: Identity,
}

/// What a registry tells others about itself.
#[derive(Clone)]
pub(super) struct Identity {
    /// Of the package that answers.
    pub(super) version: String,
    pub(super) mode: Mode,
    pub(super) envoy_version: u32,
    /// Where clients should go instead, if elsewhere.
    pub(super) client_endpoint: Option<String>,
    pub(super) client_namespace: Option<String>,
    pub(super) client_token: Option<String>,
}

impl Default for Identity {
    fn default() -> Self {
        Self {
            version: crate::VERSION.to_owned(),
            mode: Mode::Standing,
            envoy_version: 1,
            client_endpoint: None,
            client_namespace: None,
            client_token: None,
        }
    }
}

impl Hosting {
    /// The embedded host, for what only that one does.
    ///
    /// # Errors
    /// `actor/not_configured` where an engine hosts the actors.
    pub(super) fn embedded(&self) -> Result<&EmbeddedHost> {
        match &self.place {
            Place::Embedded(host) => Ok(host),
            Place::Engine(_) | Place::Serverless(_) => Err(Error::not_configured("embedded host")),
        }
    }

    pub(super) fn clock(&self) -> &Clock {
        match &self.place {
            Place::Embedded(host) => host.clock(),
            Place::Engine(joined) => joined.host.clock(),
            Place::Serverless(serverless) => serverless.clock(),
        }
    }

    pub(super) fn metrics(&self) -> String {
        match &self.place {
            Place::Embedded(host) => host.metrics(),
            Place::Engine(joined) => joined.host.metrics(),
            Place::Serverless(serverless) => serverless.metrics(),
        }
    }

    /// Puts all actors to rest and closes everything.
    pub(super) async fn shutdown(&self) {
        match &self.place {
            Place::Embedded(host) => host.shutdown().await,
            Place::Engine(joined) => joined.shutdown().await,
            Place::Serverless(serverless) => serverless.shutdown().await,
        }
    }

    /// Ends as a crash of the process would.
    pub(super) async fn crash(&self) {
        match &self.place {
            Place::Embedded(host) => host.crash().await,
            Place::Engine(joined) => joined.crash().await,
            Place::Serverless(serverless) => serverless.crash().await,
        }
    }
}

pub(super) fn actor_names(factories: &Factories) -> Json {
    let entry = |(name, factory): (&String, &Arc<ActorFactory>)| {
        let config = factory.config();
        let mut metadata = serde_json::Map::new();
        if let Some(icon) = &config.icon {
            metadata.insert("icon".into(), json!(icon));
        }
        if let Some(name) = &config.name {
            metadata.insert("name".into(), json!(name));
        }
        (name.clone(), json!({ "metadata": metadata }))
    };
    Json::Object(factories.iter().map(entry).collect())
}
