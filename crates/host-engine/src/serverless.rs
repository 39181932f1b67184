//! Actors that an engine brings with a request of its own.
//!
//! Behind somebody else's server nothing is placed by itself: the engine makes a
//! request to the program, whose body is the command to start one actor. From
//! there on all goes through the session, as everywhere.

use greenroom_error::{Error, Result, code};
use serde_json::json;

use crate::join::EngineHost;

/// A generation that came with a request.
pub struct ServerlessActor {
    host: EngineHost,
    actor_id: String,
    generation: u32,
}

impl EngineHost {
    /// Starts the actor that the body of such a request names. It may still be on
    /// its way up when this returns.
    ///
    /// # Errors
    /// `request/invalid` for a body that is no start of an actor, or of a protocol
    /// that is not spoken; `registry/shut_down`.
    pub async fn start_serverless(&self, body: &[u8]) -> Result<ServerlessActor> {
        self.shared().check_open()?;
        let started = self.session().start_serverless(body).await;
        let (actor_id, generation) = started
            .map_err(|reason| Error::with(&code::REQUEST_INVALID, json!({ "reason": reason })))?;
        Ok(ServerlessActor {
            host: self.clone(),
            actor_id,
            generation,
        })
    }
}

impl ServerlessActor {
    /// Resolves when the generation is over.
    pub async fn stopped(&self) {
        let session = self.host.session();
        session.stopped(&self.actor_id, self.generation).await;
    }
}
