//! The actors this process is looking after, by id and by name and key.
//!
//! Holds only actors that are awake, on their way, or were asked for just now;
//! the directory knows the rest. There is at most one resident per id (a second
//! could start a second instance), and the one under a key is not destroyed.

use std::collections::HashMap;
use std::sync::Arc;

use greenroom_wire::{ActorId, ActorKey};
use parking_lot::RwLock;

use crate::directory::{ActorRecord, Birth};
use crate::resident::Resident;

#[derive(Default)]
pub(crate) struct Residents(RwLock<Maps>);

#[derive(Default)]
struct Maps {
    by_id: HashMap<ActorId, Arc<Resident>>,
    /// Keyed by parts so that a look-up borrows.
    by_key: HashMap<Arc<str>, HashMap<ActorKey, Arc<Resident>>>,
}

impl Maps {
    fn remove(&mut self, resident: &Resident) {
        self.by_id.remove(&resident.id);
        if let Some(keys) = self.by_key.get_mut(&resident.name) {
            if keys.get(&resident.key).is_some_and(|r| r.id == resident.id) {
                keys.remove(&resident.key);
            }
            if keys.is_empty() {
                self.by_key.remove(&resident.name);
            }
        }
    }
}

impl Residents {
    pub(crate) fn by_id(&self, id: &ActorId) -> Option<Arc<Resident>> {
        self.0.read().by_id.get(id).cloned()
    }

    pub(crate) fn by_key(&self, name: &str, key: &ActorKey) -> Option<Arc<Resident>> {
        self.0.read().by_key.get(name)?.get(key).cloned()
    }

    /// The resident of a record, made if there is none yet. The record may be
    /// stale: a destroyed actor's resident never takes a key from another's, and
    /// its start, which asks the directory again, ends it.
    pub(crate) fn adopt(&self, record: ActorRecord) -> Arc<Resident> {
        self.adopt_with(record, None)
    }

    /// As [`adopt`](Self::adopt), of an actor that may have been created just now.
    pub(crate) fn adopt_new(&self, record: ActorRecord, birth: Birth) -> Arc<Resident> {
        self.adopt_with(record, Some(birth))
    }

    fn adopt_with(&self, record: ActorRecord, birth: Option<Birth>) -> Arc<Resident> {
        let mut maps = self.0.write();
        let Maps { by_id, by_key } = &mut *maps;
        let resident = by_id.entry(record.id).or_insert_with(|| {
            let name = match by_key.get_key_value(&*record.name) {
                Some((name, _)) => Arc::clone(name),
                None => Arc::from(&*record.name),
            };
            Arc::new(Resident::new(record, name, birth))
        });
        let keys = by_key.entry(Arc::clone(&resident.name)).or_default();
        if !keys.contains_key(&resident.key) {
            keys.insert(resident.key.clone(), Arc::clone(resident));
        }
        Arc::clone(resident)
    }

    /// Lets go of a resident that is asleep; does nothing if it is not.
    pub(crate) fn forget(&self, resident: &Resident) {
        let mut maps = self.0.write();
        // Under the lock: whoever sees the phase finds the maps without it.
        if resident.claim_forgetting() {
            maps.remove(resident);
        }
    }

    /// The actor is gone and its key free.
    pub(crate) fn remove_destroyed(&self, resident: &Resident) {
        let mut maps = self.0.write();
        maps.remove(resident);
        resident.publish_destroyed();
    }

    /// Lets go of everybody, because nobody will be looked after any more. Breaks
    /// the circle of host, residents, their generations and the host again.
    pub(crate) fn clear(&self) {
        let maps = std::mem::take(&mut *self.0.write());
        // Outside the lock: the last handle of an actor may end its task.
        drop(maps);
    }

    pub(crate) fn all(&self) -> Vec<Arc<Resident>> {
        self.0.read().by_id.values().cloned().collect()
    }

    #[cfg(test)]
    fn count(&self) -> usize {
        self.0.read().by_id.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::{Directory, NewActor};
    use crate::resident::Phase;

    fn record(key: &str) -> ActorRecord {
        ActorRecord {
            id: ActorId::generate(),
            name: "counter".to_owned(),
            key: ActorKey::new([key]).unwrap(),
            create_ts: 0,
            start_ts: None,
            sleep_ts: None,
            destroy_ts: None,
            input: None,
            error: None,
        }
    }

    #[test]
    fn an_id_has_one_resident_however_often_it_is_adopted() {
        let residents = Residents::default();
        let record = record("a");
        let first = residents.adopt(record.clone());
        let second = residents.adopt(record);
        assert!(Arc::ptr_eq(&first, &second));
        let found = residents.by_key("counter", &first.key).unwrap();
        assert!(Arc::ptr_eq(&first, &found));
    }

    #[tokio::test]
    async fn a_first_start_is_one_of_an_actor_that_nobody_has_started_or_destroyed() {
        let folder = tempfile::tempdir().unwrap();
        let disk = greenroom_store::Disk::real();
        let directory = Directory::open(disk, folder.path().join("directory.db"));
        let directory = directory.await.unwrap();
        let mut untouched = Vec::new();
        for key in ["a", "b", "c"] {
            let new = NewActor {
                id: ActorId::generate(),
                name: "counter".to_owned(),
                key: ActorKey::new([key]).unwrap(),
                input: None,
                create_ts: 0,
            };
            let (record, birth) = directory.get_or_create_started(new).await.unwrap();
            assert_eq!(birth.generation, Some(1));
            match key {
                "b" => assert_eq!(directory.next_generation(&record.id).await.unwrap(), 2),
                "c" => directory.mark_destroyed(&record.id, 1).await.unwrap(),
                _ => {}
            }
            untouched.push(directory.is_untouched(&record.id, 1).await.unwrap());
        }
        assert_eq!(untouched, [true, false, false]);
    }

    #[test]
    fn only_a_sleeping_resident_is_forgotten() {
        let residents = Residents::default();
        let awake = residents.adopt(record("a"));
        assert!(awake.claim_start());
        residents.forget(&awake);
        assert!(residents.by_id(&awake.id).is_some());
        let asleep = residents.adopt(record("b"));
        residents.forget(&asleep);
        assert!(residents.by_id(&asleep.id).is_none());
        assert!(matches!(asleep.phase(), Phase::Forgotten));
    }

    #[test]
    fn a_destroyed_actor_leaves_its_key_to_the_next() {
        let residents = Residents::default();
        let old = residents.adopt(record("a"));
        residents.remove_destroyed(&old);
        assert!(residents.by_key("counter", &old.key).is_none());
        let new = residents.adopt(record("a"));
        assert_ne!(new.id, old.id);
        // A late second removal of the old one must not touch the new one.
        residents.remove_destroyed(&old);
        assert!(residents.by_key("counter", &new.key).is_some());
        assert_eq!(residents.count(), 1);
    }

    #[test]
    fn a_stale_record_does_not_take_the_key_from_a_living_actor() {
        let residents = Residents::default();
        let (stale, living) = (record("a"), record("a"));
        residents.adopt(living.clone());
        residents.adopt(stale.clone());
        assert_eq!(
            residents.by_key("counter", &living.key).unwrap().id,
            living.id
        );
        let stale = residents.by_id(&stale.id).unwrap();
        residents.remove_destroyed(&stale);
        assert_eq!(
            residents.by_key("counter", &living.key).unwrap().id,
            living.id
        );
    }
}
