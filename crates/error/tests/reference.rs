//! `docs/errors.md` is made from the table of codes; this test keeps it so.
//!
//! `GREENROOM_WRITE_DOCS=1 cargo test -p greenroom-error --test reference`
//! writes the page anew.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use greenroom_error::{Code, Exposure, code};

const HEAD: &str = "\
# Errors

<!-- Made from the table in crates/error/src/code.rs: edit that, not this page. -->

Every error that greenroom raises by itself has a row here.
A program meets it as an `ActorError` with `group`, `code`, `message`, `metadata` and `retryable`, the same in the actor's process and in a client.
Errors that actors throw with `UserError` are of group `user`; their code is the author's own.

- **Status** is the HTTP status of a reply that carries the error.
- **Close** is the WebSocket close code when the error ends a socket.
- **Text**: `public` means that remote clients read message and metadata; for `private` they read group and code only, with the message replaced.
- **Retry**: the same call may succeed later without a change by the caller.
- `{name}` in a message stands for the field of that name in the metadata.
";

/// What each group is about, in the order of the page.
const GROUPS: &[(&str, &str)] = &[
    ("core", "The runtime itself"),
    ("actor", "Actors: lifecycle, addressing, actions"),
    ("connection", "Connections of an actor"),
    ("queue", "Queues"),
    ("schedule", "Schedules and cron jobs"),
    ("kv", "The key-value compatibility store"),
    ("sqlite", "An actor's SQLite database"),
    ("message", "Limits and form of messages"),
    ("ws", "WebSockets below the client protocol"),
    ("protocol", "Decoding of requests and stored data"),
    ("request", "Requests to an actor's routes"),
    ("auth", "Permissions"),
    ("user", "Errors of actor authors"),
    ("napi", "Calls of the native classes"),
    ("guard", "The gateway: finding and waking an actor"),
    ("envoy", "The link between gateway and actor"),
    ("api", "The management API"),
    ("namespace", "Namespaces"),
    ("datacenter", "Regions"),
    ("validation", "Parameters of the management API"),
    ("inspector", "The inspector"),
    ("actor_runtime_socket", "The actor runtime socket"),
    ("engine", "An engine, and the endpoint of a served registry"),
    (
        "config",
        "What an engine says of itself, beside the configuration",
    ),
    ("host", "The embedded host: data directory and listener"),
    ("registry", "The registry"),
];

fn page() -> String {
    let mut groups: BTreeMap<&str, Vec<&Code>> = BTreeMap::new();
    for row in code::ALL {
        groups.entry(row.group).or_default().push(row);
    }
    let mut page = String::from(HEAD);
    for (group, title) in GROUPS {
        let rows = groups
            .remove(group)
            .unwrap_or_else(|| panic!("no code has the group `{group}`: drop it from GROUPS"));
        write!(page, "\n## `{group}`: {title}\n\n").expect("a string takes all text");
        page.push_str("| Code | Message | Status | Close | Text | Retry |\n");
        page.push_str("|---|---|---|---|---|---|\n");
        rows.iter().for_each(|row| page.push_str(&line(row)));
    }
    assert!(
        groups.is_empty(),
        "give these groups a title in GROUPS: {:?}",
        groups.keys()
    );
    page
}

fn line(row: &Code) -> String {
    let exposure = match row.exposure {
        Exposure::Public(_) => "public",
        Exposure::Private => "private",
    };
    let retry = if row.retryable { "yes" } else { "no" };
    format!(
        "| `{}` | {} | {} | {} | {exposure} | {retry} |\n",
        row.code,
        row.message.replace('|', "\\|"),
        row.http,
        row.close,
    )
}

#[test]
fn the_errors_page_is_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors.md");
    let wanted = page();
    if std::env::var_os("GREENROOM_WRITE_DOCS").is_some() {
        std::fs::write(&path, &wanted).expect("docs/errors.md can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found.replace("\r\n", "\n") == wanted,
        "docs/errors.md is out of date: GREENROOM_WRITE_DOCS=1 cargo test -p greenroom-error --test reference"
    );
}
