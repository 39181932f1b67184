//! Group commit: writes that wait together share one transaction.
//!
//! Each write runs in a savepoint, so one that fails or panics takes back its own
//! changes only, and is answered after the commit that covers it. Used by the
//! lanes for actors and by the directory of actors.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use greenroom_error::{Error, Result};
use rusqlite::Connection;

use crate::failure::SqlResult;

/// A write whose answer waits for the commit.
pub(crate) trait Unit: Send {
    /// Executes the statements; the transaction is not the unit's to end.
    fn run(&mut self, conn: &Connection) -> Result<()>;
    /// Called exactly once, after the commit or the failure.
    fn settle(self: Box<Self>, outcome: Result<()>);
}

/// What a group left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Aftermath {
    Clean,
    /// The transaction as a whole was lost: what reached the disk is uncertain.
    Suspect,
}

/// Runs the units in order in one transaction and settles each of them. No
/// transaction may be open.
pub(crate) fn commit<U: Unit + ?Sized>(conn: &Connection, group: Vec<Box<U>>) -> Aftermath {
    let mut aftermath = Aftermath::Clean;
    let mut staged = Vec::with_capacity(group.len());
    let mut waiting = group.into_iter();
    if let Err(error) = execute(conn, "BEGIN IMMEDIATE") {
        fail_all(waiting, &error);
        return Aftermath::Suspect;
    }
    while let Some(mut unit) = waiting.next() {
        let Err(error) = run_in_savepoint(conn, unit.as_mut()) else {
            staged.push(unit);
            continue;
        };
        unit.settle(Err(error.duplicate()));
        // After some failures SQLite has given up the whole transaction.
        if conn.is_autocommit() {
            aftermath = Aftermath::Suspect;
            fail_all(staged.drain(..), &error);
            if let Err(error) = execute(conn, "BEGIN IMMEDIATE") {
                fail_all(waiting, &error);
                return Aftermath::Suspect;
            }
        }
    }
    match execute(conn, "COMMIT") {
        Ok(()) => staged.into_iter().for_each(|unit| unit.settle(Ok(()))),
        Err(error) => {
            aftermath = Aftermath::Suspect;
            roll_back(conn);
            fail_all(staged, &error);
        }
    }
    aftermath
}

/// Runs units that write nothing, without a transaction, and settles each.
pub(crate) fn run_reads<U: Unit + ?Sized>(conn: &Connection, group: Vec<Box<U>>) {
    for mut unit in group {
        let outcome = run_caught(conn, unit.as_mut());
        unit.settle(outcome);
    }
}

fn run_caught<U: Unit + ?Sized>(conn: &Connection, unit: &mut U) -> Result<()> {
    catch_unwind(AssertUnwindSafe(|| unit.run(conn))).unwrap_or_else(|panic| {
        let text = format!("a database job panicked: {}", panic_text(&*panic));
        tracing::error!("{text}");
        Err(Error::internal(text))
    })
}

fn run_in_savepoint<U: Unit + ?Sized>(conn: &Connection, unit: &mut U) -> Result<()> {
    execute(conn, "SAVEPOINT unit")?;
    let outcome = run_caught(conn, unit);
    if conn.is_autocommit() {
        // Without a transaction nothing of the unit stands, whatever it says.
        return outcome
            .and_then(|()| Err(Error::internal("a write ended the transaction it ran in")));
    }
    if outcome.is_err() {
        execute(conn, "ROLLBACK TO unit")?;
    }
    execute(conn, "RELEASE unit")?;
    outcome
}

/// Settles the units with copies of `error`.
pub(crate) fn fail_all<U: Unit + ?Sized>(units: impl IntoIterator<Item = Box<U>>, error: &Error) {
    for unit in units {
        unit.settle(Err(error.duplicate()));
    }
}

/// Ends an open transaction without its changes.
pub(crate) fn roll_back(conn: &Connection) {
    if !conn.is_autocommit()
        && let Err(error) = conn.execute_batch("ROLLBACK")
    {
        tracing::warn!(%error, "could not roll back a transaction");
    }
}

fn execute(conn: &Connection, sql: &str) -> Result<()> {
    conn.prepare_cached(sql)
        .and_then(|mut statement| statement.execute([]))
        .map(drop)
        .sql(sql)
}

pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
