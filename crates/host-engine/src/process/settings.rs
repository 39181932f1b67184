//! How an engine is set up that runs for one machine.

use std::path::Path;

use crate::api::Address;

/// Ports the engine needs beside its own, counted from that.
const PEER_PORT: u16 = 1;
const METRICS_PORT: u16 = 10;

/// Times between two tries to place an actor, if nobody serves it: the first, and how
/// often it doubles. The engine's own go from 2 s to 512 s, in which calls do not reach an
/// actor whose process is back; those of the published package try each of them about
/// seven times a second, which takes a whole core.
const FIRST_RETRY_MS: &str = "500";
const RETRY_DOUBLES: &str = "5";
/// After this long without a try it begins with the first again.
const RETRIES_FORGOTTEN_MS: &str = "60000";

/// The engine's settings, as environment variables. The lost threshold is left as the
/// engine has it although a shorter one seems to suit one machine: with it, a disk that is
/// slow for some seconds takes processes for lost.
pub(super) fn of(address: &Address, storage: &Path) -> Result<Vec<(&'static str, String)>, String> {
    let host = || address.host().to_owned();
    let port = |offset: u16| {
        let port = address.port().checked_add(offset);
        let port = port.ok_or_else(|| format!("port {} leaves no room", address.port()))?;
        Ok::<_, String>(port.to_string())
    };
    let storage = storage.to_str().ok_or("the storage path is not UTF-8")?;
    let text = |text: &str| text.to_owned();
    Ok(vec![
        ("RIVET__GUARD__HOST", host()),
        ("RIVET__GUARD__PORT", port(0)?),
        // Without, every second small frame to a client waits 40 ms.
        ("RIVET__GUARD__TCP_NODELAY", text("true")),
        ("RIVET__API_PEER__HOST", host()),
        ("RIVET__API_PEER__PORT", port(PEER_PORT)?),
        ("RIVET__METRICS__HOST", host()),
        ("RIVET__METRICS__PORT", port(METRICS_PORT)?),
        ("RIVET__FILE_SYSTEM__PATH", text(storage)),
        ("RIVET__TELEMETRY__ENABLED", text("false")),
        ("RIVET__PEGBOARD__BASE_RETRY_TIMEOUT", text(FIRST_RETRY_MS)),
        (
            "RIVET__PEGBOARD__RESCHEDULE_BACKOFF_MAX_EXPONENT",
            text(RETRY_DOUBLES),
        ),
        (
            "RIVET__PEGBOARD__RETRY_RESET_DURATION",
            text(RETRIES_FORGOTTEN_MS),
        ),
        // Bodies that are streamed both ways.
        ("RIVET__FEATURES__GUARD_GATEWAY_V3__MODE", text("on")),
        ("RIVET__FEATURES__GUARD_GATEWAY_V3__PERCENTAGE", text("100")),
        // The engine takes less work on the busier the whole machine is, whoever keeps
        // it busy; what is not taken on answers after half a minute, if at all. So
        // many millicores that it never comes to that.
        ("RIVET__RUNTIME__WORKER_CPU_MAX", text("1000000000")),
        ("RIVET__RUNTIME__FORCE_SHUTDOWN_DURATION", text("2")),
        ("RIVET__RUNTIME__GUARD_SHUTDOWN_DURATION", text("1")),
        ("RIVET__RUNTIME__WORKER_SHUTDOWN_DURATION", text("1")),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_ports_follow_the_endpoint_and_have_to_exist() {
        let settings = |endpoint| of(&Address::parse(endpoint).unwrap(), Path::new("x"));
        let found = settings("http://127.0.0.1:6420").unwrap();
        let value = |name| {
            found
                .iter()
                .find(|(key, _)| *key == name)
                .unwrap()
                .1
                .clone()
        };
        assert_eq!(value("RIVET__API_PEER__PORT"), "6421");
        assert_eq!(value("RIVET__METRICS__PORT"), "6430");
        assert!(settings("http://127.0.0.1:65530").is_err());
    }
}
