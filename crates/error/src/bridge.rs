//! The text form in which errors cross the Node boundary, both ways.
//!
//! Form: [`PREFIX`] directly followed by one JSON object. Outgoing text starts
//! with the prefix and always holds every key; incoming text is searched for the
//! prefix anywhere, because Node puts `Error: ` in front of it.

use serde_json::{Value, json};

use crate::{ActorSpecifier, Error};

/// Marks a structured error inside an ordinary error message.
pub const PREFIX: &str = "__RIVET_ERROR_JSON__:";

/// Environment switch that lets the text of internal errors through.
pub const EXPOSE_ENV: &str = "RIVET_EXPOSE_ERRORS";

/// Encodes an error as the message of a JavaScript `Error`.
pub fn encode(error: &Error) -> String {
    let actor = error.actor().map(|actor| {
        let mut value = json!({ "actorId": actor.actor_id, "generation": actor.generation });
        if let Some(key) = &actor.key {
            value["key"] = json!(key);
        }
        value
    });
    let object = json!({
        "actor": actor,
        "code": error.code(),
        "group": error.group(),
        "message": error.message(),
        "metadata": error.metadata(),
        "public": error.bridge_status().map(|_| true),
        "rayId": error.ray_id(),
        "statusCode": error.bridge_status(),
    });
    format!("{PREFIX}{object}")
}

/// Decodes the text of a JavaScript exception. Text without a well-formed
/// structured part becomes an internal error that keeps the text for logs.
pub fn decode(text: &str) -> Error {
    let Some(at) = text.find(PREFIX) else {
        return Error::internal(text);
    };
    match serde_json::from_str::<Value>(&text[at + PREFIX.len()..]) {
        Ok(value) => from_value(&value).unwrap_or_else(|| Error::internal(text)),
        Err(_) => Error::internal(text),
    }
}

fn from_value(value: &Value) -> Option<Error> {
    let field = |name: &str| value.get(name)?.as_str();
    let mut error = Error::foreign(field("group")?, field("code")?, field("message")?);
    if let Some(metadata) = value.get("metadata") {
        error = error.with_metadata(metadata.clone());
    }
    if let Some(ray_id) = field("rayId") {
        error = error.with_ray_id(ray_id);
    }
    if let Some(actor) = value.get("actor").and_then(actor_from_value) {
        error = error.with_actor(actor);
    }
    Some(error)
}

fn actor_from_value(value: &Value) -> Option<ActorSpecifier> {
    Some(ActorSpecifier {
        actor_id: value.get("actorId")?.as_str()?.to_owned(),
        generation: value.get("generation")?.as_u64()?.try_into().ok()?,
        key: value.get("key").and_then(Value::as_str).map(str::to_owned),
    })
}
