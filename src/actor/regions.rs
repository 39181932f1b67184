//! Work that JavaScript brackets by numbers: begun here, ended there.

use std::collections::HashMap;

use greenroom_core::{ActorContext, ActorWorkKind, ActorWorkRegion};
use parking_lot::Mutex;

/// Open regions of one kind, numbered from 1 for each generation.
pub(crate) struct Regions {
    kind: ActorWorkKind,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    last: u32,
    regions: HashMap<u32, ActorWorkRegion>,
    over: bool,
}

impl Regions {
    pub(super) fn new(kind: ActorWorkKind) -> Self {
        Self {
            kind,
            open: Mutex::default(),
        }
    }

    /// Begins a region. 0 is no region: the generation has ended.
    pub(crate) fn begin(&self, ctx: &ActorContext) -> u32 {
        let mut open = self.open.lock();
        if open.over {
            return 0;
        }
        open.last = open.last.wrapping_add(1).max(1);
        let id = open.last;
        open.regions.insert(id, ctx.begin_work(self.kind));
        id
    }

    /// Ends a region; unknown numbers are ignored.
    pub(crate) fn end(&self, id: u32) {
        // Dropped without the lock: the end of a region wakes the task.
        let region = self.open.lock().regions.remove(&id);
        drop(region);
    }

    pub(super) fn clear(&self) {
        let mut open = self.open.lock();
        open.over = true;
        let regions = std::mem::take(&mut open.regions);
        drop(open);
        drop(regions);
    }
}
