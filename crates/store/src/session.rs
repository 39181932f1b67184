//! A lane's turn with one database: opening it when first needed, and the steps
//! of its life that concern the file as a whole.
//!
//! Keeps the pool's count right: each file opened here was admitted, each file
//! closed here is released.

use std::path::Path;
use std::sync::Arc;

use greenroom_error::{Error, Result};
use parking_lot::MutexGuard;
use tokio::sync::{Semaphore, oneshot};

use crate::failure::closed;
use crate::files::{Files, log_size};
use crate::memory::Bounded;
use crate::open_file::{OpenFile, Unkept};
use crate::place::Place;
use crate::slot::Slot;
use crate::sql::UserSide;
use crate::sql::coordinator::Phase;
use crate::startup::{self, Startup};
use crate::store::Shared;

/// A first start that writes more than this many bytes is published early
/// instead of being held in memory.
const CORKED_BYTES_MAX: u64 = 16 * 1024 * 1024;

pub(crate) struct Session<'a> {
    shared: &'a Shared,
    slot: &'a Arc<Slot>,
    file: Option<Box<OpenFile>>,
    pub(crate) user: MutexGuard<'a, UserSide>,
}

impl<'a> Session<'a> {
    pub(crate) fn begin(shared: &'a Shared, slot: &'a Arc<Slot>) -> Self {
        // In this order: the file may be on its way out, and whoever closes it
        // needs the user's side.
        let file = shared.pool.take(slot);
        let user = slot.user.lock();
        Self {
            shared,
            slot,
            file,
            user,
        }
    }

    /// Leaves the file, if open, to the pool.
    pub(crate) fn end(self) {
        // Unlocked first: from the pool the file may be closed at once.
        drop(self.user);
        self.slot
            .figures
            .turn_ended(self.file.as_ref().map(|file| &file.conn));
        if let Some(file) = self.file {
            self.shared.pool.give_back(self.slot, file);
        }
    }

    pub(crate) fn files(&self) -> &'a Files {
        &self.shared.files
    }

    pub(crate) fn room_for_readers(&self) -> &'a Arc<Semaphore> {
        &self.shared.room_for_readers
    }

    pub(crate) fn path(&self) -> &Path {
        self.slot.path()
    }

    pub(crate) fn place(&self) -> &'a Place {
        &self.slot.place
    }

    fn exists(&self) -> Result<bool> {
        self.slot.place.exists(&self.shared.files)
    }

    /// From here on this is a user's work, which may take so much memory and no more.
    pub(crate) fn bound_memory(&self) -> Bounded {
        self.slot.memory.bound()
    }

    /// The open database. One that exists is opened; one that does not answers
    /// `sqlite/closed`: only [`start`](Self::start) creates, so that a late save
    /// cannot bring back a destroyed actor.
    pub(crate) fn file(&mut self) -> Result<&mut OpenFile> {
        if self.file.is_none() {
            if !self.exists()? {
                return Err(closed());
            }
            self.admit(|slot| slot.shared.open(&slot.place))?;
        }
        self.file.as_deref_mut().ok_or_else(closed)
    }

    /// The open database and what the user has on it.
    pub(crate) fn file_and_user(&mut self) -> Result<(&mut OpenFile, &mut UserSide)> {
        self.file()?;
        let file = self.file.as_deref_mut().ok_or_else(closed)?;
        Ok((file, &mut self.user))
    }

    /// The open database, for the runtime to write to: results of the user's that
    /// are read on its connection are put aside first.
    pub(crate) fn file_to_write(&mut self) -> Result<&mut OpenFile> {
        let (file, user) = self.file_and_user()?;
        user.free_connection(file);
        Ok(file)
    }

    fn admit(&mut self, open: impl FnOnce(&Slot) -> Result<OpenFile>) -> Result<()> {
        self.shared.pool.admit();
        let opened = open(self.slot).and_then(|file| {
            self.user.attach(&file)?;
            self.slot.figures.watch(&file.conn);
            Ok(file)
        });
        match opened {
            Ok(file) => {
                self.file = Some(Box::new(file));
                Ok(())
            }
            Err(error) => {
                self.shared.pool.release();
                Err(error)
            }
        }
    }

    /// Opens the database, creating it if it does not exist, and reads what an
    /// actor's start needs.
    pub(crate) fn start(&mut self) -> Result<Startup> {
        // A start that was never finished and never closed: keep what it wrote,
        // and let this one see an ordinary database.
        self.uncork()?;
        if self.file.is_none() && !self.exists()? {
            let template = self.shared.template()?;
            self.admit(|_| OpenFile::create(template))?;
            return Ok(Startup::bootstrapped());
        }
        startup::read(&self.file()?.conn)
    }

    /// Makes a corked database durable. It is opened anew when next used.
    pub(crate) fn uncork(&mut self) -> Result<()> {
        match &self.file {
            Some(file) if file.is_corked() => self.put_away(),
            Some(_) => Ok(()),
            // Its image may have been dropped, because it will never have a file.
            None => self.place().check_forsaken(),
        }
    }

    /// Uncorks now, or as soon as the open transaction has ended.
    pub(crate) fn uncork_when_possible(&mut self, reply: oneshot::Sender<Result<()>>) {
        match &mut self.file {
            Some(file) if file.is_corked() && file.in_transaction() => {
                file.uncork_waiters.push(reply);
            }
            _ => {
                let _ = reply.send(self.uncork());
            }
        }
    }

    /// Closes the database if it is open. An open transaction is rolled back.
    pub(crate) fn close(&mut self) -> Result<()> {
        self.end_transactions();
        // Nobody is left to read them on, so they are not put aside.
        self.user.cursors.clear();
        self.put_away()?;
        self.user.reset();
        Ok(())
    }

    /// Rolls back what is open, whoever opened it.
    pub(crate) fn end_transactions(&mut self) {
        if self.file.as_ref().is_some_and(|file| file.in_transaction()) {
            tracing::warn!(path = %self.path().display(), "rolled back a transaction that was left open");
            self.roll_back();
        }
        self.user.coordinator.end(Phase::Closed);
    }

    /// Deletes the database without keeping anything.
    pub(crate) fn remove(&mut self) -> Result<()> {
        self.user.coordinator.end(Phase::Closed);
        self.user.reset();
        if let Some(file) = self.file.take() {
            drop(file);
            self.shared.pool.release();
        }
        self.slot.place.remove(&self.shared.files)
    }

    pub(crate) fn roll_back(&mut self) {
        let Some(file) = &self.file else { return };
        if file.in_transaction() {
            self.user.free_connection(file);
        }
        file.roll_back();
        if file.in_transaction() && !file.is_corked() {
            // What was not committed is gone with the connection.
            tracing::error!(path = %self.path().display(), "a transaction could not be rolled back; closing its connection");
            self.user.cursors.clear();
            self.file = None;
            self.shared.pool.release();
        }
    }

    /// Takes note of whether a transaction is open: after each job, and before
    /// its caller hears of its end.
    pub(crate) fn observe(&mut self) {
        let open = self.file.as_ref().is_some_and(|file| file.in_transaction());
        let explicit = self.user.coordinator.observe(open);
        self.slot
            .explicit_transaction
            .send_if_modified(|known| std::mem::replace(known, explicit) != explicit);
    }

    /// Does after each job what waits for the end of a transaction.
    pub(crate) fn settle(&mut self) {
        self.observe();
        let Some(file) = &self.file else { return };
        let path = self.slot.place.path();
        self.user.shorten_log(file, || log_size(path));
        if !file.is_corked() || file.in_transaction() {
            return;
        }
        let outgrown = || file.corked_size().is_ok_and(|size| size > CORKED_BYTES_MAX);
        if file.uncork_waiters.is_empty() && !outgrown() {
            return;
        }
        if let Err(error) = self.put_away() {
            // The caller of commit_startup will try again and get the answer.
            tracing::warn!(path = %self.path().display(), %error, "could not publish a new database");
        }
    }

    /// Closes the file, publishing it if it is corked, and answers those who
    /// waited for that.
    fn put_away(&mut self) -> Result<()> {
        let Some(mut file) = self.file.take() else {
            return Ok(());
        };
        self.user.detach(&file);
        let waiters = std::mem::take(&mut file.uncork_waiters);
        let outcome = match file.put_away(&self.shared.files, &self.slot.place) {
            Ok(()) => {
                self.shared.pool.release();
                Ok(())
            }
            Err(Unkept { file, error }) => {
                if file.is_none() {
                    self.shared.pool.release();
                }
                self.file = file;
                Err(error)
            }
        };
        for waiter in waiters {
            let _ = waiter.send(outcome.as_ref().copied().map_err(Error::duplicate));
        }
        outcome
    }
}
