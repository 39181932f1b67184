use proptest::prelude::*;

use super::*;

fn skip(bytes: &[u8]) -> Read<usize> {
    item_len(bytes)
}

#[test]
fn every_form_of_an_item_is_measured() {
    let whole: &[&[u8]] = &[
        b"\x00",
        b"\x18\x05",
        b"\x1b\0\0\0\0\0\0\0\x05",
        b"\x38\xff",
        b"\x43abc",
        b"\x59\x00\x01a",
        b"\x5f\x41a\x42bc\xff",
        b"\x7f\x61a\xff",
        b"\x83\x01\x02\x03",
        b"\x9f\x01\x9f\xff\xff",
        b"\xb9\x00\x01\x61a\x01",
        b"\xbf\x61a\x01\xff",
        b"\xd9\x01\x03\xb9\x00\x00",
        b"\xf6",
        b"\xf8\x20",
        b"\xf9\x00\x00",
        b"\xfb\0\0\0\0\0\0\0\0",
    ];
    for item in whole {
        assert_eq!(skip(item), Ok(item.len()), "{item:x?}");
        let mut followed = item.to_vec();
        followed.push(0x00);
        assert_eq!(skip(&followed), Ok(item.len()), "{item:x?}");
        assert!(check(&followed).is_err());
        for cut in 0..item.len() {
            assert!(skip(&item[..cut]).is_err(), "{item:x?} cut at {cut}");
        }
    }
}

#[test]
fn items_that_are_not_well_formed_are_refused() {
    let broken: &[&[u8]] = &[
        b"\xff",
        b"\x81\xff",
        b"\xbf\x61a\xff",
        b"\x1c",
        b"\x1f",
        b"\xdf\x00",
        b"\xf8\x1f",
        b"\x5f\x61a\xff",
        b"\x5f\x5f\x41a\xff\xff",
    ];
    for item in broken {
        assert!(skip(item).is_err(), "{item:x?}");
    }
}

#[test]
fn a_promise_of_more_elements_than_bytes_is_refused_at_once() {
    let mut many = b"\x9b\x00\x00\x00\x00\x00\x00\x00\xff".to_vec();
    many.resize(9 + 254, 0x00);
    assert!(skip(&many).is_err());
    many.push(0x00);
    assert_eq!(skip(&many), Ok(9 + 255));
    assert!(skip(b"\xbb\xff\xff\xff\xff\xff\xff\xff\xff\x00").is_err());
    assert!(skip(b"\x5b\xff\xff\xff\xff\xff\xff\xff\xff\x00").is_err());
}

#[test]
fn nesting_is_bounded() {
    for container in [0x81, 0xc1, 0x9f] {
        let mut deep = vec![container; DEPTH_MAX];
        deep.push(0x00);
        deep.extend(vec![0xff; if container == 0x9f { DEPTH_MAX } else { 0 }]);
        assert_eq!(check(&deep), Ok(()), "{container:x}");
        deep.insert(0, 0x81);
        assert!(check(&deep).is_err(), "{container:x}");
    }
}

#[test]
fn numbers_take_the_form_that_javascript_reads_back_as_a_number() {
    let of = |value| {
        let mut out = Vec::new();
        write::number(&mut out, value);
        out
    };
    assert_eq!(of(5.0), b"\x05");
    assert_eq!(of(-1.0), b"\x20");
    assert_eq!(of(4_294_967_295.0), b"\x1a\xff\xff\xff\xff");
    assert_eq!(of(-4_294_967_296.0), b"\x3a\xff\xff\xff\xff");
    for float in [4_294_967_296.0, 0.5, -0.0, f64::INFINITY, f64::NAN] {
        assert_eq!(of(float)[0], 0xfb, "{float}");
    }
}

#[test]
fn a_container_closed_late_has_the_shortest_head() {
    for len in [0, 23, 24, 255, 256, 70_000] {
        let mut late = vec![0x01];
        let container = write::open(&mut late, ARRAY);
        late.resize(late.len() + len, 0x02);
        write::close(&mut late, container, len as u64);

        let mut early = vec![0x01];
        write::array(&mut early, len);
        early.resize(early.len() + len, 0x02);
        assert_eq!(late, early);
    }
}

fn value() -> impl Strategy<Value = ciborium::Value> {
    use ciborium::Value;
    let leaf = prop_oneof![
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<f32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        any::<Vec<u8>>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((inner.clone(), inner.clone()), 0..6).prop_map(Value::Map),
            (any::<u64>(), inner).prop_map(|(tag, value)| Value::Tag(tag, value.into())),
        ]
    })
}

proptest! {
    #[test]
    fn an_item_of_an_independent_encoder_is_measured(value in value()) {
        let mut bytes = Vec::new();
        ciborium::into_writer(&value, &mut bytes).unwrap();
        prop_assert_eq!(check(&bytes), Ok(()));
        prop_assert!(check(&bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        if let Ok(len) = item_len(&bytes) {
            prop_assert!(len <= bytes.len());
            prop_assert_eq!(check(&bytes[..len]), Ok(()));
        }
    }
}
