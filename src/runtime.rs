//! The tokio runtime of the addon: one per process.
//!
//! Threads are a resource of the process, not of a registry: the runtime holds
//! no actor, registry or environment, and nothing is looked up through it, so
//! sharing it shares no state. It is never shut down, because futures of one
//! environment may outlive that environment's end, and a process may load the
//! addon again in the next worker.
//!
//! A thread that outlives the last environment must not find the library gone:
//! napi's loader pin keeps it mapped from the first start of the runtime.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use futures_util::future::{Either, ready};

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// More workers than this only add wake-ups: user code runs on the Node thread.
const WORKERS_MAX: usize = 4;
const WORKERS_MIN: usize = 2;

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

fn runtime() -> &'static Runtime {
    RUNTIME.get_or_init(|| {
        napi::bindgen_prelude::retain_current_module_for_unload_safety();
        let cores = std::thread::available_parallelism().map_or(WORKERS_MIN, usize::from);
        Builder::new_multi_thread()
            .worker_threads(cores.clamp(WORKERS_MIN, WORKERS_MAX))
            .thread_name_fn(|| {
                static NEXT: AtomicUsize = AtomicUsize::new(0);
                format!("greenroom-{}", NEXT.fetch_add(1, Ordering::Relaxed))
            })
            .enable_all()
            .build()
            .expect("a process that cannot start two threads cannot run the addon")
    })
}

/// Runs a future on the workers.
pub(crate) fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    runtime().spawn(future)
}

/// How often the workers have woken and lain down, if every one is down now and no
/// task waits for one; else `None`. The same answer twice means that none stirred
/// in between.
pub(crate) fn idle_turns() -> Option<u64> {
    let metrics = runtime().metrics();
    let mut turns = 0;
    for worker in 0..metrics.num_workers() {
        let count = metrics.worker_park_unpark_count(worker);
        // Odd while it is parked.
        if count.is_multiple_of(2) {
            return None;
        }
        turns += count;
    }
    (metrics.global_queue_depth() == 0).then_some(turns)
}

/// Takes a future's first step here and now, on the caller's thread. What callers
/// begin one after the other is thus in line in that order, whichever worker
/// goes on with it.
pub(crate) fn begin<F: Future + Send>(future: F) -> impl Future<Output = F::Output> + Send
where
    F::Output: Send,
{
    let _inside = runtime().enter();
    let mut future = Box::pin(future);
    // The next poll, by whoever waits for the result, leaves a waker.
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(output) => Either::Left(ready(output)),
        Poll::Pending => Either::Right(future),
    }
}

/// Waits for a future on the caller's thread, which must not be a worker.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    runtime().block_on(future)
}

/// Runs something that may spawn or arm timers although it is on no worker.
pub(crate) fn enter<T>(work: impl FnOnce() -> T) -> T {
    let _guard = runtime().enter();
    work()
}
