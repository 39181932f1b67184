//! Everything that may happen to a task, as a test makes it happen.

use futures_util::FutureExt;
use greenroom_error::{Error, Result};
use std::time::Duration;

use crate::actor::connection::{ConnHandle, ConnectOptions};
use crate::actor::deltas::Written;
use crate::actor::messages::{
    ActionDispatch, DispatchCommand, Incoming, LifecycleCommand, LifecycleEvent, QueueSendDispatch,
    Request, ShutdownKind, WorkflowKvWrite,
};
use crate::actor::persistence::PendingPersistence;
use crate::actor::save_book::RequestSaveOpts;
use crate::actor::task_fixture::{Rig, one_byte};
use crate::reply::{Answer, Reply, ReplyReceiver, reply};
use crate::websocket::{WebSocket, WebSocketTransport};

pub(super) const GRACE_DEADLINE: &str = "grace deadline";
pub(super) const HOOKS_END: &str = "nothing runs any more";

/// How the sender of an event hears of it.
pub(super) type Told = Option<Box<dyn FnMut() -> Option<String>>>;

pub(super) struct Event {
    pub title: &'static str,
    /// Makes it happen.
    pub happen: fn(&mut Rig) -> Told,
}

fn told<T: 'static>(receiver: ReplyReceiver<T>) -> Told {
    let mut receiver = Some(receiver);
    Some(Box::new(move || {
        let answer = match receiver.as_mut()?.now_or_never()? {
            Answer::Done(Ok(_)) => "ok".to_owned(),
            Answer::Done(Err(error)) => format!("error `{}`", path(&error)),
            Answer::Refused(error) => format!("refused `{}`", path(&error)),
        };
        receiver = None;
        Some(answer)
    }))
}

fn path(error: &Error) -> String {
    format!("{}/{}", error.group(), error.code())
}

fn command(rig: &Rig, make: impl FnOnce(Reply<()>) -> LifecycleCommand) -> Told {
    let (answer, answered) = reply();
    if let Some(lifecycle) = &rig.lifecycle {
        let _ = lifecycle.send(make(answer));
    }
    told(answered)
}

fn dispatch<T: 'static>(rig: &Rig, make: impl FnOnce(Reply<T>) -> DispatchCommand) -> Told {
    let (answer, answered) = reply();
    if let Some(dispatch) = &rig.dispatch {
        dispatch.send(make(answer));
    }
    told(answered)
}

fn signal(rig: &Rig, event: LifecycleEvent) -> Told {
    rig.ctx.send_lifecycle_event(event);
    None
}

fn adapter_ends(rig: &mut Rig, with: impl Future<Output = Result<()>> + Send + 'static) -> Told {
    rig.adapter = None;
    rig.task.adapter = Some(tokio::spawn(with));
    None
}

fn pending_save(rig: &Rig) {
    let now = rig.ctx.clock().now();
    rig.ctx
        .with_book(|book| book.request(RequestSaveOpts::default(), now));
}

fn persisted(rig: &mut Rig, result: Result<Written>) -> Told {
    pending_save(rig);
    rig.task.persistence.running = Some(PendingPersistence::finished(result));
    None
}

fn conn(rig: &Rig) -> ConnHandle {
    let connected = rig.ctx.connect(ConnectOptions::default()).now_or_never();
    let conn = connected
        .expect("no hooks to wait for")
        .expect("no hooks to fail");
    rig.ctx.take_conn(conn.id());
    conn
}

fn action(reply: Reply<bytes::Bytes>) -> DispatchCommand {
    DispatchCommand::Action(Box::new(ActionDispatch {
        name: "act".into(),
        args: bytes::Bytes::new(),
        conn: None,
        incoming: Incoming::default(),
        cancelled: Default::default(),
        region: None,
        reply,
    }))
}

struct Deaf;

impl WebSocketTransport for Deaf {
    fn send(&self, _: bytes::Bytes, _: bool) -> Result<()> {
        Ok(())
    }
    fn close(&self, _: Option<u16>, _: Option<String>) {}
    fn settled(&self, _: u64, _: bool) {}
}

pub(super) const EVENTS: &[Event] = &[
    Event {
        title: "Start",
        happen: |rig| command(rig, |reply| LifecycleCommand::Start { reply }),
    },
    Event {
        title: "Stop (sleep)",
        happen: |rig| {
            command(rig, |reply| LifecycleCommand::Stop {
                reason: ShutdownKind::Sleep,
                reply,
            })
        },
    },
    Event {
        title: "Stop (destroy)",
        happen: |rig| {
            command(rig, |reply| LifecycleCommand::Stop {
                reason: ShutdownKind::Destroy,
                reply,
            })
        },
    },
    Event {
        title: "FireAlarm",
        happen: |rig| command(rig, |reply| LifecycleCommand::FireAlarm { reply }),
    },
    Event {
        title: "Abandon",
        happen: |rig| {
            command(rig, |reply| {
                drop(reply);
                LifecycleCommand::Abandon
            });
            None
        },
    },
    Event {
        title: "action",
        happen: |rig| dispatch(rig, action),
    },
    Event {
        title: "queue send",
        happen: |rig| {
            let conn = conn(rig);
            dispatch(rig, |reply| {
                DispatchCommand::QueueSend(Box::new(QueueSendDispatch {
                    name: "q".into(),
                    body: bytes::Bytes::new(),
                    conn,
                    request: Request::default(),
                    wait: false,
                    timeout_ms: None,
                    incoming: Incoming::default(),
                    reply,
                }))
            })
        },
    },
    Event {
        title: "HTTP request",
        happen: |rig| {
            dispatch(rig, |reply| DispatchCommand::Http {
                request: Box::default(),
                reply,
            })
        },
    },
    Event {
        title: "WebSocket",
        happen: |rig| {
            let conn = conn(rig);
            dispatch(rig, |reply| DispatchCommand::OpenWebSocket {
                conn,
                ws: WebSocket::new(Deaf),
                request: None,
                reply,
            })
        },
    },
    Event {
        title: "workflow history",
        happen: |rig| dispatch(rig, |reply| DispatchCommand::WorkflowHistory { reply }),
    },
    Event {
        title: "workflow replay",
        happen: |rig| {
            dispatch(rig, |reply| DispatchCommand::WorkflowReplay {
                entry_id: None,
                reply,
            })
        },
    },
    Event {
        title: "SaveRequested, then its time",
        happen: |rig| {
            pending_save(rig);
            signal(rig, LifecycleEvent::SaveRequested { immediate: true })
        },
    },
    Event {
        title: "WorkflowFlushRequested",
        happen: |rig| {
            let (reply, flushed) = reply();
            let writes = vec![WorkflowKvWrite {
                key: one_byte(),
                value: one_byte(),
            }];
            signal(
                rig,
                LifecycleEvent::WorkflowFlushRequested { writes, reply },
            );
            told(flushed)
        },
    },
    Event {
        title: "StateTransactionFinished over a save",
        happen: |rig| {
            let now = rig.ctx.clock().now();
            let immediate = RequestSaveOpts::IMMEDIATE;
            rig.ctx.with_book(|book| book.request(immediate, now));
            signal(rig, LifecycleEvent::StateTransactionFinished)
        },
    },
    Event {
        title: "SleepTick of an idle actor",
        happen: |rig| {
            rig.time.advance(Duration::from_secs(60));
            let later = rig.ctx.clock().now() + Duration::from_secs(1);
            rig.task.timers.arm_grace(later);
            signal(rig, LifecycleEvent::SleepTick)
        },
    },
    Event {
        title: HOOKS_END,
        happen: |rig| {
            rig.adapter = None;
            rig.ctx.0.work.poke_always();
            None
        },
    },
    Event {
        title: GRACE_DEADLINE,
        happen: |rig| {
            let now = rig.ctx.clock().now();
            rig.task.timers.arm_grace(now);
            None
        },
    },
    Event {
        title: "adapter returns",
        happen: |rig| adapter_ends(rig, async { Ok(()) }),
    },
    Event {
        title: "adapter fails",
        happen: |rig| adapter_ends(rig, async { Err(Error::internal("over")) }),
    },
    Event {
        title: "adapter panics",
        happen: |rig| adapter_ends(rig, async { std::panic::resume_unwind(Box::new("over")) }),
    },
    Event {
        title: "save written",
        happen: |rig| persisted(rig, Ok(Written::Yes)),
    },
    Event {
        title: "save overtaken by a transaction",
        happen: |rig| persisted(rig, Ok(Written::Discarded)),
    },
    Event {
        title: "save failed",
        happen: |rig| persisted(rig, Err(Error::internal("disk"))),
    },
    Event {
        title: "schedule due",
        happen: |rig| {
            rig.task.timers.set_alarm(Some(0));
            None
        },
    },
    Event {
        title: "all senders gone",
        happen: |rig| {
            rig.lifecycle = None;
            None
        },
    },
];
