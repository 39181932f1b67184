use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::task::Wake;

use super::*;

fn frame(text: &'static str) -> WireFrame {
    WireFrame::new(bytes::Bytes::from_static(text.as_bytes()), false)
}

fn drain(outbox: &Outbox) -> Vec<WireFrame> {
    let mut out = Vec::new();
    outbox.take(usize::MAX, |frame| out.push(frame));
    out
}

fn farewell(outbox: &Outbox) -> Option<Farewell> {
    let mut cx = Context::from_waker(std::task::Waker::noop());
    match outbox.poll_farewell(&mut cx) {
        Poll::Ready(farewell) => Some(farewell),
        Poll::Pending => None,
    }
}

#[test]
fn x1_a_close_leaves_after_everything_added_before() {
    let outbox = Outbox::new(OutboxLimits::default());
    outbox.push(frame("a")).unwrap();
    outbox.close(Farewell::new(1000, "bye"));
    outbox.close(Farewell::new(1011, "late"));
    assert_eq!(farewell(&outbox), None);
    assert_eq!(drain(&outbox), [frame("a")]);
    assert_eq!(farewell(&outbox), Some(Farewell::new(1000, "bye")));
}

#[test]
fn x2_nothing_is_added_after_a_close() {
    let outbox = Outbox::new(OutboxLimits::default());
    outbox.close(Farewell::new(1000, ""));
    let error = outbox.push(frame("a")).unwrap_err();
    assert!(error.is(&code::CONNECTION_NOT_CONFIGURED));
    assert!(drain(&outbox).is_empty());
}

#[test]
fn a_slow_client_is_closed_and_what_waited_is_dropped() {
    let limits = OutboxLimits {
        bytes: 8,
        frames: 9,
    };
    let outbox = Outbox::new(limits);
    outbox
        .push(frame("a message longer than the bound"))
        .unwrap();
    let error = outbox.push(frame("b")).unwrap_err();
    assert!(error.is(&code::CONNECTION_SLOW_CONSUMER));
    assert!(drain(&outbox).is_empty());
    let farewell = farewell(&outbox).expect("closed");
    assert_eq!(farewell, Farewell::new(1013, "connection.slow_consumer"));
    let outbox = Outbox::new(OutboxLimits {
        bytes: 99,
        frames: 1,
    });
    outbox.push(frame("a")).unwrap();
    assert!(
        outbox.push(frame("b")).is_err(),
        "many small ones count too"
    );
}

#[test]
fn x3_a_cork_holds_everything_back_and_the_first_frame_leaves_first() {
    let outbox = Outbox::new(OutboxLimits::default());
    outbox.cork();
    outbox.push(frame("event")).unwrap();
    assert!(drain(&outbox).is_empty());
    outbox.uncork(frame("init"));
    assert_eq!(drain(&outbox), [frame("init"), frame("event")]);
}

#[test]
fn a_rejection_says_one_thing_and_closes() {
    let outbox = Outbox::new(OutboxLimits::default());
    outbox.cork();
    outbox.push(frame("event")).unwrap();
    outbox.reject(frame("error"), Farewell::new(1011, "user.no"));
    assert_eq!(drain(&outbox), [frame("error")]);
    assert_eq!(farewell(&outbox), Some(Farewell::new(1011, "user.no")));
}

#[test]
fn x4_a_fan_out_goes_on_past_a_reader_that_takes_nothing() {
    let fan_out: Arc<FanOut> = Arc::default();
    let outboxes: Vec<Outbox> = (0..100)
        .map(|_| Outbox::new(OutboxLimits::default()))
        .collect();
    let flags: Vec<Arc<Flag>> = outboxes.iter().map(|_| Arc::default()).collect();
    let look = |at: usize| {
        let waker = Waker::from(Arc::clone(&flags[at]));
        let _ = outboxes[at].poll_farewell(&mut Context::from_waker(&waker));
    };
    (0..100).for_each(look);
    for outbox in &outboxes {
        outbox
            .push_as_one_of(Some(&fan_out), frame("news"))
            .unwrap();
    }
    let mut looked = 0;
    while let Some(at) = flags.iter().position(|flag| flag.0.swap(false, SeqCst)) {
        look(at);
        looked += 1;
    }
    assert_eq!(looked, 100, "each was woken once, and took nothing");
    outboxes[0]
        .push_as_one_of(Some(&fan_out), frame("more"))
        .unwrap();
    outboxes[0].push(frame("answer")).unwrap();
    assert!(flags[0].0.load(SeqCst), "an answer waits for no turn");
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

#[test]
fn batches_are_bounded() {
    let outbox = Outbox::new(OutboxLimits::default());
    for _ in 0..4 {
        outbox.push(frame("abcdefgh")).unwrap();
    }
    let mut taken = 0;
    outbox.take(11, |_| taken += 1);
    assert_eq!(taken, 2);
    assert_eq!(drain(&outbox).len(), 2);
}
