//! The key-value store that ported code may still use.
//!
//! Keys and values are bytes, kept as they are. Limits are checked here, before
//! anything is written.

use bytes::Bytes;
use greenroom_error::{Error, Result, code};
use greenroom_store::{KvPair, KvRange};
use serde_json::json;

use crate::actor::context::ActorContext;

/// Bytes of one key.
pub const KV_KEY_MAX: usize = 2_048;
/// Bytes of one value.
pub const KV_VALUE_MAX: usize = 131_072;
/// Pairs and bytes of one transaction; a larger batch is split and not atomic.
const CHUNK_ROWS: usize = 128;
const CHUNK_BYTES: usize = 512 * 1024;

/// Order and length of a listing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KvListOptions {
    /// Descending by key.
    pub reverse: bool,
    /// `None` lists everything.
    pub limit: Option<u32>,
}

impl ActorContext {
    pub async fn kv_get(&self, key: Bytes) -> Result<Option<Bytes>> {
        let values = self.kv_batch_get(vec![key]).await?;
        Ok(values.into_iter().next().flatten())
    }

    pub async fn kv_put(&self, key: Bytes, value: Bytes) -> Result<()> {
        self.kv_batch_put(vec![(key, value)]).await
    }

    pub async fn kv_delete(&self, key: Bytes) -> Result<()> {
        self.kv_batch_delete(vec![key]).await
    }

    /// Values in the order of the keys; `None` for a key that is not there.
    pub async fn kv_batch_get(&self, keys: Vec<Bytes>) -> Result<Vec<Option<Bytes>>> {
        let mut values = Vec::with_capacity(keys.len());
        for chunk in keys.chunks(CHUNK_ROWS) {
            values.extend(self.in_turn(self.sql().kv_get(chunk.to_vec())).await?);
        }
        Ok(values)
    }

    /// Stores pairs; nothing if one of them is too large. More than 128 pairs or
    /// 512 KiB are written in several transactions.
    pub async fn kv_batch_put(&self, pairs: Vec<KvPair>) -> Result<()> {
        for (key, value) in &pairs {
            check_key(key)?;
            if value.len() > KV_VALUE_MAX {
                return Err(too_large(&code::KV_VALUE_TOO_LARGE, value, KV_VALUE_MAX));
            }
        }
        for chunk in chunks(pairs) {
            self.in_turn(self.sql().kv_put(chunk)).await?;
        }
        Ok(())
    }

    pub async fn kv_batch_delete(&self, keys: Vec<Bytes>) -> Result<()> {
        keys.iter().try_for_each(|key| check_key(key))?;
        for chunk in keys.chunks(CHUNK_ROWS) {
            self.in_turn(self.sql().kv_delete(chunk.to_vec())).await?;
        }
        Ok(())
    }

    /// Deletes from `start` up to, not including, `end`, in one step.
    pub async fn kv_delete_range(&self, start: Bytes, end: Bytes) -> Result<()> {
        self.in_turn(self.sql().kv_delete_range(start, end)).await
    }

    /// Pairs whose key begins with `prefix`; an empty prefix lists everything.
    pub async fn kv_list_prefix(
        &self,
        prefix: Bytes,
        options: KvListOptions,
    ) -> Result<Vec<KvPair>> {
        let end = successor(&prefix);
        self.kv_list(prefix, end, options).await
    }

    /// Pairs from `start` up to, not including, `end`.
    pub async fn kv_list_range(
        &self,
        start: Bytes,
        end: Bytes,
        options: KvListOptions,
    ) -> Result<Vec<KvPair>> {
        self.kv_list(start, Some(end), options).await
    }

    async fn kv_list(
        &self,
        start: Bytes,
        end: Option<Bytes>,
        options: KvListOptions,
    ) -> Result<Vec<KvPair>> {
        let range = KvRange {
            start,
            end,
            reverse: options.reverse,
            limit: options.limit,
        };
        self.in_turn(self.sql().kv_list(range)).await
    }
}

fn check_key(key: &[u8]) -> Result<()> {
    if key.len() > KV_KEY_MAX {
        return Err(too_large(&code::KV_KEY_TOO_LARGE, key, KV_KEY_MAX));
    }
    Ok(())
}

fn too_large(row: &'static code::Code, bytes: &[u8], limit: usize) -> Error {
    Error::with(row, json!({ "size": bytes.len(), "limit": limit }))
}

/// Splits pairs by rows and bytes, in order.
fn chunks(pairs: Vec<KvPair>) -> Vec<Vec<KvPair>> {
    let mut chunks: Vec<Vec<KvPair>> = Vec::new();
    let mut bytes = 0;
    for pair in pairs {
        let size = pair.0.len() + pair.1.len();
        match chunks.last_mut() {
            Some(last) if last.len() < CHUNK_ROWS && bytes + size <= CHUNK_BYTES => {
                bytes += size;
                last.push(pair);
            }
            _ => {
                bytes = size;
                chunks.push(vec![pair]);
            }
        }
    }
    chunks
}

/// The first key after all that begin with `prefix`; `None` if there is none.
fn successor(prefix: &[u8]) -> Option<Bytes> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(Bytes::from(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix_carries_over_full_bytes() {
        assert_eq!(successor(b"").as_deref(), None);
        assert_eq!(successor(&[0xff, 0xff]).as_deref(), None);
        assert_eq!(successor(&[1, 0xff]).as_deref(), Some(&[2][..]));
        assert_eq!(successor(&[4, 7]).as_deref(), Some(&[4, 8][..]));
    }

    #[test]
    fn batches_split_at_128_pairs_and_at_512_kib() {
        let sizes = |count: usize, value: usize| -> Vec<usize> {
            let pair = (Bytes::from_static(b"k"), Bytes::from(vec![0; value]));
            chunks(vec![pair; count]).iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(128, 1), [128]);
        assert_eq!(sizes(129, 1), [128, 1]);
        assert_eq!(sizes(5, KV_VALUE_MAX - 1), [4, 1]);
        assert_eq!(sizes(4, KV_VALUE_MAX), [3, 1]);
        assert!(sizes(0, 0).is_empty());
    }
}
