//! How the versions number what an actor tells its inspectors.

use crate::inspector_protocol::numbering::Numbering;

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
const CURRENT: &[Kind] = &[
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

/// The version that brought a message; the first has an order of its own.
fn since(kind: Kind) -> u16 {
    match kind {
        K::DatabaseSchema | K::DatabaseTableRows => 3,
        K::WorkflowReplay => 4,
        K::SchedulesUpdated | K::Schedules | K::ScheduleHistory | K::ScheduleDelete => 6,
        _ => 2,
    }
}

pub(super) const NUMBERING: Numbering<Kind> = Numbering {
    first: FIRST,
    current: CURRENT,
    since,
};

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
