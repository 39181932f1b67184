//! The key-value data of user code.

use bytes::Bytes;

use super::fixture::Fixture;
use crate::{Database, KvRange};

fn key(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

async fn filled(database: &Database) {
    let pairs = [&[4, 1][..], &[4, 2], &[4, 3], &[5], &[4]];
    let pairs = pairs.iter().map(|k| (key(k), key(b"v"))).collect();
    database.kv_put(pairs).await.unwrap();
}

async fn keys(database: &Database, range: KvRange) -> Vec<Bytes> {
    let pairs = database.kv_list(range).await.unwrap();
    pairs.into_iter().map(|(key, _)| key).collect()
}

fn range(start: &[u8], end: Option<&[u8]>) -> KvRange {
    KvRange {
        start: key(start),
        end: end.map(key),
        reverse: false,
        limit: None,
    }
}

#[tokio::test]
async fn values_come_back_in_the_order_of_the_keys_asked_for() {
    let mut fixture = Fixture::new();
    let database = fixture.existing("a", "s").await;
    let pairs = vec![(key(b"a"), key(b"1")), (key(b"b"), key(b""))];
    database.kv_put(pairs).await.unwrap();
    database.kv_put(vec![(key(b"a"), key(b"2"))]).await.unwrap();
    fixture.restart().await;
    let asked = vec![key(b"b"), key(b"missing"), key(b"a")];
    let found = fixture.database("a").kv_get(asked).await.unwrap();
    assert_eq!(found, [Some(key(b"")), None, Some(key(b"2"))]);
}

#[tokio::test]
async fn ranges_start_inclusive_and_end_exclusive_in_both_directions() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "s").await;
    filled(&database).await;
    let up = keys(&database, range(&[4, 1], Some(&[4, 3]))).await;
    assert_eq!(up, [key(&[4, 1]), key(&[4, 2])]);
    let down = KvRange {
        reverse: true,
        ..range(&[4, 1], Some(&[4, 3]))
    };
    assert_eq!(keys(&database, down).await, [key(&[4, 2]), key(&[4, 1])]);
    let open = KvRange {
        reverse: true,
        limit: Some(2),
        ..range(&[4, 2], None)
    };
    assert_eq!(keys(&database, open).await, [key(&[5]), key(&[4, 3])]);
    let none = KvRange {
        limit: Some(0),
        ..range(&[], None)
    };
    assert!(keys(&database, none).await.is_empty());
    assert_eq!(keys(&database, range(&[], None)).await.len(), 5);
}

#[tokio::test]
async fn deleting_a_range_leaves_its_end() {
    let fixture = Fixture::new();
    let database = fixture.existing("a", "s").await;
    filled(&database).await;
    database
        .kv_delete(vec![key(&[5]), key(b"no")])
        .await
        .unwrap();
    let (start, end) = (key(&[4]), key(&[4, 3]));
    database.kv_delete_range(start, end).await.unwrap();
    let left = keys(&database, range(&[], None)).await;
    assert_eq!(left, [key(&[4, 3])]);
}
