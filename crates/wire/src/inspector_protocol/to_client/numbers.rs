//! How the versions number what an actor tells its inspectors.

use crate::inspector_protocol::InspectorVersion;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    State,
    Connections,
    /// Of the first version only; never sent.
    Events,
    Action,
    ConnectionsUpdated,
    EventsUpdated,
    QueueUpdated,
    StateUpdated,
    WorkflowHistoryUpdated,
    SchedulesUpdated,
    RpcsList,
    TraceQuery,
    Queue,
    WorkflowHistory,
    WorkflowReplay,
    Schedules,
    ScheduleHistory,
    ScheduleDelete,
    Error,
    Init,
    DatabaseSchema,
    DatabaseTableRows,
}

use Kind as K;

const FIRST: &[Kind] = &[
    K::State,
    K::Connections,
    K::Events,
    K::Action,
    K::RpcsList,
    K::ConnectionsUpdated,
    K::EventsUpdated,
    K::StateUpdated,
    K::Error,
    K::Init,
];
/// Version 2 ends with `Init`.
const WITHOUT_REPLAY: &[Kind] = &[
    K::State,
    K::Connections,
    K::Action,
    K::ConnectionsUpdated,
    K::QueueUpdated,
    K::StateUpdated,
    K::WorkflowHistoryUpdated,
    K::RpcsList,
    K::TraceQuery,
    K::Queue,
    K::WorkflowHistory,
    K::Error,
    K::Init,
    K::DatabaseSchema,
    K::DatabaseTableRows,
];
const WITHOUT_SCHEDULES: &[Kind] = &[
    K::State,
    K::Connections,
    K::Action,
    K::ConnectionsUpdated,
    K::QueueUpdated,
    K::StateUpdated,
    K::WorkflowHistoryUpdated,
    K::RpcsList,
    K::TraceQuery,
    K::Queue,
    K::WorkflowHistory,
    K::WorkflowReplay,
    K::Error,
    K::Init,
    K::DatabaseSchema,
    K::DatabaseTableRows,
];
pub(super) const CURRENT: &[Kind] = &[
    K::State,
    K::Connections,
    K::Action,
    K::ConnectionsUpdated,
    K::QueueUpdated,
    K::StateUpdated,
    K::WorkflowHistoryUpdated,
    K::SchedulesUpdated,
    K::RpcsList,
    K::TraceQuery,
    K::Queue,
    K::WorkflowHistory,
    K::WorkflowReplay,
    K::Schedules,
    K::ScheduleHistory,
    K::ScheduleDelete,
    K::Error,
    K::Init,
    K::DatabaseSchema,
    K::DatabaseTableRows,
];

pub(super) fn order(version: InspectorVersion) -> &'static [Kind] {
    match version.number() {
        1 => FIRST,
        2 => &WITHOUT_REPLAY[..13],
        3 => WITHOUT_REPLAY,
        4 | 5 => WITHOUT_SCHEDULES,
        _ => CURRENT,
    }
}

/// The error that stands for a message that a version has no name for.
pub(super) fn dropped(kind: Kind) -> &'static str {
    match kind {
        K::QueueUpdated | K::Queue => "inspector.queue_dropped",
        K::WorkflowHistoryUpdated | K::WorkflowHistory | K::WorkflowReplay => {
            "inspector.workflow_history_dropped"
        }
        K::TraceQuery => "inspector.trace_dropped",
        K::DatabaseSchema | K::DatabaseTableRows => "inspector.database_dropped",
        K::SchedulesUpdated | K::Schedules | K::ScheduleHistory | K::ScheduleDelete => {
            "inspector.schedules_dropped"
        }
        _ => "inspector.events_dropped",
    }
}
