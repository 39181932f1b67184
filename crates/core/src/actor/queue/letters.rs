//! Numbers of the queue and the messages it has given up.

use greenroom_error::Result;
use greenroom_store::{DeadLetter, QueueStats, QueueWrite, QueueWritten};

use super::unexpected;
use crate::actor::context::ActorContext;
use crate::reply::reply;

/// Which dead letters are meant: all, those of a name, or some by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LetterChoice {
    pub name: Option<String>,
    pub ids: Option<Vec<u64>>,
}

impl ActorContext {
    /// Numbers of one queue name, or of all.
    pub async fn queue_stats(&self, name: Option<String>) -> Result<QueueStats> {
        let now = self.clock().now_ms();
        self.in_turn(self.sql().queue_stats(name, now)).await
    }

    /// Up to `limit` dead letters with ids above `after`, in order of id.
    pub async fn dead_letters(
        &self,
        name: Option<String>,
        after: u64,
        limit: u32,
    ) -> Result<Vec<DeadLetter>> {
        self.in_turn(self.sql().dead_letters(name, after, limit))
            .await
    }

    /// Sends dead letters again, under new ids and with their attempts to come;
    /// returns how many. What does not fit into the queue stays dead.
    pub async fn replay_dead_letters(&self, choice: LetterChoice) -> Result<u64> {
        let (reply, replayed) = reply();
        let LetterChoice { name, ids } = choice;
        self.queue_op(QueueWrite::Replay { name, ids }, move |ctx, written| {
            let count = written.and_then(|written| match written {
                QueueWritten::Replayed(names) => {
                    for name in &names {
                        ctx.0.queue.receivers.message_arrived(name);
                    }
                    Ok(names.len() as u64)
                }
                other => Err(unexpected(&other)),
            });
            reply.send(count);
        });
        replayed.result().await
    }

    /// Deletes dead letters; returns how many.
    pub async fn purge_dead_letters(&self, choice: LetterChoice) -> Result<u64> {
        let (reply, purged) = reply();
        let LetterChoice { name, ids } = choice;
        self.queue_op(QueueWrite::Purge { name, ids }, move |_, written| {
            reply.send(written.and_then(|written| match written {
                QueueWritten::Purged(count) => Ok(count),
                other => Err(unexpected(&other)),
            }));
        });
        purged.result().await
    }
}
