//! An actor's pages, kept by the engine.
//!
//! Every request names the generation, and every commit the head it was made on:
//! the engine refuses what comes from a generation that is no longer the actor's,
//! or that has missed somebody else's commit. That, and a commit whose answer got
//! lost, ends the generation.

use std::sync::Weak;

use bytes::Bytes;
use greenroom_core::ActorRef;
use greenroom_store::{PageCommit, PageFailure, PageStore, PagesRead};
use rivet_envoy_client::handle::EnvoyHandle;
use rivet_envoy_client::protocol;
use rivet_envoy_client::utils::{EnvoyShutdownError, SqliteRequestTimeoutError};
use tokio::runtime;
use tokio_util::sync::CancellationToken;

use super::link::Link;
use crate::shared::Shared;

/// Pages that travel in one commit; larger ones go in segments.
const WHOLE_PAGES: usize = 320;
/// Segments begin at multiples of this many pages and hold at most five such runs.
const RUN_PAGES: u32 = 64;
const SEGMENT_RUNS: u32 = 5;
/// Largest commit the engine takes.
const PAGES_MAX: usize = 32_768;

pub(crate) struct EnginePages {
    handle: EnvoyHandle,
    actor: ActorRef,
    shared: Weak<Shared>,
    runtime: runtime::Handle,
    /// Fires when the session is closed.
    over: CancellationToken,
}

type Outcome<T> = Result<T, PageFailure>;

impl EnginePages {
    pub(crate) fn new(link: &Link, actor: ActorRef, shared: &Shared) -> Self {
        Self {
            handle: link.0.clone(),
            actor,
            shared: shared.me.clone(),
            runtime: shared.runtime.clone(),
            over: shared.session_over.clone(),
        }
    }

    /// The client lets go of what it was asked last only some time after its end.
    async fn answer<T>(
        &self,
        request: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<T> {
        tokio::select! {
            answer = request => answer,
            () = self.over.cancelled() => Err(EnvoyShutdownError.into()),
        }
    }

    fn id(&self) -> protocol::Id {
        self.actor.actor_id.as_str().to_owned().into()
    }

    fn generation(&self) -> Option<u64> {
        Some(u64::from(self.actor.generation))
    }

    fn now_ms(&self) -> i64 {
        self.shared
            .upgrade()
            .map_or(0, |shared| shared.clock().now_ms())
    }

    /// A failure that the generation cannot live on after.
    fn end_on<T>(&self, outcome: Outcome<T>) -> Outcome<T> {
        if let Err(PageFailure::Lost(reason) | PageFailure::Unknown(reason)) = &outcome
            && let Some(shared) = self.shared.upgrade()
        {
            shared.lease_lost(self.actor, reason);
        }
        outcome
    }

    async fn fetch(&self, numbers: &[u32]) -> Outcome<PagesRead> {
        let request = protocol::SqliteGetPagesRequest {
            actor_id: self.id(),
            pgnos: numbers.to_vec(),
            expected_generation: self.generation(),
            expected_head_txid: None,
        };
        match self.answer(self.handle.sqlite_get_pages(request)).await {
            Ok(protocol::SqliteGetPagesResponse::SqliteGetPagesOk(found)) => Ok(PagesRead {
                head: found.head_txid,
                pages: found
                    .pages
                    .into_iter()
                    .filter_map(|page| Some((page.pgno, Bytes::from(page.bytes?.to_vec()))))
                    .collect(),
            }),
            Ok(protocol::SqliteGetPagesResponse::SqliteErrorResponse(error)) if is_new(&error) => {
                Ok(PagesRead::default())
            }
            Ok(protocol::SqliteGetPagesResponse::SqliteErrorResponse(error)) => {
                Err(read_failure(&error))
            }
            Err(error) => Err(PageFailure::Refused(error.to_string())),
        }
    }

    async fn send(&self, commit: PageCommit) -> Outcome<Option<u64>> {
        if commit.pages.len() > PAGES_MAX {
            let reason = format!("one transaction may change at most {PAGES_MAX} pages");
            return Err(PageFailure::Refused(reason));
        }
        if commit.pages.len() > WHOLE_PAGES {
            return self.send_in_segments(commit).await;
        }
        let request = protocol::SqliteCommitRequest {
            actor_id: self.id(),
            dirty_pages: dirty(&commit.pages),
            db_size_pages: commit.size,
            now_ms: self.now_ms(),
            expected_generation: self.generation(),
            expected_head_txid: commit.on_head,
        };
        match self.answer(self.handle.sqlite_commit(request)).await {
            Ok(protocol::SqliteCommitResponse::SqliteCommitOk(done)) => Ok(done.head_txid),
            Ok(protocol::SqliteCommitResponse::SqliteErrorResponse(error)) => {
                Err(commit_failure(&error))
            }
            Err(error) => Err(unanswered(&error)),
        }
    }

    /// Nothing of the segments can be read before the last step, so only that one
    /// has an outcome that may be unknown.
    async fn send_in_segments(&self, commit: PageCommit) -> Outcome<Option<u64>> {
        let refused = |error: anyhow::Error| PageFailure::Refused(error.to_string());
        let begin = protocol::SqliteCommitStageBeginRequest {
            actor_id: self.id(),
            expected_generation: self.generation(),
            expected_head_txid: commit.on_head,
        };
        use protocol::SqliteCommitStageBeginResponse as Begun;
        let txid = match self
            .answer(self.handle.sqlite_commit_stage_begin(begin))
            .await
        {
            Ok(Begun::SqliteCommitStageBeginOk(begun)) => begun.txid,
            Ok(Begun::SqliteErrorResponse(error)) => return Err(read_failure(&error)),
            Err(error) => return Err(refused(error)),
        };
        let mut firsts = Vec::new();
        for (first, pages) in segments(&commit.pages) {
            firsts.push(first);
            let segment = protocol::SqliteCommitStageSegmentRequest {
                actor_id: self.id(),
                expected_generation: self.generation(),
                txid,
                first_pgno: first,
                dirty_pages: dirty(pages),
            };
            use protocol::SqliteCommitStageSegmentResponse as Staged;
            match self
                .answer(self.handle.sqlite_commit_stage_segment(segment))
                .await
            {
                Ok(Staged::SqliteCommitStageSegmentOk(_)) => {}
                Ok(Staged::SqliteErrorResponse(error)) => return Err(read_failure(&error)),
                Err(error) => return Err(refused(error)),
            }
        }
        let finalize = protocol::SqliteCommitFinalizeRequest {
            actor_id: self.id(),
            expected_generation: self.generation(),
            txid,
            new_db_size_pages: commit.size,
            now_ms: self.now_ms(),
            segment_first_pgnos: firsts,
        };
        use protocol::SqliteCommitFinalizeResponse as Finalized;
        match self
            .answer(self.handle.sqlite_commit_finalize(finalize))
            .await
        {
            Ok(Finalized::SqliteCommitFinalizeOk(done)) => Ok(done.head_txid),
            Ok(Finalized::SqliteErrorResponse(error)) => Err(commit_failure(&error)),
            Err(error) => Err(unanswered(&error)),
        }
    }
}

impl PageStore for EnginePages {
    fn read(&self, numbers: &[u32]) -> Outcome<PagesRead> {
        let read = self.runtime.block_on(self.fetch(numbers));
        self.end_on(read)
    }

    fn commit(&self, commit: PageCommit) -> Outcome<Option<u64>> {
        let sent = self.runtime.block_on(self.send(commit));
        self.end_on(sent)
    }
}

fn dirty(pages: &[(u32, Bytes)]) -> Vec<protocol::SqliteDirtyPage> {
    let page = |(number, bytes): &(u32, Bytes)| protocol::SqliteDirtyPage {
        pgno: *number,
        bytes: bytes.clone(),
    };
    pages.iter().map(page).collect()
}

/// Cuts ascending pages where the engine wants them cut.
fn segments(pages: &[(u32, Bytes)]) -> Vec<(u32, &[(u32, Bytes)])> {
    let mut segments = Vec::new();
    let mut rest = pages;
    while let Some((first, _)) = rest.first() {
        let run = first / RUN_PAGES;
        let end = rest.partition_point(|(number, _)| number / RUN_PAGES < run + SEGMENT_RUNS);
        let (segment, after) = rest.split_at(end);
        segments.push((run * RUN_PAGES, segment));
        rest = after;
    }
    segments
}

fn is(error: &protocol::SqliteErrorResponse, group: &str, code: &str) -> bool {
    &*error.group == group && &*error.code == code
}

/// An actor that has stored nothing yet. Engines say so in more than one way.
fn is_new(error: &protocol::SqliteErrorResponse) -> bool {
    is(error, "depot", "database_not_found")
        || error.message.contains("sqlite database was not found")
        || error.message.contains("sqlite meta missing")
}

fn text(error: &protocol::SqliteErrorResponse) -> String {
    format!("{}.{}: {}", &*error.group, &*error.code, &*error.message)
}

/// Where an answer says that nothing was changed, which of two things it means.
fn read_failure(error: &protocol::SqliteErrorResponse) -> PageFailure {
    // A generation that has passed reads as an actor that is not there.
    let is_gone = is(error, "depot", "head_fence_mismatch")
        || error.message.contains("does not exist")
        || error.message.contains("generation");
    match is_gone {
        true => PageFailure::Lost(text(error)),
        false => PageFailure::Refused(text(error)),
    }
}

/// An answer to a commit. What it does not clearly say was refused may stand.
fn commit_failure(error: &protocol::SqliteErrorResponse) -> PageFailure {
    match read_failure(error) {
        PageFailure::Refused(reason)
            if is(error, "depot", "overloaded") || is(error, "sqlite", "invalid_request") =>
        {
            PageFailure::Refused(reason)
        }
        PageFailure::Refused(reason) => PageFailure::Unknown(reason),
        failure => failure,
    }
}

/// No answer to a commit.
fn unanswered(error: &anyhow::Error) -> PageFailure {
    let never_sent = error
        .downcast_ref::<SqliteRequestTimeoutError>()
        .is_some_and(|timeout| !timeout.sent);
    match never_sent {
        true => PageFailure::Refused(error.to_string()),
        false if error.is::<EnvoyShutdownError>() => PageFailure::Lost(error.to_string()),
        false => PageFailure::Unknown(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(numbers: impl IntoIterator<Item = u32>) -> Vec<(u32, Bytes)> {
        numbers.into_iter().map(|n| (n, Bytes::new())).collect()
    }

    fn cut(numbers: impl IntoIterator<Item = u32>) -> Vec<(u32, Vec<u32>)> {
        let pages = pages(numbers);
        let numbers = |pages: &[(u32, Bytes)]| pages.iter().map(|(n, _)| *n).collect();
        let cut = segments(&pages).into_iter();
        cut.map(|(first, pages)| (first, numbers(pages))).collect()
    }

    #[test]
    fn segments_begin_at_a_run_and_hold_five_runs_at_most() {
        let cut = cut(1..=700);
        let firsts: Vec<_> = cut.iter().map(|(first, _)| *first).collect();
        assert_eq!(firsts, [0, 320, 640]);
        assert_eq!(cut[0].1, (1..320).collect::<Vec<_>>());
        assert_eq!(cut.iter().map(|(_, pages)| pages.len()).sum::<usize>(), 700);
    }

    #[test]
    fn a_segment_begins_at_the_run_of_its_first_page() {
        assert_eq!(
            cut([1, 700, 1019, 1020, 5000]),
            [
                (0, vec![1]),
                (640, vec![700]),
                (960, vec![1019, 1020]),
                (4992, vec![5000]),
            ]
        );
        assert_eq!(cut([]), []);
        assert_eq!(cut([u32::MAX]), [(u32::MAX / 64 * 64, vec![u32::MAX])]);
    }

    fn answer(group: &str, code: &str, message: &str) -> protocol::SqliteErrorResponse {
        protocol::SqliteErrorResponse {
            group: group.to_owned().into(),
            code: code.to_owned().into(),
            message: message.to_owned().into(),
        }
    }

    #[test]
    fn only_what_clearly_changed_nothing_may_be_tried_again() {
        let kind = |error| commit_failure(&error);
        assert!(matches!(
            kind(answer("depot", "overloaded", "retry_after_ms=5")),
            PageFailure::Refused(_)
        ));
        assert!(matches!(
            kind(answer("depot", "head_fence_mismatch", "")),
            PageFailure::Lost(_)
        ));
        assert!(matches!(
            kind(answer("core", "internal_error", "actor does not exist")),
            PageFailure::Lost(_)
        ));
        assert!(matches!(
            kind(answer("core", "internal_error", "timed out")),
            PageFailure::Unknown(_)
        ));
        let sent = |sent| {
            let operation = "commit";
            unanswered(&anyhow::anyhow!(SqliteRequestTimeoutError {
                operation,
                sent
            }))
        };
        assert!(matches!(sent(true), PageFailure::Unknown(_)));
        assert!(matches!(sent(false), PageFailure::Refused(_)));
    }
}
