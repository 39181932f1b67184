//! Ids for actors to come, whose folders are there already.
//!
//! Making a folder and its name durable costs a sync, which a new actor would
//! otherwise wait for. Which id an actor gets means nothing, so a few are chosen
//! ahead. Running out of them costs time and nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use greenroom_wire::ActorId;
use parking_lot::Mutex;

use crate::shared::Shared;

/// Ids kept ready; each may stand for an empty folder.
const SPARES: usize = 32;
/// With fewer than this, more are made ready.
const ENOUGH: usize = SPARES / 2;

#[derive(Default)]
pub(crate) struct SpareIds {
    ready: Mutex<Vec<ActorId>>,
    /// Somebody makes ids ready.
    filling: AtomicBool,
}

impl SpareIds {
    fn take(&self) -> Option<ActorId> {
        self.ready.lock().pop()
    }

    fn are_few(&self) -> bool {
        self.ready.lock().len() < ENOUGH
    }

    fn add(&self, ids: impl IntoIterator<Item = ActorId>) {
        self.ready.lock().extend(ids);
    }

    /// The id was not used after all.
    pub(crate) fn give_back(&self, id: ActorId) {
        let mut ready = self.ready.lock();
        if ready.len() < SPARES {
            ready.push(id);
        }
    }
}

impl Shared {
    /// An id that no actor has.
    pub(crate) fn new_actor_id(&self) -> ActorId {
        let spare = self.spare_ids.take();
        self.refill_spare_ids();
        spare.unwrap_or_else(ActorId::generate)
    }

    /// Makes ids ready in the background, if there are few.
    pub(crate) fn refill_spare_ids(&self) {
        if !self.is_open() || !self.spare_ids.are_few() {
            return;
        }
        if let Some(me) = self.me()
            && !self.spare_ids.filling.swap(true, Ordering::SeqCst)
        {
            self.spawn(async move { me.fill_spare_ids().await });
        }
    }

    async fn fill_spare_ids(self: Arc<Self>) {
        let ids: Vec<_> = (0..SPARES - ENOUGH).map(|_| ActorId::generate()).collect();
        let paths = self.data_dir.look(|data| {
            let paths = ids.iter().map(|id| data.actor_path(id));
            paths.collect::<Vec<_>>()
        });
        if let Ok(paths) = paths {
            let store = self.store.clone();
            let made = tokio::task::spawn_blocking(move || store.make_folders_of(&paths)).await;
            match made {
                Ok(Ok(())) => self.spare_ids.add(ids),
                Ok(Err(error)) => tracing::debug!(%error, "no folders were made ahead"),
                Err(error) => tracing::debug!(%error, "no folders were made ahead"),
            }
        }
        self.spare_ids.filling.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_given_once_unless_it_comes_back() {
        let spares = SpareIds::default();
        assert!(spares.take().is_none() && spares.are_few());
        spares.add((0..ENOUGH).map(|_| ActorId::generate()));
        assert!(!spares.are_few());
        let first = spares.take().unwrap();
        assert!(!spares.ready.lock().contains(&first));
        spares.give_back(first);
        assert_eq!(spares.take(), Some(first));
    }
}
