//! A lane: a thread that runs the jobs of one database after another.
//!
//! Writes that wait in a row share one transaction and one commit; each is
//! answered only after that commit, and one that fails takes back its own
//! changes only. A panic in a job is caught: the job's caller gets an error, the
//! lane and the database live on.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use greenroom_error::{Error, Result};
use rusqlite::Connection;

use crate::failure::{SqlResult, is_storage_failure, transaction_active};
use crate::open_file::OpenFile;
use crate::session::Session;
use crate::slot::{Job, Slot, Unit};
use crate::store::Shared;

/// Starts a lane; `None` if the system refuses a thread.
pub(crate) fn spawn(number: usize, shared: Arc<Shared>) -> Option<JoinHandle<()>> {
    shared.running_lanes.send_modify(|running| *running += 1);
    let for_thread = Arc::clone(&shared);
    let spawned = std::thread::Builder::new()
        .name(format!("gr-store-{number}"))
        .spawn(move || run(&for_thread));
    match spawned {
        Ok(handle) => Some(handle),
        Err(error) => {
            shared.running_lanes.send_modify(|running| *running -= 1);
            tracing::error!(%error, "could not start a storage lane");
            None
        }
    }
}

fn run(shared: &Shared) {
    while let Some(slot) = shared.next_ready() {
        take_turn(shared, &slot);
        if slot.end_turn() {
            shared.reschedule(slot);
        }
    }
    // Every lane helps to close what is left; the last one to leave reports.
    shared.pool.close_idle();
    shared.running_lanes.send_modify(|running| *running -= 1);
}

fn take_turn(shared: &Shared, slot: &Arc<Slot>) {
    let mut jobs = slot.take_jobs();
    let mut session = Session::begin(shared, slot);
    while let Some(job) = jobs.pop_front() {
        match job {
            Job::Task(task) => run_task(&mut session, task),
            Job::Write(first) => write_group(&mut session, take_group(first, &mut jobs)),
        }
        session.settle();
    }
    session.end();
}

fn run_task(session: &mut Session<'_>, task: Box<dyn FnOnce(&mut Session<'_>) + Send>) {
    // The task owns its caller's reply and drops it while unwinding, which the
    // caller sees as a panic.
    let outcome = catch_unwind(AssertUnwindSafe(|| task(session)));
    if let Err(panic) = outcome {
        tracing::error!(path = %session.path().display(), "a database job panicked: {}", panic_text(&*panic));
        session.roll_back();
    }
}

fn take_group(first: Box<dyn Unit>, jobs: &mut VecDeque<Job>) -> Vec<Box<dyn Unit>> {
    let mut group = vec![first];
    while let Some(Job::Write(_)) = jobs.front() {
        if let Some(Job::Write(unit)) = jobs.pop_front() {
            group.push(unit);
        }
    }
    group
}

fn write_group(session: &mut Session<'_>, group: Vec<Box<dyn Unit>>) {
    let file = match session.file() {
        Ok(file) => file,
        Err(error) => return fail_all(group, &error),
    };
    if file.in_transaction() {
        return fail_all(group, &transaction_active());
    }
    commit_group(file, group);
}

/// Runs the units in one transaction and answers each.
fn commit_group(file: &mut OpenFile, group: Vec<Box<dyn Unit>>) {
    if let Err(error) = execute(&file.conn, "BEGIN IMMEDIATE") {
        return fail_all(group, &error);
    }
    let mut staged = Vec::with_capacity(group.len());
    let mut waiting = group.into_iter();
    while let Some(mut unit) = waiting.next() {
        match run_unit(&file.conn, unit.as_mut()) {
            Ok(()) => staged.push(unit),
            Err(error) => {
                // Some failures make SQLite give up the whole transaction.
                let lost_all = !file.in_transaction();
                unit.settle(Err(error.duplicate()));
                if lost_all {
                    file.suspect |= is_storage_failure(&error);
                    fail_all(std::mem::take(&mut staged), &error);
                    if let Err(error) = execute(&file.conn, "BEGIN IMMEDIATE") {
                        return fail_all(waiting.collect(), &error);
                    }
                }
            }
        }
    }
    if staged.is_empty() {
        return file.roll_back();
    }
    match execute(&file.conn, "COMMIT") {
        Ok(()) => staged.into_iter().for_each(|unit| unit.settle(Ok(()))),
        Err(error) => {
            file.suspect |= is_storage_failure(&error);
            file.roll_back();
            fail_all(staged, &error);
        }
    }
}

/// Runs one unit inside a savepoint of its own.
fn run_unit(conn: &Connection, unit: &mut dyn Unit) -> Result<()> {
    execute(conn, "SAVEPOINT unit")?;
    let outcome = catch_unwind(AssertUnwindSafe(|| unit.run(conn))).unwrap_or_else(|panic| {
        let text = format!("a database write panicked: {}", panic_text(&*panic));
        tracing::error!("{text}");
        Err(Error::internal(text))
    });
    if outcome.is_err() && !conn.is_autocommit() {
        execute(conn, "ROLLBACK TO unit")?;
    }
    if !conn.is_autocommit() {
        execute(conn, "RELEASE unit")?;
    }
    outcome
}

fn execute(conn: &Connection, sql: &str) -> Result<()> {
    conn.prepare_cached(sql)
        .and_then(|mut statement| statement.execute([]))
        .sql(&format!("run {sql}"))?;
    Ok(())
}

fn fail_all(units: Vec<Box<dyn Unit>>, error: &Error) {
    for unit in units {
        unit.settle(Err(error.duplicate()));
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
