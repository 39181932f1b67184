//! A line of operations that one flusher at a time carries out in batches.
//!
//! Whoever adds an operation to an idle line starts the flusher; operations that
//! arrive while it works share the next batch, and with it a commit. Order of
//! arrival is order of execution.
//!
//! Invariant P1: at most one flusher is at work, and while a line holds
//! operations one is at work or about to be started by the last to join.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Bounds of one batch: rows and bytes of an internal transaction.
const BATCH_ROWS_MAX: usize = 128;
const BATCH_BYTES_MAX: usize = 512 * 1024;

/// An operation in a line.
pub(crate) trait Weigh {
    /// Bytes it will bind.
    fn weight(&self) -> usize;
}

pub(crate) struct Pipe<Op>(Mutex<Line<Op>>);

struct Line<Op> {
    ops: VecDeque<Op>,
    flushing: bool,
}

impl<Op> Default for Pipe<Op> {
    fn default() -> Self {
        Self(Mutex::new(Line {
            ops: VecDeque::new(),
            flushing: false,
        }))
    }
}

impl<Op: Weigh> Pipe<Op> {
    /// Adds an operation. `true` makes the caller responsible for a flusher.
    #[must_use = "true means that nobody else will flush"]
    pub(crate) fn push(&self, op: Op) -> bool {
        let mut line = self.0.lock();
        line.ops.push_back(op);
        !std::mem::replace(&mut line.flushing, true)
    }

    /// The flusher's right to work, to be held while it does. Lets go of the line
    /// if the flusher dies: its operations are dropped, and their callers hear so.
    pub(crate) fn flusher(&self) -> Flusher<'_, Op> {
        Flusher {
            pipe: self,
            done: false,
        }
    }

    /// Gives up what nobody will flush.
    pub(crate) fn abandon(&self) -> VecDeque<Op> {
        let mut line = self.0.lock();
        line.flushing = false;
        std::mem::take(&mut line.ops)
    }
}

pub(crate) struct Flusher<'a, Op: Weigh> {
    pipe: &'a Pipe<Op>,
    done: bool,
}

impl<Op: Weigh> Flusher<'_, Op> {
    /// The next batch; `None` when the line is empty and the flusher must stop.
    pub(crate) fn next_batch(&mut self) -> Option<Vec<Op>> {
        let mut line = self.pipe.0.lock();
        let mut bytes = 0;
        let fits = |op: &&Op| {
            bytes += op.weight();
            bytes <= BATCH_BYTES_MAX
        };
        // One that is too large by itself still goes, alone.
        let count = line
            .ops
            .iter()
            .take(BATCH_ROWS_MAX)
            .take_while(fits)
            .count();
        let count = count.max(1).min(line.ops.len());
        self.done = count == 0;
        line.flushing = !self.done;
        line.flushing.then(|| line.ops.drain(..count).collect())
    }
}

impl<Op: Weigh> Drop for Flusher<'_, Op> {
    fn drop(&mut self) {
        if !self.done {
            drop(self.pipe.abandon());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Weigh for usize {
        fn weight(&self) -> usize {
            *self
        }
    }

    #[test]
    fn p1_only_the_first_of_a_line_starts_a_flusher() {
        let pipe = Pipe::default();
        assert!(pipe.push(1));
        assert!(!pipe.push(2));
        let mut flusher = pipe.flusher();
        assert_eq!(flusher.next_batch(), Some(vec![1, 2]));
        assert!(!pipe.push(3), "the flusher is still at work");
        assert_eq!(flusher.next_batch(), Some(vec![3]));
        assert_eq!(flusher.next_batch(), None);
        assert!(pipe.push(4));
    }

    #[test]
    fn batches_are_bounded_in_rows_and_bytes() {
        let pipe = Pipe::default();
        for _ in 0..200 {
            let _ = pipe.push(0_usize);
        }
        let _ = pipe.push(BATCH_BYTES_MAX + 1);
        let _ = pipe.push(BATCH_BYTES_MAX);
        let _ = pipe.push(1);
        let mut flusher = pipe.flusher();
        let sizes: Vec<_> = std::iter::from_fn(|| flusher.next_batch())
            .map(|batch| batch.len())
            .collect();
        assert_eq!(sizes, [128, 72, 1, 1, 1]);
    }

    #[test]
    fn a_flusher_that_panics_lets_go_of_the_line() {
        let pipe = Pipe::default();
        assert!(pipe.push(1_usize));
        let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _flusher = pipe.flusher();
            panic!("scripted");
        }));
        assert!(died.is_err());
        assert!(pipe.push(2), "the next one starts a flusher");
    }
}
