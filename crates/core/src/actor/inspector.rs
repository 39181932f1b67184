//! Who may inspect an actor.
//!
//! Owns the token and its storage. What an inspector then sees is elsewhere.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use greenroom_error::{Error, Result, code};
use greenroom_store::SaveBatch;

use crate::actor::context::ActorContext;
use crate::actor::inspection::Board;
use crate::secret::same_secret;

/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;
/// Takes the place of every actor's own token, for tests of a whole program.
const TEST_TOKEN_ENV: &str = "_RIVET_TEST_INSPECTOR_TOKEN";

/// The inspection side of one generation.
#[derive(Default)]
pub(crate) struct InspectorRoom {
    /// As stored; set once, at the start.
    token: OnceLock<String>,
    pub(super) board: Board,
}

fn new_token() -> Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::internal("the system gives no random numbers").with_source(error)
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

impl ActorContext {
    /// Takes the stored token, or makes one and stores it: that of a new actor goes
    /// with its first rows.
    pub(crate) async fn load_inspector_token(&self, stored: Option<String>) -> Result<()> {
        let known = stored.is_some();
        let token = match stored {
            Some(token) => token,
            None => new_token()?,
        };
        self.0.inspector.token.get_or_init(|| token.clone());
        if known || !self.has_initialized() {
            return Ok(());
        }
        let batch = SaveBatch {
            inspector_token: Some(token),
            ..SaveBatch::default()
        };
        self.0.sql.save(batch).await
    }

    /// The bearer token of this actor's inspector: 43 characters, the same in every
    /// generation. `None` before the start has read it.
    pub fn inspector_token(&self) -> Option<&str> {
        self.0.inspector.token.get().map(String::as_str)
    }

    /// Tells the host that the token outlives a crash from now on.
    pub(crate) fn announce_inspector_token(&self) {
        if let Some(token) = self.inspector_token() {
            self.host().inspector_token_stored(self.actor(), token);
        }
    }

    /// What whoever may inspect this actor says. Empty before the start.
    pub fn inspector_bearer(&self) -> String {
        match std::env::var(TEST_TOKEN_ENV) {
            Ok(token) if !token.is_empty() => token,
            _ => self.inspector_token().unwrap_or_default().to_owned(),
        }
    }

    /// Checks the bearer token of whoever wants to inspect.
    ///
    /// # Errors
    /// `inspector/unauthorized`.
    pub fn verify_inspector_token(&self, given: Option<&str>) -> Result<()> {
        let expected = self.inspector_bearer();
        match given {
            Some(given)
                if !expected.is_empty() && same_secret(given.as_bytes(), expected.as_bytes()) =>
            {
                Ok(())
            }
            _ => Err(Error::new(&code::INSPECTOR_UNAUTHORIZED)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_and_unlike() {
        let (one, other) = (new_token().unwrap(), new_token().unwrap());
        assert_eq!(one.len(), 43);
        assert_ne!(one, other);
    }
}
