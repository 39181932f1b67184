//! Who is connected and who hears what.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use parking_lot::{Mutex, RwLock};

use super::handle::{ConnHandle, OutboundEvent};

/// Hibernation rows that the next save must write or delete.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingHibernationChanges {
    pub updated: BTreeSet<String>,
    pub removed: BTreeSet<String>,
}

/// The connections of one generation.
#[derive(Default)]
pub(crate) struct ConnectionRoom {
    live: RwLock<Live>,
    pending: Mutex<PendingHibernationChanges>,
}

/// The map of connections and the index over it (C3).
#[derive(Default)]
struct Live {
    conns: BTreeMap<String, ConnHandle>,
    /// Those among them that cannot outlive the generation; counted, because the
    /// question whether the actor may sleep is asked after every piece of work.
    unhibernatable: usize,
    subscribers: HashMap<String, BTreeMap<String, ConnHandle>>,
}

impl Live {
    fn insert(&mut self, conn: ConnHandle) {
        for event in conn.subscriptions() {
            self.index(&event, &conn);
        }
        self.unhibernatable += usize::from(!conn.is_hibernatable());
        let before = self.conns.insert(conn.id().to_owned(), conn);
        debug_assert!(before.is_none(), "ids of connections are unique");
    }

    fn remove(&mut self, id: &str) -> Option<ConnHandle> {
        let conn = self.conns.remove(id)?;
        self.unhibernatable -= usize::from(!conn.is_hibernatable());
        for event in conn.subscriptions() {
            self.unindex(&event, id);
        }
        Some(conn)
    }

    fn index(&mut self, event: &str, conn: &ConnHandle) {
        let subscribers = match self.subscribers.get_mut(event) {
            Some(subscribers) => subscribers,
            None => self.subscribers.entry(event.to_owned()).or_default(),
        };
        subscribers.insert(conn.id().to_owned(), conn.clone());
    }

    fn unindex(&mut self, event: &str, id: &str) {
        if let Some(subscribers) = self.subscribers.get_mut(event) {
            subscribers.remove(id);
            if subscribers.is_empty() {
                self.subscribers.remove(event);
            }
        }
    }

    /// True if that changed anything.
    fn set_subscribed(&mut self, conn: &ConnHandle, event: &str, subscribe: bool) -> bool {
        // A connection that has left is nobody's audience any more.
        if !self.conns.contains_key(conn.id()) {
            return false;
        }
        let changed = conn.set_subscribed(event, subscribe);
        match (changed, subscribe) {
            (true, true) => self.index(event, conn),
            (true, false) => self.unindex(event, conn.id()),
            (false, _) => {}
        }
        changed
    }
}

impl ConnectionRoom {
    pub(super) fn insert(&self, conn: ConnHandle) {
        self.live.write().insert(conn);
    }

    /// Only one caller gets it (C1).
    pub(super) fn remove(&self, id: &str) -> Option<ConnHandle> {
        self.live.write().remove(id)
    }

    pub(crate) fn get(&self, id: &str) -> Option<ConnHandle> {
        self.live.read().conns.get(id).cloned()
    }

    pub(super) fn all(&self) -> Vec<ConnHandle> {
        self.live.read().conns.values().cloned().collect()
    }

    pub(super) fn count(&self) -> usize {
        self.live.read().conns.len()
    }

    pub(super) fn count_of_unhibernatable(&self) -> usize {
        self.live.read().unhibernatable
    }

    /// True if that changed anything.
    pub(super) fn set_subscribed(&self, conn: &ConnHandle, event: &str, subscribe: bool) -> bool {
        self.live.write().set_subscribed(conn, event, subscribe)
    }

    /// Sends to everybody who is subscribed. Sending neither blocks nor comes back
    /// here: a transport that is full closes itself, and its own task reports that.
    pub(super) fn send_to_subscribers(&self, event: &OutboundEvent) {
        let live = self.live.read();
        let Some(subscribers) = live.subscribers.get(&event.name) else {
            return;
        };
        event.set_audience(subscribers.len());
        for conn in subscribers.values() {
            conn.send(event);
        }
    }

    pub(crate) fn queue_update(&self, id: &str) {
        self.pending.lock().updated.insert(id.to_owned());
    }

    pub(super) fn queue_removal(&self, id: &str) {
        let mut pending = self.pending.lock();
        pending.updated.remove(id);
        pending.removed.insert(id.to_owned());
    }

    pub(super) fn has_pending(&self) -> bool {
        let pending = self.pending.lock();
        !pending.updated.is_empty() || !pending.removed.is_empty()
    }

    pub(super) fn pending_removals(&self) -> Vec<String> {
        self.pending.lock().removed.iter().cloned().collect()
    }

    pub(super) fn pending_updates(&self) -> Vec<ConnHandle> {
        let pending = self.pending.lock();
        let live = self.live.read();
        let due = pending.updated.iter().filter_map(|id| live.conns.get(id));
        due.filter(|conn| conn.is_hibernatable()).cloned().collect()
    }

    pub(crate) fn take_pending(&self) -> PendingHibernationChanges {
        std::mem::take(&mut *self.pending.lock())
    }

    /// Puts back changes that a failed save took (C2). A removal that arrived
    /// meanwhile beats an older update.
    pub(crate) fn restore_pending(&self, taken: PendingHibernationChanges) {
        let mut pending = self.pending.lock();
        pending.removed.extend(taken.removed);
        pending.updated.extend(taken.updated);
        let PendingHibernationChanges { updated, removed } = &mut *pending;
        updated.retain(|id| !removed.contains(id));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use bytes::Bytes;

    use super::super::ConnTransport;
    use super::*;

    #[derive(Default)]
    struct Counting(AtomicUsize);

    impl ConnTransport for Counting {
        fn send_event(&self, _: &OutboundEvent) -> greenroom_error::Result<()> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
        fn close(&self, _: u16, _: &str) {}
    }

    fn conn(id: &str) -> (ConnHandle, Arc<Counting>) {
        let conn = ConnHandle::new(id.to_owned(), Bytes::new(), None);
        let transport = Arc::new(Counting::default());
        conn.attach_transport(transport.clone());
        (conn, transport)
    }

    fn heard(transport: &Counting) -> usize {
        transport.0.load(Ordering::SeqCst)
    }

    #[test]
    fn c3_events_reach_exactly_the_live_subscribers() {
        let room = ConnectionRoom::default();
        let (a, a_hears) = conn("a");
        let (b, b_hears) = conn("b");
        room.insert(a.clone());
        room.insert(b.clone());
        assert!(room.set_subscribed(&a, "news", true));
        assert!(!room.set_subscribed(&a, "news", true), "twice is once");
        assert!(room.set_subscribed(&b, "other", true));
        let news = OutboundEvent::new("news", Bytes::new());
        room.send_to_subscribers(&news);
        assert_eq!((heard(&a_hears), heard(&b_hears)), (1, 0));
        room.set_subscribed(&a, "news", false);
        room.send_to_subscribers(&news);
        assert_eq!(heard(&a_hears), 1);
        room.set_subscribed(&a, "news", true);
        assert!(room.remove("a").is_some() && room.remove("a").is_none());
        room.send_to_subscribers(&news);
        assert_eq!(heard(&a_hears), 1);
        assert!(!room.live.read().subscribers.contains_key("news"));
    }

    #[test]
    fn c3_a_late_subscription_of_a_gone_connection_leaves_no_trace() {
        let room = ConnectionRoom::default();
        let (a, _) = conn("a");
        assert!(!room.set_subscribed(&a, "news", true));
        assert!(room.live.read().subscribers.is_empty());
    }

    #[test]
    fn c3_a_restored_connection_hears_what_it_was_subscribed_to() {
        let room = ConnectionRoom::default();
        let (a, a_hears) = conn("a");
        a.replace_subscriptions(["news".to_owned()]);
        room.insert(a);
        room.send_to_subscribers(&OutboundEvent::new("news", Bytes::new()));
        assert_eq!(heard(&a_hears), 1);
    }

    #[test]
    fn c2_a_removal_beats_the_update_of_a_failed_save() {
        let room = ConnectionRoom::default();
        room.queue_update("a");
        room.queue_update("b");
        let taken = room.take_pending();
        room.queue_removal("a");
        room.restore_pending(taken);
        let pending = room.take_pending();
        assert!(pending.updated.contains("b") && !pending.updated.contains("a"));
        assert!(pending.removed.contains("a"));
    }
}
