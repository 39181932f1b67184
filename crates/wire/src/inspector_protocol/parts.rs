//! What several inspector messages hold.

use bytes::Bytes;

use crate::bare::{Reader, Writer};
use crate::malformed::Read;

/// One connection. `details` is a CBOR map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    pub id: String,
    pub details: Bytes,
}

/// One message that waits in a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    pub id: u64,
    pub name: String,
    pub created_at_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueStatus {
    pub size: u64,
    pub max_size: u64,
    /// The oldest ones, up to the limit of the request.
    pub messages: Vec<Queued>,
    /// True if there are more.
    pub truncated: bool,
}

/// A tab that the actor type adds to the inspector, or hides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TabConfigEntry {
    pub id: String,
    pub label: Option<String>,
    pub icon: Option<String>,
    pub hidden: bool,
}

/// A scheduled call. Times are Unix milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Of a recurring one, its name.
    pub id: String,
    pub name: Option<String>,
    /// `at`, `cron` or `every`.
    pub kind: String,
    pub action: String,
    /// CBOR array.
    pub args: Bytes,
    pub next_run_at: u64,
    pub last_run_at: Option<u64>,
    pub expression: Option<String>,
    pub timezone: Option<String>,
    pub interval_ms: Option<u64>,
    pub max_history: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FireError {
    pub group: String,
    pub code: String,
    pub message: String,
    pub metadata: Option<Bytes>,
}

/// One past call of a recurring schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleFire {
    pub action: String,
    pub scheduled_at: u64,
    pub fired_at: u64,
    pub finished_at: Option<u64>,
    /// `running`, `ok`, `error` or `skipped`.
    pub result: String,
    pub error: Option<FireError>,
}

/// A value with one layout in all versions.
pub(super) trait Part: Sized {
    fn read(reader: &mut Reader) -> Read<Self>;
    fn write(&self, writer: &mut Writer);
}

pub(super) fn read_list<T: Part>(reader: &mut Reader) -> Read<Vec<T>> {
    // Grows with what is read, not with what the count claims.
    let mut list = Vec::new();
    for _ in 0..reader.uint()? {
        list.push(T::read(reader)?);
    }
    Ok(list)
}

pub(super) fn write_list<T: Part>(writer: &mut Writer, list: &[T]) {
    writer.uint(list.len() as u64);
    for item in list {
        item.write(writer);
    }
}

impl Part for String {
    fn read(reader: &mut Reader) -> Read<Self> {
        reader.string()
    }

    fn write(&self, writer: &mut Writer) {
        writer.str(self);
    }
}

impl Part for Connection {
    fn read(reader: &mut Reader) -> Read<Self> {
        Ok(Self {
            id: reader.string()?,
            details: reader.data()?,
        })
    }

    fn write(&self, writer: &mut Writer) {
        writer.str(&self.id);
        writer.data(&self.details);
    }
}

impl Part for Queued {
    fn read(reader: &mut Reader) -> Read<Self> {
        Ok(Self {
            id: reader.uint()?,
            name: reader.string()?,
            created_at_ms: reader.uint()?,
        })
    }

    fn write(&self, writer: &mut Writer) {
        writer.uint(self.id);
        writer.str(&self.name);
        writer.uint(self.created_at_ms);
    }
}

impl Part for QueueStatus {
    fn read(reader: &mut Reader) -> Read<Self> {
        Ok(Self {
            size: reader.uint()?,
            max_size: reader.uint()?,
            messages: read_list(reader)?,
            truncated: reader.bool()?,
        })
    }

    fn write(&self, writer: &mut Writer) {
        writer.uint(self.size);
        writer.uint(self.max_size);
        write_list(writer, &self.messages);
        writer.bool(self.truncated);
    }
}

impl Part for TabConfigEntry {
    fn read(reader: &mut Reader) -> Read<Self> {
        Ok(Self {
            id: reader.string()?,
            label: reader.optional(Reader::string)?,
            icon: reader.optional(Reader::string)?,
            hidden: reader.bool()?,
        })
    }

    fn write(&self, writer: &mut Writer) {
        writer.str(&self.id);
        writer.optional(self.label.as_deref(), Writer::str);
        writer.optional(self.icon.as_deref(), Writer::str);
        writer.bool(self.hidden);
    }
}

impl Part for Schedule {
    fn read(reader: &mut Reader) -> Read<Self> {
        Ok(Self {
            id: reader.string()?,
            name: reader.optional(Reader::string)?,
            kind: reader.string()?,
            action: reader.string()?,
            args: reader.data()?,
            next_run_at: reader.uint()?,
            last_run_at: reader.optional(Reader::uint)?,
            expression: reader.optional(Reader::string)?,
            timezone: reader.optional(Reader::string)?,
            interval_ms: reader.optional(Reader::uint)?,
            max_history: reader.optional(Reader::uint)?,
        })
    }

    fn write(&self, writer: &mut Writer) {
        writer.str(&self.id);
        writer.optional(self.name.as_deref(), Writer::str);
        writer.str(&self.kind);
        writer.str(&self.action);
        writer.data(&self.args);
        writer.uint(self.next_run_at);
        writer.optional(self.last_run_at, Writer::uint);
        writer.optional(self.expression.as_deref(), Writer::str);
        writer.optional(self.timezone.as_deref(), Writer::str);
        writer.optional(self.interval_ms, Writer::uint);
        writer.optional(self.max_history, Writer::uint);
    }
}

impl Part for FireError {
    fn read(reader: &mut Reader) -> Read<Self> {
        Ok(Self {
            group: reader.string()?,
            code: reader.string()?,
            message: reader.string()?,
            metadata: reader.optional(Reader::data)?,
        })
    }

    fn write(&self, writer: &mut Writer) {
        writer.str(&self.group);
        writer.str(&self.code);
        writer.str(&self.message);
        writer.optional(self.metadata.as_deref(), Writer::data);
    }
}

impl Part for ScheduleFire {
    fn read(reader: &mut Reader) -> Read<Self> {
        Ok(Self {
            action: reader.string()?,
            scheduled_at: reader.uint()?,
            fired_at: reader.uint()?,
            finished_at: reader.optional(Reader::uint)?,
            result: reader.string()?,
            error: reader.optional(FireError::read)?,
        })
    }

    fn write(&self, writer: &mut Writer) {
        writer.str(&self.action);
        writer.uint(self.scheduled_at);
        writer.uint(self.fired_at);
        writer.optional(self.finished_at, Writer::uint);
        writer.str(&self.result);
        writer.optional(self.error.as_ref(), |writer, error| error.write(writer));
    }
}
