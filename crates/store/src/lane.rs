//! A lane: a thread that runs the jobs of one database after another.
//!
//! Writes that wait in a row share one commit. A panic in a job is caught: the
//! job's caller gets an error, the lane and the database live on.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::failure::withdrawn;
use crate::group_commit::{self, Aftermath, Unit, fail_all, panic_text};
use crate::session::Session;
use crate::slot::{Job, Slot};
use crate::sql::coordinator::Turn;
use crate::store::Shared;

/// Bytes of a lane's stack, of which only what is used takes memory. SQLite calls itself
/// for each wildcard of a pattern, of which there may be tens of thousands, and for each
/// level of nested views and cascading foreign keys; what overflows a stack ends the
/// process.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Starts a lane; `None` if the system refuses a thread.
pub(crate) fn spawn(number: usize, shared: Arc<Shared>) -> Option<JoinHandle<()>> {
    shared.running_lanes.send_modify(|running| *running += 1);
    let for_thread = Arc::clone(&shared);
    let spawned = std::thread::Builder::new()
        .name(format!("gr-store-{number}"))
        .stack_size(STACK_BYTES)
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
        let parked_writes = take_turn(shared, &slot);
        if slot.end_turn(parked_writes) {
            shared.reschedule(slot);
        } else {
            shared.rest();
        }
    }
    // Every lane helps to close what is left; the last one to leave reports.
    shared.pool.close_idle();
    shared.running_lanes.send_modify(|running| *running -= 1);
}

/// Runs what waits for one database. Returns how many writes of the runtime are
/// left parked behind a transaction.
fn take_turn(shared: &Shared, slot: &Arc<Slot>) -> usize {
    let _temp = slot.temp.enter();
    let _memory = slot.memory.enter();
    let mut jobs = slot.take_jobs();
    let mut session = Session::begin(shared, slot);
    while let Some(job) = jobs.pop_front() {
        match session.user.coordinator.turn(&job) {
            Turn::Run => run_job(&mut session, job, &mut jobs),
            Turn::Park => session.user.coordinator.park(job),
            Turn::Refuse(error) => job.refuse(error),
        }
        session.settle();
        // Older than everything in line, so they come first.
        for job in session.user.coordinator.release().into_iter().rev() {
            jobs.push_front(job);
        }
    }
    let parked_writes = session.user.coordinator.parked_writes();
    session.end();
    parked_writes
}

fn run_job(session: &mut Session<'_>, job: Job, jobs: &mut VecDeque<Job>) {
    match job {
        Job::Task(task) => run_task(session, task),
        Job::Write(first) => write_group(session, take_group(first, jobs)),
        Job::Sql(job) if job.is_withdrawn() => job.refuse(withdrawn()),
        Job::Sql(job) => run_task(session, |session| job.run(session)),
    }
}

fn run_task(session: &mut Session<'_>, task: impl FnOnce(&mut Session<'_>)) {
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
    let file = match session.file_to_write() {
        Ok(file) => file,
        Err(error) => return fail_all(group, &error),
    };
    if group_commit::commit(&file.conn, group) == Aftermath::Suspect {
        file.suspect = true;
    }
}
