//! What inspectors ask.

use bytes::Bytes;

use super::InspectorVersion;
use super::numbering::Numbering;
use crate::bare::{Reader, Writer};
use crate::malformed::{Malformed, Read};

/// A message from an inspector. `id` comes back in the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToServer {
    /// Replaces the state, CBOR. Its answer is an update.
    PatchState {
        state: Bytes,
    },
    State {
        id: u64,
    },
    Connections {
        id: u64,
    },
    /// `args` is a CBOR array.
    Action {
        id: u64,
        name: String,
        args: Bytes,
    },
    RpcsList {
        id: u64,
    },
    TraceQuery {
        id: u64,
        start_ms: u64,
        end_ms: u64,
        limit: u64,
    },
    Queue {
        id: u64,
        limit: u64,
    },
    WorkflowHistory {
        id: u64,
    },
    WorkflowReplay {
        id: u64,
        entry_id: Option<String>,
    },
    DatabaseSchema {
        id: u64,
    },
    DatabaseTableRows {
        id: u64,
        table: String,
        limit: u64,
        offset: u64,
    },
    Schedules {
        id: u64,
    },
    ScheduleHistory {
        id: u64,
        schedule_id: String,
        limit: u64,
    },
    /// `kind` is `at`, `cron` or `every`.
    ScheduleDelete {
        id: u64,
        schedule_id: String,
        kind: String,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    PatchState,
    State,
    Connections,
    Action,
    /// Of the first version only.
    Events,
    ClearEvents,
    RpcsList,
    TraceQuery,
    Queue,
    WorkflowHistory,
    WorkflowReplay,
    DatabaseSchema,
    DatabaseTableRows,
    Schedules,
    ScheduleHistory,
    ScheduleDelete,
}

use Kind as K;

const FIRST: &[Kind] = &[
    K::PatchState,
    K::State,
    K::Connections,
    K::Action,
    K::Events,
    K::ClearEvents,
    K::RpcsList,
];
const CURRENT: &[Kind] = &[
    K::PatchState,
    K::State,
    K::Connections,
    K::Action,
    K::RpcsList,
    K::TraceQuery,
    K::Queue,
    K::WorkflowHistory,
    K::WorkflowReplay,
    K::DatabaseSchema,
    K::DatabaseTableRows,
    K::Schedules,
    K::ScheduleHistory,
    K::ScheduleDelete,
];

/// The version that brought a request; the first has an order of its own.
fn since(kind: Kind) -> u16 {
    match kind {
        K::DatabaseSchema | K::DatabaseTableRows => 3,
        K::WorkflowReplay => 4,
        K::Schedules | K::ScheduleHistory | K::ScheduleDelete => 6,
        _ => 2,
    }
}

const NUMBERING: Numbering<Kind> = Numbering {
    first: FIRST,
    current: CURRENT,
    since,
};

impl ToServer {
    /// Reads one message of a version.
    ///
    /// # Errors
    /// For anything malformed, and for the event log of the first version, which is
    /// no longer there.
    pub fn decode(message: Bytes, version: InspectorVersion) -> Read<Self> {
        let mut reader = Reader::new(message);
        let kind = NUMBERING.kind(version, reader.u8()?)?;
        let request = Self::read(kind, &mut reader)?;
        reader.finish()?;
        Ok(request)
    }

    fn read(kind: Kind, reader: &mut Reader) -> Read<Self> {
        if kind == K::PatchState {
            let state = reader.data()?;
            return Ok(Self::PatchState { state });
        }
        let id = reader.uint()?;
        Ok(match kind {
            K::PatchState => unreachable!("read above"),
            K::Events | K::ClearEvents => {
                return Err(Malformed::new(
                    "the inspector's event log is no longer there",
                ));
            }
            K::State => Self::State { id },
            K::Connections => Self::Connections { id },
            K::Action => Self::Action {
                id,
                name: reader.string()?,
                args: reader.data()?,
            },
            K::RpcsList => Self::RpcsList { id },
            K::TraceQuery => Self::TraceQuery {
                id,
                start_ms: reader.uint()?,
                end_ms: reader.uint()?,
                limit: reader.uint()?,
            },
            K::Queue => Self::Queue {
                id,
                limit: reader.uint()?,
            },
            K::WorkflowHistory => Self::WorkflowHistory { id },
            K::WorkflowReplay => Self::WorkflowReplay {
                id,
                entry_id: reader.optional(Reader::string)?,
            },
            K::DatabaseSchema => Self::DatabaseSchema { id },
            K::DatabaseTableRows => Self::DatabaseTableRows {
                id,
                table: reader.string()?,
                limit: reader.uint()?,
                offset: reader.uint()?,
            },
            K::Schedules => Self::Schedules { id },
            K::ScheduleHistory => Self::ScheduleHistory {
                id,
                schedule_id: reader.string()?,
                limit: reader.uint()?,
            },
            K::ScheduleDelete => Self::ScheduleDelete {
                id,
                schedule_id: reader.string()?,
                kind: reader.string()?,
            },
        })
    }

    fn kind(&self) -> Kind {
        match self {
            Self::PatchState { .. } => K::PatchState,
            Self::State { .. } => K::State,
            Self::Connections { .. } => K::Connections,
            Self::Action { .. } => K::Action,
            Self::RpcsList { .. } => K::RpcsList,
            Self::TraceQuery { .. } => K::TraceQuery,
            Self::Queue { .. } => K::Queue,
            Self::WorkflowHistory { .. } => K::WorkflowHistory,
            Self::WorkflowReplay { .. } => K::WorkflowReplay,
            Self::DatabaseSchema { .. } => K::DatabaseSchema,
            Self::DatabaseTableRows { .. } => K::DatabaseTableRows,
            Self::Schedules { .. } => K::Schedules,
            Self::ScheduleHistory { .. } => K::ScheduleHistory,
            Self::ScheduleDelete { .. } => K::ScheduleDelete,
        }
    }

    /// Writes the message in the current version.
    pub fn encode(&self) -> Bytes {
        self.write(InspectorVersion::CURRENT)
            .expect("every request has a number in the current version")
    }

    /// `None` if the version has no such message.
    pub(super) fn write(&self, version: InspectorVersion) -> Option<Bytes> {
        let mut writer = Writer::default();
        writer.u8(NUMBERING.tag(version, self.kind())?);
        match self {
            Self::PatchState { state } => writer.data(state),
            Self::State { id }
            | Self::Connections { id }
            | Self::RpcsList { id }
            | Self::WorkflowHistory { id }
            | Self::DatabaseSchema { id }
            | Self::Schedules { id } => writer.uint(*id),
            Self::Action { id, name, args } => {
                writer.uint(*id);
                writer.str(name);
                writer.data(args);
            }
            Self::TraceQuery {
                id,
                start_ms,
                end_ms,
                limit,
            } => {
                for field in [id, start_ms, end_ms, limit] {
                    writer.uint(*field);
                }
            }
            Self::Queue { id, limit } => {
                writer.uint(*id);
                writer.uint(*limit);
            }
            Self::WorkflowReplay { id, entry_id } => {
                writer.uint(*id);
                writer.optional(entry_id.as_deref(), Writer::str);
            }
            Self::DatabaseTableRows {
                id,
                table,
                limit,
                offset,
            } => {
                writer.uint(*id);
                writer.str(table);
                writer.uint(*limit);
                writer.uint(*offset);
            }
            Self::ScheduleHistory {
                id,
                schedule_id,
                limit,
            } => {
                writer.uint(*id);
                writer.str(schedule_id);
                writer.uint(*limit);
            }
            Self::ScheduleDelete {
                id,
                schedule_id,
                kind,
            } => {
                writer.uint(*id);
                writer.str(schedule_id);
                writer.str(kind);
            }
        }
        Some(writer.into_bytes())
    }
}
