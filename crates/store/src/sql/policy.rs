//! Which actions a user's statement may take.
//!
//! The runtime and the user share one connection, so what a statement could do
//! to the connection or to the runtime's tables decides what is allowed here.
//! Reading is free. The tables named `_rivet_…` and `_greenroom_…` are the
//! runtime's: only the workflow engine's `_rivet_wf_kv` may be written, because its
//! driver does so through the user's handle. No statement reaches another file.
//!
//! SQLite asks while it prepares a statement, and again while one runs that
//! prepares others, such as `VACUUM` or a full-text search.

use rusqlite::hooks::{AuthAction, TransactionOperation};

use super::{pragmas, text};

/// Prefixes of the runtime's tables: RivetKit's, and those it has none for.
const RESERVED: [&str; 2] = ["_rivet_", "_greenroom_"];

/// The one reserved table that users' statements may fill.
const WORKFLOW_TABLE: &str = "_rivet_wf_kv";

/// Functions that leave the database, in case a build of SQLite has them.
const FORBIDDEN_FUNCTIONS: [&str; 7] = [
    "load_extension",
    "fts3_tokenizer",
    "readfile",
    "writefile",
    "edit",
    "fsdir",
    "lsmode",
];

/// The savepoint that a batch inside a transaction runs in.
pub(super) const BATCH_SAVEPOINT: &str = "sqlite_batch";

/// The circumstances a statement runs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Situation {
    /// The statement is the coordinator's, not the user's.
    pub is_ours: bool,
    /// A transaction is open that its handle alone may end.
    pub handle_owns_transaction: bool,
    /// The actor is stopping: what would hold up its last save is refused.
    pub winding_down: bool,
    /// A `VACUUM` runs: it copies every table through a second, nameless file.
    pub vacuuming: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Allow,
    /// Allowed, and noted: the connection now holds something of the user's.
    AllowSetting(&'static str),
    AllowTemporary,
    /// Does nothing, without an error.
    Ignore,
    Deny(String),
}

pub(super) fn judge(action: AuthAction<'_>, situation: Situation) -> Verdict {
    if let AuthAction::Function { function_name } = action {
        return function(function_name);
    }
    if let AuthAction::Attach { filename } = action {
        return attach(filename, situation);
    }
    if situation.vacuuming || situation.is_ours {
        return Verdict::Allow;
    }
    match action {
        AuthAction::Pragma {
            pragma_name,
            pragma_value,
        } => pragmas::judge(pragma_name, pragma_value),
        AuthAction::Transaction { .. } if situation.handle_owns_transaction => Verdict::Deny(
            "BEGIN, COMMIT, END and ROLLBACK belong to the transaction's handle; \
             use its commit and rollback"
                .to_owned(),
        ),
        AuthAction::Transaction {
            operation: TransactionOperation::Begin,
        } if situation.winding_down => {
            Verdict::Deny("no transaction can begin while the actor is stopping".to_owned())
        }
        AuthAction::Detach { .. } => Verdict::Deny("DETACH is not available".to_owned()),
        AuthAction::Insert { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::Delete { table_name } => write(table_name),
        _ => define(action),
    }
}

fn function(name: &str) -> Verdict {
    if FORBIDDEN_FUNCTIONS
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
    {
        Verdict::Deny(format!("the function {name} is not available"))
    } else {
        Verdict::Allow
    }
}

/// The savepoints that a batch has begun. It may end those and no others, for it would
/// take what was before it along, or escape what takes it back.
#[derive(Debug, Default)]
pub(super) struct Savepoints(Vec<String>);

impl Savepoints {
    /// Why the batch may not do this; `None` if it may, which is then noted.
    pub(super) fn judge(&mut self, action: AuthAction<'_>) -> Option<String> {
        let AuthAction::Savepoint {
            operation,
            savepoint_name: name,
        } = action
        else {
            return None;
        };
        if name.eq_ignore_ascii_case(BATCH_SAVEPOINT) {
            return Some(format!("the savepoint {name} is the batch's own"));
        }
        let known = |known: &String| known.eq_ignore_ascii_case(name);
        match (operation, self.0.iter().rposition(known)) {
            (TransactionOperation::Begin, _) => self.0.push(name.to_owned()),
            (TransactionOperation::Release, Some(at)) => self.0.truncate(at),
            (TransactionOperation::Rollback, Some(at)) => self.0.truncate(at + 1),
            _ => return Some(format!("the savepoint {name} was not begun by this batch")),
        }
        None
    }
}

/// Functions whose answer is another on every connection.
const OF_THE_CONNECTION: [&str; 3] = ["changes", "last_insert_rowid", "total_changes"];

/// True for what depends on more than the database.
pub(super) fn asks_the_connection(action: AuthAction<'_>) -> bool {
    let AuthAction::Function { function_name } = action else {
        return false;
    };
    OF_THE_CONNECTION
        .iter()
        .any(|known| function_name.eq_ignore_ascii_case(known))
}

fn attach(filename: &str, situation: Situation) -> Verdict {
    if situation.vacuuming && filename.is_empty() {
        return Verdict::Allow;
    }
    let what = if situation.vacuuming {
        "VACUUM INTO would write a file of its own; use a backup"
    } else {
        "ATTACH is not available; an actor has one database"
    };
    Verdict::Deny(what.to_owned())
}

fn write(table: &str) -> Verdict {
    if is_reserved(table) && !table.eq_ignore_ascii_case(WORKFLOW_TABLE) {
        return reserved(table);
    }
    Verdict::Allow
}

/// Actions that create, change or drop something with a name.
fn define(action: AuthAction<'_>) -> Verdict {
    use AuthAction as A;
    let (names, temporary) = match action {
        A::CreateTable { table_name: a }
        | A::CreateView { view_name: a }
        | A::DropTable { table_name: a }
        | A::DropView { view_name: a }
        | A::DropTempTable { table_name: a }
        | A::DropTempView { view_name: a }
        | A::CreateVtable { table_name: a, .. }
        | A::DropVtable { table_name: a, .. }
        | A::AlterTable { table_name: a, .. } => ([a, ""], false),
        A::CreateIndex {
            index_name: a,
            table_name: b,
        }
        | A::DropIndex {
            index_name: a,
            table_name: b,
        }
        | A::DropTempIndex {
            index_name: a,
            table_name: b,
        }
        | A::CreateTrigger {
            trigger_name: a,
            table_name: b,
        }
        | A::DropTrigger {
            trigger_name: a,
            table_name: b,
        }
        | A::DropTempTrigger {
            trigger_name: a,
            table_name: b,
        } => ([a, b], false),
        A::CreateTempTable { table_name: a } | A::CreateTempView { view_name: a } => {
            ([a, ""], true)
        }
        A::CreateTempIndex {
            index_name: a,
            table_name: b,
        }
        | A::CreateTempTrigger {
            trigger_name: a,
            table_name: b,
        } => ([a, b], true),
        A::Read { .. }
        | A::Select
        | A::Recursive
        | A::Transaction { .. }
        | A::Savepoint { .. }
        | A::Reindex { .. }
        | A::Analyze { .. } => return Verdict::Allow,
        // Among others an ATTACH whose file name is computed.
        _ => return Verdict::Deny("an action of this kind is not available".to_owned()),
    };
    match names.into_iter().find(|name| is_reserved(name)) {
        Some(name) => reserved(name),
        None if temporary => Verdict::AllowTemporary,
        None => Verdict::Allow,
    }
}

fn reserved(name: &str) -> Verdict {
    let prefixes = RESERVED.join(" or ");
    Verdict::Deny(format!(
        "{name} belongs to the runtime; names that begin with {prefixes} are reserved"
    ))
}

pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.iter().any(|prefix| {
        name.get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    })
}

/// Why the statement of this text is refused for what SQLite does not tell: the new
/// name of a table that is renamed, and the table that a foreign key refers to, whose
/// rows could not be deleted any more.
pub(super) fn judge_text(sql: &str) -> Option<&'static str> {
    if text::first_word(sql).eq_ignore_ascii_case("alter") && words(sql).any(is_reserved) {
        return Some("names that begin with _rivet_ or _greenroom_ are reserved for the runtime");
    }
    let refers = |sql| words(sql).any(|word| word.eq_ignore_ascii_case("references"));
    if text::creates_table(sql) && refers(sql) && words(sql).any(is_reserved) {
        return Some("no table may refer to one of the runtime's");
    }
    None
}

fn words(sql: &str) -> impl Iterator<Item = &str> {
    sql.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
}
