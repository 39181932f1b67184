//! What an actor tells its inspectors.

mod numbers;

use bytes::Bytes;

use numbers::{Kind, Kind as K, NUMBERING, dropped};

use super::parts::{Part, read_list, write_list};
use super::{Connection, InspectorVersion, QueueStatus, Schedule, ScheduleFire, TabConfigEntry};
use crate::bare::{Reader, Writer};
use crate::malformed::Read;

/// A message to an inspector. `rid` is the id of the request it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToClient {
    State {
        rid: u64,
        state: Option<Bytes>,
        is_state_enabled: bool,
    },
    Connections {
        rid: u64,
        connections: Vec<Connection>,
    },
    Action {
        rid: u64,
        output: Bytes,
    },
    ConnectionsUpdated {
        connections: Vec<Connection>,
    },
    QueueUpdated {
        queue_size: u64,
    },
    StateUpdated {
        state: Bytes,
    },
    WorkflowHistoryUpdated {
        history: Bytes,
    },
    SchedulesUpdated {
        schedules: Vec<Schedule>,
    },
    RpcsList {
        rid: u64,
        rpcs: Vec<String>,
    },
    TraceQuery {
        rid: u64,
        payload: Bytes,
    },
    Queue {
        rid: u64,
        status: QueueStatus,
    },
    WorkflowHistory {
        rid: u64,
        history: Option<Bytes>,
        is_workflow_enabled: bool,
    },
    WorkflowReplay {
        rid: u64,
        history: Option<Bytes>,
        is_workflow_enabled: bool,
    },
    Schedules {
        rid: u64,
        schedules: Vec<Schedule>,
    },
    ScheduleHistory {
        rid: u64,
        schedule_id: String,
        history: Vec<ScheduleFire>,
    },
    ScheduleDelete {
        rid: u64,
        schedule_id: String,
        deleted: bool,
    },
    /// Of any request: the protocol does not say which.
    Error {
        message: String,
    },
    Init(Box<Init>),
    /// `schema` is CBOR.
    DatabaseSchema {
        rid: u64,
        schema: Bytes,
    },
    /// `result` is a CBOR array of maps.
    DatabaseTableRows {
        rid: u64,
        result: Bytes,
    },
}

/// The first message of every inspection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Init {
    pub connections: Vec<Connection>,
    pub state: Option<Bytes>,
    pub is_state_enabled: bool,
    pub rpcs: Vec<String>,
    pub is_database_enabled: bool,
    pub queue_size: u64,
    pub workflow_history: Option<Bytes>,
    pub is_workflow_enabled: bool,
    pub tab_config: Vec<TabConfigEntry>,
    pub schedules: Vec<Schedule>,
}

impl ToClient {
    /// Writes the message as a version has it.
    pub fn encode(&self, version: InspectorVersion) -> Bytes {
        let Some(tag) = NUMBERING.tag(version, self.kind()) else {
            let message = dropped(self.kind()).to_owned();
            return Self::Error { message }.encode(version);
        };
        let mut writer = Writer::default();
        writer.u8(tag);
        match self {
            Self::Init(init) => init.write(&mut writer, version),
            other => other.write(&mut writer),
        }
        writer.into_bytes()
    }

    /// Reads one message of the current version.
    ///
    /// # Errors
    /// For anything malformed.
    pub fn decode(message: Bytes) -> Read<Self> {
        let mut reader = Reader::new(message);
        let kind = NUMBERING.kind(InspectorVersion::CURRENT, reader.u8()?)?;
        let message = Self::read(kind, &mut reader)?;
        reader.finish()?;
        Ok(message)
    }

    fn kind(&self) -> Kind {
        match self {
            Self::State { .. } => K::State,
            Self::Connections { .. } => K::Connections,
            Self::Action { .. } => K::Action,
            Self::ConnectionsUpdated { .. } => K::ConnectionsUpdated,
            Self::QueueUpdated { .. } => K::QueueUpdated,
            Self::StateUpdated { .. } => K::StateUpdated,
            Self::WorkflowHistoryUpdated { .. } => K::WorkflowHistoryUpdated,
            Self::SchedulesUpdated { .. } => K::SchedulesUpdated,
            Self::RpcsList { .. } => K::RpcsList,
            Self::TraceQuery { .. } => K::TraceQuery,
            Self::Queue { .. } => K::Queue,
            Self::WorkflowHistory { .. } => K::WorkflowHistory,
            Self::WorkflowReplay { .. } => K::WorkflowReplay,
            Self::Schedules { .. } => K::Schedules,
            Self::ScheduleHistory { .. } => K::ScheduleHistory,
            Self::ScheduleDelete { .. } => K::ScheduleDelete,
            Self::Error { .. } => K::Error,
            Self::Init(_) => K::Init,
            Self::DatabaseSchema { .. } => K::DatabaseSchema,
            Self::DatabaseTableRows { .. } => K::DatabaseTableRows,
        }
    }

    /// All but [`Init`], whose layout depends on the version.
    fn write(&self, writer: &mut Writer) {
        match self {
            Self::ConnectionsUpdated { connections } => write_list(writer, connections),
            Self::QueueUpdated { queue_size } => writer.uint(*queue_size),
            Self::StateUpdated { state: data } | Self::WorkflowHistoryUpdated { history: data } => {
                writer.data(data);
            }
            Self::SchedulesUpdated { schedules } => write_list(writer, schedules),
            Self::Error { message } => writer.str(message),
            answer => answer.write_answer(writer),
        }
    }

    fn write_answer(&self, writer: &mut Writer) {
        match self {
            Self::State {
                rid,
                state: data,
                is_state_enabled: flag,
            }
            | Self::WorkflowHistory {
                rid,
                history: data,
                is_workflow_enabled: flag,
            }
            | Self::WorkflowReplay {
                rid,
                history: data,
                is_workflow_enabled: flag,
            } => {
                writer.uint(*rid);
                writer.optional(data.as_deref(), Writer::data);
                writer.bool(*flag);
            }
            Self::Connections { rid, connections } => {
                writer.uint(*rid);
                write_list(writer, connections);
            }
            Self::RpcsList { rid, rpcs } => {
                writer.uint(*rid);
                write_list(writer, rpcs);
            }
            Self::Action { rid, output: data }
            | Self::TraceQuery { rid, payload: data }
            | Self::DatabaseSchema { rid, schema: data }
            | Self::DatabaseTableRows { rid, result: data } => {
                writer.uint(*rid);
                writer.data(data);
            }
            Self::Queue { rid, status } => {
                writer.uint(*rid);
                status.write(writer);
            }
            Self::Schedules { rid, schedules } => {
                writer.uint(*rid);
                write_list(writer, schedules);
            }
            Self::ScheduleHistory {
                rid,
                schedule_id,
                history,
            } => {
                writer.uint(*rid);
                writer.str(schedule_id);
                write_list(writer, history);
            }
            Self::ScheduleDelete {
                rid,
                schedule_id,
                deleted,
            } => {
                writer.uint(*rid);
                writer.str(schedule_id);
                writer.bool(*deleted);
            }
            _ => unreachable!("updates and the first message are written elsewhere"),
        }
    }

    fn read(kind: Kind, reader: &mut Reader) -> Read<Self> {
        Ok(match kind {
            K::Events | K::EventsUpdated => unreachable!("not in the current version"),
            K::ConnectionsUpdated => Self::ConnectionsUpdated {
                connections: read_list(reader)?,
            },
            K::QueueUpdated => Self::QueueUpdated {
                queue_size: reader.uint()?,
            },
            K::StateUpdated => Self::StateUpdated {
                state: reader.data()?,
            },
            K::WorkflowHistoryUpdated => Self::WorkflowHistoryUpdated {
                history: reader.data()?,
            },
            K::SchedulesUpdated => Self::SchedulesUpdated {
                schedules: read_list(reader)?,
            },
            K::Error => Self::Error {
                message: reader.string()?,
            },
            K::Init => Self::Init(Box::new(Init::read(reader)?)),
            answer => Self::read_answer(answer, reader.uint()?, reader)?,
        })
    }

    fn read_answer(kind: Kind, rid: u64, reader: &mut Reader) -> Read<Self> {
        Ok(match kind {
            K::State => Self::State {
                rid,
                state: reader.optional(Reader::data)?,
                is_state_enabled: reader.bool()?,
            },
            K::Connections => Self::Connections {
                rid,
                connections: read_list(reader)?,
            },
            K::Action => Self::Action {
                rid,
                output: reader.data()?,
            },
            K::RpcsList => Self::RpcsList {
                rid,
                rpcs: read_list(reader)?,
            },
            K::TraceQuery => Self::TraceQuery {
                rid,
                payload: reader.data()?,
            },
            K::Queue => Self::Queue {
                rid,
                status: QueueStatus::read(reader)?,
            },
            K::WorkflowHistory => Self::WorkflowHistory {
                rid,
                history: reader.optional(Reader::data)?,
                is_workflow_enabled: reader.bool()?,
            },
            K::WorkflowReplay => Self::WorkflowReplay {
                rid,
                history: reader.optional(Reader::data)?,
                is_workflow_enabled: reader.bool()?,
            },
            K::Schedules => Self::Schedules {
                rid,
                schedules: read_list(reader)?,
            },
            K::ScheduleHistory => Self::ScheduleHistory {
                rid,
                schedule_id: reader.string()?,
                history: read_list(reader)?,
            },
            K::ScheduleDelete => Self::ScheduleDelete {
                rid,
                schedule_id: reader.string()?,
                deleted: reader.bool()?,
            },
            K::DatabaseSchema => Self::DatabaseSchema {
                rid,
                schema: reader.data()?,
            },
            K::DatabaseTableRows => Self::DatabaseTableRows {
                rid,
                result: reader.data()?,
            },
            _ => unreachable!("not an answer"),
        })
    }
}

impl Init {
    fn write(&self, writer: &mut Writer, version: InspectorVersion) {
        write_list(writer, &self.connections);
        if !version.at_least(2) {
            // The event log of the first version is empty.
            writer.uint(0);
        }
        writer.optional(self.state.as_deref(), Writer::data);
        writer.bool(self.is_state_enabled);
        write_list(writer, &self.rpcs);
        writer.bool(self.is_database_enabled);
        if version.at_least(2) {
            writer.uint(self.queue_size);
            writer.optional(self.workflow_history.as_deref(), Writer::data);
            writer.bool(self.is_workflow_enabled);
        }
        if version.at_least(5) {
            write_list(writer, &self.tab_config);
        }
        if version.at_least(6) {
            write_list(writer, &self.schedules);
        }
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        Ok(Self {
            connections: read_list(reader)?,
            state: reader.optional(Reader::data)?,
            is_state_enabled: reader.bool()?,
            rpcs: read_list(reader)?,
            is_database_enabled: reader.bool()?,
            queue_size: reader.uint()?,
            workflow_history: reader.optional(Reader::data)?,
            is_workflow_enabled: reader.bool()?,
            tab_config: read_list(reader)?,
            schedules: read_list(reader)?,
        })
    }
}
