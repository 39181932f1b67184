//! What the directory knows of an actor, and how to ask for it.

/// An actor to be created. The id is the caller's to make unique.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewActor {
    pub id: String,
    pub name: String,
    /// Serialized key.
    pub key: String,
    /// Input of the creation, CBOR.
    pub input: Option<Vec<u8>>,
    /// Unix milliseconds, as all times here.
    pub create_ts: i64,
}

/// A row of the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActorRecord {
    pub id: String,
    pub name: String,
    /// Serialized key.
    pub key: String,
    pub create_ts: i64,
    /// First successful start; not changed by a wake.
    pub start_ts: Option<i64>,
    /// Set while the actor sleeps. After a crash an actor may be asleep without.
    pub sleep_ts: Option<i64>,
    pub destroy_ts: Option<i64>,
    /// 0 until the first start.
    pub generation: u32,
    pub next_alarm: Option<i64>,
    /// Input of the creation, kept until the actor has it in its own database.
    /// Lists leave it out.
    pub input: Option<Vec<u8>>,
    /// What went wrong, for people to read.
    pub error: Option<String>,
}

/// Which actors to list. Fields that are `None` or empty do not restrict.
#[derive(Clone, Debug)]
pub struct ListQuery {
    pub name: Option<String>,
    /// Serialized key; needs `name`, without which it is not looked at.
    pub key: Option<String>,
    /// Ids to pick from; those that do not exist are left out.
    pub ids: Vec<String>,
    pub include_destroyed: bool,
    /// Actors per page. A page is longer only where several actors were created
    /// in its last millisecond, so that none is lost between two pages.
    pub limit: usize,
    /// Only actors created before this; the `create_ts` that ended the page
    /// before.
    pub before_create_ts: Option<i64>,
}

impl Default for ListQuery {
    fn default() -> Self {
        Self {
            name: None,
            key: None,
            ids: Vec::new(),
            include_destroyed: false,
            limit: 100,
            before_create_ts: None,
        }
    }
}
