//! Choosing the messages a receiver gets.
//!
//! Always the lowest ids among the wanted names. Each name has its own walk over
//! the index of names, so a receiver of few names reads nothing of the others,
//! and a list of many names binds no list of variables.

use std::collections::BTreeMap;

use greenroom_error::Result;

use super::{Batch, Take, TakeMode, Taken, TakenMessage};
use crate::tables::queue_leases::{self, Lease};
use crate::tables::{queue, queue::QueueRow};

/// Ids looked at in one step of a walk.
const PAGE: usize = 128;

/// Whether a message may be handed out.
enum Visibility {
    /// With the number of earlier deliveries.
    Now(u32),
    /// Not before this time.
    Hidden(i64),
    /// It has used up its deliveries.
    Exhausted(Lease),
}

/// Found messages by id, with their earlier deliveries.
type Found = BTreeMap<u64, u32>;

impl Batch<'_> {
    pub(super) fn take(&mut self, take: &Take) -> Result<Taken> {
        let mut taken = Taken::default();
        let mut found = Found::new();
        if take.names.is_empty() {
            self.walk(None, take.count, &mut found, &mut taken)?;
        }
        for name in take.names.iter() {
            self.walk(Some(name), take.count, &mut found, &mut taken)?;
        }
        taken.available = !found.is_empty();
        if take.mode == TakeMode::Look {
            return Ok(taken);
        }
        for (id, earlier) in found {
            if let Some(row) = queue::by_id(self.conn, id)? {
                taken.messages.push(self.hand_out(row, earlier, take.mode)?);
            }
        }
        Ok(taken)
    }

    /// Adds the messages of one name, or of any, that are among the `count`
    /// lowest ids.
    fn walk(
        &mut self,
        name: Option<&str>,
        count: usize,
        found: &mut Found,
        taken: &mut Taken,
    ) -> Result<()> {
        let (mut after, mut own) = (0, 0);
        // Where everything is visible, no id is looked at in vain.
        let step = if self.ledger.leases {
            PAGE
        } else {
            PAGE.min(count)
        };
        loop {
            let page = queue::ids_after(self.conn, name, after, step)?;
            let Some((last, _)) = page.last() else {
                return Ok(());
            };
            after = *last;
            for (id, name) in page {
                let beaten = found.len() >= count
                    && found.last_key_value().is_some_and(|(worst, _)| *worst < id);
                if own >= count || beaten {
                    return Ok(());
                }
                match self.visibility(id, &name)? {
                    Visibility::Now(earlier) => {
                        own += 1;
                        found.insert(id, earlier);
                        if found.len() > count {
                            found.pop_last();
                        }
                    }
                    Visibility::Hidden(until) => {
                        let next = taken.next_visible_at.get_or_insert(until);
                        *next = (*next).min(until);
                    }
                    Visibility::Exhausted(lease) => {
                        let reason = lease.reason.clone();
                        let buried = self.bury(id, &name, lease.attempt, reason)?;
                        taken.buried.extend(buried);
                    }
                }
            }
        }
    }

    fn visibility(&self, id: u64, name: &str) -> Result<Visibility> {
        let Some(delivery) = self.deliveries.get(name).filter(|_| self.ledger.leases) else {
            return Ok(Visibility::Now(0));
        };
        let lease = queue_leases::get(self.conn, id)?.unwrap_or_default();
        Ok(if lease.visible_at > self.now {
            Visibility::Hidden(lease.visible_at)
        } else if lease.attempt >= delivery.max_attempts {
            Visibility::Exhausted(lease)
        } else {
            Visibility::Now(lease.attempt)
        })
    }

    fn hand_out(&mut self, row: QueueRow, earlier: u32, mode: TakeMode) -> Result<TakenMessage> {
        let delivery = self.deliveries.get(&row.name);
        let attempt = delivery.map(|_| earlier + 1);
        let removed = mode == TakeMode::Remove;
        if removed {
            self.remove(row.id)?;
        } else if let (Some(delivery), Some(attempt)) = (delivery, attempt) {
            let lease = Lease {
                attempt,
                visible_at: self.now.saturating_add(delivery.visible_after_ms),
                leased: true,
                reason: None,
            };
            self.put_lease(row.id, &lease)?;
        }
        Ok(TakenMessage {
            row,
            attempt,
            removed,
        })
    }
}
