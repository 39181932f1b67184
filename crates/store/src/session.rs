//! A lane's turn with one database: opening it when first needed, and the steps
//! of its life that concern the file as a whole.
//!
//! Keeps the pool's count right: each file opened here was admitted, each file
//! closed here is released.

use std::path::Path;
use std::sync::Arc;

use greenroom_error::{Error, Result};
use tokio::sync::oneshot;

use crate::failure::closed;
use crate::new_file;
use crate::open_file::OpenFile;
use crate::slot::Slot;
use crate::startup::{self, Startup};
use crate::store::Shared;

/// A first start that writes more than this many bytes is published early
/// instead of being held in memory.
const CORKED_BYTES_MAX: u64 = 16 * 1024 * 1024;

pub(crate) struct Session<'a> {
    shared: &'a Shared,
    slot: &'a Arc<Slot>,
    file: Option<Box<OpenFile>>,
}

impl<'a> Session<'a> {
    pub(crate) fn begin(shared: &'a Shared, slot: &'a Arc<Slot>) -> Self {
        let file = shared.pool.take(slot);
        Self { shared, slot, file }
    }

    /// Leaves the file, if open, to the pool.
    pub(crate) fn end(self) {
        if let Some(file) = self.file {
            self.shared.pool.give_back(self.slot, file);
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.slot.path
    }

    /// The open database. One that exists is opened; one that does not answers
    /// `sqlite/closed`: only [`start`](Self::start) creates, so that a late save
    /// cannot bring back a destroyed actor.
    pub(crate) fn file(&mut self) -> Result<&mut OpenFile> {
        if self.file.is_none() {
            if !new_file::exists(&self.slot.path)? {
                return Err(closed());
            }
            self.admit(|slot| OpenFile::open(&slot.path))?;
        }
        self.file.as_deref_mut().ok_or_else(closed)
    }

    fn admit(&mut self, open: impl FnOnce(&Slot) -> Result<OpenFile>) -> Result<()> {
        self.shared.pool.admit();
        match open(self.slot) {
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
        if self.file.is_none() && !new_file::exists(&self.slot.path)? {
            let template = self.shared.template()?;
            self.admit(|_| OpenFile::create(template))?;
            return Ok(Startup::bootstrapped());
        }
        startup::read(&self.file()?.conn)
    }

    /// Makes a corked database durable. It is opened anew when next used.
    pub(crate) fn uncork(&mut self) -> Result<()> {
        if !self.file.as_ref().is_some_and(|file| file.is_corked()) {
            return Ok(());
        }
        self.put_away()
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
        if self.file.as_ref().is_some_and(|file| file.in_transaction()) {
            tracing::warn!(path = %self.path().display(), "rolled back a transaction that was left open");
            self.roll_back();
        }
        self.put_away()
    }

    /// Deletes the database without keeping anything.
    pub(crate) fn remove(&mut self) -> Result<()> {
        if let Some(file) = self.file.take() {
            drop(file);
            self.shared.pool.release();
        }
        new_file::remove(&self.slot.path)
    }

    pub(crate) fn roll_back(&mut self) {
        if let Some(file) = &mut self.file {
            file.roll_back();
        }
    }

    /// Does after each job what waits for the end of a transaction.
    pub(crate) fn settle(&mut self) {
        let Some(file) = &self.file else { return };
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
        let waiters = std::mem::take(&mut file.uncork_waiters);
        let outcome = match file.put_away(&self.slot.path) {
            Ok(()) => {
                self.shared.pool.release();
                Ok(())
            }
            Err((file, error)) => {
                self.file = Some(file);
                Err(error)
            }
        };
        for waiter in waiters {
            let _ = waiter.send(outcome.as_ref().copied().map_err(Error::duplicate));
        }
        outcome
    }
}
