//! What every event does in every state: made by running it, compared with the
//! table in `docs/lifecycle.md`, which users read. `UPDATE_TABLE=1` writes it.

use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;

use futures_util::FutureExt;

use crate::actor::lifecycle::LifecycleState;
use crate::actor::table_events::{EVENTS, Event, GRACE_DEADLINE, HOOKS_END};
use crate::actor::task::LiveExit;
use crate::actor::task_fixture::Rig;
use crate::reply::Answer;

const BEGIN: &str = "<!-- table of states -->";
const END: &str = "<!-- end of table -->";

/// A column: a state, with the time of the preamble set apart from `Started`.
#[derive(Clone, Copy, PartialEq)]
enum Column {
    Starting,
    State(LifecycleState),
}

impl Column {
    const ALL: [Self; 8] = [
        Self::State(LifecycleState::Loading),
        Self::Starting,
        Self::State(LifecycleState::Started),
        Self::State(LifecycleState::SleepGrace),
        Self::State(LifecycleState::SleepFinalize),
        Self::State(LifecycleState::DestroyGrace),
        Self::State(LifecycleState::Destroying),
        Self::State(LifecycleState::Terminated),
    ];

    fn title(self) -> String {
        match self {
            Self::Starting => "Started, hooks running".into(),
            Self::State(state) => format!("{state:?}"),
        }
    }

    fn rig(self) -> Rig {
        match self {
            Self::Starting => Rig::starting(),
            Self::State(state) => Rig::in_state(state),
        }
    }

    /// The loop has been left: nothing is taken from an inbox any more.
    fn is_over(self) -> bool {
        use LifecycleState as S;
        matches!(
            self,
            Self::State(S::SleepFinalize | S::Destroying | S::Terminated)
        )
    }
}

/// Events that presuppose something their state does not have.
fn is_impossible(column: Column, title: &str) -> bool {
    let in_grace = matches!(
        column,
        Column::State(LifecycleState::SleepGrace | LifecycleState::DestroyGrace)
    );
    let before_adapter = column == Column::State(LifecycleState::Loading);
    match title {
        GRACE_DEADLINE => !in_grace,
        "adapter returns" | "adapter fails" | "adapter panics" => {
            before_adapter || column.is_over()
        }
        "save written" | "save overtaken by a transaction" | "save failed" | "schedule due" => {
            before_adapter || column.is_over()
        }
        _ => false,
    }
}

/// What one event does in one state, in words.
async fn outcome(column: Column, event: &Event) -> String {
    if is_impossible(column, event.title) {
        return "cannot be".into();
    }
    let mut rig = column.rig();
    // Hooks that the state has begun go on until the event that ends them.
    let mut hooks = rig.take_adapter_events();
    let mut told = (event.happen)(&mut rig);
    if event.title == HOOKS_END {
        hooks.clear();
    }
    run_others().await;
    let before = rig.task.state;
    let mut exit = None;
    if column.is_over() {
        rig.task.end_inboxes();
    } else {
        exit = live(&mut rig).await;
    }
    run_others().await;
    let given = rig.take_adapter_events();
    let mut words: Vec<_> = given
        .iter()
        .map(|event| format!("adapter gets `{}`", event.kind()))
        .collect();
    for asked in rig.host.asked.lock().drain(..) {
        words.push(format!("host is asked to {asked}"));
    }
    if let Some((started, _)) = rig.started.take()
        && let Some(Answer::Done(Err(_)) | Answer::Refused(_)) = started.now_or_never()
    {
        words.push("the start fails".into());
    }
    match exit {
        Some(LiveExit::Shutdown(kind)) => {
            words.push(format!("→ {:?}", LifecycleState::finalize_of(kind)));
        }
        Some(LiveExit::Terminated) => words.push("→ Terminated".into()),
        None if rig.task.state != before => words.push(format!("→ {:?}", rig.task.state)),
        None => {}
    }
    if let Some(told) = &mut told {
        words.push(told().unwrap_or_else(|| "answered later".into()));
    }
    if words.is_empty() {
        words.push("–".into());
    }
    words.join(", ")
}

/// Lets tasks beside the actor's come to where they wait.
async fn run_others() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

/// Lets the task take what there is, as its loop does.
async fn live(rig: &mut Rig) -> Option<LiveExit> {
    loop {
        let next = poll_fn(|cx| Poll::Ready(rig.task.poll_next(cx))).await;
        let Poll::Ready(wake) = next else { return None };
        if let Some(exit) = rig.task.handle(wake).await {
            return Some(exit);
        }
        // A start that was begun goes on to its end.
        while matches!(rig.task.start, crate::actor::task::StartPhase::Waiting(_))
            && rig.started.is_none()
        {
            let wake = poll_fn(|cx| rig.task.poll_next(cx)).await;
            if let Some(exit) = rig.task.handle(wake).await {
                return Some(exit);
            }
        }
    }
}

async fn table() -> String {
    let titles = Column::ALL.map(Column::title);
    let mut lines = vec![
        format!("| Event | {} |", titles.join(" | ")),
        format!("|{}", "---|".repeat(titles.len() + 1)),
    ];
    for event in EVENTS {
        let mut cells = vec![event.title.to_owned()];
        for column in Column::ALL {
            cells.push(outcome(column, event).await);
        }
        lines.push(format!("| {} |", cells.join(" | ")));
    }
    lines.join("\n")
}

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lifecycle.md")
}

#[tokio::test]
async fn every_event_in_every_state_does_what_is_documented() {
    let made = table().await;
    let text = std::fs::read_to_string(document()).expect("docs/lifecycle.md");
    let (head, rest) = text.split_once(BEGIN).expect("a table");
    let (written, tail) = rest.split_once(END).expect("an end of the table");
    if std::env::var_os("UPDATE_TABLE").is_some() {
        let updated = format!("{head}{BEGIN}\n{made}\n{END}{tail}");
        std::fs::write(document(), updated).expect("docs/lifecycle.md");
        return;
    }
    let (made, written): (Vec<_>, Vec<_>) =
        (made.lines().collect(), written.trim().lines().collect());
    for (made, written) in made.iter().zip(&written) {
        assert_eq!(made, written, "a row of docs/lifecycle.md");
    }
    assert_eq!(made.len(), written.len(), "rows of docs/lifecycle.md");
}

#[tokio::test]
async fn the_first_stop_is_answered_at_the_end_and_not_before() {
    let mut rig = Rig::in_state(LifecycleState::SleepGrace);
    let stopped = rig.stopped.take().expect("stopped");
    let mut stopped = Box::pin(stopped.result());
    assert!(stopped.as_mut().now_or_never().is_none());
    rig.adapter = None;
    let lifecycle = rig.lifecycle.take();
    let task = tokio::spawn(rig.task.run());
    stopped.await.expect("stopped");
    task.await.expect("no panic");
    drop(lifecycle);
    assert_eq!(rig.ctx.lifecycle_state(), LifecycleState::Terminated);
    assert_eq!(
        Arc::strong_count(&rig.host),
        2,
        "nothing of the task is left"
    );
}
