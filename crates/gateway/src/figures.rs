//! A host's figures in Prometheus text form.
//!
//! What is measured here and by the published addon has that one's name and type,
//! `rivet_rivetkit_…`, so that its dashboards and alarms go on. Names of what is not
//! measured here are left out rather than filled with zeros.

use greenroom_core::figures::TypeReport;

use crate::figures_text::{Kind, Text};

/// Content type of the text.
pub const METRICS_TYPE: &str = "text/plain; version=0.0.4";

/// What every host counts.
#[derive(Clone, Debug, Default)]
pub struct HostFigures {
    pub actors_awake: usize,
    pub databases_open: usize,
    pub sockets_open: usize,
    /// Of each actor type; those that never had an actor here are not shown.
    pub types: Vec<TypeReport>,
}

impl HostFigures {
    /// The figures as a scraper reads them.
    pub fn text(&self) -> String {
        let mut text = Text::default();
        self.host(&mut text);
        let types = self.types.iter();
        let types: Vec<_> = types
            .filter(|each| each.live.actors > 0 || !each.starts.is_empty())
            .collect();
        counters_and_gauges(&mut text, &types);
        work(&mut text, &types);
        times(&mut text, &types);
        text.into_string()
    }

    fn host(&self, text: &mut Text) {
        let version = env!("CARGO_PKG_VERSION");
        text.family("greenroom_info", Kind::Gauge, "What runs here.")
            .sample(&[("version", version)], 1);
        let gauges = [
            (
                "greenroom_actors_awake",
                "Actors with an instance in this process.",
                self.actors_awake,
            ),
            (
                "greenroom_databases_open",
                "Actor databases that hold files open.",
                self.databases_open,
            ),
            (
                "greenroom_sockets_open",
                "Sockets of clients, those of sleeping actors included.",
                self.sockets_open,
            ),
        ];
        for (name, help, value) in gauges {
            text.family(name, Kind::Gauge, help).sample(&[], value);
        }
    }
}

/// Name, help and value of a family with one sample per type.
type Row = (&'static str, &'static str, fn(&TypeReport) -> u64);
/// A kind of work, and how much of it there is.
type KindRow = (&'static str, fn(&TypeReport) -> usize);

const COUNTERS: &[Row] = &[
    (
        "rivet_rivetkit_actor_started_total",
        "Starts of actors that succeeded.",
        |each| each.started,
    ),
    (
        "rivet_rivetkit_actor_stopped_total",
        "Started actors that left memory.",
        |each| each.stopped,
    ),
    (
        "rivet_rivetkit_actor_connections_total",
        "Connections that were established.",
        |each| each.connections,
    ),
    (
        "rivet_rivetkit_actor_queue_messages_sent_total",
        "Queue messages that were stored.",
        |each| each.queue_sent,
    ),
    (
        "rivet_rivetkit_actor_queue_messages_received_total",
        "Queue messages that actors received.",
        |each| each.queue_received,
    ),
];

const GAUGES: &[Row] = &[
    (
        "rivet_rivetkit_actor_active_count",
        "Actors in memory.",
        |each| each.live.actors as u64,
    ),
    (
        "rivet_rivetkit_actor_connections_active",
        "Connections of actors in memory.",
        |each| each.live.connections as u64,
    ),
    (
        "rivet_rivetkit_actor_http_requests_active",
        "HTTP requests that run.",
        |each| each.live.http_requests as u64,
    ),
    (
        "rivet_rivetkit_actor_queue_depth",
        "Stored messages of actors in memory.",
        |each| each.live.queued,
    ),
    (
        "rivet_rivetkit_actor_shutdown_tasks_active",
        "Work that stops of actors wait for.",
        |each| each.live.shutdown_tasks as u64,
    ),
];

const KEEP_AWAKE: &[KindRow] = &[
    ("keep_awake", |each| each.live.keep_awake),
    ("internal_keep_awake", |each| each.live.internal_keep_awake),
];

const USER_TASKS: &[KindRow] = &[
    ("http", |each| each.live.http_requests),
    ("websocket_callback", |each| each.live.websocket_callbacks),
    ("disconnect_callback", |each| each.live.disconnect_callbacks),
    ("queue_wait", |each| each.live.queue_waits),
];

fn counters_and_gauges(text: &mut Text, types: &[&TypeReport]) {
    for (rows, sort) in [(COUNTERS, Kind::Counter), (GAUGES, Kind::Gauge)] {
        for (name, help, value) in rows {
            let mut family = text.family(name, sort, help);
            for each in types {
                family.sample(&[("actor_name", &each.name)], value(each));
            }
        }
    }
}

fn work(text: &mut Text, types: &[&TypeReport]) {
    let by_kind = [
        (
            "rivet_rivetkit_actor_keep_awake_active",
            "Work that keeps actors awake.",
            KEEP_AWAKE,
        ),
        (
            "rivet_rivetkit_actor_user_tasks_active",
            "Work of user code that runs.",
            USER_TASKS,
        ),
    ];
    for (name, help, rows) in by_kind {
        let mut family = text.family(name, Kind::Gauge, help);
        for each in types {
            for (kind, value) in rows {
                family.sample(&[("actor_name", &each.name), ("kind", kind)], value(each));
            }
        }
    }
}

fn times(text: &mut Text, types: &[&TypeReport]) {
    let mut family = text.family(
        "rivet_rivetkit_actor_startup_phase_duration_seconds",
        Kind::Histogram,
        "Time of the parts of a start.",
    );
    for each in types {
        for (kind, histogram) in &each.starts {
            let labels = [
                ("actor_name", each.name.as_str()),
                (
                    "is_new",
                    match kind.is_new {
                        None => "unknown",
                        Some(true) => "true",
                        Some(false) => "false",
                    },
                ),
                ("outcome", if kind.succeeded { "success" } else { "error" }),
                ("phase", kind.phase.label()),
            ];
            family.histogram(&labels, histogram);
        }
    }
    let mut family = text.family(
        "rivet_rivetkit_actor_shutdown_wait_seconds",
        Kind::Histogram,
        "Time that stops waited for work to end.",
    );
    for each in types {
        for (reason, histogram) in &each.graces {
            family.histogram(&[("actor_name", &each.name), ("reason", reason)], histogram);
        }
    }
    let mut family = text.family(
        "rivet_rivetkit_actor_shutdown_timeout_total",
        Kind::Counter,
        "Stops whose time was over before their work was.",
    );
    for each in types {
        for (reason, count) in &each.graces_cut {
            family.sample(&[("actor_name", &each.name), ("reason", reason)], count);
        }
    }
}
